"""Attention as exporters write it becomes one operator, with scales, masks and transposes in any position."""

import math

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.machine.target import Target
from tvmlite.relay.entry.lower import lower_group
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import dim
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes import eliminate_common_subexpr, pipeline, simplify_expr
from tvmlite.relay.passes.recognize.recognize_attention import recognize_attention
from tvmlite.te.loop import ir as loop

rng = np.random.default_rng(0)
B, S, T, H, D = 2, dim("s"), dim("t"), 4, 6
q = var("q", (B, S, H * D))
k = var("k", (B, T, H * D))
v = var("v", (B, T, H * D))
bias = var("bias", (B, 1, 1, T))
square = var("square", (S, T))
seen = var("seen", (1, 1, S, T), "bool")
INPUTS = (q, k, v, bias, square, seen)


def scalar(value: float) -> Expr:
    return constant(value, "float32")


def reshape(value: Expr, *shape) -> Expr:
    return make("reshape", value, newshape=shape, allowzero=True)


def transpose(value: Expr, *axes: int) -> Expr:
    return make("transpose", value, axes=axes)


def times(value: Expr, factor: float) -> Expr:
    return make("multiply", value, scalar(factor))


def heads(value: Expr, length, axes=(0, 2, 1, 3), count: int = H) -> Expr:
    return transpose(reshape(value, B, length, count, D), *axes)


def matmul(a: Expr, b: Expr, m, inner, n) -> Expr:
    """Return a product of rank 4 as the importer writes it."""
    flat = make(
        "nn.batch_matmul", reshape(a, B * H, m, inner), reshape(b, B * H, inner, n), transpose_b=False
    )
    return reshape(flat, B, H, m, n)


def softmax(value: Expr) -> Expr:
    return make("nn.softmax", value, axis=-1)


def joined(value: Expr) -> Expr:
    return reshape(transpose(value, 0, 2, 1, 3), B, S, H * D)


def attention(
    scores_of=lambda s: times(s, 0.4), query=lambda x: x, key=lambda x: x, value=lambda x: x
) -> Expr:
    """Return attention, with a change of the scores, the query (heads first) or the key (lengths last)."""
    left, right = query(heads(q, S)), key(heads(k, T, (0, 2, 3, 1)))
    weights = softmax(scores_of(matmul(left, right, S, D, T)))
    return joined(matmul(weights, value(heads(v, T)), S, T, D))


def arrays() -> list[np.ndarray]:
    made = [rng.standard_normal((B, n, H * D)).astype("float32") for n in (5, 7, 7)]
    hidden = np.where(np.arange(7) < 5, 0, -1e4).astype("float32")
    triangle = np.tril(np.ones((5, 7), bool), 1)
    return [
        *made,
        np.tile(hidden, (B, 1, 1, 1)),
        rng.standard_normal((5, 7)).astype("float32"),
        triangle[None, None],
    ]


def recognized(body: Expr) -> Module:
    """Return the module after the pass, and check that its results are unchanged."""
    before = Module({"main": Function(INPUTS, body)})
    after = recognize_attention(eliminate_common_subexpr(simplify_expr(before)))
    verify(after)
    data = arrays()
    np.testing.assert_allclose(interpret(after, data), interpret(before, data), rtol=1e-4, atol=1e-5)
    return after


def calls(module: Module) -> list[Call]:
    return [node for node in postorder(module.main.body) if isinstance(node, Call)]


def the_attention(module: Module) -> Call:
    made = calls(module)
    assert not [one.op for one in made if one.op in ("nn.batch_matmul", "nn.softmax")]
    (found,) = [one for one in made if one.op == "nn.attention"]
    return found


SCALES = {
    "behind the product": (attention(), 0.4),
    "as a divisor": (attention(lambda s: make("divide", s, scalar(2.5))), 0.4),
    "on the query": (attention(lambda s: s, query=lambda x: times(x, 0.4)), 0.4),
    "on both": (attention(lambda s: s, query=lambda x: times(x, 0.5), key=lambda x: times(x, 0.8)), 0.4),
    "behind the mask": (attention(lambda s: times(make("add", s, times(bias, 2.5)), 0.4)), 0.4),
    "nowhere": (attention(lambda s: s), 1.0),
}


@pytest.mark.parametrize("where", SCALES)
def test_scales_are_recognized_in_every_position(where: str) -> None:
    body, scale = SCALES[where]

    assert the_attention(recognized(body))["scale"] == pytest.approx(scale)


LEAST = float(np.finfo(np.float32).min)
wide = make("broadcast_to", bias, shape=(B, H, 1, T))
MASKS = {
    "a row for each batch": lambda s: make("add", s, bias),
    "before the scores": lambda s: make("add", bias, s),
    "repeated for each head": lambda s: make("add", s, wide),
    "a square": lambda s: make("add", times(s, 0.5), square),
    "two": lambda s: make("add", make("add", s, bias), square),
    "filled with minus infinity": lambda s: make("where", seen, s, scalar(-np.inf)),
    "filled with the least float": lambda s: make("where", seen, times(s, 0.3), scalar(LEAST)),
    "filled where hidden": lambda s: make("where", make("logical_not", seen), scalar(LEAST), s),
}


@pytest.mark.parametrize("mask", MASKS)
def test_added_and_filled_masks_are_recognized(mask: str) -> None:
    assert the_attention(recognized(attention(MASKS[mask])))["layout"] == "bshd"


def test_a_reshape_between_scores_and_softmax_is_recognized() -> None:
    left, right = reshape(heads(q, S), B * H, S, D), reshape(heads(k, T), B * H, T, D)
    scores = make("nn.batch_matmul", left, right, transpose_b=True)
    weights = softmax(times(scores, 0.3))
    flat = make("nn.batch_matmul", weights, reshape(heads(v, T), B * H, T, D), transpose_b=False)

    found = the_attention(recognized(joined(reshape(flat, B, H, S, D))))

    assert found["scale"] == pytest.approx(0.3)


