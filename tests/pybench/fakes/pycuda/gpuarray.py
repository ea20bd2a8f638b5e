# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of PyCUDA's."""

import numpy
from device_memory import DeviceArray


class GPUArray(DeviceArray):
    def set(self, host):
        self.content[:] = host

    def get(self):
        return self.content.copy()


def zeros(n, dtype):
    return GPUArray(numpy.zeros(n, dtype))
