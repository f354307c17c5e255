"""Every operator in the table, on examples: its type, its numpy reference and its te compute must agree.

The examples are in ``examples_*.py`` next to this file, in ``EXAMPLES``: tuples of

- the operator's name,
- its attributes (omitted ones have their defaults), which may contain dimensions,
- its inputs: an array, or a text such as ``"float32(2, n) in 0..5"``: dtype, shape (names are dimensions),
  and, optionally, the range of the random elements (for integers, the end is exclusive),
- optionally options: ``dims`` (the value of each dimension, 4 by default), ``tolerance`` (relative to the
  largest magnitude of the result; by default 1e-5, 1e-12 or 2e-3 depending on the width of the float).

A variadic operator gets the fields of its tuple as its inputs; a list among the inputs is a tuple.
"""

from __future__ import annotations

import re
import runpy
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvmlite
import tvmlite.relay.ops  # (fills the table)
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir import nodes as ir
from tvmlite.relay.ir import op
from tvmlite.relay.ir.types import (
    TensorType,
    TupleType,
    dim,
    dims_of,
    evaluate_attrs,
    evaluate_shape,
    same_shape,
    tensor_type,
)
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.lowering.lower import lower
from tvmlite.te.schedule.schedule import create_schedule
from tvmlite.te.tensor.declare import placeholder

TOLERANCES = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
INPUT = re.compile(r"(\w+)\((.*?)\)(?: in (\S+)\.\.(\S+))?")


def _every_example() -> list[tuple[str, dict[str, Any], list[Any], dict[str, Any]]]:
    rows = []
    for path in sorted(Path(__file__).parent.glob("examples_*.py")):
        for row in runpy.run_path(str(path))["EXAMPLES"]:
            rows.append((*row, {}) if len(row) == 3 else row)
    return rows


ROWS = _every_example()

MARKED = [
    pytest.param(
        row, marks=[getattr(pytest.mark, mark) for mark in ("slow", "exhaustive") if row[3].get(mark)]
    )
    for row in ROWS
]


def _name_of(row: tuple[Any, ...]) -> str:
    spread = [one for i in row[2] for one in (i if isinstance(i, list) else [i])]
    inputs = ", ".join(i if isinstance(i, str) else f"{i.dtype}{i.shape}" for i in spread)
    return f"{row[0]}[{inputs}]"


class Example:
    """One row made concrete: the call, the types of its arguments, and arrays for them."""

    def __init__(self, name: str, attrs: dict[str, Any], inputs: list[Any], options: dict[str, Any]) -> None:
        self.row = op.get(name)
        self.spread = [one for i in inputs for one in (i if isinstance(i, list) else [i])]
        self.types = [_type_of(i) for i in self.spread]
        self.counts = [len(i) if isinstance(i, list) else None for i in inputs]
        variables = [ir.Var(f"x{k}", t) for k, t in enumerate(self.types)]
        arguments = [ir.Tuple(i) if isinstance(i, tuple) else i for i in self._grouped(variables)]
        variadic = self.row.num_inputs is None
        self.call = op.make(name, *([ir.Tuple(tuple(arguments))] if variadic else arguments), **attrs)
        dims = dims_of([t.shape for t in self.types]) + dims_of([v for _, v in self.call.attrs])
        given = options.get("dims", {})
        self.binding = {d: given.get(d.name, 4) for d in dict.fromkeys(dims)}
        random = np.random.default_rng(zlib.crc32(name.encode()))
        self.arrays = [self._array(i, t, random) for i, t in zip(self.spread, self.types, strict=True)]
        self.tolerance = options.get("tolerance")

    def _grouped(self, flat: list[Any]) -> list[Any]:
        """Group ``flat``, one element per tensor, by argument: tuples where the operator takes them."""
        rest = iter(flat)
        return [
            next(rest) if count is None else tuple(next(rest) for _ in range(count)) for count in self.counts
        ]

    def _array(self, given: Any, type_: TensorType, random: np.random.Generator) -> np.ndarray:
        if isinstance(given, np.ndarray):
            return given
        shape = evaluate_shape(type_.shape, self.binding)
        matched = INPUT.fullmatch(given)
        assert matched is not None
        if type_.dtype == "bool":
            return random.integers(0, 2, shape).astype(bool)
        if dtypes.is_float(type_.dtype):
            low, high = (float(x) if x else d for x, d in zip(matched.groups()[2:], (-3, 3), strict=True))
            return random.uniform(low, high, shape).astype(dtypes.numpy_of(type_.dtype))
        least = 0 if dtypes.is_unsigned(type_.dtype) else -9
        low, high = (int(x) if x else d for x, d in zip(matched.groups()[2:], (least, 10), strict=True))
        return random.integers(low, high, shape).astype(type_.dtype)

    def inferred(self) -> list[TensorType]:
        result = self.row.infer(self.call, *self._grouped(self.types))
        return list(result.fields) if isinstance(result, TupleType) else [result]

    def expected(self) -> list[np.ndarray]:
        concrete = ir.Call(self.call.op, self.call.args, evaluate_attrs(self.call.attrs, self.binding))
        result = self.row.reference(concrete, *self._grouped(self.arrays))
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def computed(self) -> list[np.ndarray]:
        inputs = [placeholder(t.shape, t.dtype, f"x{k}") for k, t in enumerate(self.types)]
        made = self.row.compute(self.call, *self._grouped(inputs))
        outputs = list(made) if isinstance(made, (list, tuple)) else [made]
        for tensor, type_ in zip(outputs, self.inferred(), strict=True):
            assert tensor.dtype == type_.dtype
            assert same_shape(tensor.shape, type_.shape), f"te {tensor.shape}, inferred {type_.shape}"
        results = [np.zeros(evaluate_shape(t.shape, self.binding), dtypes.numpy_of(t.dtype)) for t in outputs]
        schedule = create_schedule([t.op for t in outputs])
        function = lower(schedule, [*inputs, *outputs, *self.binding])
        interpret(function, [*self.arrays, *results, *self.binding.values()])
        return results


