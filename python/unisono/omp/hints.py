# SPDX-License-Identifier: BSD-3-Clause
"""Annotations as Numba types, for @omp(compile=True). Used by compiled.py once Numba is imported.

float, int, bool, complex, names and types of NumPy scalars (float32, np.int64), and arrays of them as text: "float[:]",
"float32[:, :]", "int[::1]" (contiguous only). Anything else says nothing, and Numba finds the type by itself.
"""

import re

_SCALARS = {"float": "float64", "int": "int64", "bool": "boolean", "complex": "complex128"}
_TEXT = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)\s*(?:\[([:\s,]*(?:::\s*1)?)\])?")


def variants(annotation, numba):
    """The Numba types that an annotation allows, the fastest first; none when it says nothing."""
    if isinstance(annotation, numba.types.Type):
        return [annotation]
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    found = _TEXT.fullmatch(text.strip().strip("'\""))
    if not found:
        return []
    name, dimensions = found.groups()
    scalar = getattr(numba.types, _SCALARS.get(name, name.rstrip("_")), None)
    if not isinstance(scalar, (numba.types.Number, numba.types.Boolean)):
        return []
    if dimensions is None:
        return [scalar]
    layouts = "C" if "1" in dimensions else "CA"
    return [numba.types.Array(scalar, dimensions.count(",") + 1, layout) for layout in layouts]


def signatures(names, annotations, numba):
    """Signatures for the parameters: one for contiguous arrays, one for any; none unless all of them are annotated."""
    every = [variants(annotations.get(n, ""), numba) for n in names]
    if not names or not all(every):
        return []
    return list(dict.fromkeys((tuple(v[0] for v in every), tuple(v[-1] for v in every))))


def locals_(names, annotations, numba):
    """Types of variables that are no parameters; arrays are left to Numba."""
    types = {n: variants(a, numba) for n, a in annotations.items() if n not in names}
    return {n: v[0] for n, v in types.items() if len(v) == 1 and not isinstance(v[0], numba.types.Array)}
