# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of buffer (--buffer): how each is made, written, read, cut into slices and passed to mpi4py.

A kind is a class with the same few methods; kinds of device memory are in device.py. Kernels see only what `spec`
gives: the object that a user of that kind would pass. The content goes in and out as bytes, outside the timed interval.
"""

import array
import importlib
import mmap
from types import SimpleNamespace

from .options import Usage

PACKAGES = {"numpy": "numpy", "raw": "unisono.fast", "fast": "unisono.fast", "pickle": "numpy", "pickle5": "numpy"}
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
TOUCH = b"\x5a" * (2 << 20)
SOURCES = {"unisono.fast": "unisono-fast (python/unisono/fast of the source tree)"}


def need(module: str, package: str = "") -> object:
    """An imported module, or the one line that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = package or SOURCES.get(module, module)
        raise Usage(f"this needs the package {package}: pip install it ({error})") from None


class Bytearray:
    """A bytearray; also what the other kinds of host memory have in common."""

    device = False

    def __init__(self, o: SimpleNamespace, mpi: object):
        self.mpi, self.align = mpi, o.align
        self.types = {"B": mpi.BYTE, "i": mpi.INT, "q": mpi.INT64_T, "f": mpi.FLOAT, "d": mpi.DOUBLE}

    def make(self, n: int, code: str, side: str = "") -> object:
        """A buffer of n elements of an array.array type code, for a side of a row ("send", "receive") or for itself."""
        return bytearray(n * array.array(code).itemsize)

    def view(self, buf: object) -> memoryview:
        """Its bytes, to write and read."""
        return memoryview(buf).cast("B") if len(buf) else memoryview(bytearray())

    def load(self, buf: object, content: bytes) -> None:
        """Writes bytes at the start."""
        self.view(buf)[: len(content)] = content

    def dump(self, buf: object) -> bytes:
        """All its bytes."""
        return self.view(buf).tobytes()

    def cut(self, buf: object, start: int, n: int, code: str) -> object:
        """n elements from element `start` on, without a copy."""
        size = array.array(code).itemsize
        return memoryview(buf)[start * size : (start + n) * size]

    def spec(self, buf: object, code: str) -> object:
        """What a call gets: the object alone where that says the type, a list with the type otherwise."""
        return buf if code == "B" else [buf, self.types[code]]

    def vspec(self, buf: object, counts: list[int], displs: list[int], code: str) -> object:
        """What a call with a count per rank gets."""
        return [buf, counts, displs, self.types[code]]


class Typed(Bytearray):
    """Objects that know their type: a slice is of elements, and the object alone is passed."""

    def cut(self, buf: object, start: int, n: int, code: str) -> object:
        return buf[start : start + n]

    def spec(self, buf: object, code: str) -> object:
        return buf


class Array(Typed):
    """array.array of the type."""

    def make(self, n: int, code: str, side: str = "") -> object:
        return array.array(code, bytes(n * array.array(code).itemsize))

    def cut(self, buf: object, start: int, n: int, code: str) -> object:
        return memoryview(buf)[start : start + n]


class Mmap(Bytearray):
    """Page-aligned memory of a mapping, plus --align; the object passed is the mapping itself, or a view of a part."""

    def make(self, n: int, code: str, side: str = "") -> object:
        size = n * array.array(code).itemsize
        area = mmap.mmap(-1, max(self.align + size, 1), PRIVATE)
        return area if self.align == 0 and size else memoryview(area)[self.align : self.align + size]


class Pages(Bytearray):
    """Host memory as the C suite has it: private, touched, whole huge pages of 2 MiB, kept from one size to the next.

    The library gathers what lies so into huge pages; a large message from pages of 4 KiB takes half as long again.
    """

    def __init__(self, o: SimpleNamespace, mpi: object):
        super().__init__(o, mpi)
        self.kept: dict[str, mmap.mmap] = {}

    def area(self, size: int, side: str) -> mmap.mmap:
        """A mapping of at least so many bytes after --align: the one that the side has, if it is large enough."""
        found = self.kept.get(side)
        if found and len(found) >= self.align + size:
            return found
        found = mmap.mmap(-1, (self.align + size) // len(TOUCH) * len(TOUCH) + len(TOUCH), PRIVATE)
        for _ in range(len(found) // len(TOUCH)):
            found.write(TOUCH)
        if side:
            self.kept[side] = found
        return found


class Memoryview(Typed, Pages):
    """A typed view of page-aligned memory."""

    def make(self, n: int, code: str, side: str = "") -> object:
        size = n * array.array(code).itemsize
        return memoryview(self.area(size, side))[self.align : self.align + size].cast(code)


class Numpy(Typed, Pages):
    """numpy.ndarray in page-aligned memory."""

    def __init__(self, o: SimpleNamespace, mpi: object):
        super().__init__(o, mpi)
        self.numpy = need("numpy")

    def make(self, n: int, code: str, side: str = "") -> object:
        area = self.area(n * array.array(code).itemsize, side)
        return self.numpy.frombuffer(area, dtype=code, count=n, offset=self.align)


class Raw(Memoryview):
    """Memory bound once to unisono.fast, whose calls take it."""

    def __init__(self, o: SimpleNamespace, mpi: object):
        super().__init__(o, mpi)
        self.fast = need("unisono.fast")

    def spec(self, buf: object, code: str) -> object:
        return self.fast.Buffer(buf)


class Fast(Numpy):
    """NumPy arrays as they are, by the calls of unisono.fast."""

    def __init__(self, o: SimpleNamespace, mpi: object):
        super().__init__(o, mpi)
        self.fast = need("unisono.fast")


class Pickle(Numpy):
    """NumPy arrays that travel as pickled objects, by mpi4py's lower-case calls."""

    protocol = 4

    def wrap(self, comm: object) -> object:
        """The communicator whose lower-case calls are used."""
        return comm


class Pickle5(Pickle):
    """The same with protocol 5: the data travel beside the pickle, uncopied."""

    protocol = 5

    def wrap(self, comm: object) -> object:
        return need("mpi4py.util.pkl5", "mpi4py >= 3.1").Intracomm(comm)


KINDS = {"bytearray": Bytearray, "array": Array, "memoryview": Memoryview, "mmap": Mmap, "numpy": Numpy, "raw": Raw,
         "fast": Fast, "pickle": Pickle, "pickle5": Pickle5}  # fmt: skip


def check(o: SimpleNamespace) -> None:
    """Before MPI starts: are the packages there, and a device where one is asked for?"""
    need("mpi4py")
    if o.device == "gpu":
        from . import device

        device.check(o)
    elif o.buffer in PACKAGES:
        need(PACKAGES[o.buffer])
    elif o.buffer == "torch":
        need("torch")


def make_kind(o: SimpleNamespace, mpi: object) -> object:
    """The kind of --buffer."""
    if o.buffer in KINDS:
        return KINDS[o.buffer](o, mpi)
    from . import device

    return device.make_kind(o, mpi)
