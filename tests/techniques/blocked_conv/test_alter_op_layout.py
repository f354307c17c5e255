"""Channels are blocked where that pays off, with transforms at the borders only; all else is unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite.core.dtype import numpy_of
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, Tuple, Var, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.simplify.fold_constant import fold_constant
from tvmlite.techniques.blocked_conv.alter_op_layout import alter_op_layout

rng = np.random.default_rng(0)
wide = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")
narrow = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=nehalem")

CONV, DEPTHWISE = "nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc"


def const(*shape: int, dtype: str = "float32") -> Constant:
    return constant(rng.standard_normal(shape).astype(numpy_of(dtype)))


def conv(x: Expr, outputs: int, size: int = 3, groups: int = 1, **attrs: Any) -> Call:
    inputs = tensor_type_of(x).shape[1]
    assert isinstance(inputs, int)
    weight = const(outputs, inputs // groups, size, size)
    return make("nn.conv2d", x, weight, padding=size // 2, groups=groups, **attrs)


def altered(params: list[Var], body: Expr, target: Target = wide, **dims: int) -> Expr:
    """The body after the pass and folding; checks that the results are unchanged."""
    before = Module({"main": Function(tuple(params), body)})
    after = fold_constant(alter_op_layout(target)(before))
    shapes = [[d if isinstance(d, int) else dims[d.name] for d in p.type.shape] for p in params]  # type: ignore[union-attr]
    kinds = [numpy_of(p.type.dtype) for p in params]  # type: ignore[union-attr]
    data = [rng.standard_normal(shape).astype(kind) for shape, kind in zip(shapes, kinds, strict=True)]
    made, wanted = (np.asarray(interpret(one, data), "float32") for one in (after, before))
    error = 1e-4 if tensor_type_of(body).dtype == "float32" else 2e-2
    largest = max(1.0, float(np.abs(wanted).max(initial=0)))  # the error of sums that nearly cancel
    np.testing.assert_allclose(made, wanted, rtol=error, atol=error * largest)
    return after.main.body


def calls(body: Expr) -> list[str]:
    return [node.op for node in postorder(body) if isinstance(node, Call) and isinstance(node.op, str)]


def layouts(body: Expr) -> list[tuple[str, str]]:
    """The data and output layout of each convolution."""
    found = [node for node in postorder(body) if isinstance(node, Call) and node.op == CONV]
    return [(node["data_layout"], node["out_layout"]) for node in found]


image = var("x", (1, 3, 9, 8))


def test_a_chain_is_transformed_to_blocks_once_and_back_once() -> None:
    x = make("nn.relu", make("nn.bias_add", conv(image, 32), const(32)))
    x = make("clip", conv(x, 32, groups=32, strides=(2, 2)), a_min=0.0, a_max=6.0)
    x = make("nn.max_pool2d", conv(x, 48, 1), pool_size=(3, 3), padding=1)

    body = altered([image], make("nn.global_avg_pool2d", x))

    assert layouts(body) == [("NCHW", "NCHW16c"), ("NCHW16c", "NCHW16c")]
    assert calls(body) == [
        CONV, "add", "nn.relu", DEPTHWISE, "clip", CONV, "nn.max_pool2d", "nn.global_avg_pool2d",
        "reshape",
    ]  # fmt: skip


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_both_kinds_of_gelu_stay_in_blocks(approximate: str) -> None:
    x = make("nn.gelu", make("nn.bias_add", conv(image, 32), const(32)), approximate=approximate)
    body = altered([image], make("nn.global_avg_pool2d", make("add", x, conv(x, 32))))

    assert layouts(body) == [("NCHW", "NCHW16c"), ("NCHW16c", "NCHW16c")]
    assert "layout_transform" not in calls(body)


def test_weights_and_biases_are_transformed_at_compile_time() -> None:
    x = make("nn.bias_add", conv(image, 20, 2), bias := const(20))
    body = altered([image], make("nn.relu", conv(x, 16, 1)))

    weights = [node.data for node in postorder(body) if isinstance(node, Constant)]
    assert [one.shape for one in weights] == [(2, 3, 2, 2, 16), (2, 1, 1, 16), (1, 20, 1, 1, 16)]
    np.testing.assert_array_equal(weights[1].reshape(-1)[:20], bias.data)
    assert not weights[0][1, ..., 4:].any()


def test_one_convolution_between_channels_first_neighbours_keeps_their_layout() -> None:
    body = altered([image], make("nn.softmax", make("nn.relu", conv(image, 32)), axis=1))

    assert layouts(body) == [("NCHW", "NCHW")]
    assert calls(body) == [CONV, "nn.relu", "nn.softmax"]


@pytest.mark.parametrize(
    ("channels", "target", "block"), [(24, wide, 16), (8, wide, 8), (5, wide, 8), (40, narrow, 4)]
)
def test_the_block_is_the_widest_that_the_channels_fill(channels: int, target: Target, block: int) -> None:
    x = make("sigmoid", conv(image, channels))

    body = altered([image], conv(x, 7), target)

    assert layouts(body)[0] == ("NCHW", f"NCHW{block}c")


def test_additions_and_gates_stay_in_blocks() -> None:
    x = make("nn.relu", conv(image, 24))
    gate = conv(make("nn.relu", conv(make("nn.global_avg_pool2d", x), 8, 1)), 24, 1)
    x = make("add", make("multiply", x, make("sigmoid", gate)), x)

    body = altered([image], conv(make("divide", x, const(1, 24, 1, 1)), 4 + 16))

    assert "layout_transform" not in calls(body)
    assert ("NCHW8c", "NCHW16c") in layouts(body)


def test_operands_of_other_shapes_are_broadcast_to_blocks() -> None:
    mask, row, scalar = var("m", (1, 1, 9, 8)), var("r", (8,)), var("s", ())
    x = make("multiply", conv(image, 32), mask)
    x = make("add", make("add", x, row), scalar)
    x = make("nn.prelu", make("multiply", x, const(32, 1, 1)), const(32))

    body = altered([image, mask, row, scalar], conv(make("nn.leaky_relu", x), 32))

    assert layouts(body)[0] == ("NCHW", "NCHW16c")
    assert "layout_transform" not in calls(body)


def test_whole_blocks_are_concatenated_in_blocks() -> None:
    x = conv(image, 32)
    joined = make("concatenate", Tuple((conv(x, 16, 1), conv(x, 20))), axis=1)

    body = altered([image], conv(make("nn.relu", joined), 32))

    assert calls(body) == [CONV, CONV, CONV, "concatenate", "nn.relu", CONV]


def test_partially_filled_blocks_are_concatenated_channels_first() -> None:
    x = conv(image, 32)
    joined = make("concatenate", Tuple((conv(x, 20, 1), conv(x, 16))), axis=1)

    body = altered([image], conv(joined, 32))

    assert layouts(body)[1:] == [("NCHW16c", "NCHW"), ("NCHW16c", "NCHW"), ("NCHW", "NCHW")]


def test_groups_of_whole_blocks_are_computed_in_blocks() -> None:
    x = conv(conv(image, 24), 32, groups=2)

    assert layouts(altered([image], conv(x, 32)))[1:] == [("NCHW16c", "NCHW16c"), ("NCHW16c", "NCHW")]


def test_symbolic_sizes_resizing_padding_and_means_stay_in_blocks() -> None:
    free = var("x", ("n", 3, "h", "w"))
    x = make("image.resize2d", conv(free, 32), size=(7, 10))
    x = make("nn.pad", conv(x, 32), pad_width=((0, 0), (0, 0), (1, 0), (0, 2)))
    x = make("multiply", x, make("mean", x, axis=(2, 3), keepdims=True))

    body = altered([free], conv(x, 16), n=2, h=4, w=5)

    assert [name for name in calls(body) if name == "layout_transform"] == []
    assert layouts(body)[0] == ("NCHW", "NCHW16c")


def test_a_result_in_blocks_is_transformed_back_and_cropped() -> None:
    x = make("nn.relu", conv(image, 24))
    body = altered([image], make("nn.global_max_pool2d", make("nn.max_pool2d", conv(x, 24), pool_size=2)))

    assert calls(body)[-2:] == ["layout_transform", "strided_slice"]


def test_a_producer_of_a_broadcast_operand_is_not_computed_twice() -> None:
    x = conv(conv(image, 32), 32)
    for _ in range(4):  # blocked poolings gain more than the borders cost
        x = make("nn.max_pool2d", x, pool_size=(3, 3), padding=1)
    largest = make("max", x)  # has no axes: in no region, and broadcast
    slope = make("mean", x, axis=(0, 2, 3))
    half = make("multiply", largest, constant(0.5, "float32"))
    body = altered([image], make("nn.prelu", make("maximum", x, half), slope))

    assert layouts(body) == [("NCHW", "NCHW16c"), ("NCHW16c", "NCHW16c")]
    assert "nn.conv2d" not in calls(body)
    assert calls(body).count("nn.max_pool2d") == 4


def test_extents_that_vanish_at_likely_sizes_are_estimated_at_larger_ones() -> None:
    sound = var("x", ("n", 1, "samples"))
    spectrum = make("nn.conv1d", sound, const(32, 1, 512), strides=160)  # no window fits 128 samples
    body = altered([sound], spectrum, n=2, samples=1200)

    (made,) = (node for node in postorder(body) if isinstance(node, Call) and "conv1d" in str(node.op))
    assert made["out_layout"] == "NCW"  # blocks do not pay off between channels-first neighbours


def test_convolutions_of_one_and_three_spatial_axes_are_blocked() -> None:
    line, volume = var("x", (1, 3, 9)), var("x", (1, 3, 4, 5, 3))
    for data, name in ((line, "nn.conv1d"), (volume, "nn.conv3d")):
        rank = len(data.type.shape) - 2
        x = make("nn.relu", make(name, data, const(16, 3, *(2,) * rank)))

        body = altered([data], make(name, x, const(16, 16, *(1,) * rank)))

        assert [c for c in calls(body) if c.startswith("nn.contrib")] == [
            f"nn.contrib_conv{rank}d_{'NCW' if rank == 1 else 'NCDHW'}c"
        ] * 2


def test_a_graph_without_blocked_kernels_is_the_same_object() -> None:
    weight, whole = var("w", (32, 3, 3, 3)), var("x", (1, 3, 9, 8), "int32")
    cases: list[tuple[tuple[Var, ...], Expr]] = [
        ((image,), conv(image, 4)),
        ((image, weight), make("nn.conv2d", image, weight)),
        ((whole,), make("nn.conv2d", whole, const(32, 3, 3, 3, dtype="int32"))),
        ((image,), conv(image, 6, groups=3)),
        ((image,), make("nn.max_pool2d", image, pool_size=2)),
        ((image,), make("nn.relu", image)),
    ]
    for params, body in cases:
        module = Module({"main": Function(params, body)})

        assert alter_op_layout(wide)(module) is module


@pytest.mark.parametrize(
    ("dtype", "target", "channels", "kernel_layout"),
    [
        ("bfloat16", "llvm -mcpu=znver4", 3, "OIHW16o2i"),
        ("bfloat16", "llvm -mcpu=znver4", 8, "OIHW16o2i"),
        ("bfloat16", "llvm -mcpu=x86-64-v4", 8, "OIHW16o"),
        ("float16", "llvm -mcpu=znver4", 8, "OIHW16o"),
    ],
)
def test_16_bit_weights_are_packed_in_pairs_only_where_supported(
    dtype: str, target: str, channels: int, kernel_layout: str
) -> None:
    half = var("x", (1, channels, 9, 8), dtype)
    weight = const(32, channels, 3, 3, dtype=dtype)
    body = altered([half], make("nn.conv2d", half, weight, out_dtype="float32"), Target.parse(target))

    (convolution,) = (one for one in postorder(body) if isinstance(one, Call) and "contrib" in str(one.op))
    assert convolution["kernel_layout"] == kernel_layout


def test_odd_channels_in_blocks_are_not_paired() -> None:
    half = var("x", (1, 33, 9, 8), "bfloat16")
    first = make("nn.conv2d", half, const(33, 33, 1, 1, dtype="bfloat16"))
    target = Target.parse("llvm -mcpu=znver4")
    body = altered([half], make("nn.conv2d", first, const(32, 33, 1, 1, dtype="bfloat16")), target)

    kinds = [
        one["kernel_layout"] for one in postorder(body) if isinstance(one, Call) and "contrib" in str(one.op)
    ]
    assert kinds == ["OIHW16o2i", "OIHW16o"]


def test_only_the_highest_opt_level_changes_layouts() -> None:
    module = Module({"main": Function((image,), conv(image, 32))})

    for level, name in ((2, "nn.conv2d"), (3, CONV)):
        group = passes.pipeline(level, wide).run(module).main.body
        assert isinstance(group, Call)
        assert isinstance(group.op, Function)
        assert calls(group.op.body) == [name]


def test_assume_shape_keeps_the_layout() -> None:
    x = var("x", (1, 3, "h", 8))
    (h,) = (d for d in x.type.shape if not isinstance(d, int))  # type: ignore[union-attr]
    first = conv(x, 16)
    halves = make(
        "image.resize2d",
        conv(first, 16, strides=(2, 2)),
        size=((h + 1) // 2 * 2, 8),
        method="nearest_neighbor",
    )
    both = make("add", first, make("assume_shape", halves, newshape=(1, 16, h, 8)))

    after = altered([x], conv(both, 16), h=6)

    assert "layout_transform" not in calls(after)
    (assumed,) = (n for n in postorder(after) if isinstance(n, Call) and n.op == "assume_shape")
    assert tensor_type_of(assumed).shape == (1, 1, h, 8, 16)
