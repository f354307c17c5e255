"""Every template on odd shapes with fused tails, several outputs and symbolic extents, against numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tvmlite.relay.ops  # noqa: F401  (fills the table)
from tvmlite.machine.target import Target
from tvmlite.relay.ir import nodes as ir
from tvmlite.relay.ir import op
from tvmlite.relay.ir.types import dim, dims_of, evaluate_attrs, evaluate_shape, tensor_type
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.loop.verify import verify
from tvmlite.te.lowering.lower import lower
from tvmlite.te.templates import anchors
from tvmlite.te.templates import templates as schedules
from tvmlite.te.tensor.declare import compute, placeholder, reduce_axis
from tvmlite.te.tensor.reducers import sum as te_sum
from tvmlite.te.tensor.tensor import Tensor

TARGETS = (
    "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4",
    "llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server",
    "llvm -mtriple=x86_64-linux-gnu -mcpu=znver3",
    "c -vector-bits=128",
)
DIMS = {"n": 2, "h": 9, "w": 19, "m": 37, "k": 21}

Tail = Callable[[list[Any], Any], tuple[list[Any], list[Any]]]
"""A function from the tensors and arrays of a result to the outputs fused behind it and their values."""


def no_tail(tensors: list[Tensor], arrays: Any) -> tuple[list[Tensor], list[np.ndarray]]:
    return tensors, list(arrays)


def relu_tail(tensors: list[Tensor], arrays: Any) -> tuple[list[Tensor], list[np.ndarray]]:
    last = tensors[0]
    doubled = compute(last.shape, lambda *i: last[i] * 2.0 - 1.0, name="doubled", tag="elemwise")
    zero = e.const(0, last.dtype)
    made = compute(last.shape, lambda *i: e.Max(doubled[i], zero), name="relu", tag="elemwise")
    return [made], [np.maximum(arrays[0] * 2 - 1, 0)]


def two_tails(tensors: list[Tensor], arrays: Any) -> tuple[list[Tensor], list[np.ndarray]]:
    last = tensors[0]
    plus = compute(last.shape, lambda *i: last[i] + 1.0, name="plus", tag="elemwise")
    minus = compute(last.shape, lambda *i: last[i] - 1.0, name="minus", tag="elemwise")
    return [plus, minus], [arrays[0] + 1, arrays[0] - 1]


def result_too(tensors: list[Tensor], arrays: Any) -> tuple[list[Tensor], list[np.ndarray]]:
    made, expected = relu_tail(tensors, arrays)
    return [*tensors, *made], [*arrays, *expected]


def turned_round(tensors: list[Tensor], arrays: Any) -> tuple[list[Tensor], list[np.ndarray]]:
    """A tail with a shape other than the anchor's."""
    last = tensors[0]
    shape = tuple(reversed(last.shape))
    made = compute(shape, lambda *i: last[tuple(reversed(i))], name="turned", tag="injective")
    return [made], [arrays[0].T]


TAILS = (no_tail, relu_tail, two_tails, result_too, turned_round)


def run(
    name: str,
    attrs: dict[str, Any],
    shapes: Sequence[Sequence[Any]],
    tail: Tail,
    target: str,
    dtype: str = "float32",
) -> loop.Function:
    """Schedule the operator ``name`` with ``tail`` fused, check the results, and return the loops."""
    row = op.get(name)
    types = [tensor_type(shape, dtype) for shape in shapes]
    call = op.make(name, *(ir.Var(f"x{k}", t) for k, t in enumerate(types)), **attrs)
    row.infer(call, *types)
    sizes = {d: DIMS[d.name] for d in dict.fromkeys(dims_of([t.shape for t in types]))}
    random = np.random.default_rng(0)
    arrays = [random.uniform(-1, 1, evaluate_shape(t.shape, sizes)).astype(dtype) for t in types]
    expected: Any = row.reference(ir.Call(name, call.args, evaluate_attrs(call.attrs, sizes)), *arrays)
    inputs = [placeholder(t.shape, dtype, f"x{k}") for k, t in enumerate(types)]
    outputs, wanted = tail([row.compute(call, *inputs)], [expected])
    schedule = schedules.apply(row.schedule, outputs, Target.parse(target))
    function = lower(schedule, [*inputs, *outputs, *sizes])
    verify(function)
    results = [np.full(evaluate_shape(t.shape, sizes), np.nan, dtype) for t in outputs]
    interpret(function, [*arrays, *results, *sizes.values()])
    for result, want in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result, want, rtol=2e-5, atol=2e-5)
    return function


