"""Dense layers by Winograd's inner product against plain numpy: scales, stated error, refused operands."""

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
from tvmlite.techniques.inner_product.operator import DENSE, GROUPS, Terms, Weight, stated_error

LANES = 16


def quick(data: np.ndarray, plain: np.ndarray) -> np.ndarray:
    """Run the compiled kernel with a rescaled weight."""
    weight, x = Weight.of(plain, LANES), var("x", data.shape)
    parts = (constant(part) for part in (weight.packed, weight.terms, weight.columns))
    body = make(DENSE, x, *parts, units=len(plain))
    return np.asarray(compile(Module({"main": Function((x,), body)}))(data))


def relative_error(data: np.ndarray, plain: np.ndarray) -> float:
    """The largest error of the kernel, relative to the largest result."""
    want = data.astype("float64") @ plain.T.astype("float64")
    return float(np.abs(quick(data, plain) - want).max() / np.abs(want).max())


@pytest.mark.parametrize("group", GROUPS)
def test_the_steps_of_a_group_take_each_term_once(group: int) -> None:
    terms = Terms(group * 5, group)

    assert [term for step in terms.steps for term in step] == list(range(group))
    assert sum(len(step) == 2 for step in terms.steps) == group // 3
    assert all(len(step) <= 2 for step in terms.steps)


@pytest.mark.parametrize(
    ("count", "group"),
    [(3, 3), (48, 3), (768, 3), (256, 16), (64, 16), (40, 8), (8, 8), (20, None), (0, None)],
)
def test_the_first_group_size_that_divides_evenly_is_chosen(count: int, group: int | None) -> None:
    terms = Terms.of(count)

    assert (None if terms is None else terms.group) == group


def scaled(rng: np.random.Generator, *shape: int, spread: float = 1.5) -> np.ndarray:
    return np.exp(spread * rng.standard_normal(shape)).astype("float32")


KINDS: dict[str, Callable[[Any, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "normal": lambda rng, x, w: (x, w),
    "cut at zero": lambda rng, x, w: (np.maximum(x, 0), w),
    "far from zero": lambda rng, x, w: (x + 10, w),
    "rows of other scales": lambda rng, x, w: (x * scaled(rng, len(x), 1), w),
    "columns of other scales": lambda rng, x, w: (x, w * scaled(rng, len(w), 1)),
    "terms of other scales": lambda rng, x, w: (x * scaled(rng, 1, x.shape[1]), w),
    "small data, small weights": lambda rng, x, w: (x * 1e-20, w * 1e-12),
    "large data, small weights": lambda rng, x, w: (x * 1e30, w * 1e-6),
    "weights of terms against their data": lambda rng, x, w: (
        (scale := scaled(rng, 1, x.shape[1])) * x,
        w / scale,
    ),
    "many zeros": lambda rng, x, w: (x * (rng.random(x.shape) < 0.1), w * (rng.random(w.shape) < 0.1)),
}


@pytest.mark.parametrize("terms", [48, 64, 200, 768, 3072])
@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_within_the_stated_bound(kind: str, terms: int) -> None:
    rng = np.random.default_rng(terms)
    data, weight = rng.standard_normal((33, terms), "float32"), rng.standard_normal((50, terms), "float32")
    data, weight = (one.astype("float32") for one in KINDS[kind](rng, data, weight))

    assert relative_error(data, weight) <= stated_error(terms)


def test_scaling_by_powers_of_two_is_exact() -> None:
    rng = np.random.default_rng(3)
    data, weight = rng.standard_normal((9, 96), "float32"), rng.standard_normal((20, 96), "float32")
    rows, terms = (np.exp2(rng.integers(-9, 9, shape)).astype("float32") for shape in ((9, 1), (1, 96)))

    changed = quick(data * rows * terms, 4 * weight / terms)

    np.testing.assert_array_equal(changed, 4 * quick(data, weight) * rows)


def test_rows_and_columns_of_zeros_give_zeros() -> None:
    rng = np.random.default_rng(4)
    data, weight = rng.standard_normal((9, 48), "float32"), rng.standard_normal((20, 48), "float32")
    data[3], weight[7], weight[:, 11] = 0, 0, 0

    made = quick(data, weight)

    np.testing.assert_allclose(made[3], 0, atol=1e-40)
    np.testing.assert_allclose(made, data @ weight.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(made[:, 7], 0, atol=1e-6)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_non_finite_element_spoils_only_its_row(value: float) -> None:
    rng = np.random.default_rng(5)
    data, weight = rng.standard_normal((9, 48), "float32"), rng.standard_normal((20, 48), "float32")
    want, data[2, 5] = data @ weight.T, value

    made = quick(data, weight)

    assert not np.isfinite(made[2]).any()
    rest = [n for n in range(9) if n != 2]
    np.testing.assert_allclose(made[rest], want[rest], rtol=1e-4, atol=1e-5)


def test_the_weight_is_rescaled_by_powers_of_two() -> None:
    rng = np.random.default_rng(6)
    plain = rng.standard_normal((20, 48), "float32") * scaled(rng, 20, 1) * scaled(rng, 1, 48)

    weight = Weight.of(plain, LANES)

    assert (weight.packed.shape, weight.terms.shape, weight.columns.shape) == ((2, 48, 16), (48,), (2, 2, 16))
    powers = [*weight.terms, *weight.columns[:, 1].ravel()]
    assert {float(np.frexp(power)[0]) for power in powers} == {0.5}
    columns = weight.packed.swapaxes(1, 2).reshape(32, 48)[:20]
    scales = weight.columns[:, 1].reshape(32, 1)[:20]
    np.testing.assert_array_equal(columns * scales * weight.terms, plain)
    assert (np.abs(columns).mean(axis=1) >= 1).all()
    assert (np.abs(columns).mean(axis=1) < 2).all()


def layer(**changed: Any) -> Any:
    given = {"data": (9, 48), "weight": (2, 48, 16), "terms": (48,), "columns": (2, 2, 16)}
    dtype, attrs = changed.pop("dtype", "float32"), changed.pop("attrs", {})
    return type_of(
        make(DENSE, *(var(name, shape, dtype) for name, shape in {**given, **changed}.items()), **attrs)
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"data": (9, 47)}, r"data is \(9, 47\), weight is \(2, 48, 16\)"),
        ({"attrs": {"units": 50}}, r"units is 50, weight is \(2, 48, 16\)"),
        ({"terms": (47,)}, r"terms are .*\(47,\).*, columns are .*, weight is"),
        ({"columns": (2, 16)}, r"columns are .*\(2, 16\).*, weight is"),
        ({"dtype": "float64"}, "data is .*float64.*: expected float32"),
        (
            {"data": (9, 20), "weight": (2, 20, 16), "terms": (20,)},
            "the sums have 20 terms, expected a multiple of one of 3, 16, 8",
        ),
    ],
)
def test_invalid_operands_are_refused(given: dict[str, Any], message: str) -> None:
    assert layer().shape == (9, 32)
    with pytest.raises(TvmliteError, match=message):
        layer(**given)
