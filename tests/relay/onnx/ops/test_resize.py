"""Resize with scales, sizes and regions known only at run time, compiled once and called repeatedly."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import tvmlite
from tvmlite.relay.onnx import from_onnx

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
rng = np.random.default_rng(0)


def model(names: str, shape, count: int, version: int = 19, **attributes):
    """Return Resize with the inputs ``names`` ("_": absent); scales and sizes have ``count`` elements."""
    op = "Upsample" if version < 10 else "Resize"
    node = helper.make_node(op, [n if n != "_" else "" for n in names.split()], ["y"], **attributes)
    kinds = {
        "x": (FLOAT, shape),
        "roi": (FLOAT, [2 * count]),
        "scales": (FLOAT, [count]),
        "sizes": (INT64, [count]),
    }
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, *kinds[n]) for n in names.split() if n != "_"],
        [helper.make_tensor_value_info("y", FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)


def check(made, cases) -> None:
    """Check each case, given by input names, against the reference evaluator of ONNX."""
    lib, reference = tvmlite.compile(from_onnx(made)), ReferenceEvaluator(made)
    for feeds in cases:
        wanted = reference.run(None, feeds)[0]
        got = lib(*feeds.values())
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


MODES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric", "align_corners"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("mode", MODES)
def test_resize_by_scales(method: str, mode: str) -> None:
    made = model(
        "x _ scales",
        [1, 2, "h", "w"],
        2,
        mode=method,
        coordinate_transformation_mode=mode,
        axes=[2, 3],
        nearest_mode="floor",
    )
    scales = [(0.61, 1.7), (2.0, 1.0), (1.3, 0.76)]
    check(
        made,
        [
            {"x": rng.random((1, 2, 4 + k, 7)).astype("float32"), "scales": np.array(s, np.float32)}
            for k, s in enumerate(scales)
        ],
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["linear", "cubic"])
@pytest.mark.parametrize("exclude", [0, 1])
def test_antialias_widens_the_window_by_the_scale(method: str, exclude: int) -> None:
    made = model("x _ scales", ["h", "w"], 2, mode=method, antialias=1, exclude_outside=exclude)
    scales = [(0.3, 0.6), (0.5, 1.5)]
    check(
        made,
        [{"x": rng.random((9, 8)).astype("float32"), "scales": np.array(s, np.float32)} for s in scales],
    )


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_resize_by_sizes_and_an_aspect_ratio_policy(policy: str) -> None:
    made = model("x _ _ sizes", ["h", "w"], 2, mode="linear", keep_aspect_ratio_policy=policy)
    sizes = [(7, 8), (3, 2), (9, 9)]
    check(made, [{"x": rng.random((5, 6)).astype("float32"), "sizes": np.array(s)} for s in sizes])


def test_resize_by_sizes_of_four_axes() -> None:
    made = model("x _ _ sizes", ["a", "b", "h", "w"], 4, mode="cubic")
    sizes = [(2, 3, 5, 9), (1, 4, 8, 2)]
    check(made, [{"x": rng.random((2, 3, 4, 5)).astype("float32"), "sizes": np.array(s)} for s in sizes])


def test_crop_and_resize_extrapolates_around_the_region() -> None:
    made = model(
        "x roi _ sizes",
        [1, 1, 4, "w"],
        2,
        mode="linear",
        axes=[2, 3],
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=10.0,
    )
    regions = [(0.2, 0.1, 0.9, 0.6), (-0.5, 0.3, 1.5, 1.2)]
    check(
        made,
        [
            {
                "x": rng.random((1, 1, 4, 6)).astype("float32"),
                "roi": np.array(r, np.float32),
                "sizes": np.array([3, 5]),
            }
            for r in regions
        ],
    )


def test_upsample_by_scales() -> None:
    lib = tvmlite.compile(from_onnx(model("x scales", [1, 1, "h", 3], 4, version=9, mode="nearest")))
    x = rng.random((1, 1, 2, 3)).astype("float32")

    for rows, columns in ((2, 3), (1, 2)):
        got = lib(x, np.array([1, 1, rows, columns], np.float32))
        np.testing.assert_array_equal(got, x.repeat(rows, 2).repeat(columns, 3))


def test_a_nonpositive_or_infinite_scale_stops_the_run() -> None:
    lib = tvmlite.compile(from_onnx(model("x _ scales", ["h", "w"], 2)))
    x = rng.random((2, 3)).astype("float32")

    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(tvmlite.TvmliteError, match="resize_extent_by_scale"):
            lib(x, np.array([1, bad], np.float32))
