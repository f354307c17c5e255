"""``tvm.topi``'s images, boxes, blocked channels and layers over several axes, compared with numpy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TvmliteError
from tvmlite.tvm import te, topi
from tvmlite.tvm.contrib.pickle_memoize import memoize
from tvmlite.tvm.topi import testing


def run(make: Callable[..., Any], *arrays: Any) -> Any:
    """The result for ``arrays`` of what ``make`` declares on placeholders."""
    given = [np.asarray(one) for one in arrays]
    tensors = [te.placeholder(x.shape, x.dtype.name, f"x{k}") for k, x in enumerate(given)]
    with tvm.target.Target("llvm"):
        made = make(*tensors)
        outputs = list(made) if isinstance(made, (list, tuple)) else [made]
        s = topi.generic.schedule_injective(outputs)
    return tvm.build(s, [*tensors, *outputs], "llvm")(*given)


def some(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).random(shape).astype("f4") * 2 - 1


IMAGE = some(1, 16, 9, 9)


def blocks(x: np.ndarray, size: int) -> np.ndarray:
    """NCHW in blocks of ``size`` channels."""
    n, c, h, w = x.shape
    return x.reshape(n, c // size, size, h, w).transpose(0, 1, 3, 4, 2)


def test_conv2d_nchwc_matches_conv2d_nchw() -> None:
    kernel = some(32, 16, 3, 3)
    packed = kernel.reshape(2, 16, 2, 8, 3, 3).transpose(0, 2, 4, 5, 3, 1)

    found = run(
        lambda x, w: topi.x86.conv2d_NCHWc(x, w, (1, 1), 1, (1, 1), "NCHW8c", "NCHW16c", "float32"),
        blocks(IMAGE, 8),
        packed,
    )
    np.testing.assert_allclose(found, blocks(testing.conv2d_nchw_python(IMAGE, kernel, 1, 1), 16), atol=1e-4)
    with pytest.raises(TvmliteError, match=r"topi\.nn\.conv2d_NCHWc: layout: 'NHWC' given"):
        run(lambda x, w: topi.nn.conv2d_NCHWc(x, w, 1, 1, 1, "NHWC", "NCHW16c"), blocks(IMAGE, 8), packed)


def test_conv2d_nchwc_int8_accumulates_in_integers() -> None:
    r = np.random.default_rng(1)
    image, kernel = r.integers(0, 9, (1, 16, 5, 5)), r.integers(-9, 9, (16, 16, 3, 3))
    packed = kernel.reshape(1, 16, 1, 4, 4, 3, 3).transpose(0, 2, 5, 6, 3, 1, 4)

    found = run(
        lambda x, w: topi.x86.conv2d_NCHWc_int8(x, w, 1, 1, 1, "NCHW16c", "NCHW16c", "int32"),
        blocks(image.astype("u1"), 16),
        packed.astype("i1"),
    )
    np.testing.assert_array_equal(found, blocks(testing.conv2d_nchw_python(image, kernel, 1, 1), 16))


def test_depthwise_conv2d_nchwc_matches_the_reference() -> None:
    kernel = some(16, 1, 3, 3)
    packed = kernel.reshape(2, 8, 1, 1, 3, 3).transpose(0, 2, 4, 5, 3, 1)

    found = run(
        lambda x, w: topi.x86.depthwise_conv2d_NCHWc(x, w, 1, 1, 1, "NCHW8c", "NCHW8c"),
        blocks(IMAGE, 8),
        packed,
    )
    wanted = testing.depthwise_conv2d_python_nchw(IMAGE, kernel, 1, "SAME")
    np.testing.assert_allclose(found, blocks(wanted, 8), atol=1e-4)


def test_dense_pack_matches_a_matrix_product() -> None:
    data, weight = some(3, 32), some(20, 32)

    for given in (weight, weight.reshape(5, 4, 32).transpose(0, 2, 1)):
        found = run(lambda x, w: topi.x86.dense_pack(x, w, None, "float32"), data, given)
        np.testing.assert_allclose(found, data @ weight.T, atol=1e-4)


def test_group_convolutions_match_references() -> None:
    kernel = some(12, 4, 3, 3)
    wanted = testing.conv2d_nchw_python(IMAGE, kernel, 1, 1, 4)
    moved = IMAGE.transpose(0, 2, 3, 1), kernel.transpose(2, 3, 1, 0)

    found = run(lambda x, w: topi.nn.group_conv2d_nhwc(x, w, 1, 1, 1, 4), *moved)
    np.testing.assert_allclose(found, wanted.transpose(0, 2, 3, 1), atol=1e-4)
    rows = run(lambda x, w: topi.nn.group_conv1d_ncw(x, w, 1, "SAME", 1, 4), IMAGE[:, :, 0], kernel[:, :, 0])
    np.testing.assert_allclose(
        rows, testing.group_conv1d_ncw_python(IMAGE[:, :, 0], kernel[:, :, 0], 1, "SAME", 1, 4), atol=1e-4
    )


def test_transposed_convolutions_match_references() -> None:
    rows, volume = some(1, 3, 9), some(1, 3, 4, 4, 4)
    of_rows, of_volumes = some(3, 4, 5), some(3, 2, 3, 3, 3)

    found = run(lambda x, w: topi.nn.conv1d_transpose_ncw(x, w, 2, (1, 1), "float32", 1), rows, of_rows)
    np.testing.assert_allclose(
        found, testing.conv1d_transpose_ncw_python(rows, of_rows, 2, (1, 1), 1), atol=1e-4
    )
    options = (2, 2, 2), (1, 1, 1), (1, 1, 1)
    found = run(
        lambda x, w: topi.nn.conv3d_transpose_ncdhw(x, w, *options[:2], "float32", options[2]),
        volume,
        of_volumes,
    )
    np.testing.assert_allclose(
        found, testing.conv3d_transpose_ncdhw_python(volume, of_volumes, *options), atol=1e-4
    )


@pytest.mark.parametrize("ceil_mode", [False, True])
def test_max_pool_of_a_window_of_padding_is_the_least_float(ceil_mode: bool) -> None:
    x = some(1, 2, 7, 7)
    options = [2, 2], [2, 2], [1, 1], [0, 3, 0, 3]

    found = run(lambda v: topi.nn.pool2d(v, *options, "max", ceil_mode), x)
    rows, columns = (4, 7) if ceil_mode else (3, 6)
    parts = np.full((1, 2, 8, 14), np.finfo("f4").min, "f4")
    parts[:, :, :7, 3:10] = x
    parts = parts[:, :, : 2 * rows, : 2 * columns].reshape(1, 2, rows, 2, columns, 2)
    np.testing.assert_array_equal(found, parts.max((3, 5)))


def test_layer_norm_and_rms_norm_over_several_axes_match_numpy() -> None:
    x, gamma, beta = some(2, 3, 4, 5), some(3, 5), some(3, 5, seed=1)
    mean, variance = x.mean((1, 3), keepdims=True), x.var((1, 3), keepdims=True)
    scale = (x - mean) / np.sqrt(variance + 1e-5)

    found = run(lambda *v: topi.nn.layer_norm(*v, (1, 3)), x, gamma, beta)
    np.testing.assert_allclose(found, scale * gamma[:, None] + beta[:, None], atol=1e-4)
    found = run(lambda *v: topi.nn.rms_norm(*v, (1, 3)), x, gamma)
    root = np.sqrt((x**2).mean((1, 3), keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, x / root * gamma[:, None], atol=1e-4)


def test_group_norm_matches_numpy() -> None:
    x, gamma, beta = some(2, 4, 3, 5), some(4), some(4, seed=1)
    parts = x.reshape(2, 2, 2, 3, 5)
    mean, variance = parts.mean((2, 3, 4), keepdims=True), parts.var((2, 3, 4), keepdims=True)
    wanted = ((parts - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape)

    found = run(lambda *v: topi.nn.group_norm(*v, 2, 1, [2, 3]), x, gamma, beta)
    np.testing.assert_allclose(found, wanted * gamma[:, None, None] + beta[:, None, None], atol=1e-4)
    rows = run(lambda *v: topi.nn.group_norm(*v, 2, 1, [2]), x, gamma, beta)
    mean, variance = parts.mean((2, 3), keepdims=True), parts.var((2, 3), keepdims=True)
    wanted = ((parts - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape)
    np.testing.assert_allclose(rows, wanted * gamma[:, None, None] + beta[:, None, None], atol=1e-4)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_images_are_resized_in_both_layouts(layout: str) -> None:
    image = some(1, 4, 8, 8) if layout == "NCHW" else some(1, 8, 8, 4)

    for method, mode in (
        ("nearest_neighbor", "asymmetric"),
        ("linear", "half_pixel"),
        ("cubic", "half_pixel"),
    ):
        found = run(
            lambda x, m=method, c=mode: topi.image.resize2d(x, [0.0] * 4, (12, 20), layout, m, c), image
        )
        wanted = testing.resize2d_python(image, (1.5, 2.5), layout, method, mode)
        np.testing.assert_allclose(found, wanted, atol=1e-3)
    found = run(lambda x: topi.nn.upsampling(x, 2.0, 2.0, layout, "bilinear"), image)
    wanted = testing.resize2d_python(image, (2.0, 2.0), layout, "linear", "asymmetric")
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_integer_images_are_resized_in_float_and_truncated() -> None:
    image = np.array([[[[0, 10], [20, 30]]]], "u1")

    found = run(lambda x: topi.image.resize2d(x, [0.0] * 4, (2, 4), method="linear"), image)
    np.testing.assert_array_equal(found, [[[[0, 2, 7, 10], [20, 22, 27, 30]]]])
    assert found.dtype == np.uint8


def test_non_max_suppression_keeps_the_best_boxes() -> None:
    boxes = np.array(
        [
            [
                [0, 0.8, 1, 20, 25, 45],
                [1, 0.7, 30, 60, 50, 80],
                [0, 0.4, 4, 21, 19, 40],
                [2, 0.9, 35, 61, 52, 79],
            ]
        ],
        "f4",
    )
    counts, places = np.array([4], "i4"), np.arange(4, dtype="i4")[None]
    options = {"coord_start": 2, "score_index": 1, "id_index": 0}

    kept = run(
        lambda *x: topi.vision.non_max_suppression(*x, -1, 0.5, True, 2, return_indices=False, **options),
        boxes,
        counts,
        places,
    )
    np.testing.assert_allclose(kept[0, :2], boxes[0, [3, 0]])
    assert (kept[0, 2:] == -1).all()
    indices, count = run(
        lambda *x: topi.vision.non_max_suppression(*x, -1, 0.5, True, 2, **options), boxes, counts, places
    )
    np.testing.assert_array_equal(indices, [[3, 0, -1, -1]])
    assert count == [[2]]
    valid = run(lambda x: topi.vision.get_valid_counts(x, 0.5, 0, 1), boxes)
    assert valid[0] == [3]
    np.testing.assert_array_equal(valid[2], [[0, 1, 3, -1]])


def test_multibox_detection_decodes_and_suppresses_boxes() -> None:
    scores = np.array([[[0.2, 0.5, 0.3], [0.25, 0.3, 0.45], [0.7, 0.1, 0.2]]], "f4")
    anchors = np.array([[[0.1, 0.1, 0.3, 0.3], [0.1, 0.1, 0.3, 0.3], [0.5, 0.5, 0.9, 0.9]]], "f4")

    moves = np.zeros((1, 12), "f4")
    found = run(topi.vision.ssd.multibox_detection, scores, moves, anchors)
    np.testing.assert_allclose(found[0, 0], [1, 0.7, 0.1, 0.1, 0.3, 0.3], atol=1e-6)
    np.testing.assert_allclose(found[0, 1:, :2], [[0, 0.45], [0, 0.3]], atol=1e-6)
    thinned = run(
        lambda *x: topi.vision.ssd.multibox_detection(*x, force_suppress=True), scores, moves, anchors
    )
    np.testing.assert_allclose(thinned[0, :2], found[0, :2])
    assert (thinned[0, 2] == -1).all()


def test_roi_align_and_roi_pool_match_references() -> None:
    image, regions = some(2, 4, 8, 8), np.array([[0, 1, 1, 6, 5], [1, 0, 2, 7, 7]], "f4")

    for make, options in ((testing.roi_align_nchw_python, (2, b"avg")), (testing.roi_pool_nchw_python, ())):
        name = make.__name__.removesuffix("_python")
        own = tuple(reversed(options))  # mode comes first in topi
        found = run(
            lambda x, r, n=name, o=own: getattr(topi.vision.rcnn, n)(x, r, 3, 1.0, *o), image, regions
        )
        np.testing.assert_allclose(found, make(image, regions, 3, 1.0, *options), atol=1e-4)


def test_binary_dense_matches_a_product_of_signs() -> None:
    data, weight = np.where(some(4, 64) > 0, 1, -1), np.where(some(6, 64) > 0, 1, -1)

    def product(x: Any, w: Any) -> Any:
        return topi.nn.binary_dense(topi.nn.binarize_pack(x), topi.nn.binarize_pack(w))

    found = run(product, data.astype("f4"), weight.astype("f4"))
    np.testing.assert_array_equal(found, data @ weight.T)
    with pytest.raises(TvmliteError, match="binarize_pack: the extent: 33 given, expected a multiple of 32"):
        topi.nn.binarize_pack(te.placeholder((2, 33)))


def test_sparse_dense_matches_a_dense_product() -> None:
    weight = np.where(some(6, 8) > 0.3, some(6, 8), 0)
    rows, columns = np.nonzero(weight)
    starts = np.searchsorted(rows, np.arange(7)).astype("i4")
    data = some(3, 8, seed=1)

    found = run(topi.nn.sparse_dense, data, weight[rows, columns], columns.astype("i4"), starts)
    np.testing.assert_allclose(found, data @ weight.T, atol=1e-5)


def test_symbolic_extents_are_kept() -> None:
    m, n = te.var("m"), te.var("n")
    a = te.placeholder((m, n), name="a")

    made = topi.tanh(topi.floor(a))
    assert made.shape == (m, n)
    x = some(3, 4) * 9
    np.testing.assert_allclose(
        tvm.build(te.create_schedule(made.op), [a, made])(x), np.tanh(np.floor(x)), atol=1e-6
    )


def test_abs_of_floats_is_tir_fabs() -> None:
    x = some(5)

    np.testing.assert_array_equal(run(topi.abs, x), abs(x))
    for dtype, name in (("float32", "tir.fabs"), ("int32", "tir.abs")):
        assert topi.abs(te.placeholder((3,), dtype)).op.body[0].op.name == name


def test_memoize_caches_results_by_arguments() -> None:
    seen = []

    @memoize("key", save_at_exit=True)
    def double(x: Any) -> Any:
        seen.append(x)
        return x * 2

    assert [double(2), double(2), double([1]), double([1])] == [4, 4, [1, 1], [1, 1]]
    assert seen == [2, [1], [1]]


def test_topi_is_loaded_lazily() -> None:
    program = "import sys, tvmlite.tvm.topi; print('tvmlite.te' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"


def test_conv3d_takes_parameters_by_topis_names() -> None:
    data, kernel = te.placeholder((1, 2, 4, 5, 6), name="d"), te.placeholder((3, 2, 2, 2, 2), name="k")

    made = topi.nn.conv3d_ncdhw(Input=data, Filter=kernel, stride=2, padding=0, dilation=1, groups=1)

    assert [int(n) for n in made.shape] == [1, 3, 2, 2, 3]
