"""Tests of a model in C: a ``main`` with inputs and right outputs, and the same as arrays of numpy."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.signature import Signature
from tvmlite.te.codegen.c import standalone as c
from tvmlite.te.codegen.c.text import memory_type, unsigned_type


@dataclass(frozen=True)
class Case:
    """Inputs, and the outputs that are right for them."""

    inputs: list[np.ndarray]
    outputs: list[np.ndarray]


def program(own: Signature, header: str, found: Sequence[Case], rtol: float) -> Iterator[str]:
    """A ``main`` that returns 0 if every case gives its outputs, else the number of the first that does not.

    Floats may be off by ``rtol`` of the largest of their array.
    """
    upper = own.name.upper()
    yield f"/* Made by tvmlite: returns 0 if {own.name} computes what it should. */\n\n"
    yield f'#include "{header}"\n\n#include <math.h>\n#include <stdint.h>\n\n'
    yield f"#define {upper}_TOLERANCE {rtol}\n"
    for number, case in enumerate(found, 1):
        for letter, arrays in (("input", case.inputs), ("output", case.outputs)):
            for k, array in enumerate(arrays):
                dtype = dtypes.check(array.dtype)
                kind, size = memory_type(dtype), max(array.size, 1)
                raw = array if kind != unsigned_type(dtype) else array.view(f"u{array.dtype.itemsize}")
                yield f"\nstatic const {kind} {letter}{number}_{k}[{size}] = {{\n"
                yield from c.array_lines(raw, dtype)
                yield "};\n"
    for k, array in enumerate(found[0].outputs):
        yield f"\nstatic {memory_type(dtypes.check(array.dtype))} made{k}[{max(array.size, 1)}];\n"
    yield _COMPARE
    yield "\nint main(void) {\n"
    for number, case in enumerate(found, 1):
        inputs = [f"input{number}_{k}" for k in range(len(case.inputs))]
        made = [f"made{k}" for k in range(len(case.outputs))]
        given = ", ".join([*inputs, *made])
        yield f"    if ({c.runner(own)}({given}) != 0) {{\n        return {number};\n    }}\n"
        for k, array in enumerate(case.outputs):
            yield _comparison(number, k, array, f"{upper}_TOLERANCE")
    yield "    return 0;\n}\n"


_COMPARE = """
/* Whether a is b but for so much of the largest number there is. */
static int is_near(double a, double b, double bound) {
    return a == b || (a != a && b != b) || fabs(a - b) <= bound;
}
"""


def _comparison(number: int, k: int, array: np.ndarray, tolerance: str) -> str:
    """The statement that compares output ``k`` with that of case ``number``: what is no float to the bit."""
    finite = np.abs(array.astype(np.float64))[np.isfinite(array.astype(np.float64))] if array.size else array
    largest = float(np.max(finite, initial=0.0)) if array.dtype.kind == "f" else 0.0
    bound = f"{tolerance} * {max(largest, 1e-6)!r}" if array.dtype.kind == "f" else "0.0"
    return (
        f"    for (int32_t i = 0; i < {array.size}; ++i) {{\n"
        f"        if (!is_near((double)made{k}[i], (double)output{number}_{k}[i], {bound})) {{\n"
        f"            return {number};\n        }}\n    }}\n"
    )


def cases_file(found: Sequence[Case]) -> bytes:
    """The cases as numpy's ``.npz``: ``i0_1`` is input 1 of case 0, ``o0_1`` its output 1."""
    arrays = {
        f"{letter}{number}_{k}": array
        for number, case in enumerate(found)
        for letter, some in (("i", case.inputs), ("o", case.outputs))
        for k, array in enumerate(some)
    }
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()
