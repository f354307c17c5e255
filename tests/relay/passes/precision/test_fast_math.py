"""Fast functions are within the errors stated by the pass."""

import math

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Function, Module, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ops.elementwise import fast
from tvmlite.relay.passes import fast_math, pipeline

x = var("x", ("n",))
EVERYWHERE = np.concatenate([np.linspace(-12, 12, 400_001), np.linspace(-86.9, 87.9, 100_001)]).astype(
    "float32"
)


def module_of(op: str, **attrs) -> Module:
    return Module({"main": Function((x,), make(op, x, **attrs))})


def exact(op: str, values: np.ndarray, **attrs) -> np.ndarray:
    wide = values.astype("float64")
    curve = np.vectorize(math.erf)
    if op == "nn.gelu" and attrs["approximate"] == "none":
        return 0.5 * wide * (1 + curve(wide * math.sqrt(0.5)))
    if op == "nn.gelu":
        return 0.5 * wide * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))
    made = {"exp": np.exp, "tanh": np.tanh, "erf": curve, "sigmoid": lambda v: 1 / (1 + np.exp(-v))}
    return wide * made["sigmoid"](wide) if op == "nn.silu" else made[op](wide)


@pytest.mark.parametrize(
    ("op", "attrs", "relative", "absolute"),
    [
        ("exp", {}, fast.EXP_ERROR, 0),
        ("tanh", {}, 0, fast.TANH_ERROR),
        ("erf", {}, 0, fast.ERF_ERROR),
        ("sigmoid", {}, fast.EXP_ERROR, 1e-37),
        ("nn.silu", {}, fast.EXP_ERROR, 1e-35),
    ],
)
def test_errors_are_within_the_stated_bounds(op: str, attrs: dict, relative: float, absolute: float) -> None:
    made = compile(module_of(op, **attrs), opt_level=4)(EVERYWHERE)
    wanted = exact(op, EVERYWHERE, **attrs)

    assert (np.abs(made - wanted) <= relative * np.abs(wanted) + absolute).all()


@pytest.mark.parametrize("kind", ["none", "tanh"])
def test_gelu_error_is_within_the_bound_of_its_tanh(kind: str) -> None:
    made = compile(module_of("nn.gelu", approximate=kind), opt_level=4)(EVERYWHERE)
    gap = np.abs(made - exact("nn.gelu", EVERYWHERE, approximate=kind))

    assert (gap <= fast.TANH_ERROR * np.maximum(np.abs(EVERYWHERE), 1e-3)).all()


@pytest.mark.parametrize("op", ["exp", "tanh", "erf", "sigmoid", "nn.silu", "nn.gelu"])
def test_results_are_nearly_unchanged(op: str) -> None:
    before = module_of(op)
    after = fast_math(before)
    data = np.linspace(-9, 9, 101, dtype="float32")

    assert any(str(n.op).startswith("fast_") for n in postorder(after.main.body) if isinstance(n, Call))
    np.testing.assert_allclose(interpret(after, [data]), interpret(before, [data]), rtol=1e-5, atol=1e-5)


def test_other_operators_and_dtypes_are_left_unchanged() -> None:
    half = var("h", (4,), "float16")
    for body in (make("exp", half), make("sqrt", x), make("nn.softmax", x)):
        module = Module({"main": Function((half, x), body)})
        assert fast_math(module) is module


def test_fast_math_is_used_at_level_4_only() -> None:
    for level in range(5):
        names = {one.__name__ for one in pipeline(level).passes}  # type: ignore[attr-defined]
        assert ("fast_math" in names) == (level == 4)
