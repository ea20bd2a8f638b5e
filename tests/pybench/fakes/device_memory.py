# SPDX-License-Identifier: BSD-3-Clause
"""Host memory that offers what device arrays offer, and not the buffer protocol: for fakes of GPU packages.

FAKE_DEVICES is how many devices the packages see (1).
"""

import os

import numpy


def count():
    """Devices seen."""
    return int(os.environ.get("FAKE_DEVICES", "1"))


class DeviceArray:
    """An array with __cuda_array_interface__."""

    def __init__(self, content):
        self.content = content

    dtype = property(lambda self: self.content.dtype)
    size = property(lambda self: self.content.size)

    @property
    def __cuda_array_interface__(self):
        face = self.content.__array_interface__
        return {"shape": face["shape"], "typestr": face["typestr"], "data": face["data"], "version": 3, "strides": None}

    def __len__(self):
        return len(self.content)

    def __getitem__(self, key):
        return type(self)(self.content[key])

    def __setitem__(self, key, value):
        self.content[key] = value.content

    def __array__(self, *_args, **_more):
        raise TypeError("device memory is no host array")


def zeros(n, dtype):
    """A device array of zeros."""
    return DeviceArray(numpy.zeros(n, dtype))
