"""ONNX's DFT and STFT."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim, show_shape
from tvmlite.relay.onnx.graph import axes, dims
from tvmlite.relay.onnx.graph.broadcast import assume_shape
from tvmlite.relay.onnx.graph.data_dependent_dims import as_extents, name_dims, require_positive
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter

LARGEST_PRIME = 2048
"""The largest prime factor of a transform's length: it becomes a matrix of that size squared."""

Complex = tuple[Expr, Expr | None]
"""The real and imaginary parts, ``(rows, n)``; None: all zeros."""


@converter("DFT", since=17)
def dft(node: OnnxNode, data: Expr, length: Expr | None = None, axis_input: Expr | None = None) -> Expr:
    """DFT along one axis, cut or padded with zeros to ``length``; complex numbers are in the last axis."""
    given = node.attr("axis", -2) if axis_input is None else node.one_int(axis_input, "axis")
    rank = node.rank(data)
    axis = node.axis(given, rank) if isinstance(given, int) else given
    if (isinstance(axis, int) and axis == rank - 1) or node.shape(data)[-1] not in (1, 2):
        node.bad(f"axis {given} of data {show_shape(node.shape(data))}, whose last axis must be 1 or 2")
    inverse, onesided = node.flag("inverse"), node.flag("onesided")
    wanted = None if length is None else node.one_int(length, "dft_length")
    wanted = wanted if wanted is None else require_positive(node, wanted, "dft_length")

    def transformed(rows: list[Expr], have: Dim) -> list[Expr]:
        size = 2 * (have - 1) if inverse and onesided else have
        size = require_positive(node, size, "length") if wanted is None else wanted
        pair = rows[0], rows[1] if len(rows) > 1 else None
        return [part for part in _transform(node, pair, have, size, onesided, inverse) if part is not None]

    parts = _parts(node, data)
    if not isinstance(axis, int):
        return _stacked(node, _along_dynamic_axis(node, parts, axis, transformed))
    order = [a for a in range(rank - 1) if a != axis] + [axis]
    lead, have = [node.shape(data)[a] for a in order[:-1]], node.shape(data)[axis]
    rows = [node.reshape(node.transpose(part, order), (node.product(lead), have)) for part in parts]
    made = transformed(rows, have)
    back = [order.index(a) for a in range(rank - 1)]
    count = node.shape(made[0])[-1]
    return _stacked(node, [node.transpose(node.reshape(p, (*lead, count)), back) for p in made])


def _along_dynamic_axis(
    node: OnnxNode, parts: list[Expr], axis: Dim, make: Callable[[list[Expr], Dim], list[Expr]]
) -> list[Expr]:
    """``make(rows, extent)`` on ``parts``, which have one shape, as rows ``(rows, extent)`` along ``axis``.

    All rows in the result have one length, which may be another. ``axis`` may count from the end of the
    original data, which has an additional axis of fields.
    """
    shape, rank = node.shape(parts[0]), node.rank(parts[0])
    here = [axes.is_among(place, [axis], rank + 1) for place in range(rank)]
    axes.check_axes(node, [axis], rank + 1, rank)
    split: list[Dim] = [0, 0, 0]
    for place, is_here in enumerate(here):
        for k, part in enumerate((shape[:place], shape[place : place + 1], shape[place + 1 :])):
            split[k] = dims.simplify(split[k] + axes.select(is_here, math.prod(part, start=1), 0))
    before, have, after = as_extents(node, split, "part")
    rows = []
    for part in parts:
        cube = axes.reshape_checked(node, part, (before, have, after))
        rows.append(node.reshape(node.transpose(cube, (0, 2, 1)), (dims.simplify(before * after), have)))
    made = make(rows, have)
    count = node.shape(made[0])[1]
    extents = [axes.select(is_here, count, d) for is_here, d in zip(here, shape, strict=True)]
    extents = as_extents(node, extents, "transformed")
    cubes = [node.transpose(node.reshape(one, (before, after, count)), (0, 2, 1)) for one in made]
    return [axes.reshape_checked(node, cube, extents) for cube in cubes]


