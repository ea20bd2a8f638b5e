# SPDX-License-Identifier: BSD-3-Clause
"""Buffers in device memory: CuPy, PyCUDA and Numba arrays, and PyTorch tensors (host or device).

mpi4py takes them by __cuda_array_interface__ or DLPack and hands the device address to MPI. A library that was not
built for that would read the address as host memory and crash: so the rows run only where the library says that it
takes device memory (mpi_memory_alloc_kinds, MPI 4.1), or where --gpu-aware yes says so for it.
"""

from types import SimpleNamespace

from .buffers import Typed, need
from .options import Usage

INSTALL = {"cupy": "cupy-cuda12x", "pycuda": "pycuda", "numba": "numba", "torch": "torch"}
NAMES = {"B": "uint8", "i": "int32", "q": "int64", "f": "float32", "d": "float64"}


class Device(Typed):
    """What the kinds have in common: slices and whole arrays are passed as they are, vectors with counts in a list."""

    device = True

    def __init__(self, o: SimpleNamespace, mpi: object):
        super().__init__(o, mpi)
        self.numpy = need("numpy")

    def host(self, content: bytes, like: object) -> object:
        """Bytes as an array of the element type of a device array."""
        return self.numpy.frombuffer(content, dtype=str(like.dtype).rpartition(".")[2])


class Cupy(Device):
    """cupy.ndarray."""

    def __init__(self, o: SimpleNamespace, mpi: object):
        super().__init__(o, mpi)
        self.cupy = need("cupy", INSTALL["cupy"])

    def make(self, n: int, code: str, side: str = "") -> object:
        return self.cupy.zeros(n, dtype=NAMES[code])

    def load(self, buf: object, content: bytes) -> None:
        part = self.host(content, buf)
        buf[: len(part)] = self.cupy.asarray(part)
        self.cupy.cuda.get_current_stream().synchronize()

    def dump(self, buf: object) -> bytes:
        return self.cupy.asnumpy(buf).tobytes()


class Pycuda(Device):
    """pycuda.gpuarray.GPUArray."""

    def __init__(self, o: SimpleNamespace, mpi: object):
        super().__init__(o, mpi)
        need("pycuda.autoinit", INSTALL["pycuda"])
        self.gpuarray = need("pycuda.gpuarray", INSTALL["pycuda"])

    def make(self, n: int, code: str, side: str = "") -> object:
        return self.gpuarray.zeros(n, NAMES[code])

    def load(self, buf: object, content: bytes) -> None:
        part = self.host(content, buf)
        if len(part):
            buf[: len(part)].set(part)

    def dump(self, buf: object) -> bytes:
        return buf.get().tobytes()


class Numba(Device):
    """numba.cuda device arrays."""

    def __init__(self, o: SimpleNamespace, mpi: object):
        super().__init__(o, mpi)
        self.cuda = need("numba.cuda", INSTALL["numba"])

    def make(self, n: int, code: str, side: str = "") -> object:
        return self.cuda.to_device(self.numpy.zeros(n, NAMES[code]))

    def load(self, buf: object, content: bytes) -> None:
        part = self.host(content, buf)
        if len(part):
            buf[: len(part)].copy_to_device(part)
            self.cuda.synchronize()

    def dump(self, buf: object) -> bytes:
        return buf.copy_to_host().tobytes()


class Torch(Device):
    """torch.Tensor, in host memory unless --device gpu."""

    def __init__(self, o: SimpleNamespace, mpi: object):
        super().__init__(o, mpi)
        self.torch = need("torch")
        self.device = o.device == "gpu"
        self.place = "cuda" if self.device else "cpu"

    def make(self, n: int, code: str, side: str = "") -> object:
        return self.torch.zeros(n, dtype=getattr(self.torch, NAMES[code]), device=self.place)

    def load(self, buf: object, content: bytes) -> None:
        part = self.host(content, buf)
        if len(part):
            buf[: len(part)] = self.torch.from_numpy(part.copy()).to(self.place)
        if self.device:
            self.torch.cuda.synchronize()

    def dump(self, buf: object) -> bytes:
        return buf.cpu().numpy().tobytes()


KINDS = {"cupy": Cupy, "pycuda": Pycuda, "numba": Numba, "torch": Torch}


def devices(name: str) -> int:
    """How many devices a package sees."""
    try:
        if name == "cupy":
            return need("cupy", INSTALL[name]).cuda.runtime.getDeviceCount()
        if name == "pycuda":
            driver = need("pycuda.driver", INSTALL[name])
            driver.init()
            return driver.Device.count()
        if name == "numba":
            return len(need("numba.cuda", INSTALL[name]).gpus.lst)
        return need("torch").cuda.device_count()
    except Usage:
        raise
    except Exception:  # each package has its own error for "no driver"
        return 0


def check(o: SimpleNamespace) -> None:
    """One line and status 2 if the package or a device is missing."""
    if not devices(o.buffer):
        raise Usage(f"--buffer {o.buffer}: no GPU that {o.buffer} can use here (is the driver there? see nvidia-smi)")


def aware(comm: object, o: SimpleNamespace) -> bool:
    """Whether the library takes device memory, by its own word or by --gpu-aware."""
    if o.gpu_aware != "auto":
        return o.gpu_aware == "yes"
    info = comm.Get_info()
    kinds = info.Get("mpi_memory_alloc_kinds") or ""
    info.Free()
    return any(kind.partition(":")[0] in ("cuda", "rocm", "level_zero") for kind in kinds.split(","))


def make_kind(o: SimpleNamespace, mpi: object) -> object:
    """The kind of --buffer."""
    return KINDS[o.buffer](o, mpi)