PACKED, DEPTHWISE = "nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc"
PLAIN = {"data_layout": "NCHW", "kernel_layout": "OIHW16o"}
EIGHTS = {"data_layout": "NCHW8c", "kernel_layout": "OIHW8o"}

CASES = [
    (PACKED, {**PLAIN, "channels": 20, "padding": 1}, [(1, 2, 5, 9), (2, 2, 3, 3, 16)]),
    (PACKED, {**PLAIN, "strides": 2}, [("n", 2, "h", 7), (1, 2, 3, 3, 16)]),
    (PACKED, {**PLAIN, "kernel_layout": "OIHW4o", "channels": 6}, [(1, 3, "h", 5), (2, 3, 1, 1, 4)]),
    (PACKED, {"padding": 1}, [(1, 1, 2, "w", 16), (2, 3, 1, 3, 16)]),
    (PACKED, {**EIGHTS, "strides": (1, 2)}, [(2, 1, 3, 30, 8), (2, 7, 1, 1, 8)]),
    (PACKED, {**EIGHTS, "groups": 2}, [("n", 2, "h", 5, 8), (2, 5, 1, 1, 8)]),
    (DEPTHWISE, {"padding": 1}, [(1, 2, "h", "w", 16), (2, 1, 3, 3, 1, 16)]),
    (DEPTHWISE, {"strides": 2, "padding": (0, 1)}, [(1, 3, 3, 31, 16), (3, 1, 2, 3, 1, 16)]),
    ("nn.conv2d", {"padding": 1, "groups": 4}, [("n", 4, 5, 18), (4, 1, 3, 3)]),
    ("nn.conv2d", {"groups": 2}, [(1, 4, 4, 18), (6, 2, 3, 2)]),
    ("nn.conv2d", {"groups": 2}, [(2, 6, 3, 9), (14, 3, 1, 1)]),
    ("nn.conv2d", {}, [("n", 2, "h", 5), (3, 2, 1, 1)]),
    ("nn.conv2d_transpose", {"strides": 2, "padding": 1}, [(1, 2, 3, "h"), (2, 3, 3, 3)]),
    ("nn.dense", {}, [(7, 5), (35, 5)]),
    ("nn.dense", {}, [("n", 3, "k"), (18, "k")]),
    ("nn.contrib_dense_pack", {"units": 35}, [(1, 5), (3, 5, 16)]),
    ("nn.contrib_dense_pack", {"units": 10}, [(3, 16), (1, 16, 16)]),
    ("nn.contrib_dense_pack", {"units": 50, "weight_layout": "NC48n"}, [(2, 3), (2, 3, 48)]),
    ("nn.contrib_dense_winograd", {"units": 35}, [(30, 12), (3, 12, 16), (12,), (3, 2, 16)]),
    ("nn.contrib_dense_winograd", {"units": 20}, [("n", 3, 48), (2, 48, 16), (48,), (2, 2, 16)]),
    ("nn.contrib_dense_winograd", {"weight_layout": "NC8n"}, [("m", 16), (2, 16, 8), (16,), (2, 2, 8)]),
    ("nn.contrib_dense_winograd", {"weight_layout": "NC8n"}, [(7, 8), (2, 8, 8), (8,), (2, 2, 8)]),
    ("nn.matmul", {}, [(3, 5), (5, 32)]),
    ("nn.matmul", {"transpose_a": True}, [("k", 9), ("k", "m")]),
    ("nn.batch_matmul", {}, [("n", 5, 4), ("n", 18, 4)]),
    ("nn.batch_matmul", {"transpose_b": False}, [(2, 15, 3), (1, 3, 7)]),
    ("nn.max_pool2d", {"pool_size": 3, "strides": 2, "padding": 1}, [("n", 3, 6, "w")]),
    ("nn.avg_pool2d", {"pool_size": (2, 3), "padding": 1}, [(2, 8, 4, 21)]),
    ("nn.max_pool1d", {"pool_size": 2}, [(1, 3, 5)]),
    ("nn.max_pool2d", {"pool_size": 3, "padding": 1, "layout": "NCHW16c"}, [("n", 2, 5, 17, 16)]),
    ("nn.avg_pool2d", {"pool_size": (1, 35), "padding": (0, 17), "layout": "NCHW16c"}, [(1, 1, 1, "w", 16)]),
    ("nn.global_avg_pool2d", {"layout": "NCHW16c"}, [(1, 3, 5, "w", 16)]),
    ("layout_transform", {"src_layout": "NCHW", "dst_layout": "NCHW16c"}, [(1, 20, "h", 18)]),
    ("layout_transform", {"src_layout": "NCHW16c", "dst_layout": "NCHW"}, [(1, 2, 3, 18, 16)]),
    ("nn.global_avg_pool2d", {}, [(2, 5, 9, 11)]),
    ("nn.softmax", {}, [(3, "m")]),
    ("nn.softmax", {"axis": 1}, [(2, 5, 21)]),
    ("nn.softmax", {"axis": 0}, [("m",)]),
    ("nn.log_softmax", {}, [(2, 70)]),
    ("nn.layer_norm", {}, [(2, 3, 37), (37,), (37,)]),
    ("nn.layer_norm", {"axis": 1}, [("n", 5, 19), (5,), (5,)]),
    ("nn.instance_norm", {}, [(2, 3, 5, "w"), (3,), (3,)]),
    ("nn.group_norm", {"num_groups": 2}, [(1, 4, 5, 9), (4,), (4,)]),
    ("nn.lrn", {}, [(1, 6, 3, 18)]),
    ("sum", {"axis": -1}, [(3, "m")]),
    ("sum", {"axis": (1, 2)}, [(3, 70, 5)]),
    ("mean", {"axis": 0, "keepdims": True}, [(7, "m")]),
    ("max", {}, [(300,)]),
    ("tanh", {}, [(3, 5, 7)]),
    ("tanh", {}, [("n", 3, "w")]),
    ("transpose", {"axes": (2, 0, 1)}, [(2, 3, 18)]),
    ("image.resize2d", {"size": (5, 40)}, [(1, 2, 4, "w")]),
]