def _type_of(given: Any) -> TensorType:
    if isinstance(given, np.ndarray):
        return tensor_type(given.shape, dtypes.check(given.dtype))
    matched = INPUT.fullmatch(given)
    assert matched is not None, f"not an input: {given!r}"
    extents = [part.strip() for part in matched[2].split(",") if part.strip()]
    return tensor_type([int(p) if p.isdecimal() else dim(p) for p in extents], matched[1])


def test_every_operator_has_at_least_two_examples() -> None:
    counts = Counter(row[0] for row in ROWS)

    assert {name: counts[name] for name in op.names() if counts[name] < 2} == {}


@pytest.mark.parametrize("row", ROWS, ids=_name_of)
def test_inferred_type_equals_that_of_the_reference(row: Any) -> None:
    example = Example(*row)

    for type_, array in zip(example.inferred(), example.expected(), strict=True):
        assert isinstance(array, np.ndarray)
        assert evaluate_shape(type_.shape, example.binding) == array.shape
        assert type_.dtype == dtypes.check(array.dtype)


@pytest.mark.parametrize("row", MARKED, ids=_name_of)
def test_compute_agrees_with_the_reference(row: Any) -> None:
    example = Example(*row)

    for actual, expected in zip(example.computed(), example.expected(), strict=True):
        _check(actual, expected, example.tolerance or TOLERANCES.get(dtypes.check(expected.dtype), 0))


COMPILED = {
    *(
        "any_layout",
        "deformable_conv",
        "detection",
        "einsum",
        "fixed_point",
        "image",
        "indexed",
        "like",
        "losses",
    ),
    *(
        "multibox",
        "pool_ranks",
        "proposal",
        "random",
        "roi_pool",
        "search",
        "space_batch",
        "sparse",
        "statistics",
    ),
    "upsampling",
}
"""The families whose operators are also compiled: rewritten as other operators, or lowered to loops."""


def _compiled_rows() -> dict[str, Any]:
    """Return the first example of each operator of those families, and of those with other layouts."""
    found: dict[str, Any] = {}
    for row in ROWS:
        family = str(op.get(row[0]).compute.__module__).rpartition(".")[2]
        if family in COMPILED or any("layout" in key and value != "NCHW" for key, value in row[1].items()):
            found.setdefault(row[0], row)
    return {name: row for name, row in found.items() if "contrib" not in name and name != "layout_transform"}


@pytest.mark.slow
@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("row", _compiled_rows().values(), ids=_name_of)
def test_compiled_operator_agrees_with_the_reference(row: Any, target: str) -> None:
    example = Example(*row)
    spread = [one.fields if isinstance(one, ir.Tuple) else (one,) for one in example.call.args]
    parameters = tuple(one for group in spread for one in group)

    made = tvmlite.compile(ir.Module.from_expr(ir.Function(parameters, example.call)), target=target)

    results = made(*example.arrays)
    listed = list(results) if isinstance(results, (list, tuple)) else [results]
    for actual, expected in zip(listed, example.expected(), strict=True):
        _check(actual, expected, 10 * (example.tolerance or TOLERANCES.get(dtypes.check(expected.dtype), 0)))


def _check(actual: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Check that integers are equal and that floats are near, relative to the largest magnitude."""
    if not dtypes.is_float(dtypes.check(expected.dtype)):
        np.testing.assert_array_equal(actual, expected)
        return
    wanted = expected.astype(np.float64)
    finite = np.abs(wanted[np.isfinite(wanted)])
    np.testing.assert_allclose(
        actual.astype(np.float64), wanted, rtol=tolerance, atol=tolerance * finite.max(initial=0.0)
    )


def test_homogeneous_operators_scale_with_their_arguments() -> None:
    """Scaling by a power of two rounds nothing; ``requantize`` moves such scales through these operators."""
    seen = set()
    for row in ROWS:
        example = Example(*row)
        floats = [dtypes.is_float(one.dtype) for one in example.types]
        if not example.row.homogeneous or not any(floats):
            continue
        seen.add(example.row.name)
        wanted = [one / 4 for one in example.expected()]
        example.arrays = [
            one / 4 if is_float else one for one, is_float in zip(example.arrays, floats, strict=True)
        ]
        for one, other in zip(wanted, example.expected(), strict=True):
            np.testing.assert_array_equal(one, other)
    assert seen == {name for name, one in op.OPERATORS.items() if one.homogeneous}
