"""Tests of a model in C: a ``main`` with inputs and expected outputs, and the same as numpy arrays."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.signature import Signature
from tvmlite.core.node import Node, rewrite
from tvmlite.model.example_inputs import TOLERANCE, relative_gap
from tvmlite.relay.ir.infer import type_of, walk
from tvmlite.relay.ir.interpret import Value, interpret
from tvmlite.relay.ir.nodes import Call, Constant, Function
from tvmlite.relay.ir.op import Rounding, get
from tvmlite.relay.ir.random_inputs import random_inputs
from tvmlite.relay.ir.types import TensorType
from tvmlite.te.codegen.c import standalone as c
from tvmlite.te.codegen.c.text import memory_type, unsigned_type

CASES = 2
"""The number of test cases, computed by the interpreter."""

SEEDS = 8
"""The number of seeds tried for the inputs of a model that rounds."""

PERTURBATIONS, ULPS = 4, 2.0**-22
"""How often, and by how much relative to their size, weights are perturbed to find the sensitivity of
results: sums of float32 in another order differ by about that much."""

DISCONTINUOUS = ("sign", "floor_mod", "floor_divide", "mod")
"""Operators whose results are discontinuous in their arguments, besides those that round to steps."""


@dataclass(frozen=True)
class Case:
    """Inputs, the expected outputs, and how far these move if the last places of weights change."""

    inputs: list[np.ndarray]
    outputs: list[np.ndarray]
    sensitivity: float = 0.0


def cases(main: Function, count: int = CASES) -> list[Case]:
    """Return seeded random inputs with the interpreter's results.

    If the model rounds, as quantized ones do, a value halfway between two steps may be rounded either way. So
    the inputs are those of ``SEEDS`` seeds whose outputs are the least sensitive to the last places.
    """
    if not _has_discontinuities(main):
        return [_case(main, [], seed) for seed in range(count)]
    perturbed = [_perturbed(main, seed) for seed in range(PERTURBATIONS)]
    found: list[Case] = []
    for seed in range(SEEDS):
        found.append(_case(main, perturbed, seed))
        if sum(case.sensitivity <= _INSENSITIVE for case in found) == count:
            break
    return sorted(found, key=lambda case: case.sensitivity)[:count]


_INSENSITIVE = TOLERANCE / 4
"""The largest movement of a result at which the order of sums does not matter."""


def tolerance(found: Sequence[Case]) -> float:
    """Return the tolerance of floats: ``TOLERANCE``, or more if results are sensitive to the last places."""
    sensitivity = max(case.sensitivity for case in found)
    return TOLERANCE if sensitivity <= _INSENSITIVE else min(1.0, 4 * sensitivity)


def _case(main: Function, perturbed: Sequence[Function], seed: int) -> Case:
    """The inputs of ``seed``; the results of ``perturbed`` are compared with main's, until one differs."""
    given, made = random_inputs(main, seed)
    case, sensitivity = Case(_arrays(tuple(given)), _arrays(made)), 0.0
    for one in perturbed:
        others = zip(_arrays(interpret(one, given)), case.outputs, strict=True)
        sensitivity = max(sensitivity, *(relative_gap(ours, theirs) for ours, theirs in others))
        if sensitivity > _INSENSITIVE:
            break
    return replace(case, sensitivity=sensitivity)


def _arrays(value: Value) -> list[np.ndarray]:
    """The arrays of a value, flattened from nested tuples."""
    if isinstance(value, tuple):
        return [array for one in value for array in _arrays(one)]
    return [np.ascontiguousarray(value)]


def _perturbed(main: Function, seed: int) -> Function:
    """``main`` with random changes in the last places of its float weights."""
    rng = np.random.default_rng(seed)

    def rule(node: Node) -> Node:
        if not isinstance(node, Constant) or node.dtype.kind != "f":
            return node
        data = node.data * (1 + ULPS * rng.standard_normal(node.shape))
        return Constant(data.astype(node.dtype), node.span)

    return rewrite(main, rule)


def _has_discontinuities(main: Function) -> bool:
    """Whether floats are rounded, compared or converted to integers in ``main``."""
    return any(isinstance(node, Call) and _is_discontinuous(node) for node in walk(main.body))


def _is_discontinuous(node: Call) -> bool:
    if isinstance(node.op, str) and (get(node.op).rounding is Rounding.STEPS or node.op in DISCONTINUOUS):
        return True
    kinds = [[t.dtype for t in (type_of(one),) if isinstance(t, TensorType)] for one in (node, *node.args)]
    results, operands = kinds[0], [dtype for some in kinds[1:] for dtype in some]
    return any(map(dtypes.is_float, operands)) and not any(map(dtypes.is_float, results))


def program(own: Signature, header: str, found: Sequence[Case], rtol: float) -> Iterator[str]:
    """Generate a ``main`` that returns 0 if all cases give their outputs, else the number of the first that
    fails.

    Floats may differ by ``rtol`` of the largest of their array.
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
    """The statement that compares output ``k`` with that of case ``number``: integers must be equal."""
    finite = np.abs(array.astype(np.float64))[np.isfinite(array.astype(np.float64))] if array.size else array
    largest = float(np.max(finite, initial=0.0)) if array.dtype.kind == "f" else 0.0
    bound = f"{tolerance} * {max(largest, 1e-6)!r}" if array.dtype.kind == "f" else "0.0"
    return (
        f"    for (int32_t i = 0; i < {array.size}; ++i) {{\n"
        f"        if (!is_near((double)made{k}[i], (double)output{number}_{k}[i], {bound})) {{\n"
        f"            return {number};\n        }}\n    }}\n"
    )


def cases_file(found: Sequence[Case]) -> bytes:
    """Return the cases as numpy's ``.npz``: ``i0_1`` is input 1 of case 0, ``o0_1`` its output 1."""
    arrays = {
        f"{letter}{number}_{k}": array
        for number, case in enumerate(found)
        for letter, some in (("i", case.inputs), ("o", case.outputs))
        for k, array in enumerate(some)
    }
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()
