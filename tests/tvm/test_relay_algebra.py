"""``SimplifyExpr``, the passes that combine parallel operators, and ``FoldExplicitPadding``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.tvm import relay
from tvmlite.tvm.relay import transform
from tvmlite.tvm.relay.testing import run_infer_type, run_opt_pass


def same(found: object, expected: object) -> None:
    tvm.ir.assert_structural_equal(found, run_infer_type(expected), map_free_vars=True)


def image(*shape: int) -> Any:
    return relay.var("x", shape=shape or (1, 8, 6, 6))


def evaluated(function: Any, *args: np.ndarray) -> list[np.ndarray]:
    """The results of the interpreter, which runs operator by operator."""
    found = relay.create_executor("debug").evaluate(function)(*args)
    return [one.numpy() for one in (found if isinstance(found, list) else [found])]


dense = relay.nn.dense
X = image()
N = np.arange(1.0, 4.0, dtype=np.float32)
V = relay.var("v", shape=(3,))
C, D = relay.const(N), relay.const(N + 1)
EIGHT = relay.var("q", shape=(4, 6), dtype="int8")

SIMPLER = [
    (relay.zeros_like(X), relay.zeros((1, 8, 6, 6), "float32")),
    (relay.reshape_like(X, relay.var("y", shape=(8, 36))), relay.reshape(X, (8, 36))),
    (relay.cast_like(X, EIGHT), relay.cast(X, "int8")),
    (relay.reshape(relay.reshape(X, (8, 36)), (-1, 12)), relay.reshape(X, (24, 12))),
    (relay.transpose(relay.transpose(X, [0, 2, 3, 1]), [0, 3, 1, 2]), X),
    (relay.transpose(relay.transpose(X, [0, 2, 3, 1]), [3, 0, 1, 2]), relay.transpose(X, [1, 0, 2, 3])),
    (
        relay.layout_transform(relay.transpose(X, [0, 2, 3, 1]), "NHWC", "NCHW4c"),
        relay.layout_transform(X, "NCHW", "NCHW4c"),
    ),
    (
        relay.transpose(relay.layout_transform(X, "NCHW", "NCHW4c"), [0, 2, 3, 1, 4]),
        relay.layout_transform(X, "NCHW", "NHWC4c"),
    ),
    (relay.cast(relay.cast(EIGHT, "int32"), "int64"), relay.cast(EIGHT, "int64")),
    (relay.clip(EIGHT, -200, 127), EIGHT),
    (relay.clip(relay.clip(V, 0, 3), -1, 2), relay.clip(V, 0, 2)),
    (
        relay.clip(relay.cast(relay.clip(V, 0, 100), "int8"), 5, 200),
        relay.cast(relay.clip(V, 5, 100), "int8"),
    ),
    (
        relay.cast(relay.cast(relay.clip(V, 0, 255), "uint8"), "int32"),
        relay.cast(relay.clip(V, 0, 255), "int32"),
    ),
    (V + V, V * relay.const(2.0)),
    (relay.const(1.0) / relay.sqrt(V), relay.rsqrt(V)),
    (V + relay.zeros((3,), "float32"), V),
    (relay.const(1.0) * V, V),
    (V - relay.full(relay.const(2.0), (3,)), V - relay.const(2.0)),
    (V + C + D, V + relay.const(N + (N + 1))),
    ((V + C) * D, V * D + relay.const(N * (N + 1))),
    (relay.const(2.0) / relay.sqrt(V), relay.const(2.0) * relay.rsqrt(V)),
    (
        relay.argmax(relay.qnn.op.dequantize(EIGHT, relay.const(0.5), relay.const(1)), axis=1),
        relay.argmax(EIGHT, axis=1),
    ),
]


@pytest.mark.parametrize(("before", "after"), SIMPLER)
def test_simplify_expr_gives_the_simpler_expression(before: Any, after: Any) -> None:
    same(run_opt_pass(before, transform.SimplifyExpr()), after)


@pytest.mark.parametrize(
    "kept",
    [
        relay.cast(relay.cast(V, "int32"), "float32"),  # the first cast rounds
        relay.cast(relay.cast(EIGHT, "uint8"), "int32"),  # and this one wraps
        relay.cast(relay.cast(EIGHT, "float32"), "uint8"),  # casts of floats saturate
        relay.cast(relay.cast(relay.clip(V, -5, 300), "int32"), "uint8"),  # wraps; a cast of floats would not
        relay.clip(relay.cast(relay.clip(EIGHT, -1000, -500), "int32"), -1000, -900),  # bounds outside int8
        relay.clip(relay.clip(EIGHT, 0.5, 0.5), 0.5, 4),  # bounds between numbers are rounded
        V + relay.zeros((2, 3), "float32"),  # the sum has more axes
        relay.const(0.0) - V,
        relay.argmax(relay.qnn.op.dequantize(EIGHT, relay.const(-0.5), relay.const(1)), axis=1),
        relay.layout_transform(relay.layout_transform(X, "NCHW", "NCHW4c"), "NHWC4c", "NCHW4c"),
    ],
)
def test_simplify_expr_keeps_expressions_whose_value_would_change(kept: Any) -> None:
    same(run_opt_pass(kept, transform.SimplifyExpr()), kept)


@pytest.mark.parametrize(
    ("before", "after"), [one for one in SIMPLER if len(relay.analysis.free_vars(one[0])) == 1]
)
def test_a_simplified_expression_computes_the_same(before: Any, after: Any) -> None:
    variable = relay.analysis.free_vars(before)[0]
    type_ = variable.checked_type
    value = np.random.default_rng(0).uniform(1, 6, type_.concrete_shape).astype(type_.dtype)
    functions = [relay.Function([variable], one) for one in (before, run_opt_pass(before, _simplify()))]

    expected, found = (evaluated(one, value)[0] for one in functions)

    np.testing.assert_allclose(found, expected, rtol=1e-5)


def _simplify() -> Any:
    return transform.SimplifyExpr()


def convolutions(relu: bool = True) -> Any:
    """Three convolutions of 3, 5 and 2 channels with scales by channel, and one of another kernel size."""
    args = [image()]
    results = []
    for name, channels in (("a", 3), ("b", 5), ("c", 2)):
        weight = relay.var(f"w{name}", shape=(channels, 8, 1, 1))
        scale = relay.var(f"s{name}", shape=(channels, 1, 1))
        made = relay.nn.conv2d(args[0], weight) * scale
        results.append(relay.nn.relu(made) if relu else made)
        args += [weight, scale]
    other = relay.var("wo", shape=(4, 8, 3, 3))
    return relay.Function([*args, other], relay.Tuple([*results, relay.nn.conv2d(args[0], other)]))


def layers(bias: tuple[int, ...] = (4,)) -> Any:
    x = relay.var("x", shape=(2, 6))
    weights = [relay.var(f"w{n}", shape=(4, 6)) for n in range(3)]
    biases = [relay.var(f"b{n}", shape=bias) for n in range(3)]
    results = [relay.exp(relay.nn.dense(x, w) + b) for w, b in zip(weights, biases, strict=True)]
    return relay.Function([x, *weights, *biases], relay.Tuple(results))


def batches() -> Any:
    x = relay.var("x", shape=(2, 3, 5))
    weights = [relay.var(f"w{n}", shape=(2, n + 2, 5)) for n in range(3)]
    return relay.Function(
        [x, *weights], relay.Tuple([relay.tanh(relay.nn.batch_matmul(x, w)) for w in weights])
    )


@pytest.mark.parametrize(
    ("function", "one", "op", "left"),
    [
        (convolutions(), transform.CombineParallelConv2D, "nn.conv2d", 2),
        (convolutions(relu=False), transform.CombineParallelConv2D, "nn.conv2d", 2),
        (layers(), transform.CombineParallelDense, "nn.batch_matmul", 1),
        (layers((2, 4)), transform.CombineParallelDense, "nn.batch_matmul", 1),
        (layers(), lambda: transform.CombineParallelDense(to_batch=False), "nn.dense", 1),
        (layers((1,)), lambda: transform.CombineParallelDense(to_batch=False), "nn.dense", 1),
        (layers((7, 2, 1)), lambda: transform.CombineParallelDense(to_batch=False), "nn.dense", 1),
        (batches(), transform.CombineParallelBatchMatmul, "nn.batch_matmul", 1),
    ],
)
def test_combined_parallel_operators_compute_the_same(
    function: Any, one: Callable[[], Any], op: str, left: int
) -> None:
    rng = np.random.default_rng(0)
    args = [rng.normal(size=p.checked_type.concrete_shape).astype("float32") for p in function.params]

    found = run_opt_pass(function, one())

    counts = relay.analysis.list_op_freqs(tvm.IRModule.from_expr(found))
    assert counts[op] == left
    assert counts.get("exp", counts.get("nn.relu", counts.get("tanh", 1))) == 1
    for wanted, given in zip(evaluated(function, *args), evaluated(found, *args), strict=True):
        np.testing.assert_allclose(given, wanted, rtol=1e-4, atol=1e-5)


def test_too_few_branches_are_not_combined() -> None:
    function = convolutions()

    same(run_opt_pass(function, transform.CombineParallelConv2D(min_num_branches=4)), function)


@pytest.mark.parametrize("to_batch", [True, False])
@pytest.mark.parametrize(
    ("join", "left"),
    [
        (lambda x, y, v, w: relay.nn.relu(dense(x, v)) * y + relay.multiply(dense(x, w), y), 1),
        (lambda x, y, v, w: dense(x, w) * (dense(x, v) * y), 1),  # one product reads the other
        (lambda x, y, v, w: dense(x, dense(x, v)) + dense(x, w), 2),
    ],
)
def test_only_independent_branches_are_combined(join: Callable[..., Any], left: int, to_batch: bool) -> None:
    params = [relay.var(name, shape=(4, 4)) for name in "xyvw"]
    args = list(np.random.default_rng(0).normal(size=(4, 4, 4)).astype("float32"))
    function = relay.Function(params, join(*params))

    found = run_opt_pass(function, transform.CombineParallelDense(2, to_batch))

    counts = relay.analysis.list_op_freqs(tvm.IRModule.from_expr(found))
    assert counts.get("nn.dense", 0) + counts.get("nn.batch_matmul", 0) == left
    np.testing.assert_allclose(evaluated(found, *args)[0], evaluated(function, *args)[0], rtol=1e-4)


def test_a_reader_of_combined_branches_is_not_duplicated() -> None:
    x, v, w = (relay.var(name, shape=(4, 4)) for name in "xvw")
    total = dense(x, v) + relay.nn.relu(dense(x, w))
    function = relay.Function([x, v, w], total / relay.sqrt(relay.abs(total)))

    found = run_opt_pass(function, transform.CombineParallelDense(2))

    assert relay.analysis.list_op_freqs(tvm.IRModule.from_expr(found))["add"] == 1


def test_an_operator_with_an_axis_is_not_batched() -> None:
    x, w, b = (relay.var(name, shape=shape) for name, shape in (("x", (2, 6)), ("w", (4, 6)), ("b", (4,))))
    results = [relay.nn.bias_add(relay.nn.dense(x, w), b) for _ in range(3)]

    found = run_opt_pass(relay.Function([x, w, b], relay.Tuple(results)), transform.CombineParallelDense())

    counts = relay.analysis.list_op_freqs(tvm.IRModule.from_expr(found))
    assert (counts["nn.batch_matmul"], counts["nn.bias_add"]) == (1, 3)


def test_padding_moves_into_pools_and_quantized_convolutions() -> None:
    x = image()
    sides = [[0, 0], [0, 0], [1, 1], [1, 1]]
    least = float(np.finfo("float32").min)

    mean = relay.nn.avg_pool2d(relay.nn.pad(x, sides), (2, 2), count_include_pad=True)
    same(
        run_opt_pass(mean, transform.FoldExplicitPadding()),
        relay.nn.avg_pool2d(x, (2, 2), padding=(1, 1), count_include_pad=True),
    )
    most = relay.nn.max_pool2d(relay.nn.pad(x, sides, least), (2, 2))
    same(run_opt_pass(most, transform.FoldExplicitPadding()), relay.nn.max_pool2d(x, (2, 2), padding=(1, 1)))
    kept = relay.nn.max_pool2d(relay.nn.pad(x, sides, 0.0), (2, 2))
    same(run_opt_pass(kept, transform.FoldExplicitPadding()), kept)


@pytest.mark.parametrize(("value", "folds"), [(3, True), (0, False)])
def test_quantized_data_is_padded_with_its_zero_point(value: int, folds: bool) -> None:
    x = relay.var("x", shape=(1, 4, 6, 6), dtype="int8")
    w = relay.var("w", shape=(8, 4, 3, 3), dtype="int8")

    def conv(data: Any, **attrs: Any) -> Any:
        points, scale = (relay.const(3), relay.const(1)), relay.const(0.5)
        return relay.qnn.op.conv2d(data, w, *points, scale, scale, (3, 3), 8, **attrs)

    before = conv(relay.nn.pad(x, [[0, 0], [0, 0], [1, 1], [1, 1]], value))

    found = run_opt_pass(before, transform.FoldExplicitPadding())

    same(found, conv(x, padding=(1, 1)) if folds else before)


def between_blocks(crops: Any = ((0, 1), (2, 1)), strides: Any = 1, pad_value: float = 0.0) -> Any:
    """A convolution between ``space_to_batch_nd`` and ``batch_to_space_nd`` with 2 by 3 blocks, in NHWC."""
    x, w = image(2, 6, 7, 4), relay.var("w", shape=(3, 2, 4, 5))
    blocks = relay.nn.space_to_batch_nd(x, [2, 3], [[3, 1], [2, 3]], pad_value)
    made = relay.nn.conv2d(
        blocks, w, channels=5, kernel_size=(3, 2), padding=(0, 1), data_layout="NHWC", kernel_layout="HWIO",
        strides=strides,
    )  # fmt: skip
    return relay.Function([x, w], relay.nn.batch_to_space_nd(made, [2, 3], crops))


def test_a_convolution_between_space_to_batch_becomes_dilated() -> None:
    function = between_blocks()

    found = run_opt_pass(function, transform.FlattenAtrousConv())

    made = found.body
    assert (made.op.name, made.args[0]) == ("nn.conv2d", found.params[0])
    assert tuple(made.attrs.dilation) == (2, 3)
    assert tuple(made.attrs.padding) == (3, 3, 0, 5)  # what is cropped is not padded
    rng = np.random.default_rng(0)
    args = [rng.normal(size=p.checked_type.concrete_shape).astype("float32") for p in function.params]
    np.testing.assert_allclose(
        evaluated(found, *args)[0], evaluated(function, *args)[0], rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    "given",
    [between_blocks(pad_value=1.0), between_blocks(strides=(2, 1)), between_blocks(crops=((0, 2), (0, 0)))],
)
def test_other_convolutions_between_space_to_batch_are_kept(given: Any) -> None:
    same(run_opt_pass(given, transform.FlattenAtrousConv()), given)
