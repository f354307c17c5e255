"""Normalizations become one operator, in all forms that exporters write."""

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.recognize.recognize_norms import recognize_norms

rng = np.random.default_rng(0)
x = var("x", (2, "n", 8))
gamma = constant(rng.uniform(0.5, 2, 8).astype("float32"))
beta = constant(rng.standard_normal((1, 1, 8)).astype("float32"))
EPSILON = constant(1e-3, "float32")


def scalar(value: float) -> Expr:
    return constant(value, "float32")


def mean(value: Expr) -> Expr:
    return make("mean", value, axis=(-1,), keepdims=True)


def mean_by_sum(value: Expr) -> Expr:
    return make("divide", make("sum", value, axis=(2,), keepdims=True), scalar(8))


def mean_unsqueezed(value: Expr) -> Expr:
    return make("expand_dims", make("mean", value, axis=2), axis=2)


def by_product(value: Expr) -> Expr:
    return make("multiply", value, value)


def by_power(value: Expr) -> Expr:
    return make("power", value, scalar(2))


ROOTS = {
    "sqrt": lambda v, s: make("divide", v, make("sqrt", s)),
    "power": lambda v, s: make("divide", v, make("power", s, scalar(0.5))),
    "rsqrt": lambda v, s: make("multiply", make("rsqrt", s), v),
    "inverse": lambda v, s: make("multiply", v, make("divide", scalar(1), make("sqrt", s))),
    "negative power": lambda v, s: make("multiply", v, make("power", s, scalar(-0.5))),
}


def written_out(value: Expr, centred: bool, root, square=by_product, average=mean) -> Expr:
    data = make("subtract", value, average(value)) if centred else value
    return root(data, make("add", average(square(data)), EPSILON))


def recognized(body: Expr, shape=(2, 3, 8)) -> Expr:
    """Return the body after the pass, and check that its results are unchanged."""
    before = Module({"main": Function((x,), body)})
    after = recognize_norms(before)
    data = rng.standard_normal(shape).astype("float32")
    np.testing.assert_allclose(interpret(after, [data]), interpret(before, [data]), rtol=1e-4, atol=1e-5)
    return after.main.body


def names(body: Expr) -> list:
    return [node.op for node in postorder(body) if isinstance(node, Call)]


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("square", [by_product, by_power])
@pytest.mark.parametrize("average", [mean, mean_by_sum, mean_unsqueezed])
@pytest.mark.parametrize(("centred", "name"), [(True, "nn.layer_norm"), (False, "nn.rms_norm")])
def test_every_form_becomes_one_operator(root: str, square, average, centred: bool, name: str) -> None:
    plain = written_out(x, centred, ROOTS[root], square, average)
    made = recognized(make("multiply", gamma, plain))

    assert names(made) == [name]
    assert made["epsilon"] == pytest.approx(1e-3)
    np.testing.assert_array_equal(made.args[1].data, gamma.data)


@pytest.mark.parametrize("scale_first", [True, False])
def test_gamma_and_beta_of_any_rank_become_arguments(scale_first: bool) -> None:
    plain = written_out(x, True, ROOTS["sqrt"])
    scaled = make("multiply", *((plain, gamma) if scale_first else (gamma, plain)))
    made = recognized(make("add", beta, scaled))

    assert names(made) == ["nn.layer_norm"]
    np.testing.assert_array_equal(made.args[2].data, beta.data.reshape(8))


def test_a_scalar_gamma_is_broadcast_to_the_row() -> None:
    made = recognized(make("multiply", written_out(x, False, ROOTS["rsqrt"]), scalar(3)))

    assert names(made) == ["nn.rms_norm"]
    assert (made.args[1].data == 3).all()


def test_formulas_similar_to_a_norm_are_left_unchanged() -> None:
    other = make("exp", x)
    root = ROOTS["sqrt"]
    several = make("mean", by_product(x), axis=(1, 2), keepdims=True)
    cases = [
        root(x, make("add", mean(by_product(other)), EPSILON)),
        root(x, make("add", mean(x), EPSILON)),
        root(x, make("add", several, EPSILON)),
        make("divide", x, make("add", mean(by_product(x)), EPSILON)),
        root(make("subtract", x, mean(other)), make("add", mean(by_product(x)), EPSILON)),
    ]
    for body in cases:
        module = Module({"main": Function((x,), body)})
        assert recognize_norms(module) is module


def test_a_factor_along_another_axis_stays_a_multiplication() -> None:
    rows = constant(rng.standard_normal((3, 1)).astype("float32"))
    fixed = var("x", (2, 3, 8))
    body = make("multiply", written_out(fixed, True, ROOTS["sqrt"]), rows)
    after = recognize_norms(Module({"main": Function((fixed,), body)})).main.body

    assert names(after) == ["nn.layer_norm", "multiply"]
