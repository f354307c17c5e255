"""TVM's functions for Fourier transforms, computed as products with matrices of cosines and sines."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core import arguments
from tvmlite.core.errors import TvmliteError
from tvmlite.core.span import Span
from tvmlite.relay.ir.types import normal_dim
from tvmlite.tvm.relay.expr import Tuple, TupleWrapper, const
from tvmlite.tvm.relay.op.arguments import argument_type, taken_to_be
from tvmlite.tvm.relay.op.builders import function


def stft(
    data: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    normalized: bool = False,
    onesided: bool = True,
) -> Any:
    """The short-time Fourier transform of each row of ``data``, with windows of ``n_fft`` elements every
    ``hop_length`` elements (default ``n_fft // 4``). The result's axes are rows, frequencies, windows, and
    real and imaginary part."""
    n_fft = arguments.whole("stft: n_fft", n_fft, TvmliteError, least=1)
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if window is None:
        window = const(np.ones(n_fft), argument_type(data).dtype)
    if win_length != n_fft:
        raise TvmliteError(
            f"stft: win_length is {win_length}, n_fft is {n_fft}, expected one number", Span.of_caller()
        )
    type_ = argument_type(data)
    length, dtype = type_.shape[-1], type_.dtype
    if hop_length < 1 or (isinstance(length, int) and length < n_fft):
        raise TvmliteError(
            f"stft: rows have {length} elements, n_fft is {n_fft}, hop_length {hop_length}, expected rows of "
            "at least n_fft and hops of at least 1",
            Span.of_caller(),
        )
    window = function("cast")(taken_to_be(window, (n_fft,)), dtype)
    count = normal_dim((length - n_fft) // hop_length + 1)
    starts = function("multiply")(function("arange")(0, count, 1, dtype="int32"), const(hop_length, "int32"))
    places = function("add")(function("expand_dims")(starts, 1), const(np.arange(n_fft), "int32"))
    frames = function("multiply")(function("take")(data, places, axis=1), window)
    angles = _angles(n_fft, n_fft // 2 + 1 if onesided else n_fft)
    scale = 1 / np.sqrt(n_fft) if normalized else 1.0
    waves = np.cos(angles) * scale, -np.sin(angles) * scale
    parts = [function("nn.dense")(frames, const(wave, dtype)) for wave in waves]
    return function("stack")([function("transpose")(part, (0, 2, 1)) for part in parts], axis=-1)


def dft(re_data: Any, im_data: Any, inverse: bool = False) -> Any:
    """The real and imaginary parts of the discrete Fourier transform along the last axis."""
    type_ = argument_type(re_data)
    count, dtype = type_.shape[-1], type_.dtype
    im_data = taken_to_be(im_data, type_.shape)
    if isinstance(count, int):
        angles: Any = _angles(count, count)
        scale = 1 / count if inverse else 1.0
        cosine, sine = (const(wave(angles) * scale, dtype) for wave in (np.cos, np.sin))
    else:
        numbers = function("arange")(0, count, 1, dtype="int64")
        total = function("cast")(function("reshape")(function("shape_of")(numbers), ()), "int64")
        products = function("multiply")(function("expand_dims")(numbers, 1), numbers)
        products, length = (
            function("cast")(one, "float64") for one in (function("floor_mod")(products, total), total)
        )
        angles = function("divide")(function("multiply")(products, const(2 * np.pi, "float64")), length)
        waves = (function(wave)(angles) for wave in ("cos", "sin"))
        cosine, sine = (
            function("cast")(function("divide")(wave, length) if inverse else wave, dtype) for wave in waves
        )
    if inverse:
        sine = function("negative")(sine)
    dense = function("nn.dense")
    real = function("add")(dense(re_data, cosine), dense(im_data, sine))
    imaginary = function("subtract")(dense(im_data, cosine), dense(re_data, sine))
    return TupleWrapper(Tuple((real, imaginary)), 2)


def _angles(count: int, frequencies: int) -> np.ndarray:
    """The angle of element ``n`` at frequency ``k``; the product modulo ``count`` keeps it precise."""
    products = np.outer(np.arange(frequencies), np.arange(count)) % count
    return 2 * np.pi * products / count
