"""Winograd convolutions against plain numpy: many shapes, the stated error, refused operands."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tvmlite.core.errors import TvmliteError
from tvmlite.driver import compile
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.techniques.winograd.matrices import FILTERINGS, Filtering, stated_error

LANES = 16


def direct(data: np.ndarray, weight: np.ndarray, pad: tuple[int, ...]) -> np.ndarray:
    """The convolution by its definition, in float64."""
    top, left, bottom, right = pad
    padded = np.pad(data.astype("float64"), ((0, 0), (0, 0), (top, bottom), (left, right)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("nchwyx,ocyx->nohw", seen, weight.astype("float64"), optimize=True)


def blocks(image: np.ndarray) -> np.ndarray:
    """``NCHW`` as ``NCHW16c``; the padding of the last block is NaN, as it must not be read."""
    batch, channels, height, width = image.shape
    whole = np.full((batch, -(-channels // LANES) * LANES, height, width), np.nan, image.dtype)
    whole[:, :channels] = image
    return np.ascontiguousarray(whole.reshape(batch, -1, LANES, height, width).transpose(0, 1, 3, 4, 2))


def winograd(
    data: np.ndarray, weight: np.ndarray, size: int, pad: tuple[int, ...], relu: bool = False
) -> np.ndarray:
    """Run the compiled kernel and return its result channels-first."""
    outputs = weight.shape[0]
    blocked = blocks(data)
    x, bias = var("x", blocked.shape), np.ones((-(-outputs // LANES), 1, 1, LANES), "float32")
    there = make("nn.contrib_conv2d_winograd_weight_transform", constant(weight), tile_size=size)
    packed = make("layout_transform", there, src_layout="HWOI", dst_layout="OHWI16o")
    y = make(
        "nn.contrib_conv2d_winograd_without_weight_transform",
        x,
        packed,
        tile_size=size,
        padding=pad,
        channels=outputs,
    )
    if relu:
        y = make("nn.relu", make("add", y, constant(bias)))
    made = np.asarray(compile(Module({"main": Function((x,), y)}))(blocked))
    whole = made.transpose(0, 1, 4, 2, 3).reshape(made.shape[0], -1, *made.shape[2:4])
    return whole[:, :outputs]


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_random_shapes_are_within_the_stated_error(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch, inputs, outputs = (int(rng.integers(1, top)) for top in (4, 40, 70))
    height, width = (int(n) for n in rng.integers(3, 24, 2))
    pad = tuple(int(n) for n in rng.integers(0, 3, 4))
    data = rng.standard_normal((batch, inputs, height, width), "float32")
    weight = rng.standard_normal((outputs, inputs, 3, 3), "float32")

    got, want = winograd(data, weight, size, pad), direct(data, weight, pad)

    assert got.shape == want.shape
    bound = stated_error(FILTERINGS[size], inputs, "float32")
    assert np.abs(got - want).max() <= bound * np.abs(want).max()


def test_many_chunks_of_tiles_with_a_fused_epilogue() -> None:
    rng = np.random.default_rng(7)
    data = rng.standard_normal((2, 32, 61, 50), "float32")
    weight = rng.standard_normal((48, 32, 3, 3), "float32")

    got = winograd(data, weight, 4, (1, 1, 1, 1), relu=True)

    want = np.maximum(direct(data, weight, (1, 1, 1, 1)) + 1, 0)
    np.testing.assert_allclose(got, want, atol=2e-5 * want.max())


@pytest.mark.parametrize("one", FILTERINGS.values(), ids=lambda one: f"F({one.outputs}, 3)")
def test_the_matrices_compute_the_convolution_exactly(one: Filtering) -> None:
    data = [Fraction(n * n - 3 * n, 7) for n in range(one.extent)]
    window = [Fraction(5), Fraction(-2, 3), Fraction(11, 4)]

    def times(matrix: Any, vector: list[Fraction]) -> list[Fraction]:
        return [sum((a * b for a, b in zip(row, vector, strict=True)), Fraction(0)) for row in matrix]

    products = [a * b for a, b in zip(times(one.data, data), times(one.weight, window), strict=True)]
    want = [sum(data[n + k] * window[k] for k in range(3)) for n in range(one.outputs)]
    assert times(one.result, products) == want


def convolution(
    data: tuple = (1, 2, 9, 9, 16), weight: tuple = (1, 6, 6, 32, 16), dtype: str = "float32", **attrs: Any
) -> Any:
    op = "nn.contrib_conv2d_winograd_without_weight_transform"
    return type_of(make(op, var("x", data, dtype), var("w", weight, dtype), **{"tile_size": 4, **attrs}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tile_size": 3}, "tile_size is 3, expected one of 2, 4"),
        ({"groups": 2}, "groups is 2, expected 1"),
        ({"strides": (2, 2)}, r"strides is \(2, 2\), expected \(1, 1\)"),
        ({"dilation": (1, 2)}, r"dilation is \(1, 2\), expected \(1, 1\)"),
        ({"kernel_size": (5, 5)}, r"kernel_size is \(5, 5\), expected \(3, 3\)"),
        ({"tile_size": 2}, r"weight is \(1, 6, 6, 32, 16\), tile_size 2 has tiles of 4"),
        ({"channels": 17}, r"channels is 17, weight is \(1, 6, 6, 32, 16\)"),
        ({"weight": (1, 6, 6, 33, 16)}, r"data is \(1, 2, 9, 9, 16\), .*: the channels do not fit"),
        ({"weight": (1, 6, 6, 32, 8)}, r"weight is \(1, 6, 6, 32, 8\), kernel_layout is OHWI16o"),
        ({"out_layout": "NCHW"}, "supported are such as 'NCHW16c', 'OHWI16o' and 'NCHW16c'"),
        ({"data": (1, 2, 2, 9, 16)}, "the window does not fit into data"),
        ({"dtype": "int8"}, "dtype is int8, out_dtype '': expected floats, and the same as result"),
        ({"out_dtype": "float64"}, "dtype is float32, out_dtype 'float64': expected floats"),
    ],
)
def test_invalid_operands_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(TvmliteError, match=message):
        convolution(**given)


def test_weights_of_other_windows_are_refused() -> None:
    with pytest.raises(TvmliteError, match=r"weight is \(8, 4, 5, 5\), expected windows of 3 x 3"):
        type_of(make("nn.contrib_conv2d_winograd_weight_transform", var("w", (8, 4, 5, 5)), tile_size=2))
    weight = var("w", (8, 4, 3, 3), "int32")
    with pytest.raises(TvmliteError, match="weight is of int32, expected floats"):
        type_of(make("nn.contrib_conv2d_winograd_weight_transform", weight, tile_size=2))
