"""Details of operators in which TVM differs from numpy, ONNX or our table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError, TvmliteError, TypeInferError, UnsupportedError
from tvmlite.tvm import relay


def value(body: Any, *given: Any) -> Any:
    """The result of ``body`` as a function of its free variables."""
    function = relay.Function(relay.analysis.free_vars(body), body)
    return relay.create_executor("graph").evaluate(function)(*given).numpy()


def test_integer_means_of_planes_are_truncated_towards_zero() -> None:
    x = relay.var("x", shape=(1, 1, 2, 3), dtype="int32")
    given = np.array([-1, -2, -2, -2, -2, -2], np.int32).reshape(1, 1, 2, 3)

    assert value(relay.nn.global_avg_pool2d(x), given).reshape(-1).tolist() == [-1]
    assert value(relay.nn.adaptive_avg_pool2d(x, (1, 3)), given).reshape(-1).tolist() == [-1, -2, -2]


def test_upsampling_rounds_extents_half_to_even() -> None:
    x = relay.var("x", shape=(1, 1, 5, 3))

    made = relay.nn.upsampling(x, scale_h=2.5, scale_w=1.5)

    assert made.checked_type == relay.TensorType((1, 1, 12, 4))


def test_argwhere_gives_int32_positions() -> None:
    x = relay.var("x", shape=(2, 2), dtype="bool")
    found = relay.create_executor("vm").evaluate(relay.Function([x], relay.argwhere(x)))
    given = np.array([[False, True], [True, False]])

    result = found(given).numpy()

    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, np.argwhere(given))


def test_stft_has_defaults() -> None:
    x = relay.var("x", shape=(1, 16))
    given = np.random.default_rng(0).normal(size=(1, 16)).astype("float32")

    found = value(relay.stft(x, 8), given)

    frames = np.stack([given[:, at : at + 8] for at in range(0, 9, 2)], axis=1)
    expected = np.fft.rfft(frames).transpose(0, 2, 1)
    np.testing.assert_allclose(found, np.stack([expected.real, expected.imag], axis=-1), atol=1e-4)


def test_bounds_of_random_numbers_may_be_constants() -> None:
    key = relay.random.threefry_key(1)

    one = relay.random.uniform(key, (8,), "float64", relay.const(2.0, "float64"), relay.const(3.0, "float64"))
    other = relay.random.uniform(key, (8,), "float64", 2.0, 3.0)

    found, expected = value(one[1]), value(other[1])
    np.testing.assert_array_equal(found, expected)
    assert ((found >= 2) & (found < 3)).all()


def test_copies_between_devices_are_copies_on_the_cpu() -> None:
    x = relay.var("x", shape=(2,))
    given = np.array([1, 2], np.float32)

    np.testing.assert_array_equal(value(relay.device_copy(x, tvm.cpu(0), tvm.cpu(1)), given), given)
    with pytest.raises(UnsupportedError, match=r"device_copy: dst_device is 'cuda', expected the CPU"):
        relay.device_copy(x, "cpu", "cuda")


def test_winograd_weight_transform_is_an_error() -> None:
    weight = relay.var("w", shape=(4, 8, 3, 3))

    with pytest.raises(UnsupportedError, match=r"(?s)winograd_weight_transform is not in.*nn\.conv2d"):
        relay.nn.contrib_conv2d_winograd_weight_transform(weight, 4)


def test_bound_vars_lists_parameters_before_let_variables() -> None:
    x, a = relay.var("x", shape=(3,)), relay.var("a")
    function = relay.Function([x], relay.Let(a, relay.exp(x), relay.add(a, a)))

    assert relay.analysis.bound_vars(function) == [x, a]


def test_let_of_a_scope_builder_takes_a_name_and_a_type() -> None:
    scope = relay.ScopeBuilder()
    type_ = relay.TensorType((2,), "int32")

    name = scope.let(("a", type_), relay.const(np.array([1, 2], np.int32)))
    scope.ret(relay.add(name, name))

    assert name.type_annotation == type_
    assert value(scope.get()).tolist() == [2, 4]
    with pytest.raises(ValueError, match="let: var has 3 parts, expected a name and a type"):
        scope.let(("a", type_, 1), relay.const(1))


def test_constants_of_numpy_have_32_bits_unless_a_dtype_is_given() -> None:
    given = [np.array([1.5]), np.array([2]), np.float64(1), np.float16(1), np.array([1.5], np.float32)]

    assert [str(relay.const(one).data.dtype) for one in given] == [
        "float32",
        "int32",
        "float32",
        "float16",
        "float32",
    ]
    assert str(relay.const(np.array([1.5]), "float64").data.dtype) == "float64"
    assert str(relay.const(tvm.nd.array(np.array([1.5]))).data.dtype) == "float64"


def test_constants_folded_at_build_time_keep_64_bits() -> None:
    x = relay.var("x", shape=(2,), dtype="float64")
    big = np.array([2.0**40 + 1, 1.0])

    found = relay.build_module.bind_params_by_name(relay.Function([x], x + x), {"x": big})

    assert relay.create_executor("graph").evaluate(found)().numpy().tolist() == (2 * big).tolist()


def test_a_variable_outside_of_its_let_makes_an_expression_ill_formed() -> None:
    x, y = relay.var("x", shape=()), relay.var("y", shape=())
    let = relay.Let(x, y, relay.exp(x))

    assert relay.analysis.well_formed(relay.Function([], let))
    assert not relay.analysis.well_formed(relay.add(let, x))
    assert not relay.analysis.well_formed(relay.Let(x, relay.exp(x), x))


def test_the_value_of_a_let_is_visited_before_its_variable() -> None:
    x, a = relay.var("x", shape=()), relay.var("a", shape=())
    seen: list[str] = []

    relay.analysis.post_order_visit(relay.Let(a, relay.exp(x), a), lambda node: seen.append(str(node)))

    assert seen.index(str(x)) < seen.index(str(a))


def test_mac_count_of_conv2d_transpose_is_by_output_windows() -> None:
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    y = relay.nn.conv2d_transpose(x, w, channels=3, kernel_size=(3, 3), strides=(2, 2))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, w], y)))

    assert relay.analysis.get_total_mac_number(mod["main"]) == 3 * 17 * 17 * 4 * 9


def test_unknown_options_of_executors_are_named() -> None:
    with pytest.raises(UnsupportedError, match='Attribute "woof" is not available on this Executor'):
        relay.backend.Executor("graph", {"woof": "bark"})
    with pytest.raises(UnsupportedError, match='Attribute "woof" is not available on this Runtime'):
        relay.backend.Runtime("cpp", {"woof": "bark"})


def suppressed(boxes: np.ndarray, scores: np.ndarray, *limits: float) -> list[list[int]]:
    """The selected rows, as many as the second result counts."""
    given = [relay.var(name, shape=one.shape) for name, one in (("b", boxes), ("s", scores))]
    rows = relay.vision.all_class_non_max_suppression(*given, *limits)
    run = relay.create_executor("vm").evaluate(relay.Function(given, rows.astuple()))
    found, count = run(boxes, scores)
    return found.numpy()[: int(count.numpy()[0])].tolist()


def test_all_class_nms_applies_its_limits() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [0.5, 0.5, 2, 2]]], np.float32)
    scores = np.array([[[0.2, 0.8, 0.5], [0.6, 0.1, 0.7]]], np.float32)

    assert suppressed(boxes, scores, -1, 0.5, 0.15) == [[0, 0, 1], [0, 0, 2], [0, 1, 2], [0, 1, 0]]
    assert suppressed(boxes, scores, 1, 0.5, 0.65) == [[0, 0, 1], [0, 1, 2]]
    with pytest.raises(TvmliteError, match="output_format is 'tf', expected 'onnx' or 'tensorflow'"):
        relay.vision.all_class_non_max_suppression(
            relay.const(boxes), relay.const(scores), output_format="tf"
        )


def test_all_class_nms_has_the_tensorflow_output_format() -> None:
    boxes = np.tile(np.array([[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]], np.float32), (2, 1, 1))
    scores = np.array([[[0.2, 0.8, 0.5]], [[0.9, 0.1, 0.1]]], np.float32)
    given = [relay.var("b", shape=boxes.shape), relay.var("s", shape=scores.shape)]
    made = relay.vision.all_class_non_max_suppression(*given, -1, 0.5, 0.15, "tensorflow").astuple()

    rows, best, count = relay.create_executor("vm").evaluate(relay.Function(given, made))(boxes, scores)
    assert rows.numpy().tolist() == [[[0, 1], [0, 2], [0, 0]], [[0, 0], [0, 0], [0, 0]]]
    np.testing.assert_array_equal(best.numpy(), np.array([[0.8, 0.5, 0], [0.9, 0, 0]], np.float32))
    assert count.numpy().tolist() == [2, 1]


def test_the_number_of_results_is_known_without_types() -> None:
    boxes = relay.var("boxes", shape=(1, relay.Any(), 6))
    count = relay.var("count", shape=(1,), dtype="int32")
    indices = relay.var("indices", shape=(1, relay.Any()), dtype="int32")

    both = relay.vision.non_max_suppression(boxes, count, indices, return_indices=True)

    assert len(both) == 2


def test_cdr_and_crd_are_the_same_mode() -> None:
    x = relay.var("x", shape=(1, 4, 2, 2))

    assert tvm.ir.structural_equal(
        relay.nn.depth_to_space(x, 2, "NCHW", "CDR"), relay.nn.depth_to_space(x, 2, "NCHW", "CRD")
    )


@pytest.mark.parametrize("typed", [True, False])
def test_layer_norm_along_several_axes_is_an_error(typed: bool) -> None:
    x = relay.var("x", shape=(2, 3, 4))
    scale = relay.var("scale", shape=(3, 4)) if typed else relay.var("scale")
    made = relay.nn.layer_norm(x, scale, scale, axis=(1, 2))

    with pytest.raises(TypeInferError, match=r"axis is \(1, 2\), expected one of|%scale is not determined"):
        relay.transform.InferType()(tvm.IRModule.from_expr(made))


def test_multinomial_draws_samples_by_their_weights() -> None:
    weights = relay.const(np.array([[1, 3, -2, 0], [0, 0, 0.5, 0]], np.float32))

    _, drawn = relay.random.multinomial(relay.random.threefry_key(5), weights, num_samples=2000)
    found = value(drawn)

    assert found.shape == (2, 2000)
    assert found.dtype == np.int32
    counts = np.bincount(found[0], minlength=4)
    assert abs(counts[1] - 1500) < 80
    assert counts[2:].sum() == 0
    assert (found[1] == 2).all()


def test_deformable_conv2d_reads_zeros_before_the_image() -> None:
    x, offset, weight = (
        relay.var("x", shape=(1, 1, 2, 2)),
        relay.var("o", shape=(1, 2, 2, 2)),
        relay.const(np.ones((1, 1, 1, 1), np.float32)),
    )
    call = relay.nn.deformable_conv2d(x, offset, weight, kernel_size=(1, 1), channels=1)

    found = value(
        call, np.arange(1, 5, dtype=np.float32).reshape(1, 1, 2, 2), np.full((1, 2, 2, 2), -0.5, "f4")
    )

    np.testing.assert_allclose(found[0, 0], [[0, 0], [0, 2.5]])


@pytest.mark.parametrize(
    ("name", "weight_shape", "layouts"),
    [
        ("nn.conv2d", (2, 3, 2, 2), {}),
        ("nn.conv2d", (2, 2, 2, 3), {"data_layout": "NHWC", "kernel_layout": "HWOI"}),
        ("nn.conv1d", (2, 3, 2), {}),
    ],
)
def test_weights_with_a_channel_multiplier_are_merged(
    name: str, weight_shape: tuple[int, ...], layouts: dict[str, str]
) -> None:
    rank = len(weight_shape) - 2
    shape = (1, *(5,) * rank, 2) if layouts else (1, 2, *(5,) * rank)
    place = layouts.get("kernel_layout", "OI").index("O")
    merged = (*weight_shape[:place], 6, 1, *weight_shape[place + 2 :])
    x, given = (
        relay.var("x", shape=shape),
        np.random.default_rng(0).standard_normal(weight_shape).astype("f4"),
    )
    attrs = {"groups": 2, "channels": 6, "kernel_size": (2,) * rank, **layouts}
    build = getattr(relay.nn, name.removeprefix("nn."))
    data = np.random.default_rng(1).standard_normal(shape).astype("f4")

    found = value(build(x, relay.const(given), **attrs), data)

    np.testing.assert_array_equal(found, value(build(x, relay.const(given.reshape(merged)), **attrs), data))
    with pytest.raises(TypeInferError, match="channels is 4, weight is"):
        build(x, relay.const(given), **attrs | {"channels": 4}).checked_type  # noqa: B018


def test_zero_points_by_channel_work_with_channel_multipliers() -> None:
    x = relay.var("x", shape=(1, 2, 1, 1), dtype="uint8")
    weight = relay.const(np.arange(4, dtype=np.uint8).reshape(2, 2, 1, 1))
    zeros, scales = (relay.const(0, "int32"), relay.const([1, 2], "int32")), [relay.const(1.0, "float32")] * 2
    attrs = {"kernel_size": (1, 1), "channels": 4, "groups": 2}

    found = value(relay.qnn.conv2d(x, weight, *zeros, *scales, **attrs), np.full((1, 2, 1, 1), 3, "u1"))

    assert found.reshape(-1).tolist() == [-3, 0, 0, 3]


def test_the_pad_value_may_be_an_array_of_one_element() -> None:
    x, given = relay.var("x", shape=(1,), dtype="int8"), np.array([3], "i1")

    for pad_value in (relay.const([7], "int8"), relay.exp(relay.const([0.0])).astype("int8")):
        found = value(relay.nn.pad(x, ((1, 1),), pad_value=pad_value), given)
        assert found.tolist() in ([7, 3, 7], [1, 3, 1])


@pytest.mark.parametrize(
    ("kind", "expected"), [(0, [-3.0, 0.4, 800.0]), (1, [-5.0, 2.0, 127.0]), (2, [0.0, 2.0, 255.0])]
)
def test_the_dtype_of_simulated_quantization_may_be_computed(kind: int, expected: list[float]) -> None:
    x, number = relay.var("x", shape=(3,)), relay.var("kind", shape=(), dtype="int32")
    parameters = relay.const(0.5), relay.const(1, "int32")
    codes = relay.qnn.simulated_quantize(x, *parameters, out_dtype=number)
    both = relay.Tuple([codes, relay.qnn.simulated_dequantize(codes, *parameters, in_dtype=number)])
    run = relay.create_executor("graph").evaluate(relay.Function([x, number], both))

    found, reals = (one.numpy() for one in run(np.array([-3, 0.4, 800], "f4"), np.int32(kind)))

    np.testing.assert_array_equal(found, np.array(expected, "f4"))
    np.testing.assert_array_equal(reals, found if kind == 0 else (found - 1) * 0.5)


def test_the_axis_of_a_scalar_scale_is_ignored() -> None:
    x, scale, zero = relay.var("x", shape=(2,), dtype="uint8"), relay.const(0.5), relay.const(0, "int32")
    made = relay.qnn.add(x, x, *(scale, zero) * 3, lhs_axis=1, rhs_axis=1)

    assert value(made, np.array([1, 200], "u1")).tolist() == [2, 255]


def test_dense_layers_of_mostly_zeros_become_sparse() -> None:
    weight = np.zeros((4, 6), np.float32)
    weight[2:, 2:4] = [[1, 2], [3, 4]]
    dense = np.ones((4, 6), np.float32)
    x, sparse, full = (
        relay.var(name, shape=shape) for name, shape in (("x", (1, 6)), ("w", (4, 6)), ("v", (4, 6)))
    )
    function = relay.Function([x, sparse, full], relay.nn.dense(x, sparse) + relay.nn.dense(x, full))
    convert = relay.data_dep_optimization.bsr_dense.convert

    made, params = convert(function, {"w": weight, "v": dense}, (2, 2), 0.8)

    assert {name: np.shape(one) for name, one in params.items()} == {
        "v": (4, 6),
        "w.data": (1, 2, 2),
        "w.indices": (1,),
        "w.indptr": (3,),
    }
    assert str(made).count("nn.sparse_dense(") == str(made).count("nn.dense(") == 1
    given = np.arange(6, dtype=np.float32).reshape(1, 6)
    order = [params[one.name] for one in made.params if one.name != "x"]
    found = relay.create_executor("debug").evaluate(made)(given, *order).numpy()
    np.testing.assert_array_equal(found, given @ (weight + dense).T)
    with pytest.raises(InputError, match=r"'w' is \(4, 6\), blocks of \(3, 2\) do not fit"):
        convert(function, {"w": weight}, (3, 2), 0.8)