def guarded(condition_of) -> Expr:
    """Return attention with zero weights where a condition on them holds."""
    scores = make(
        "where", seen, times(matmul(heads(q, S), heads(k, T, (0, 2, 3, 1)), S, D, T), 0.4), scalar(-np.inf)
    )
    weights = softmax(scores)
    kept = make("where", condition_of(weights), scalar(0), weights)
    return joined(matmul(kept, heads(v, T), S, T, D))


def test_zeros_for_fully_masked_queries_are_recognized() -> None:
    module = Module({"main": Function(INPUTS, guarded(lambda weights: make("isnan", weights)))})
    after = recognize_attention(eliminate_common_subexpr(simplify_expr(module)))
    data = arrays()
    data[-1][..., 2, :] = False
    wanted = interpret(module, data)

    assert the_attention(after)["zero_hidden"]
    assert np.isfinite(wanted).all()
    np.testing.assert_allclose(interpret(after, data), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(compile(module)(*data), wanted, rtol=1e-4, atol=1e-5)


def test_rows_set_to_zero_by_another_condition_are_zeroed_after_attention() -> None:
    lowest = make("max", make("where", seen, scalar(0), scalar(-np.inf)), axis=(3,), keepdims=True)
    body = guarded(lambda weights: make("equal", lowest, scalar(-np.inf)))
    module = Module({"main": Function(INPUTS, body)})
    after = recognize_attention(eliminate_common_subexpr(simplify_expr(module)))
    data = arrays()
    data[-1][..., 2, :] = False

    assert the_attention(after)["layout"] == "bshd"
    for made in (interpret(after, data), compile(module)(*data)):
        np.testing.assert_allclose(made, interpret(module, data), rtol=1e-4, atol=1e-5)


def test_repeated_heads_are_read_without_copies() -> None:
    few_k, few_v = var("k", (B, T, 2 * D)), var("v", (B, T, 2 * D))

    def repeated(value: Expr) -> Expr:
        split = heads(value, T, count=2)
        own = make("broadcast_to", make("expand_dims", split, axis=2), shape=(B, 2, 2, T, D))
        return reshape(own, B, H, T, D)

    key = transpose(repeated(few_k), 0, 1, 3, 2)
    weights = softmax(times(matmul(heads(q, S), key, S, D, T), 0.4))
    body = joined(matmul(weights, repeated(few_v), S, T, D))
    before = Module({"main": Function((q, few_k, few_v), body)})
    after = recognize_attention(simplify_expr(before))
    data = [rng.standard_normal((B, n, w)).astype("float32") for n, w in ((5, 24), (7, 12), (7, 12))]

    found = the_attention(after)
    assert [arg.type.shape[-1] if hasattr(arg, "type") else None for arg in after.main.params] == [24, 12, 12]
    assert not [one for one in calls(after) if one.op == "broadcast_to"]
    np.testing.assert_allclose(interpret(after, data), interpret(before, data), rtol=1e-4, atol=1e-5)
    assert found["scale"] == pytest.approx(0.4)


@pytest.mark.parametrize("axes", [(0, 2, 1, 3), (2, 0, 1, 3)])
def test_a_transpose_of_the_result_becomes_the_layout(axes: tuple) -> None:
    weights = softmax(matmul(heads(q, S), heads(k, T, (0, 2, 3, 1)), S, D, T))
    found = the_attention(recognized(transpose(matmul(weights, heads(v, T), S, T, D), *axes)))

    assert found["layout"] == "".join("bhsd"[axis] for axis in axes)


def test_other_formulas_are_left_unchanged() -> None:
    product = matmul(heads(q, S), heads(k, T, (0, 2, 3, 1)), S, D, T)
    weights = softmax(product)
    other_axis = make("nn.softmax", product, axis=2)
    bounded = make("where", seen, product, scalar(-10.0))
    cases = [
        Tuple((matmul(weights, heads(v, T), S, T, D), weights)),
        Tuple((matmul(weights, heads(v, T), S, T, D), make("exp", product))),
        matmul(other_axis, heads(v, T), S, T, D),
        matmul(softmax(bounded), heads(v, T), S, T, D),
        matmul(softmax(make("tanh", product)), heads(v, T), S, T, D),
        matmul(product, heads(v, T), S, T, D),
    ]
    for body in cases:
        module = Module({"main": Function(INPUTS, body)})
        assert recognize_attention(module) is module


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", "llvm -mcpu=x86-64-v3", "c"])
@pytest.mark.parametrize("mask", ["a row for each batch", "filled with minus infinity"])
def test_attention_and_its_surroundings_form_one_kernel(mask: str, target: str) -> None:
    module = Module({"main": Function(INPUTS, attention(MASKS[mask]))})
    fused = pipeline(3).run(module)
    lib = compile(module, target)

    data = arrays()
    assert len(lib.report.rows) == 1, str(fused)
    np.testing.assert_allclose(lib(*data), interpret(module, data), rtol=1e-4, atol=1e-5)


def test_scores_of_all_queries_are_not_stored_at_once() -> None:
    """No buffer of the kernel holds the scores of all queries at once."""
    shape = (1, 1, 1024, 16)
    params = tuple(var(name, shape) for name in "qkv")
    body = make("nn.attention", *params, scalar(0), scale=0.25)
    kernel = lower_group(Function(params, body), Target.parse("native"), "kernel")
    held = [one.buffer for one in postorder(kernel.body) if isinstance(one, loop.Allocate)]

    assert held
    assert max(math.prod(int(e.value) for e in buffer.shape) for buffer in held) <= 32 * 1024
