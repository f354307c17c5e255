"""``relay.transform.ConvertLayout`` and ``AlterOpLayout``, and the operators that take the new layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import ConfigError, UnsupportedError
from tvmlite.tvm import relay
from tvmlite.tvm.relay import transform
from tvmlite.tvm.relay.testing import TempOpAttr, run_opt_pass
from tvmlite.tvm.relay.transform.layout.own_rules import InferCorrectLayoutOutput

KERNELS = {"NCHW": "OIHW", "NHWC": "HWIO"}


def data(layout: str) -> Any:
    return relay.var("x", shape=(2, 8, 6, 5) if layout == "NCHW" else (2, 6, 5, 8))


def kernel(layout: str) -> Any:
    return relay.var("w", shape=(8, 8, 3, 3) if layout == "NCHW" else (3, 3, 8, 8))


def conv(x: Any, w: Any, layout: str) -> Any:
    return relay.nn.conv2d(
        x, w, channels=8, kernel_size=(3, 3), padding=1, data_layout=layout, kernel_layout=KERNELS[layout]
    )


def back(expr: Any, source: str = "NCHW", target: str = "NHWC") -> Any:
    return relay.layout_transform(expr, source, target)


def turned() -> Any:
    """The convolution in NCHW of data and a kernel given in NHWC and HWIO."""
    return conv(back(data("NHWC"), "NHWC", "NCHW"), back(kernel("NHWC"), "HWIO", "OIHW"), "NCHW")


def of(expr: Any) -> Any:
    return relay.Function(relay.analysis.free_vars(expr), expr)


def to_nchw(expr: Any, **more: Any) -> Any:
    return run_opt_pass(of(expr), [transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"], **more})])


def values(function: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    arrays = [
        rng.normal(size=tuple(param.checked_type.shape)).astype(np.float32) for param in function.params
    ]
    found = relay.create_executor("debug").evaluate(function)(*arrays)
    return [one.numpy() for one in (found if isinstance(found, (list, tuple)) else [found])]


VECTOR = relay.var("v", shape=(8,))
FOUR = relay.expand_dims(VECTOR, axis=0, num_newaxis=3)

FOLLOWING: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (relay.exp, lambda y: back(relay.exp(y))),
    (lambda y: y + relay.const(2.0), lambda y: back(y + relay.const(2.0))),
    (lambda y: relay.nn.bias_add(y, VECTOR, axis=3), lambda y: back(y + back(FOUR, "NHWC", "NCHW"))),
    (lambda y: relay.nn.max_pool2d(y, 2, layout="NHWC"), lambda y: back(relay.nn.max_pool2d(y, 2))),
    (lambda y: relay.nn.softmax(y, axis=-1), lambda y: relay.nn.softmax(back(y), axis=-1)),
    (lambda y: relay.concatenate([y, y], axis=3), lambda y: back(relay.concatenate([y, y], axis=1))),
    (lambda y: relay.sum(y, axis=[1, 2]), lambda y: relay.sum(y, axis=[2, 3])),
    (lambda y: relay.sum(y, axis=3), lambda y: relay.sum(y, axis=[1])),
    (lambda y: relay.argmax(y, axis=[3]), lambda y: relay.argmax(y, axis=[1])),
    (lambda y: relay.split(y, 2, axis=3)[1], lambda y: back(relay.split(y, 2, axis=1)[1])),
    (lambda y: relay.transpose(y, [0, 3, 1, 2]), lambda y: relay.transpose(y, [0, 1, 2, 3])),
    (
        lambda y: relay.strided_slice(y, [0, 1], [2, 5]),
        lambda y: back(relay.strided_slice(y, [0, 0, 1, 0], [2, 8, 5, 5], [1, 1, 1, 1])),
    ),
    (
        lambda y: relay.nn.pad(y, ((0, 0), (1, 0), (0, 2), (0, 0))),
        lambda y: back(relay.nn.pad(y, ((0, 0), (0, 0), (1, 0), (0, 2)))),
    ),
    (lambda y: relay.topk(y, 2, axis=3)[0], lambda y: back(relay.topk(y, 2, axis=1)[0])),
    (
        lambda y: relay.image.resize2d(y, (12, 10), layout="NHWC"),
        lambda y: back(relay.image.resize2d(y, (12, 10), layout="NCHW")),
    ),
    # these depend on the order of the values
    (lambda y: relay.reshape(y, (-1,)), lambda y: relay.reshape(back(y), (-1,))),
    (relay.nn.batch_flatten, lambda y: relay.nn.batch_flatten(back(y))),
    (lambda y: relay.cumsum(y, axis=3), lambda y: relay.cumsum(back(y), axis=3)),
]


@pytest.mark.parametrize(("before", "after"), FOLLOWING)
def test_operators_after_a_convolution_take_its_layout(before: Any, after: Any) -> None:
    given = before(conv(data("NHWC"), kernel("NHWC"), "NHWC"))

    made = to_nchw(given)

    tvm.ir.assert_structural_equal(made, run_opt_pass(of(after(turned())), transform.InferType()))
    for one, other in zip(values(made), values(of(given)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_a_module_already_in_the_layout_is_unchanged() -> None:
    given = run_opt_pass(of(relay.exp(conv(data("NCHW"), kernel("NCHW"), "NCHW"))), transform.InferType())

    kept = run_opt_pass(given, transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"]}))
    tvm.ir.assert_structural_equal(kept, given)
    assert transform.ConvertLayout({})(tvm.IRModule.from_expr(given))["main"] is given


def test_layers_can_be_skipped_and_pools_have_their_own_layout() -> None:
    first = conv(data("NHWC"), kernel("NHWC"), "NHWC")
    second = relay.nn.max_pool2d(conv(first, relay.var("u", shape=(3, 3, 8, 8)), "NHWC"), 2, layout="NHWC")
    with transform.LayoutConfig(skip_layers=[0]):
        made = to_nchw(second, **{"nn.max_pool2d": ["NHWC"]})

    found: list[tuple[str, str]] = []

    def look(node: Any) -> None:
        if isinstance(node, relay.Call) and node.op.name in ("nn.conv2d", "nn.max_pool2d"):
            layout = node.attrs.get("data_layout") or node.attrs.layout
            found.append((node.op.name, layout))

    relay.analysis.post_order_visit(made, look)
    assert found == [("nn.conv2d", "NHWC"), ("nn.conv2d", "NCHW"), ("nn.max_pool2d", "NHWC")]
    np.testing.assert_allclose(values(made)[0], values(of(second))[0], rtol=1e-4, atol=1e-4)


def test_blocked_channels_keep_the_values() -> None:
    given = conv(data("NCHW"), kernel("NCHW"), "NCHW")
    given = relay.nn.relu(relay.concatenate([given, given], axis=1)) * relay.var("v", shape=(16, 1, 1))

    made = run_opt_pass(of(given), transform.ConvertLayout({"nn.conv2d": ["NCHW4c", "OIHW4o"]}))
    odd = run_opt_pass(of(given), transform.ConvertLayout({"nn.conv2d": ["NCHW3c", "OIHW3o"]}))

    assert "nn.contrib_conv2d_NCHWc" in str(made)
    np.testing.assert_allclose(values(made)[0], values(of(given))[0], rtol=1e-4, atol=1e-4)
    assert "layout_transform" not in str(odd)  # 8 channels do not divide into blocks of 3


def alter(attrs: Any, inputs: Any, types: Any, result: Any) -> Any:
    assert [one.dtype for one in (*types, result)] == ["float32"] * 3
    return relay.nn.conv2d(*inputs, **{**dict(attrs), "data_layout": "NHWC", "kernel_layout": "HWIO"})


def test_a_user_defined_rule_alters_layouts() -> None:
    given = relay.exp(conv(data("NCHW"), kernel("NCHW"), "NCHW"))
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter):
        made = run_opt_pass(of(given), transform.AlterOpLayout())

    x, w = back(data("NCHW"), "NCHW", "NHWC"), back(kernel("NCHW"), "OIHW", "HWIO")
    expected = back(relay.exp(conv(x, w, "NHWC")), "NHWC", "NCHW")
    tvm.ir.assert_structural_equal(made, run_opt_pass(of(expected), transform.InferType()))
    with (
        TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", lambda attrs, inputs, *_: inputs[0]),
        pytest.raises(UnsupportedError, match=r"the rule of nn\.conv2d gives .*, expected a call"),
    ):
        run_opt_pass(of(given), transform.AlterOpLayout())


@pytest.mark.parametrize(
    ("layouts", "error", "text"),
    [
        ({"nn.dense": ["NCHW"]}, UnsupportedError, r"no layout can be requested for nn\.dense"),
        ({"nn.conv2d": ["default", "OIHW"]}, ConfigError, "expected that of the data first, by name"),
        ({"nn.conv2d": ["NCHW"]}, ConfigError, "expected those of data and kernel"),
        ({"nn.conv2d": ["NWHC", "default"]}, ConfigError, "no default kernel layout for data in NWHC"),
    ],
)
def test_invalid_layouts_of_convert_layout_are_errors(layouts: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        transform.ConvertLayout(layouts)


def test_a_blocked_convolution_infers_its_kernel_and_runs() -> None:
    x, w = relay.var("x", shape=(1, 2, 5, 5, 4)), relay.var("w")
    blocked = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i8o", "out_layout": "NCHW8c"}
    y = relay.nn.conv2d(x, w, channels=8, kernel_size=(3, 3), padding=(1, 1), **blocked)
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, w], y)))
    generator = np.random.default_rng(0)
    data, kernel = (generator.normal(size=shape).astype("float32") for shape in ((1, 8, 5, 5), (8, 8, 3, 3)))

    found = relay.create_executor("graph", mod=typed).evaluate()(
        data.reshape(1, 2, 4, 5, 5).transpose(0, 1, 3, 4, 2),
        kernel.reshape(1, 8, 2, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1),
    )

    assert typed["main"].params[1].checked_type == relay.TensorType((1, 2, 3, 3, 4, 8))
    assert typed["main"].ret_type == relay.TensorType((1, 1, 5, 5, 8))
    plain = relay.nn.conv2d(relay.var("x", shape=data.shape), relay.var("w", shape=kernel.shape), padding=1)
    expected = relay.create_executor("debug").evaluate(
        relay.Function(relay.analysis.free_vars(plain), plain)
    )(data, kernel)
    np.testing.assert_allclose(
        found.numpy()[:, 0].transpose(0, 3, 1, 2), expected.numpy(), rtol=1e-4, atol=1e-4
    )


def altered(expr: Any, rule: Any, op: str = "nn.conv2d") -> Any:
    with TempOpAttr(op, "FTVMAlterOpLayout", rule):
        return run_opt_pass(of(expr), transform.AlterOpLayout())


def layouts(**attrs: str) -> Any:
    return lambda old, inputs, *_: relay.nn.conv2d(*inputs, **{**dict(old), **attrs})


IN_BLOCKS: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda y: relay.concatenate([y, y], axis=1), lambda y: relay.concatenate([y, y], axis=1)),
    (
        lambda y: relay.strided_slice(y, [4, 1], [8, 3], axes=[1, 2]),
        lambda y: relay.strided_slice(y, [1, 1], [2, 3], axes=[1, 2]),
    ),
    (
        lambda y: relay.nn.upsampling(y, 2, 3),
        lambda y: relay.nn.upsampling(y, 2, 3, layout="NCHW4c"),
    ),
    (
        lambda y: relay.variance(y, axis=[2, 3], keepdims=True),
        lambda y: relay.variance(y, axis=[2, 3], keepdims=True),
    ),
    (
        lambda y: relay.mean(y, axis=1, exclude=True, keepdims=True),
        lambda y: relay.mean(y, axis=[1, 4], exclude=True, keepdims=True),
    ),
]


@pytest.mark.parametrize(("before", "after"), IN_BLOCKS)
def test_operators_after_a_blocked_convolution_take_its_layout(before: Any, after: Any) -> None:
    given = before(conv(data("NCHW"), kernel("NCHW"), "NCHW"))

    made = altered(given, layouts(data_layout="NCHW4c"))

    x = back(data("NCHW"), "NCHW", "NCHW4c")
    blocked = relay.nn.conv2d(
        x, kernel("NCHW"), channels=8, kernel_size=(3, 3), padding=1, data_layout="NCHW4c"
    )
    expected = back(after(blocked), "NCHW4c", "NCHW")
    tvm.ir.assert_structural_equal(made, run_opt_pass(of(expected), transform.InferType()))
    np.testing.assert_allclose(values(made)[0], values(of(given))[0], rtol=1e-4, atol=1e-4)


def test_a_slice_across_blocks_uses_the_original_layout() -> None:
    given = relay.strided_slice(conv(data("NCHW"), kernel("NCHW"), "NCHW"), [3], [8], axes=[1])

    made = altered(given, layouts(data_layout="NCHW4c"))

    assert made.body.args[0].op.name == "layout_transform"
    np.testing.assert_allclose(values(made)[0], values(of(given))[0], rtol=1e-4, atol=1e-4)


def test_a_kernel_blocked_in_both_channels_gives_conv2d_nchwc() -> None:
    given = relay.nn.relu(conv(data("NCHW"), kernel("NCHW"), "NCHW"))

    made = run_opt_pass(of(given), transform.ConvertLayout({"nn.conv2d": ["NCHW4c", "OIHW4i4o"]}))

    x, w = back(data("NCHW"), "NCHW", "NCHW4c"), back(kernel("NCHW"), "OIHW", "OIHW4i4o")
    blocked = relay.nn.contrib_conv2d_nchwc(
        x, w, channels=8, kernel_size=(3, 3), padding=1, data_layout="NCHW4c", kernel_layout="OIHW4i4o"
    )
    expected = back(relay.nn.relu(blocked), "NCHW4c", "NCHW")
    tvm.ir.assert_structural_equal(made, run_opt_pass(of(expected), transform.InferType()))
    np.testing.assert_allclose(values(made)[0], values(of(given))[0], rtol=1e-4, atol=1e-4)


def test_l2_normalize_takes_the_layout_of_a_convolution() -> None:
    given = relay.nn.l2_normalize(conv(data("NHWC"), kernel("NHWC"), "NHWC"), 1e-3, axis=[2, 3])

    made = to_nchw(given)

    expected = back(relay.nn.l2_normalize(turned(), 1e-3, axis=[3, 1]))
    tvm.ir.assert_structural_equal(made, run_opt_pass(of(expected), transform.InferType()))


def softmax_moves(attrs: Any, new: Any, old: Any, types: Any) -> Any:
    """Map the axis of a softmax to its position in the layout."""
    first = old[0] if new is None else new[0]
    axis = first.index_of(old[0][attrs["axis"]])
    return InferCorrectLayoutOutput([first], [first], {**attrs, "axis": axis})


def test_a_user_defined_rule_infers_layouts() -> None:
    given = relay.nn.softmax(conv(data("NHWC"), kernel("NHWC"), "NHWC"), axis=-1)

    with TempOpAttr("nn.softmax", "FInferCorrectLayout", softmax_moves):
        made = to_nchw(given)

    expected = back(relay.nn.softmax(turned(), axis=1))
    tvm.ir.assert_structural_equal(made, run_opt_pass(of(expected), transform.InferType()))


@pytest.mark.parametrize(
    ("gives", "text"),
    [
        (None, r"nn.softmax: its rule of layouts gives None, expected an InferCorrectLayoutOutput"),
        (InferCorrectLayoutOutput(["NHWC"], ["NHWC"], {}), r"gives \('NHWC',\), expected those of tvm.tir"),
    ],
)
def test_the_result_of_a_layout_rule_is_checked(gives: Any, text: str) -> None:
    with (
        TempOpAttr("nn.softmax", "FInferCorrectLayout", lambda *_: gives),
        pytest.raises(ConfigError, match=text),
    ):
        to_nchw(relay.nn.softmax(conv(data("NHWC"), kernel("NHWC"), "NHWC")))


@pytest.mark.parametrize("layouts", [["NHWC", "default"], ["HWNC", "default"], ["NCHW4c", "OIHW4o"]])
@pytest.mark.parametrize(
    "behind",
    [
        lambda y: relay.nn.group_norm(y, *[relay.const(np.arange(8, dtype="float32"))] * 2, 2),
        lambda y: relay.nn.instance_norm(y, *[relay.const(np.arange(8, dtype="float32"))] * 2),
        lambda y: relay.argmax(y),
        lambda y: relay.broadcast_to(y, (3, 2, 8, 6, 5)),
        lambda y: relay.nn.adaptive_avg_pool2d(y, (2, 3)),
    ],
)
def test_operators_that_depend_on_axis_order_keep_their_values(behind: Any, layouts: Any) -> None:
    given = behind(conv(data("NCHW"), kernel("NCHW"), "NCHW"))

    made = run_opt_pass(of(given), transform.ConvertLayout({"nn.conv2d": layouts}))

    np.testing.assert_allclose(values(made)[0], values(of(given))[0], rtol=1e-4, atol=1e-4)


def test_alter_op_layout_rules_apply_to_any_operator() -> None:
    x = relay.var("x", shape=(4, 6))
    given = relay.cumsum(x, axis=1)

    made = altered(given, lambda attrs, inputs, *_: relay.cumsum(inputs[0], axis=0), "cumsum")

    tvm.ir.assert_structural_equal(made, run_opt_pass(of(relay.cumsum(x, axis=0)), transform.InferType()))
    with pytest.raises(UnsupportedError, match=r"cumsum: its rule gives .*\(6, 4\).* for .*\(4, 6\)"):
        altered(given, lambda attrs, inputs, *_: relay.transpose(inputs[0]), "cumsum")


def test_a_dense_layer_can_use_a_packed_weight() -> None:
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(32, 8))

    def packed(attrs: Any, inputs: Any, *_: Any) -> Any:
        return relay.nn.contrib_dense_pack(*inputs, "NC16n", None, "float32")

    made = altered(relay.nn.dense(x, w), packed, "nn.dense")

    names = [made.body.op.name, made.body.args[1].op.name]
    assert names == ["nn.contrib_dense_pack", "layout_transform"]
    np.testing.assert_allclose(values(made)[0], values(of(relay.nn.dense(x, w)))[0], rtol=1e-4, atol=1e-4)


def test_a_list_attribute_prints_as_in_tvm() -> None:
    call = conv(data("NCHW"), kernel("NCHW"), "NCHW")

    assert str(call.attrs.kernel_size) == "[3, 3]"
    assert call.attrs.kernel_size == (3, 3)