def _name_of(case: Any) -> str:
    return (
        f"{case[0]}{case[1] or ''}{case[2]}"
        if isinstance(case, tuple)
        else getattr(case, "__name__", str(case))
    )


@pytest.mark.slow
@pytest.mark.parametrize("tail", TAILS, ids=_name_of)
@pytest.mark.parametrize("case", CASES, ids=_name_of)
def test_the_loops_compute_the_operator(case: Any, tail: Tail) -> None:
    name, attrs, shapes = case

    run(name, attrs, shapes, tail, TARGETS[0])


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS[1:])
@pytest.mark.parametrize("case", CASES, ids=_name_of)
def test_the_loops_compute_the_operator_for_other_machines(case: Any, target: str) -> None:
    """Machines of another maker, with few registers, and with short vectors."""
    name, attrs, shapes = case

    run(name, attrs, shapes, relu_tail, target)


@pytest.mark.parametrize("name", ["nn.softmax", "sum", "nn.global_max_pool2d", "tanh", "copy"])
def test_templates_support_float16_and_int64(name: str) -> None:
    rank = 4 if "2d" in name else 2
    shapes = [(2, 3, 5, 7)] if rank == 4 else [(3, 40)]

    function = run_dtype(name, shapes, "float16" if name != "copy" else "int64")

    assert function.outputs


