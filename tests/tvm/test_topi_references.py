"""References of ``tvm.topi.testing``, compared with loops and cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import UnsupportedError
from tvmlite.tvm import te, topi
from tvmlite.tvm.topi import testing


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).uniform(-1, 1, shape)


def test_group_conv1d_has_groups_and_dilation() -> None:
    data, kernel = drawn(1, 4, 9), drawn(6, 2, 3)
    made = testing.group_conv1d_ncw_python(data, kernel, 2, 1, 2, 2)

    padded = np.pad(data, ((0, 0), (0, 0), (1, 1)))
    expected = np.zeros((1, 6, 4))
    for channel in range(6):
        for place in range(4):
            for tap in range(3):
                for inside in range(2):
                    source = padded[0, (channel // 3) * 2 + inside, place * 2 + tap * 2]
                    expected[0, channel, place] += source * kernel[channel, inside, tap]
    np.testing.assert_allclose(made, expected)


def test_conv3d_is_the_same_in_both_layouts() -> None:
    data, kernel = drawn(1, 3, 4, 5, 6), drawn(2, 3, 3, 3, 3)
    first = testing.conv3d_ncdhw_python(data, kernel, (1, 2, 1), 1)
    last = testing.conv3d_ndhwc_python(
        np.moveaxis(data, 1, -1), kernel.transpose(2, 3, 4, 1, 0), (1, 2, 1), 1
    )
    np.testing.assert_allclose(np.moveaxis(last, -1, 1), first)


def test_a_transposed_convolution_is_the_transpose_of_a_convolution() -> None:
    data, kernel, result = drawn(1, 2, 7, 7), drawn(3, 2, 3, 3), drawn(1, 3, 4, 4)
    forth = testing.conv2d_nchw_python(data, kernel, 2, 1)
    back = testing.conv2d_transpose_nchw_python(result, kernel, 2, 1, 0)
    assert np.sum(forth * result) == pytest.approx(np.sum(data * back))
    nhwc = testing.conv2d_transpose_nhwc_python(
        np.moveaxis(result, 1, -1), kernel.transpose(2, 3, 0, 1), "HWIO", 2, 1
    )
    np.testing.assert_allclose(np.moveaxis(nhwc, -1, 1), back)


def test_average_pools_may_count_the_padding() -> None:
    data = np.arange(1.0, 6.0).reshape(1, 1, 5)
    options = ([3], [2], [1], [1], [1], "avg")
    counted = testing.poolnd_python(data, *options, dtype="float64")
    np.testing.assert_allclose(counted, [[[1.0, 3.0, 3.0]]])
    own = testing.poolnd_python(data, *options, count_include_pad=False, dtype="float64")
    np.testing.assert_allclose(own, [[[1.5, 3.0, 4.5]]])


def test_ceil_mode_counts_windows_beyond_the_end() -> None:
    data = np.arange(6.0).reshape(1, 6, 1)
    made = testing.poolnd_python(data, [3], [2], [1], [0], [0], "max", ceil_mode=True, layout="NWC")
    np.testing.assert_array_equal(made, [[[2], [4], [5]]])


def test_adaptive_pool_regions_overlap_if_sizes_do_not_divide() -> None:
    made = testing.adaptive_pool(np.arange(5.0).reshape(1, 1, 5), (3,), "avg", "NCW")
    np.testing.assert_allclose(made, [[[0.5, 2.0, 3.5]]])


def test_space_to_batch_is_inverted_by_batch_to_space() -> None:
    data = drawn(2, 4, 6, 3)
    there = testing.space_to_batch_nd_python(data, [2, 3], [0, 0], [0, 0])
    np.testing.assert_array_equal(there[1], data[1, ::2, ::3])
    np.testing.assert_array_equal(testing.batch_to_space_nd_python(there, [2, 3], [0, 0], [0, 0]), data)


def test_space_to_depth_is_inverted_by_depth_to_space() -> None:
    data = drawn(1, 3, 4, 6)
    there = testing.space_to_depth_python(data, 2)
    assert there.shape == (1, 12, 2, 3)
    np.testing.assert_array_equal(testing.depth_to_space_python(there, 2), data)


def test_lrn_in_float16_rounds_once() -> None:
    given = np.full((1, 3), 0.1, np.float16)

    found = testing.lrn_python(given, 1, 1, 0.5, 1e-5, 0.75)

    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, (given.astype("f8") / 0.5**0.75).astype(np.float16))


def test_sequence_mask_masks_along_its_axis() -> None:
    made = testing.sequence_mask(np.ones((3, 2)), np.array([1, 3]), -1, 0)
    np.testing.assert_array_equal(made, [[1, 1], [-1, 1], [-1, 1]])


def test_resize2d_nearest_matches_repetition() -> None:
    data = np.arange(4, dtype="float32").reshape(1, 1, 2, 2)
    made = testing.resize2d_python(data, (2, 2), "NCHW", "nearest_neighbor", "asymmetric")
    np.testing.assert_array_equal(made, data.repeat(2, 2).repeat(2, 3))


def test_resize_crop_and_grid_sample_match_values_by_hand() -> None:
    row = np.array([[[0.0, 2.0, 4.0]]], "float32")
    linear = testing.resize1d_python(row, (2,), "NCW", "linear", "half_pixel")
    np.testing.assert_allclose(linear, [[[0, 0.5, 1.5, 2.5, 3.5, 4]]])
    aligned = testing.resize1d_python(row, (5 / 3,), "NCW", "linear", "align_corners")
    np.testing.assert_allclose(aligned, [[[0, 1, 2, 3, 4]]])
    image = np.arange(9, dtype="float32").reshape(1, 1, 3, 3)
    crop = testing.crop_and_resize_python(image, np.array([[0, 0, 1, 0.5]]), np.array([0]), (2, 2), "NCHW")
    np.testing.assert_allclose(crop, [[[[0, 1], [6, 7]]]])
    grid = np.array([[[[0.0, -1.0, 2.0]], [[0.0, 0.5, 0.0]]]], "float32")
    np.testing.assert_allclose(testing.grid_sample_python(image, grid), [[[[4, 4.5, 0]]]])
    np.testing.assert_allclose(
        testing.grid_sample_python(image, grid, padding_mode="border"), [[[[4, 4.5, 5]]]]
    )
    same = testing.affine_grid_python(np.array([[[1, 0, 0], [0, 1, 0]]], "float32"), (3, 3))
    np.testing.assert_allclose(testing.grid_sample_python(image, same), image)


def test_roi_align_averages_and_roi_pool_maximizes() -> None:
    image = np.arange(16, dtype="float32").reshape(1, 1, 4, 4)
    whole = np.array([[0, 0, 0, 4, 4]], "float32")
    np.testing.assert_allclose(
        testing.roi_align_nchw_python(image, whole, 1, 1.0, 2), [[[[(5 + 7 + 13 + 15) / 4]]]]
    )
    largest = testing.roi_pool_nchw_python(image, np.array([[0, 0, 0, 3, 3]], "float32"), 2, 1.0)
    np.testing.assert_allclose(largest, [[[[5, 7], [13, 15]]]])


def test_deformable_conv2d_with_integer_offsets_shifts_the_image() -> None:
    data, kernel = drawn(1, 2, 5, 5), drawn(3, 2, 3, 3)
    still = np.zeros((1, 18, 5, 5))
    made = testing.deformable_conv2d_nchw_python(data, still, kernel, 1, 1, 1, 1, 1)
    np.testing.assert_allclose(made, testing.conv2d_nchw_python(data, kernel, 1, 1))
    moved = np.roll(data, -1, 2) * (np.arange(5) < 4)[:, None]
    down = still.reshape(1, 9, 2, 5, 5) + np.array([1.0, 0.0]).reshape(1, 1, 2, 1, 1)
    made = testing.deformable_conv2d_nchw_python(data, down.reshape(still.shape), kernel, 1, 1, 1, 1, 1)
    np.testing.assert_allclose(made[:, :, 1:], testing.conv2d_nchw_python(moved, kernel, 1, 1)[:, :, 1:])


def test_deformable_conv2d_handles_positions_outside_the_image() -> None:
    data, kernel, half = (
        np.arange(1, 5.0).reshape(1, 1, 2, 2),
        np.ones((1, 1, 1, 1)),
        np.full((1, 2, 2, 2), 0.5),
    )

    before = testing.deformable_conv2d_nchw_python(data, -half, kernel, 1, 0, 1, 1, 1)
    behind = testing.deformable_conv2d_nchw_python(data, half, kernel, 1, 0, 1, 1, 1)

    np.testing.assert_allclose(before[0, 0], [[0, 0], [0, 2.5]])
    np.testing.assert_allclose(behind[0, 0], [[2.5, 1.5], [1.75, 1]])


def test_correlation_with_itself_is_the_mean_square() -> None:
    data = drawn(1, 3, 6, 6)
    made = testing.correlation_nchw_python(data, data, 1, 1, 1, 1, 1, True)
    np.testing.assert_allclose(made[:, 4], np.mean(data**2, 1))
    apart = testing.correlation_nchw_python(data, data, 1, 1, 1, 1, 1, False)
    assert np.all(apart[:, 4] == 0)
    rows = testing.reorg_python(np.arange(16.0).reshape(1, 4, 2, 2), 2)
    assert rows.shape == (1, 16, 1, 1)
    assert sorted(rows.ravel()) == list(range(16))


def test_group_norm_and_nll_loss_follow_their_formulas() -> None:
    x = np.arange(24, dtype="f4").reshape(1, 4, 2, 3) ** 2
    ones, zeros = np.ones(4, "f4"), np.zeros(4, "f4")

    found = testing.group_norm_python(x, ones, zeros, 2, 1, [2, 3])
    for part in (found[0, :2], found[0, 2:]):
        assert abs(part.mean()) < 1e-5
        assert abs(part.std() - 1) < 1e-4
    predicted = np.array([[1, 2], [3, 4], [5, 6]], "f4")
    targets, weights = np.array([0, 1, -100]), np.array([1, 3], "f4")
    np.testing.assert_array_equal(testing.nll_loss(predicted, targets, weights, "none"), [-1, -12, 0])
    assert testing.nll_loss(predicted, targets, weights, "sum") == -13
    assert testing.nll_loss(predicted, targets, weights) == -13 / 4


def test_compare_numpy_tvm_finds_differences() -> None:
    x = np.arange(6, dtype="f4").reshape(2, 3)
    options = "llvm", tvm.cpu(), topi.tanh, topi.generic.schedule_injective

    testing.compare_numpy_tvm([x], np.tanh(x), *options)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        testing.compare_numpy_tvm([x], np.sin(x), *options)


def test_get_pad_tuple_gives_numbers() -> None:
    utils = topi.nn.utils

    assert utils.get_pad_tuple("SAME", (3, 4)) == (1, 2, 1, 1)
    assert utils.get_pad_tuple((1, 2), (3, 3)) == (1, 2, 1, 2)
    assert utils.get_pad_tuple1d("VALID", 3) == (0, 0)
    assert utils.get_pad_tuple3d(2, (3, 3, 3)) == (2,) * 6
    data = te.placeholder((1, 2, 5, 6))
    assert utils.infer_pad(data, topi.nn.pad(data, (0, 0, 1, 2))) == (1, 2)


def test_an_absent_reference_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match=r"tvm\.topi\.testing\.pool_grad_nchw is not in tvmlite"):
        testing.pool_grad_nchw()
