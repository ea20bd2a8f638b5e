# SPDX-License-Identifier: BSD-3-Clause
"""Compiled mode, @omp(compile=True): what Numba compiles, annotations as types, what it refuses. Without Numba all
of it runs as Python, and that is said."""

import importlib.util
import warnings

import pytest
from unisono.omp import *

numba_there = importlib.util.find_spec("numba") is not None
needs_numba = pytest.mark.skipif(not numba_there, reason="Numba is not installed (it has no binary for this CPython?)")
numpy = pytest.importorskip("numpy")


@omp(compile=True)
def compiled_pi(n, t):
    w = 1.0 / n
    total = 0.0
    with omp("parallel for reduction(+:total) num_threads(t) schedule(guided)"):
        for i in range(n):
            x = (i + 0.5) * w
            total += square(4.0) / (4.0 * (1.0 + x * x))
    return total * w


@omp(compile=True)
def square(x):
    return x * x


@omp(compile=True)
def refused(items):
    got = []
    with omp("parallel for num_threads(2)"):
        for i in range(3):
            got.append({"i": items})
    return len(got)


@needs_numba
def test_compiled_mode():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "this CPython has a GIL")
        assert abs(compiled_pi(20000, 2) - 3.14159265) < 1e-6
    kernels = [c.cell_contents for c in compiled_pi.__closure__ if type(c.cell_contents).__name__ == "Kernel"]
    region = [k for k in kernels if k.fast is not None]
    assert region and square(3) == 9
    with pytest.warns(RuntimeWarning, match="Numba says"):
        assert refused(object()) == 3


def test_compiled_mode_without_numba_runs_as_python():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert abs(compiled_pi(500, 2) - 3.14159265) < 1e-3


@pytest.mark.skipif(numba_there, reason="Numba is installed")
def test_a_missing_numba_is_told():
    @omp(compile=True)
    def twice(x):
        return 2 * x

    with pytest.warns(RuntimeWarning, match="Numba cannot be imported.*running uncompiled"):
        assert twice(4) == 8


def kernels(function):
    return [c.cell_contents for c in function.__closure__ if type(c.cell_contents).__name__ == "Kernel"]


@omp(compile=True)
def typed(n: int, data: "float[:]", t) -> float:
    total: float = 0
    with omp("parallel for reduction(+:total) num_threads(t) schedule(dynamic, 7)"):
        for i in range(n):
            total += data[i]
    return total


@needs_numba
def test_annotations_are_the_types_of_a_loop():
    from numba import types

    data = numpy.arange(50.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "this CPython has a GIL")
        assert typed(50, data, 2) == data.sum() and typed(25, data[::2], 2) == data[::2].sum()
    (kernel,) = kernels(typed)
    assert len(kernel.fast.signatures) == 2  # contiguous arrays, any others; made before the first call knew its types
    for signature in kernel.fast.signatures:
        assert types.float64 in signature and [t.layout for t in signature if isinstance(t, types.Array)][0] in "CA"


@omp(compile=True)
def scale(x: float, k: "np.int32", flag: bool = True) -> float:
    half: float32 = x / 2
    return half * k if flag else x


@needs_numba
def test_annotations_are_the_types_of_a_function():
    assert scale(3, 2) == 3.0
    assert [str(t) for t in scale.fast.signatures[0]] == ["float64", "int32", "bool"]
    assert scale(0.2, 1) != 0.1  # the variable has 32 bits
    with pytest.warns(RuntimeWarning, match="runs uncompiled, Numba says: No matching definition"):
        assert scale(1j, 2, False) == 1j


@needs_numba
def test_what_an_annotation_means():
    import numba

    from unisono.omp import hints

    texts = ["float", "int", "float32", "np.uint8", "complex", "bool", "float[:]", "int[:, :]", "float32[:, ::1]"]
    found = [", ".join(map(str, hints.variants(t, numba))) for t in texts]
    assert found[:6] == ["float64", "int64", "float32", "uint8", "complex128", "bool"]
    assert found[6:] == ["array(float64, 1d, C), array(float64, 1d, A)",
                         "array(int64, 2d, C), array(int64, 2d, A)", "array(float32, 2d, C)"]  # fmt: skip
    assert hints.variants(float, numba) == [numba.float64] and hints.variants(numpy.int16, numba) == [numba.int16]
    assert hints.variants(numba.float64[:], numba) == [numba.float64[:]]
    for nothing in ("list[int]", "str", "Any", "float | None", list, None, "float[3]"):
        assert hints.variants(nothing, numba) == []


@needs_numba
def test_an_error_of_the_compiled_code_is_an_error():
    @omp(compile=True)
    def divide(a: int, b: int):
        return a // b

    with pytest.raises(ZeroDivisionError):
        divide(1, 0)
    assert divide.fast is not None
