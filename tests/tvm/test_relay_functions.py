"""TVM's functions whose arguments differ from our operators' attributes, and extents of ``Any()``."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import ConfigError, InputError, TvmliteError, TypeInferError, UnsupportedError
from tvmlite.tvm import relay
from tvmlite.tvm.relay.testing import run_infer_type


def var(name: str, shape: Sequence[Any], dtype: str = "float32") -> Any:
    return relay.var(name, shape=tuple(shape), dtype=dtype)


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).uniform(-1, 1, shape).astype("float32")


def value(function: Any, *arrays: Any, kind: str = "graph") -> Any:
    return relay.create_executor(kind).evaluate(function)(*arrays)


@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
def test_matrix_set_diag_aligns_diagonals(align: str) -> None:
    data, diagonal = drawn(3, 4), drawn(3, 3)
    x, d = var("x", (3, 4)), var("d", (3, 3))
    made = value(relay.Function([x, d], relay.matrix_set_diag(x, d, (-1, 1), align)), data, diagonal)

    expected = data.copy()
    above, below = align.split("_")
    for k, count in ((1, 3), (0, 3), (-1, 2)):
        start = 3 - count if (above if k >= 0 else below) == "RIGHT" else 0
        for at in range(count):
            expected[at + max(-k, 0), at + max(k, 0)] = diagonal[1 - k, start + at]
    np.testing.assert_array_equal(made, expected)


def test_an_unknown_alignment_is_refused() -> None:
    with pytest.raises(TvmliteError, match="align is 'MIDDLE', expected 'LEFT_LEFT', 'LEFT_RIGHT'"):
        relay.matrix_set_diag(var("x", (3, 3)), var("d", (3,)), 0, "MIDDLE")


def test_bounds_of_a_slice_may_be_omitted() -> None:
    data, x = drawn(3, 4, 3), var("x", (3, 4, 3))

    def cut(*bounds: Any, **options: Any) -> Any:
        return value(relay.Function([x], relay.strided_slice(x, *bounds, **options)), data)

    np.testing.assert_array_equal(cut([1, 1], [4, 4, 2]), data[1:, 1:, :2])
    np.testing.assert_array_equal(cut([1, None, 0], [4, 2]), data[1:, :2])
    np.testing.assert_array_equal(cut([None], [None], [-1]), data[::-1])
    np.testing.assert_array_equal(cut([1, 1], [1], slice_mode="size"), data[1:2, 1:])
    np.testing.assert_array_equal(cut(relay.const([0, 1]), relay.const([2, 2])), data[:2, 1:2])


def test_strided_set_accepts_omitted_bounds() -> None:
    data, part = drawn(3, 4), drawn(2, 4)
    x, v = var("x", (3, 4)), var("v", (2, 4))
    made = value(
        relay.Function([x, v], relay.strided_set(x, v, relay.const([1]), relay.const([3, 4]))), data, part
    )

    expected = data.copy()
    expected[1:3] = part
    np.testing.assert_array_equal(made, expected)


def test_seeds_may_be_numpy_ints() -> None:
    own, other = (relay.random.threefry_key(seed).data for seed in (3, np.int32(3)))
    np.testing.assert_array_equal(own, other)


def test_attributes_may_be_given_by_tvms_names() -> None:
    x, key = var("x", (5,), "int32"), relay.random.threefry_key(1)
    pairs = (
        (relay.unique(x, is_sorted=False), relay.unique(x, False)),
        (relay.random.threefry_generate(key, shape=(4,)), relay.random.threefry_generate(key, (4,))),
    )
    assert all(tvm.ir.structural_equal(a.tuple_value, b.tuple_value) for a, b in pairs)


@pytest.mark.parametrize("exclude", [False, True])
def test_the_sum_of_bools_is_their_disjunction(exclude: bool) -> None:
    data, x = drawn(2, 5) > 0.8, var("x", (2, 5), "bool")
    made = value(relay.Function([x], relay.sum(x, 1, exclude=exclude)), data)

    np.testing.assert_array_equal(made, data.any(axis=0 if exclude else 1), strict=True)


def test_topk_with_k_below_one_gives_all_elements() -> None:
    data, x = drawn(2, 5), var("x", (2, 5))
    made = value(relay.Function([x], relay.topk(x, 0, ret_type="values")), data)
    np.testing.assert_array_equal(made, -np.sort(-data, 1))


@pytest.mark.parametrize("width", [8, relay.Any()])
@pytest.mark.parametrize("inverse", [False, True])
def test_dft_gives_real_and_imaginary_parts(inverse: bool, width: Any) -> None:
    real, imaginary = drawn(2, 8), drawn(2, 8)[::-1]
    a, b = var("a", (2, width)), var("b", (2, width))
    main = relay.Function([a, b], relay.dft(a, b, inverse).astuple())
    made = value(main, real, imaginary.copy(), kind="vm")

    expected = (np.fft.ifft if inverse else np.fft.fft)(real + 1j * imaginary)
    np.testing.assert_allclose(made[0], expected.real, atol=1e-5)
    np.testing.assert_allclose(made[1], expected.imag, atol=1e-5)


@pytest.mark.parametrize(
    ("rows", "width", "dtype"),
    [((2, 20), 8, "float32"), ((relay.Any(), relay.Any()), relay.Any(), "float32"), ((2, 20), 8, "int32")],
)
def test_stft_transforms_each_window(rows: Any, width: Any, dtype: str) -> None:
    data, window = drawn(2, 20), (5 * np.hanning(8)).astype(dtype)
    x, w = var("x", rows), var("w", (width,), dtype)
    made = value(relay.Function([x, w], relay.stft(x, 8, 4, 8, w, False, True)), data, window, kind="vm")

    frames = np.stack([data[:, at : at + 8] * window for at in range(0, 13, 4)], -1)
    expected = np.fft.rfft(frames, axis=1)
    np.testing.assert_allclose(made, np.stack([expected.real, expected.imag], -1), atol=1e-4)


def test_stft_refuses_windows_that_do_not_fit() -> None:
    x, w = var("x", (1, 6)), var("w", (8,))
    with pytest.raises(TvmliteError, match="rows have 6 elements, n_fft is 8"):
        relay.stft(x, 8, 4, 8, w, False, True)
    with pytest.raises(TvmliteError, match="win_length is 4, n_fft is 8, expected one number"):
        relay.stft(x, 8, 4, 4, w, False, True)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: relay.sum(None), "sum: argument 1 is None"),
        (lambda: relay.segment_sum(None, None), "an argument is None, expected a relay expression"),
        (lambda: relay.stft(var("x", (1, 6)), "8"), "stft: n_fft: '8' given"),
        (lambda: relay.random.threefry_key("1"), "threefry_key: seed is '1', expected 0"),
        (lambda: relay.reverse_reshape(var("x", (6,)), None), "newshape is None"),
    ],
)
def test_invalid_arguments_of_functions_are_refused(build: Any, text: str) -> None:
    with pytest.raises(TvmliteError, match=text):
        build()


def test_the_pad_value_may_be_computed() -> None:
    x, v = var("x", (2, 3)), var("v", ())
    made = value(relay.Function([x, v], relay.nn.pad(x, ((1, 0), (0, 2)), v)), drawn(2, 3), np.float32(9))
    np.testing.assert_array_equal(made, np.pad(drawn(2, 3), ((1, 0), (0, 2)), constant_values=9))


def test_images_of_integers_are_resized_linearly() -> None:
    x = var("x", (1, 1, 2, 2), "uint8")
    y = relay.image.resize2d(x, (2, 3), None, "NCHW", "linear", "align_corners")
    assert run_infer_type(y).checked_type == relay.TensorType((1, 1, 2, 3), "uint8")
    made = value(relay.Function([x], y), np.array([[[[0, 10], [20, 41]]]], "uint8"))
    np.testing.assert_array_equal(made, [[[[0, 5, 10], [20, 30, 41]]]])


def test_requantize_config_sets_the_rounding_mode() -> None:
    def rounded(**options: str) -> list[int]:
        x, one, zero = var("x", (2,), "int32"), relay.const(1.0), relay.const(0)
        y = relay.qnn.op.requantize(x, one, zero, relay.const(2.0), zero, **options)
        return value(relay.Function([x], y), np.array([-1, 1], "int32")).tolist()

    with relay.qnn.op.requantize_config(rounding="TONEAREST"):
        assert rounded() == [-1, 1]
        assert rounded(rounding="UPWARD") == [0, 1]
    assert rounded() == [0, 1]
    with pytest.raises(TvmliteError, match="no option 'round', expected rounding or compute_dtype"):
        relay.qnn.op.requantize_config(round="UPWARD").__enter__()


@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_extents_of_any_are_taken_from_the_arrays(kind: str) -> None:
    x, y = var("x", (relay.Any(), relay.Any())), var("y", (relay.Any(), 3))
    run = relay.create_executor(kind).evaluate(
        relay.Function([x, y], relay.concatenate([x, y], 0) * relay.const(2.0))
    )
    for rows in (1, 2, 1):
        a, b = drawn(rows, 3), drawn(4, 3)
        np.testing.assert_array_equal(run(a, b), np.concatenate([a, b]) * 2)


def test_arrays_that_do_not_fit_extents_of_any_are_refused() -> None:
    x, y = var("x", (relay.Any(), relay.Any())), var("y", (relay.Any(), 3))
    run = relay.create_executor("vm").evaluate(relay.Function([x, y], x + y))
    with pytest.raises(InputError, match=r"x: shape is \(2,\), expected \(any_"):
        run(drawn(2), drawn(2, 3))
    with pytest.raises(TypeInferError, match="do not broadcast"):
        run(drawn(5, 3), drawn(2, 3))


def test_error_of_an_absent_operator_says_why() -> None:
    with pytest.raises(UnsupportedError, match=r"relay\.nn\.bitserial_dense is not in tvmlite") as raised:
        relay.nn.bitserial_dense(var("x", (2, 2)), var("w", (2, 2)))
    assert "nn.dense of int8" in str(raised.value)
    assert isinstance(raised.value, tvm.error.TVMError)


def test_text_has_the_attributes_without_a_default_in_tvm() -> None:
    x = var("x", (1, 2, 8, 8))
    for call, wanted in (
        (relay.nn.max_pool2d(x), "pool_size=[1, 1]"),
        (relay.transpose(x), "axes=None"),
        (relay.vision.get_valid_counts(var("b", (1, 4, 6)), 0.5), "score_threshold=None"),
    ):
        text = call.astext()
        assert wanted in text
        assert relay.fromtext(
            relay.Function(relay.analysis.free_vars(call), getattr(call, "tuple_value", call)).astext()
        )


def test_the_type_of_a_blocked_kernel_is_inferred() -> None:
    x, w = var("x", (1, 2, 6, 6, 4)), relay.var("w")
    layouts = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i8o"}
    call = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=16, **layouts)
    from tvmlite.tvm.relay.graph.untyped import solved

    assert solved(call, [x.checked_type, None])[1].shape == (2, 2, 3, 3, 4, 8)


def test_several_results_are_returned_in_an_adt() -> None:
    x = var("x", (2,))
    for kind in ("graph", "debug", "vm"):
        made = value(relay.Function([x], relay.Tuple([x, x + x])), np.ones(2, "float32"), kind=kind)
        assert isinstance(made, tvm.runtime.container.ADT)
        assert [one.tolist() for one in made] == [[1, 1], [2, 2]]


def test_modules_of_operators_can_be_imported() -> None:
    for name in ("nn", "tensor", "annotation"):
        importlib.import_module(f"tvmlite.tvm.relay.op.{name}")
    module = importlib.import_module("tvmlite.tvm.relay.op.nn")
    assert module.dense is relay.nn.dense
    with pytest.raises(AttributeError, match=r"nn\.no_such_operator"):
        _ = module.no_such_operator


def test_a_submodule_of_an_absent_module_is_absent() -> None:
    module = importlib.import_module("tvmlite.tvm.topi.cuda.conv3d_winograd")
    with pytest.raises(UnsupportedError, match=r"tvm\.topi\.cuda\.conv3d_winograd\.tile_size") as raised:
        module.tile_size()
    assert "there is code for CPUs only" in str(raised.value)


def test_an_extent_computed_from_any_is_any() -> None:
    x = var("x", (relay.Any(), 3))
    made = run_infer_type(relay.concatenate([x, x], 0)).checked_type
    assert made == relay.TensorType((relay.Any(), 3))
    assert made != relay.TensorType((4, 3))


def test_non_max_suppression_may_return_boxes_without_indices() -> None:
    data = np.array([[[0, 0.9, 0, 0, 4, 4], [0, 0.8, 0, 0, 4, 5], [0, 0.7, 8, 8, 9, 9]]], "float32")
    pair = relay.split(var("x", (2, 3, 6)), 2)
    boxes, count = pair[0], var("n", (1,), "int32")
    made = relay.vision.non_max_suppression(boxes, count, boxes, return_indices=False)
    assert [one.name_hint for one in relay.analysis.free_vars(made)] == ["x", "n"]

    x = relay.analysis.free_vars(made)[0]
    both = np.concatenate([data, data])
    found = value(relay.Function([x, count], made), both, np.array([3], "int32"))
    np.testing.assert_array_equal(found[0, :, 1], np.array([0.9, -1, 0.7], "float32"))


def test_one_of_several_results_is_visited_as_a_node() -> None:
    seen: list[Any] = []
    first = relay.split(var("x", (2, 3)), 2)[0]
    relay.analysis.post_order_visit(first, seen.append)
    assert seen[-1] is first


@pytest.mark.parametrize("transpose_a", [False, True])
def test_matmul_accepts_leading_axes(transpose_a: bool) -> None:
    data, weight = drawn(2, 3, 4), drawn(5, 3 if transpose_a else 4)
    x, w = var("x", data.shape), var("w", weight.shape)
    made = relay.nn.matmul(x, w, units=5, transpose_a=transpose_a, transpose_b=True)
    expected = (data.swapaxes(1, 2) if transpose_a else data) @ weight.T
    np.testing.assert_allclose(value(relay.Function([x, w], made), data, weight), expected, rtol=1e-5)

    n = tvm.te.size_var("n")
    made = relay.nn.matmul(var("x", (n, 3, 4)), relay.var("w"), units=5)
    assert run_infer_type(made).checked_type == relay.TensorType((n, 3, 5))


def test_flexible_shape_dispatch_accepts_any_size_along_an_axis() -> None:
    x, w = relay.var("x", shape=(4, 6)), relay.var("w", shape=(5, 6))
    products = relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w)))
    mod = tvm.IRModule.from_expr(products)

    rows = relay.transform.FlexibleShapeDispatch([1, 4], axis=0, auto_pad=True)(mod)
    columns = relay.transform.FlexibleShapeDispatch([3, 6], axis=1, input_indices=[0, 1])(mod)

    generator = np.random.default_rng(0)
    for made, shapes in ((rows, [(1, 6), (5, 6)]), (rows, [(3, 6), (5, 6)]), (columns, [(4, 2), (5, 2)])):
        given = [generator.normal(size=shape).astype("float32") for shape in shapes]
        found = relay.create_executor("vm", mod=made).evaluate()(*given).numpy()
        np.testing.assert_allclose(found, np.maximum(given[0] @ given[1].T, 0), rtol=1e-4, atol=1e-5)
    assert [str(one.type_annotation.shape[0]) for one in rows["main"].params] == ["any_size_0", "5"]


def test_equal_strides_of_four_axes_are_reduced_to_two() -> None:
    x, w = relay.var("x", shape=(2, 3, 9, 9)), relay.var("w", shape=(3, 2, 2))

    made = relay.image.dilation2d(x, w, strides=[2, 2, 2, 2], dilations=[1, 1, 1, 1])

    assert (made.attrs.strides, made.attrs.dilations) == ((2, 2), (1, 1))
    assert made.checked_type == relay.TensorType((2, 3, 4, 4))
    with pytest.raises(TypeInferError, match=r"strides is \(1, 2, 2, 1\), expected 2 values"):
        _ = relay.image.dilation2d(x, w, strides=[1, 2, 2, 1]).checked_type


def test_modules_of_operators_have_const_and_tuple() -> None:
    assert relay.op.const(1.0).data.dtype == "float32"
    assert relay.op.transform.Tuple is relay.op.Tuple is relay.Tuple


def test_change_batch_updates_dependent_types() -> None:
    x, w, y = relay.var("x", shape=(1, 6)), relay.var("w", shape=(5, 6)), relay.var("y")
    body = relay.Let(y, relay.nn.dense(x, w), relay.nn.relu(y))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, w], body)))
    first = mod["main"].params[0]

    made = relay.transform.ChangeBatch({first: 0}, batch_size=7)(mod)

    wanted = [relay.TensorType(shape) for shape in ((7, 6), (5, 6), (7, 5))]
    assert made["main"].checked_type == relay.FuncType(wanted[:2], wanted[2])
    with pytest.raises(ConfigError, match="ChangeBatch: axis is 2, x has 2 axes"):
        relay.transform.ChangeBatch({first: 2})(mod)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"axis": 2}, r"axis is 2, x has 2 axes"),
        ({"input_indices": [1]}, r"input_indices is \[1\], main has 1 parameters"),
    ],
)
def test_invalid_options_of_flexible_shape_dispatch_are_errors(options: Any, text: str) -> None:
    x = relay.var("x", shape=(4, 6))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))

    with pytest.raises(ConfigError, match=text):
        relay.transform.FlexibleShapeDispatch([1], **options)(mod)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_division_by_a_constant_becomes_a_product(dtype: str) -> None:
    x = relay.var("x", shape=(2, 3), dtype=dtype)
    divisor = np.array([1.5, -4.0, 3.0], dtype)

    made = relay.transform.DivToMul()(tvm.IRModule.from_expr(x / relay.const(divisor, dtype)))

    assert made["main"].body.op.name == "multiply"
    given = np.array([[1, 2, 3], [-4, 5, 6]], dtype)
    found = relay.create_executor("debug", mod=made).evaluate()(given).numpy()
    np.testing.assert_allclose(found, given / divisor, rtol=1e-6)


def test_other_divisions_are_kept() -> None:
    x = relay.var("x", shape=(3,), dtype="int32")
    y = relay.var("y", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Tuple([x / relay.const(2, "int32"), relay.const(1.0) / y]))

    made = relay.transform.DivToMul()(relay.transform.InferType()(mod))

    assert sorted(relay.analysis.list_op_freqs(made)) == ["divide"]