def _parts(node: OnnxNode, data: Expr) -> list[Expr]:
    """The fields of the last axis, without that axis."""
    rank, shape = node.rank(data), node.shape(data)
    count = shape[-1]
    assert isinstance(count, int)
    return [node.reshape(node.slice(data, [rank - 1], [i], [i + 1]), shape[:-1]) for i in range(count)]


def _stacked(node: OnnxNode, planes: list[Expr]) -> Expr:
    columns = [node.reshape(p, (*node.shape(p), 1)) for p in planes]
    return node.joined(columns, node.rank(columns[0]) - 1)


def _transform(node: OnnxNode, data: Complex, have: Dim, size: Dim, onesided: bool, inverse: bool) -> Complex:
    """All ``size`` coefficients of rows, with ``onesided`` the first half; if that is inverted, the signal.

    Sizes known only at run time are computed in float64: a product with a matrix would otherwise lose digits
    that a fast transform keeps.
    """
    known, dtype = isinstance(have, int) and isinstance(size, int), node.dtype(data[0])
    half, real_signal = dims.simplify(size // 2 + 1), inverse and onesided
    data = _map_parts(data, lambda p: _cut_or_pad(node, p, have, half if real_signal else size))
    if not known:
        data = _map_parts(data, lambda p: node.cast(p, "float64"))
    if real_signal:
        data = _with_conjugates(node, data, half, size)
    parts = _fourier(
        node, data, size, 1 if inverse else -1, half if onesided and not (known or inverse) else size
    )
    if real_signal:
        parts = parts[:1]
    if inverse:
        divisor = float(size) if isinstance(size, int) else node.scalar(size, "float64")
        parts = tuple(node.divide(p, divisor) for p in parts)
    elif onesided and known:
        parts = tuple(node.slice(p, [1], [0], [half]) for p in parts)
    parts = tuple(node.cast(p, dtype) for p in parts)
    return parts[0], None if real_signal else parts[1]


def _cut_or_pad(node: OnnxNode, data: Expr, have: Dim, taken: Dim) -> Expr:
    """Rows cut, or padded with zeros, to ``taken``."""
    if dims.equal(have, taken):
        return data
    more = dims.simplify(taken - have)
    if isinstance(more, int) and more < 0:
        return node.slice(data, [1], [0], [taken])
    return node.make("nn.pad", data, pad_width=((0, 0), (0, more)), pad_value=0.0)


def _with_conjugates(node: OnnxNode, data: Complex, count: Dim, size: Dim) -> Complex:
    """The spectrum of a real signal from its first ``count`` coefficients: the others are their conjugates.

    For a ``size`` known only at run time, coefficients that have a conjugate count twice instead.
    """
    if not isinstance(size, int) or not isinstance(count, int):
        weights = _multiplicity(node, count, size)
        return _map_parts(data, lambda p: node.multiply(p, weights))
    real, imaginary = data
    if imaginary is not None:
        imaginary = _without_constant(node, imaginary, count, size)
    mirrored = list(range(size - count, 0, -1))
    if not mirrored:
        return real, imaginary
    flipped = node.const(mirrored, "int64")
    real = node.many("concatenate", [real, node.make("take", real, flipped, axis=1)], axis=1)
    if imaginary is not None:
        tail = node.negative(node.make("take", imaginary, flipped, axis=1))
        imaginary = node.many("concatenate", [imaginary, tail], axis=1)
    return real, imaginary


def _multiplicity(node: OnnxNode, count: Dim, size: Dim) -> Expr:
    """The weights of the first ``count`` coefficients of a real signal: 1 at the ends, else 2.

    A real signal has no imaginary part at the ends, where the sines are 0.
    """
    at = node.arange(count)
    middle = node.make("equal", node.multiply(at, 2), node.scalar(size))
    single = node.make("logical_or", node.make("equal", at, 0), middle)
    return node.make("where", single, node.const(1, "float64"), node.const(2, "float64"))


def _without_constant(node: OnnxNode, imaginary: Expr, count: int, size: int) -> Expr:
    """Clear the imaginary part at frequency 0, and at half an even length: a real signal has none there."""
    mask = np.ones(count)
    mask[0] = 0
    if size % 2 == 0:
        mask[-1] = 0
    return node.make(
        "where", node.const(mask[None] > 0, "bool"), imaginary, node.const(0, node.dtype(imaginary))
    )


def _fourier(node: OnnxNode, data: Complex, size: Dim, sign: int, count: Dim) -> tuple[Expr, ...]:
    """``sum_j x[j] exp(sign 2 pi i j k / size)`` of each row, for ``k`` below ``count``.

    By Cooley and Tukey's factorisation of the length, if it is known and has divisors; otherwise by a matrix.
    """
    if not isinstance(size, int) or not isinstance(count, int):
        return _matrix_transform(node, data, size, sign, count)
    one = _divisor(size)
    two = size // one
    if one == 1:
        if size > LARGEST_PRIME:
            node.unsupported(f"a length with the prime factor {size}; at most {LARGEST_PRIME} are supported")
        return _matrix_transform(node, data, size, sign, count)
    rows = node.shape(data[0])[0]
    # x[j] with j = two * j1 + j2: first over j1, for each j2
    split = _map_parts(data, lambda p: node.transpose(node.reshape(p, (rows, one, two)), (0, 2, 1)))
    flat = _map_parts(split, lambda p: node.reshape(p, (dims.simplify(rows * two), one)))
    inner = _fourier(node, flat, one, sign, one)
    inner = tuple(node.reshape(p, (rows, two, one)) for p in inner)
    rotation = np.exp(sign * 2j * np.pi * np.outer(np.arange(two), np.arange(one)) / size)
    rotated = _complex_product(node, (inner[0], inner[1]), rotation)
    columns = tuple(
        node.reshape(node.transpose(p, (0, 2, 1)), (dims.simplify(rows * one), two)) for p in rotated
    )
    outer = _fourier(node, (columns[0], columns[1]), two, sign, two)
    # coefficient k = k1 + one * k2
    made = [
        node.reshape(node.transpose(node.reshape(p, (rows, one, two)), (0, 2, 1)), (rows, size))
        for p in outer
    ]
    return made[0], made[1]


def _divisor(size: int) -> int:
    """The greatest divisor up to the root; 1 for primes, and for lengths that one small matrix serves."""
    if size <= 32:
        return 1
    return next(d for d in range(math.isqrt(size), 0, -1) if size % d == 0)


def _map_parts(data: Complex, function: Callable[[Expr], Expr]) -> Complex:
    """``function`` applied to the real and to the imaginary part."""
    real, imaginary = data
    return function(real), None if imaginary is None else function(imaginary)


def _complex_product(node: OnnxNode, data: tuple[Expr, Expr], factor: np.ndarray) -> tuple[Expr, Expr]:
    """The element-wise complex product."""
    real, imaginary = data
    cosine, sine = (node.const(part[None], node.dtype(real)) for part in (np.real(factor), np.imag(factor)))
    return (
        node.subtract(node.multiply(real, cosine), node.multiply(imaginary, sine)),
        node.add(node.multiply(real, sine), node.multiply(imaginary, cosine)),
    )


def _matrix_transform(node: OnnxNode, data: Complex, size: Dim, sign: int, count: Dim) -> tuple[Expr, ...]:
    real, imaginary = data
    cosine, sine = _matrices(node, count, node.shape(real)[1], size, sign, node.dtype(real))
    if imaginary is None:
        return node.make("nn.dense", real, cosine), node.make("nn.dense", real, sine)
    return (
        node.subtract(node.make("nn.dense", real, cosine), node.make("nn.dense", imaginary, sine)),
        node.add(node.make("nn.dense", real, sine), node.make("nn.dense", imaginary, cosine)),
    )


def _matrices(node: OnnxNode, count: Dim, taken: Dim, size: Dim, sign: int, dtype: str) -> tuple[Expr, Expr]:
    """Cosines and sines of ``sign 2 pi j k / size``, ``(count, taken)``, of angles modulo one circle."""
    if isinstance(size, int) and isinstance(count, int) and isinstance(taken, int):
        angles = 2 * np.pi * (np.outer(np.arange(count), np.arange(taken)) % size) / size
        return node.const(np.cos(angles), dtype), node.const(sign * np.sin(angles), dtype)
    products = node.multiply(node.reshape(node.arange(count), (count, 1)), node.arange(taken))
    rest = node.cast(node.make("floor_mod", products, node.scalar(size)), dtype)
    angle = node.multiply(node.divide(rest, node.scalar(size, dtype)), 2 * np.pi)
    sine = node.make("sin", angle)
    return node.make("cos", angle), sine if sign > 0 else node.negative(sine)


@converter("STFT", since=17)
def stft(
    node: OnnxNode, data: Expr, step: Expr, window: Expr | None = None, length: Expr | None = None
) -> Expr:
    """STFT: transforms of frames, ``step`` apart, each multiplied by the window."""
    if node.rank(data) not in (2, 3):
        node.bad(f"a signal of rank {node.rank(data)}, expected 3")
    if node.rank(data) == 2:
        data = node.reshape(data, (*node.shape(data), 1))
    batch, total, fields = node.shape(data)
    hop = require_positive(node, node.one_int(step, "frame_step"), "frame_step")
    size = total if window is None else math.prod(node.shape(window)[:1])
    if length is not None:
        size = node.one_int(length, "frame_length")
    size = require_positive(node, size, "frame_length")
    excess = dims.simplify(total - size)
    if not isinstance(excess, int):
        (excess,) = name_dims(node, [excess], "elements_beyond")
    elif excess < 0:
        node.bad(f"frames of {size}, {hop} apart, of a signal of {total}")
    frames = dims.simplify(1 + excess // hop)
    onesided = node.flag("onesided")
    if onesided and fields != 1:
        node.bad("onesided=1 of a complex signal")
    starts = node.multiply(node.arange(frames), node.scalar(hop))
    starts = node.reshape(starts, (frames, 1))
    places = node.add(starts, node.arange(size))
    parts: list[Expr | None] = []
    for part in _parts(node, data):
        cut = node.make("take", part, places, axis=1)
        if window is not None:
            cut = node.multiply(cut, _window(node, window, size))
        parts.append(node.reshape(cut, (dims.simplify(batch * frames), size)))
    real, imaginary = parts[0], parts[1] if len(parts) > 1 else None
    assert real is not None
    made = _transform(node, (real, imaginary), size, size, onesided, inverse=False)
    return _stacked(node, [node.reshape(p, (batch, frames, node.shape(p)[1])) for p in made if p is not None])


def _window(node: OnnxNode, window: Expr, size: Dim) -> Expr:
    """The window, padded with zeros if frames are longer."""
    if node.rank(window) != 1:
        node.bad(f"a window of rank {node.rank(window)}, expected 1")
    (have,) = node.shape(window)
    more = dims.simplify(size - have)
    if not isinstance(more, int):
        (more,) = name_dims(node, [more], "frame_beyond_window")
        window = assume_shape(node, window, (dims.simplify(size - more),))
    elif more < 0:
        node.bad(f"a window of {have} for frames of {size}")
    if dims.equal(more, 0):
        return window
    return node.make("nn.pad", window, pad_width=((0, more),), pad_value=0.0)
