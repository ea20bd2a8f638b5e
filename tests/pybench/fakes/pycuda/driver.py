# SPDX-License-Identifier: BSD-3-Clause
"""Devices of PyCUDA's."""

from device_memory import count


def init():
    if not count():
        raise RuntimeError("cuInit failed: no CUDA-capable device is detected")


class Device:
    count = staticmethod(count)
