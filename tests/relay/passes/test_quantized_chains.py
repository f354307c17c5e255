"""Which nodes a step is made of, and what two passes do to them."""

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.quantized_chains import exactly_determined, quantized_chains
from tvmlite.relay.passes.recognize.recognize_activations import recognize_activations
from tvmlite.relay.passes.simplify.fold_scale_axis import fold_scale_axis

image = var("x", (1, 4, 5, 5))


def const(*shape: int) -> Expr:
    return constant(np.random.default_rng(0).standard_normal(shape).astype("float32"))


def scaled() -> Call:
    return make("multiply", make("nn.conv2d", image, const(8, 4, 3, 3), padding=(1, 1, 1, 1)), const(8, 1, 1))


def hard_swish(x: Expr) -> Call:
    line = make("clip", make("add", x, constant(3.0, "float32")), a_min=0.0, a_max=6.0)
    return make("divide", make("multiply", x, line), constant(6.0, "float32"))


def operators(body: Expr) -> list[object]:
    return [node.op for node in postorder(body) if isinstance(node, Call)]


def quantized(x: Expr) -> Expr:
    """By a scale of the data's own range."""
    scale = make("divide", make("max", x, axis=(0, 1, 2, 3), keepdims=False), constant(255.0, "float32"))
    return make("qnn.quantize", make("nn.relu", x), scale, constant(0, "int32"), out_dtype="uint8")


@pytest.mark.parametrize(
    "step",
    [
        quantized,
        lambda x: make("round", make("nn.relu", x)),
        lambda x: make("cast", make("reshape", x, newshape=(-1,)), dtype="int32"),
        lambda x: make("floor", make("nn.max_pool2d", x, pool_size=(2, 2))),
    ],
)
def test_a_chain_of_elementwise_operators_leads_to_a_step(step) -> None:
    value = scaled()
    conv, _ = value.args

    inside = quantized_chains(step(value))

    assert value in inside
    assert conv in inside
    assert image not in inside, "before the sum"


@pytest.mark.parametrize(
    "behind", [lambda x: x, lambda x: make("nn.relu", x), lambda x: make("cast", x, dtype="float64")]
)
def test_without_a_step_there_is_no_chain(behind) -> None:
    assert not quantized_chains(behind(scaled()))


def test_a_sum_between_ends_the_chain() -> None:
    value = scaled()
    body = make("round", make("nn.conv2d", value, const(2, 8, 3, 3)))

    assert value not in quantized_chains(body)


def test_a_scale_before_a_step_stays_outside_the_sum() -> None:
    steps, floats = (Module({"main": Function((image,), body)}) for body in (quantized(scaled()), scaled()))

    assert fold_scale_axis(steps) is steps
    assert operators(fold_scale_axis(floats).main.body) == ["nn.conv2d"]


def test_a_sum_of_whole_numbers_is_settled_until_a_transcendental_function() -> None:
    codes = make("cast", quantized(image), dtype="int32")
    total = make("nn.conv2d", codes, constant(np.ones((2, 4, 3, 3), "int32")))
    scaled = make("multiply", make("cast", total, dtype="float32"), const(2, 1, 1))
    curve = make("sigmoid", scaled)
    body = make("multiply", scaled, curve)

    exact = exactly_determined(body)

    assert {image, codes, total, scaled} <= exact
    assert not {curve, body} & exact


def test_a_sum_of_fractions_is_not_settled() -> None:
    conv = make("nn.conv2d", image, const(8, 4, 3, 3))
    maximum = make("max", image, axis=(1,), keepdims=False)

    assert conv not in exactly_determined(conv)
    assert maximum in exactly_determined(maximum)


@pytest.mark.parametrize("body", [quantized(hard_swish(scaled())), hard_swish(image)])
def test_hard_swish_keeps_its_order_where_its_bits_are_stated_or_steps_are_made_of_it(body: Expr) -> None:
    module = Module({"main": Function((image,), body)})

    assert recognize_activations(module) is module


def test_hard_swish_of_a_sum_of_fractions_is_an_operator() -> None:
    module = Module({"main": Function((image,), hard_swish(make("nn.relu", scaled())))})

    assert operators(recognize_activations(module).main.body)[-1] == "nn.hard_swish"
