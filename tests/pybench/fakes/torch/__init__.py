# SPDX-License-Identifier: BSD-3-Clause
"""A stand-in for PyTorch: tensors that travel by DLPack, in host memory."""

from types import SimpleNamespace

import numpy
from device_memory import count

uint8, int32, int64, float32, float64 = map(numpy.dtype, ("u1", "i4", "i8", "f4", "f8"))
cuda = SimpleNamespace(device_count=count, synchronize=lambda: None)


class Dtype:
    """Spelt as PyTorch spells it: torch.float32."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


class Tensor:
    def __init__(self, content):
        self.content = content

    dtype = property(lambda self: Dtype(self.content.dtype.name))

    def __dlpack__(self, **more):
        return self.content.__dlpack__(**more)

    def __dlpack_device__(self):
        return self.content.__dlpack_device__()

    def __len__(self):
        return len(self.content)

    def __getitem__(self, key):
        return Tensor(self.content[key])

    def __setitem__(self, key, value):
        self.content[key] = value.content

    def cpu(self):
        return self

    def to(self, _place):
        return self

    def numpy(self):
        return self.content


def zeros(n, dtype, device):
    assert device in ("cpu", "cuda")
    return Tensor(numpy.zeros(n, dtype))


def from_numpy(array):
    return Tensor(array)