def run_dtype(name: str, shapes: Sequence[Any], dtype: str) -> loop.Function:
    row = op.get(name)
    types = [tensor_type(shape, dtype) for shape in shapes]
    call = op.make(name, *(ir.Var(f"x{k}", t) for k, t in enumerate(types)))
    arrays = [np.random.default_rng(1).uniform(-4, 4, t.shape).astype(dtype) for t in types]
    inputs = [placeholder(t.shape, dtype, f"x{k}") for k, t in enumerate(types)]
    output = row.compute(call, *inputs)
    function = lower(schedules.apply(row.schedule, [output], Target.parse(TARGETS[0])), [*inputs, output])
    result = np.zeros(output.shape, dtype)
    interpret(function, [*arrays, result])
    np.testing.assert_allclose(result, row.reference(call, *arrays), rtol=4e-3, atol=4e-3)
    return function


def test_a_tile_of_a_convolution_is_small_and_its_loops_are_unrolled() -> None:
    shapes = [(1, 2, 4, 14), (2, 2, 1, 3, 16)]

    text = str(run(PACKED, {**PLAIN, "padding": (0, 1)}, shapes, relu_tail, TARGETS[0]))

    assert "allocate conv[1, 2, 1, 14, 16] float32:" in text
    assert "in unroll(0, 14):" in text
    assert "in vectorize(0, 16):" in text


@pytest.mark.parametrize("rows, asked", [(1, True), (4, True), (5, False)])
def test_weights_read_by_few_rows_are_prefetched(rows: int, asked: bool) -> None:
    attrs = {"units": 32}
    text = str(run("nn.contrib_dense_pack", attrs, [(rows, 48), (2, 48, 16)], relu_tail, "llvm -mcpu=znver5"))
    assert ("prefetch(x1[" in text) == asked


