"""Activations become one operator, whatever the order of their factors."""

import math

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.recognize.recognize_activations import recognize_activations

rng = np.random.default_rng(0)
x = var("x", (3, "n"))
y = make("add", x, constant(0.25, "float32"))


def c(value: float) -> Expr:
    return constant(value, "float32")


def mul(*values: Expr) -> Expr:
    made = values[0]
    for value in values[1:]:
        made = make("multiply", made, value)
    return made


def add(a: Expr, b: Expr) -> Expr:
    return make("add", a, b)


def div(a: Expr, b: Expr) -> Expr:
    return make("divide", a, b)


def erf(v: Expr) -> Expr:
    return make("erf", div(v, c(1.4142135)))


def tanh(v: Expr) -> Expr:
    cube = mul(make("power", v, c(3)), c(0.044715))
    return make("tanh", mul(c(math.sqrt(2 / math.pi)), add(v, cube)))


def fast(v: Expr) -> Expr:
    """Return the formula that onnxruntime's FastGelu is decomposed into."""
    return make("tanh", mul(v, add(c(0.797885), mul(c(0.0356774), mul(v, v)))))


def softplus(v: Expr) -> Expr:
    return make("log", add(c(1), make("exp", v)))


def safe_softplus(v: Expr) -> Expr:
    small = make("exp", make("negative", make("abs", v)))
    return add(make("maximum", v, c(0)), make("log", add(small, c(1))))


def relu6(v: Expr) -> Expr:
    return make("minimum", make("maximum", v, c(0)), c(6))


FORMS = {
    "nn.gelu": [
        lambda v: mul(mul(v, add(erf(v), c(1))), c(0.5)),
        lambda v: mul(v, mul(c(0.5), add(c(1), erf(v)))),
        lambda v: mul(add(mul(c(0.5), erf(v)), c(0.5)), v),
        lambda v: add(mul(v, c(0.5)), mul(mul(v, c(0.5)), erf(v))),
        lambda v: div(mul(add(make("erf", mul(v, c(0.70710677))), c(1)), v), c(2)),
        lambda v: mul(mul(c(0.5), v), add(tanh(v), c(1))),
        lambda v: mul(v, add(c(0.5), mul(fast(v), c(0.5)))),
        lambda v: mul(c(0.5), mul(v, add(c(1.0), fast(v)))),
    ],
    "nn.silu": [
        lambda v: mul(v, make("sigmoid", v)),
        lambda v: mul(make("sigmoid", v), v),
        lambda v: div(v, add(c(1), make("exp", make("negative", v)))),
        lambda v: mul(v, div(c(1), add(make("exp", mul(v, c(-1))), c(1)))),
    ],
    "nn.hard_swish": [
        lambda v: mul(v, make("clip", add(mul(v, c(1 / 6)), c(0.5)), a_min=0.0, a_max=1.0)),
        lambda v: div(mul(v, make("clip", add(v, c(3)), a_min=0.0, a_max=6.0)), c(6)),
        lambda v: mul(v, mul(relu6(add(c(3), v)), c(0.16666667))),
        lambda v: mul(div(make("maximum", c(0), make("minimum", add(v, c(3)), c(6))), c(6)), v),
    ],
    "nn.mish": [
        lambda v: mul(v, make("tanh", softplus(v))),
        lambda v: mul(make("tanh", safe_softplus(v)), v),
    ],
}


def recognized(body: Expr) -> Expr:
    before = Module({"main": Function((x,), body)})
    after = recognize_activations(before)
    data = (rng.standard_normal((3, 50)) * 4).astype("float32")
    np.testing.assert_allclose(interpret(after, [data]), interpret(before, [data]), rtol=1e-4, atol=2e-5)
    return after.main.body


SUM = make("cumsum", x, axis=1)


@pytest.mark.parametrize("data", [SUM, make("add", SUM, constant(0.25, "float32"))])
@pytest.mark.parametrize(("name", "form"), [(n, form) for n, forms in FORMS.items() for form in forms])
def test_every_form_becomes_one_operator(name: str, form, data: Expr) -> None:
    made = recognized(form(data))

    assert isinstance(made, Call)
    assert (made.op, made.args) == (name, (data,))


@pytest.mark.parametrize(("curve", "kind"), [(erf, "none"), (tanh, "tanh"), (fast, "tanh")])
def test_gelu_records_the_approximation(curve, kind: str) -> None:
    assert recognized(mul(x, c(0.5), add(curve(x), c(1))))["approximate"] == kind


@pytest.mark.parametrize(
    "body",
    [
        mul(x, add(erf(x), c(1))),
        mul(x, c(0.5), add(erf(y), c(1))),
        mul(x, c(0.5), add(make("erf", x), c(1))),
        mul(y, make("sigmoid", x)),
        mul(x, make("sigmoid", mul(x, c(1.702)))),
        mul(x, make("clip", add(mul(x, c(0.2)), c(0.5)), a_min=0.0, a_max=1.0)),
        mul(x, make("tanh", x)),
        make("minimum", make("maximum", x, c(2)), c(1)),
    ],
)
def test_other_formulas_are_left_unchanged(body: Expr) -> None:
    module = Module({"main": Function((x,), body)})

    assert recognize_activations(module) is module


def test_minimum_and_maximum_with_a_constant_row_become_a_clip() -> None:
    made = recognized(make("maximum", make("minimum", x, c(6)), constant([0.0], "float32")))

    assert [node.op for node in postorder(made) if isinstance(node, Call)] == ["clip"]
