# SPDX-License-Identifier: BSD-3-Clause
"""A stand-in for CuPy: the calls that unisono.bench makes."""

from types import SimpleNamespace

from device_memory import DeviceArray, count, zeros

__all__ = ["asarray", "asnumpy", "cuda", "zeros"]
cuda = SimpleNamespace(
    runtime=SimpleNamespace(getDeviceCount=count),
    get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None),
)


def asarray(host):
    return DeviceArray(host.copy())


def asnumpy(array):
    return array.content.copy()