@pytest.mark.parametrize("columns, sums", [(10, 8), (30, 4), (64, 2), (128, None)])
def test_few_accumulators_are_split_into_several_independent_sums(columns: int, sums: int | None) -> None:
    shapes = [(1, 48), (-(-columns // 16), 48, 16)]

    text = str(run("nn.contrib_dense_pack", {"units": columns}, shapes, relu_tail, TARGETS[0]))

    made = [line for line in text.splitlines() if "allocate dense.rf[" in line]
    assert [f", {sums}, " in line for line in made] == ([] if sums is None else [True])


NEAREST = {
    "method": "nearest_neighbor",
    "coordinate_transformation_mode": "asymmetric",
    "rounding_method": "floor",
}


@pytest.mark.parametrize(
    ("name", "attrs", "shape", "steps"),
    [
        ("nn.depth_to_space", {"block_size": 3, "mode": "CRD"}, (1, 9, 5, 32), 3),
        ("image.resize2d", {"size": (10, 64), **NEAREST}, (1, 2, 5, 32), 2),
        ("image.resize2d", {"size": (5, 144), **NEAREST}, (1, 1, 5, 16), None),
    ],
)
def test_a_pixel_shuffle_has_no_divisions_in_its_inner_loop(
    name: str, attrs: dict[str, Any], shape: tuple[int, ...], steps: int | None
) -> None:
    """Nine equal neighbours are too many to unroll."""
    text = str(run(name, attrs, [shape], no_tail, TARGETS[0]))

    assert (f"in unroll(0, {steps}):" in text) == (steps is not None)
    assert ("vectorize" in text) == (steps is None)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(150_002,), (1, 150_002), (3, 50_002), (150, 1000)])
def test_threads_share_groups_of_equal_neighbours(shape: tuple[int, ...]) -> None:
    x = placeholder(shape, name="x")
    made = compute(shape, lambda *i: x[(*i[:-1], i[-1] // 2)], name="pairs", tag="injective")
    function = lower(schedules.apply(anchors.ELEMENTWISE, [made], Target.parse(TARGETS[0])), [x, made])
    data, result = np.random.default_rng(0).standard_normal(shape).astype("f4"), np.zeros(shape, "f4")

    interpret(function, [data, result])

    np.testing.assert_array_equal(result, data[..., np.arange(shape[-1]) // 2])
    assert str(function).count("in parallel(") == 1
    assert "in unroll(0, 2)" in str(function)


def test_only_enough_work_is_parallelized() -> None:
    little = str(run("tanh", {}, [(3, 40)], no_tail, TARGETS[0]))
    wide = placeholder((64, 4096), "float32", "x")
    row = op.get("tanh")
    output = row.compute(op.make("tanh", ir.Var("x", tensor_type(wide.shape))), wide)
    much = str(
        lower(schedules.apply(anchors.ELEMENTWISE, [output], Target.parse(TARGETS[0])), [wide, output])
    )

    assert "parallel" not in little
    assert much.count("in parallel(") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shapes", "turns"),
    [
        ([(1, 16, 60, 61), (2, 16, 1, 1)], 46),
        ([(2, 8, 37, 33), (5, 8, 1, 1)], 2 * 26),
    ],
)
def test_threads_share_the_pixels_of_a_product_of_few_channels(
    shapes: list[tuple[int, ...]], turns: int
) -> None:
    text = str(run("nn.conv2d", {}, shapes, relu_tail, TARGETS[0]))

    assert f"in parallel(0, {turns}):" in text


def test_a_symbolic_extent_is_parallelized() -> None:
    wide = placeholder((dim("n"), 8), "float32", "x")
    output = compute(wide.shape, lambda i, j: wide[i, j] + 1.0, name="y", tag="elemwise")

    text = str(
        lower(schedules.apply(anchors.ELEMENTWISE, [output], Target.parse(TARGETS[0])), [wide, output])
    )

    assert "in parallel(" in text


def test_short_contiguous_runs_have_their_own_loop() -> None:
    """A parallel fused loop divides to find its indices: that must not happen once per vector."""
    x, y = placeholder((dim("n"), dim("h"), dim("w"), 16), name="x"), placeholder((16,), name="y")
    made = compute(x.shape, lambda i, j, k, c: x[i, j, k, c] + y[c], name="sum", tag="broadcast")

    text = str(lower(schedules.apply(anchors.ELEMENTWISE, [made], Target.parse(TARGETS[0])), [x, y, made]))

    assert "for i.j.fused in parallel(0, n * h):\n        for k in range(0, w):\n" in text


def test_index_arithmetic_does_not_shorten_vectors() -> None:
    x = placeholder((dim("n"), 64), "float32", name="x")
    made = compute(x.shape, lambda i, j: x[e.cast("int64", e.cast("float32", i)), j], name="same")

    text = str(lower(schedules.apply(anchors.ELEMENTWISE, [made], Target.parse(TARGETS[0])), [x, made]))

    assert "vectorize(0, 16)" in text


@pytest.mark.parametrize("side", [1, 2, 3, 5, 7])
def test_plane_sums_of_small_blocked_planes_are_correct(side: int) -> None:
    """Partial results do not pay off for every plane; where they do not, the axes stay unchanged."""
    x, rows, columns = placeholder((2, 3, side, side, 16), name="x"), reduce_axis(side), reduce_axis(side)
    total = compute((2, 3, 16), lambda n, b, c: te_sum(x[n, b, rows, columns, c], [rows, columns]), name="s")
    function = lower(schedules.apply(anchors.PLANE_REDUCTION, [total], Target.parse(TARGETS[0])), [x, total])
    data = np.random.default_rng(0).standard_normal((2, 3, side, side, 16)).astype("f4")
    result = np.zeros((2, 3, 16), "f4")

    interpret(function, [data, result])

    np.testing.assert_allclose(result, data.sum((2, 3)), rtol=1e-4, atol=1e-4)


def test_rows_of_whole_and_half_vectors_have_no_mask() -> None:
    x = placeholder((dim("n"), dim("w") * 8), name="x")
    made = compute(x.shape, lambda i, j: x[i, j // 8 * 8], name="firsts")

    text = str(
        lower(schedules.apply(anchors.ELEMENTWISE, [made], Target.parse(TARGETS[0])), [x, made, dim("w")])
    )

    assert "if " not in text
    assert "vectorize(0, 16)" in text
    assert "vectorize(0, 8)" in text
    assert "vectorize(0, 4)" not in text
