"""Operators with output extents that depend on data, compiled once and called repeatedly, against numpy."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import tvmlite
from tvmlite.core.errors import UnsupportedError
from tvmlite.relay.onnx import from_onnx

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
rng = np.random.default_rng(0)


def compiled(op: str, inputs, count: int, kinds, version: int = 18, **attributes):
    """Compile a model of one node with the inputs ``(name, kind, shape)``."""
    return tvmlite.compile(from_onnx(model(op, inputs, count, kinds, version, **attributes)))


def model(op: str, inputs, count: int, kinds, version: int = 18, **attributes):
    names = [f"y{k}" for k in range(count)]
    node = helper.make_node(op, [name for name, *_ in inputs], names, **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(*one) for one in inputs],
        [helper.make_tensor_value_info(n, k, None) for n, k in zip(names, kinds, strict=True)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)


@pytest.mark.slow
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unique_equals_numpys(axis) -> None:
    attributes = {} if axis is None else {"axis": axis}
    shape = ["n", 3] if axis != 1 else [3, "n"]
    lib = compiled("Unique", [("x", FLOAT, shape)], 4, [FLOAT, INT64, INT64, INT64], **attributes)
    for rows in (1, 7, 40, 0):
        x = rng.integers(0, 3, (rows, 3)).astype("float32")
        x = x.T.copy() if axis == 1 else x
        wanted = np.unique(x, True, True, True, axis)
        for got, want in zip(lib(x), wanted, strict=True):
            np.testing.assert_array_equal(got, want.reshape(got.shape))


def test_unique_in_order_of_appearance() -> None:
    lib = compiled("Unique", [("x", FLOAT, ["n"])], 4, [FLOAT, INT64, INT64, INT64], sorted=0)
    x = np.array([2, 1, 1, 3, 2, 0], np.float32)

    values, first, inverse, counts = lib(x)

    np.testing.assert_array_equal(values, [2, 1, 3, 0])
    np.testing.assert_array_equal(first, [0, 1, 3, 5])
    np.testing.assert_array_equal(values[inverse], x)
    np.testing.assert_array_equal(counts, [2, 2, 1, 1])


def test_compress_selects_by_the_condition() -> None:
    lib = compiled("Compress", [("x", FLOAT, ["n", 4]), ("c", BOOL, ["m"])], 1, [FLOAT], axis=1)
    for keep in ([True, False, True, True], [False], [False] * 4):
        x = rng.random((5, 4)).astype("float32")
        np.testing.assert_array_equal(lib(x, np.array(keep)), np.compress(keep, x, 1))


@pytest.mark.parametrize("keep", [0, 1])
def test_reduction_over_axes_known_only_at_run_time(keep: int) -> None:
    inputs = [("x", FLOAT, ["a", "b", 4]), ("axes", INT64, [2])]
    lib = compiled("ReduceSum", inputs, 1, [FLOAT], keepdims=keep)
    x = rng.random((2, 3, 4)).astype("float32")

    for axes in ((0, 1), (2, 0), (-1, -2)):
        np.testing.assert_allclose(lib(x, np.array(axes)), x.sum(axes, keepdims=bool(keep)), rtol=1e-5)


def test_slice_by_bounds_axes_and_steps_known_only_at_run_time() -> None:
    inputs = [("x", FLOAT, ["a", "b"]), *((name, INT64, [2]) for name in ("starts", "ends", "axes", "steps"))]
    lib = compiled("Slice", inputs, 1, [FLOAT])
    x = rng.random((6, 7)).astype("float32")
    cases = [
        ((1, 5), (4, -20), (0, 1), (2, -1)),
        ((-3, 0), (100, 3), (1, 0), (1, 1)),
        ((4, 2), (1, 2), (0, 1), (1, 3)),
    ]

    for starts, ends, axes, steps in cases:
        at = [slice(None)] * 2
        for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
            at[axis] = slice(start, end if end > -20 else None, step)
        got = lib(x, *(np.array(v) for v in (starts, ends, axes, steps)))
        np.testing.assert_array_equal(got, x[tuple(at)])


def test_pad_along_axes_known_only_at_run_time() -> None:
    inputs = [("x", FLOAT, ["a", "b"]), ("pads", INT64, [2]), ("v", FLOAT, []), ("axes", INT64, [1])]
    lib = compiled("Pad", inputs, 1, [FLOAT])
    x, fill = rng.random((3, 4)).astype("float32"), np.array(2.5, np.float32)

    for axis, pads in ((0, (1, 2)), (-1, (0, 3))):
        width = [(0, 0), (0, 0)]
        width[axis] = pads
        wanted = np.pad(x, width, constant_values=2.5)
        np.testing.assert_array_equal(lib(x, np.array(pads), fill, np.array([axis])), wanted)
    with pytest.raises(tvmlite.TvmliteError, match="pad_axes_found"):
        lib(x, np.array((1, 2)), fill, np.array([2]))


def test_wrapping_pad_by_widths_known_only_at_run_time() -> None:
    lib = compiled("Pad", [("x", FLOAT, ["a", "b"]), ("pads", INT64, [4])], 1, [FLOAT], 19, mode="wrap")
    x = rng.random((3, 4)).astype("float32")

    for before, after in (((1, 2), (0, 3)), ((2, 0), (3, 5))):
        wanted = np.pad(x, list(zip(before, after, strict=True)), mode="wrap")
        np.testing.assert_array_equal(lib(x, np.array([*before, *after])), wanted)


def test_center_crop_pad_to_a_shape_known_only_at_run_time() -> None:
    inputs = [("x", FLOAT, ["a", 5]), ("shape", INT64, [2])]
    lib = compiled("CenterCropPad", inputs, 1, [FLOAT])
    evaluator = ReferenceEvaluator(model("CenterCropPad", inputs, 1, [FLOAT]))

    for shape in ((3, 9), (8, 2), (4, 5), (7, 6)):
        feeds = {"x": rng.random((4, 5)).astype("float32"), "shape": np.array(shape)}
        np.testing.assert_array_equal(lib(*feeds.values()), evaluator.run(None, feeds)[0])


def test_training_mode_of_dropout_must_be_known_at_import() -> None:
    made = model("Dropout", [("x", FLOAT, ["n"]), ("r", FLOAT, []), ("t", BOOL, [])], 1, [FLOAT])
    x, ratio = rng.random(5).astype("float32"), np.array(0.5, np.float32)

    with pytest.raises(UnsupportedError, match=r"training_mode depends on the data or on sizes"):
        from_onnx(made)
    with pytest.raises(UnsupportedError, match=r"dropping at random"):
        from_onnx(made, constants={"t": np.array(True), "r": ratio})
    np.testing.assert_array_equal(
        tvmlite.compile(from_onnx(made, constants={"t": np.array(False)}))(x, ratio), x
    )


@pytest.mark.parametrize("aligned", [0, 1])
def test_affine_grid_of_a_size_known_only_at_run_time(aligned: int) -> None:
    inputs = [("theta", FLOAT, ["n", 2, 3]), ("size", INT64, [4])]
    lib = compiled("AffineGrid", inputs, 1, [FLOAT], 20, align_corners=aligned)
    evaluator = ReferenceEvaluator(model("AffineGrid", inputs, 1, [FLOAT], 20, align_corners=aligned))

    for rows, columns in ((3, 5), (4, 2)):
        feeds = {"theta": rng.random((2, 2, 3)).astype("float32"), "size": np.array([2, 1, rows, columns])}
        np.testing.assert_allclose(lib(*feeds.values()), evaluator.run(None, feeds)[0], rtol=1e-5, atol=1e-6)


def test_col2im_of_shapes_known_only_at_run_time() -> None:
    inputs = [("x", FLOAT, [1, "rows", "blocks"]), ("image", INT64, [2]), ("block", INT64, [2])]
    lib = compiled("Col2Im", inputs, 1, [FLOAT])
    evaluator = ReferenceEvaluator(model("Col2Im", inputs, 1, [FLOAT]))

    for image, block in (((5, 5), (1, 5)), ((4, 6), (2, 3))):
        rows, blocks = np.prod(block), np.prod(np.subtract(image, block) + 1)
        x = rng.random((1, 2 * rows, blocks)).astype("float32")
        feeds = {"x": x, "image": np.array(image), "block": np.array(block)}
        np.testing.assert_allclose(lib(*feeds.values()), evaluator.run(None, feeds)[0], rtol=1e-5)
