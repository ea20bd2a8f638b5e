# SPDX-License-Identifier: BSD-3-Clause
"""Frames in the memory of a GPU, as Dask's serializers of the family "cuda" make them: staged through host memory.

Such a frame has ``__cuda_array_interface__``. The message says which of its frames came from a device, and the process
that deserialises it gets device memory for those again: from rmm, numba or cupy, whichever is there. A process that
passes the message on (a scheduler) holds them as Staged and needs no GPU.
"""

import importlib
import struct

from distributed.utils import ensure_memoryview


class Staged:
    """Host memory of a frame that came from a device, on its way to another process."""

    __slots__ = ("host",)

    def __init__(self, host):
        self.host = host

    @property
    def nbytes(self):
        return self.host.nbytes


def is_device(frame):
    """Whether a frame lies, or has lain, in the memory of a device."""
    return isinstance(frame, Staged) or hasattr(frame, "__cuda_array_interface__")


def to_host(frame):
    """The bytes of a device's frame in host memory."""
    if isinstance(frame, Staged):
        return frame.host
    for name in ("copy_to_host", "get"):  # rmm's and numba's; cupy's
        if hasattr(frame, name):
            return ensure_memoryview(_array(getattr(frame, name)()).data)
    return ensure_memoryview(importlib.import_module("numba.cuda").as_cuda_array(frame).copy_to_host().data)


def _array(host):
    """A NumPy array of some memory. Dask and mpi:// do without NumPy, what makes device memory does not."""
    np = importlib.import_module("numpy")
    return np.frombuffer(host, dtype="u1") if isinstance(host, memoryview) else np.ascontiguousarray(host)


def _rmm(host):
    return importlib.import_module("rmm").DeviceBuffer.to_device(host)


def _numba(host):
    return importlib.import_module("numba.cuda").to_device(_array(host))


def _cupy(host):
    return importlib.import_module("cupy").asarray(_array(host))


makers = [_rmm, _numba, _cupy]
"""What makes device memory of a writable memoryview; the first whose library is there is used."""


def to_device(host):
    for make in makers:
        try:
            return make(host)
        except ImportError:
            continue
    raise RuntimeError(
        "a message has frames of a GPU's memory, and none of rmm, numba, cupy is here to make such frames"
    )


def departing(frames):
    """The frames as they are sent: in host memory, and behind them which ones are a device's."""
    marks = b"".join(struct.pack("<Q", i) for i, frame in enumerate(frames) if is_device(frame))
    return [to_host(f) if is_device(f) else ensure_memoryview(f) for f in frames] + [marks]


def arrived(frames, deserialize):
    """The opposite: with device memory where the message is deserialised here, else ready to be passed on."""
    *frames, marks = frames
    if len(marks) % 8:
        raise EOFError("the numbers of frames that are a device's are incomplete")
    for (i,) in struct.iter_unpack("<Q", marks):
        if i >= len(frames):
            raise EOFError(f"frame {i} of {len(frames)} is said to be a device's")
        host = ensure_memoryview(frames[i])
        frames[i] = to_device(host) if deserialize else Staged(host)
    return frames
