"""Dense layers with 24-bit weights against plain numpy: errors, layouts, refused operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tvmlite.core.errors import TvmliteError
from tvmlite.driver import compile
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.techniques.pack24.operator import DENSE, ERROR, GROUP, LEAST, STATED_ERROR, packed24, unpacked24


def run(data: np.ndarray, weight: np.ndarray, columns: int) -> np.ndarray:
    """Run the compiled kernel."""
    x, packed = var("x", data.shape), constant(packed24(weight, columns))
    body = make(DENSE, x, packed, units=len(weight), weight_layout=f"NC{columns}n")
    return np.asarray(compile(Module({"main": Function((x,), body)}))(data))


@pytest.mark.parametrize("columns", [GROUP, 2 * GROUP])
@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_weights_are_rounded_within_half_of_the_last_bit(count: int, columns: int) -> None:
    rng = np.random.default_rng(count)
    weight = (rng.standard_normal((count, 7)) * np.exp(3 * rng.standard_normal((count, 7)))).astype("float32")

    words = packed24(weight, columns)

    blocks = -(-count // columns)
    assert (words.shape, words.dtype) == ((blocks, 7, columns // GROUP, 3, 16), np.dtype("uint32"))
    held = unpacked24(words).T[:count]
    assert (np.abs(held / weight.astype("float64") - 1) <= ERROR).all()


def test_each_vector_of_a_group_is_where_it_is_read() -> None:
    weight = np.arange(1, 2 * GROUP + 1, dtype="float32")[:, None] * np.ones((1, 3), "float32")

    np.testing.assert_array_equal(np.round(unpacked24(packed24(weight, 2 * GROUP))), weight.T)


def test_zeros_are_stored_as_tiny_normal_numbers() -> None:
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((70, 9)).astype("float32") * (rng.random((70, 9)) < 0.5)

    words = packed24(weight, GROUP)

    held = unpacked24(words).T
    assert np.abs(held[:70][weight == 0]).max() <= np.abs(weight).max() * LEAST * (1 + ERROR)
    assert np.abs(held[70:]).max() <= np.abs(weight).max() * LEAST * (1 + ERROR)
    assert (np.abs(words.view("float32")) >= np.finfo("float32").tiny).all()
    assert np.isfinite(run(np.ones((1, 9), "float32"), np.zeros((70, 9), "float32"), GROUP)).all()


KINDS: dict[str, Callable[[Any, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "normal": lambda rng, x, w: (x, w),
    "positive": lambda rng, x, w: (np.abs(x), w),
    "far from zero": lambda rng, x, w: (x + 10, w),
    "columns of other scales": lambda rng, x, w: (x, w * np.exp(1.5 * rng.standard_normal((len(w), 1)))),
    "small": lambda rng, x, w: (x * 1e-10, w * 1e-10),
    "many zeros": lambda rng, x, w: (x, w * (rng.random(w.shape) < 0.1)),
}


@pytest.mark.parametrize("rows, columns", [(1, 2 * GROUP), (2, 2 * GROUP), (3, GROUP), (4, GROUP)])
@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_within_the_stated_bound(kind: str, rows: int, columns: int) -> None:
    rng = np.random.default_rng(rows)
    data, weight = rng.standard_normal((rows, 300)), rng.standard_normal((150, 300))
    data, weight = (one.astype("float32") for one in KINDS[kind](rng, data, weight))

    got, want = run(data, weight, columns), data.astype("float64") @ weight.T.astype("float64")

    assert np.abs(got - want).max() <= STATED_ERROR * np.abs(want).max()


def layer(data: Any = (1, 9), weight: Any = (2, 9, 2, 3, 16), dtype: str = "uint32", **attrs: Any) -> Any:
    given = {"units": 200, **attrs}
    return type_of(make(DENSE, var("x", data), var("w", weight, dtype), **given))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weight_layout": "NC100n"}, "weight_layout is 'NC100n', expected such as 'NC64n'"),
        ({"weight_layout": "NC64n"}, r"data is .*\(1, 9\).*, weight is .*\(2, 9, 2, 3, 16\)"),
        ({"data": (1, 8)}, r"data is .*\(1, 8\).*, weight is"),
        ({"dtype": "int32"}, "expected float32 and uint32"),
        ({"units": 128}, r"units is 128, weight is"),
        ({"units": 257}, r"units is 257, weight is"),
    ],
)
def test_invalid_operands_are_refused(given: dict[str, Any], message: str) -> None:
    assert layer().shape == (1, 200)
    with pytest.raises(TvmliteError, match=message):
        layer(**given)
