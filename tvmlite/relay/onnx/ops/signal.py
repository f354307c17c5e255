"""ONNX's operators on signals: DFT, STFT, MelWeightMatrix."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim, show_shape
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import assume_shape
from tvmlite.relay.onnx.graph.data_dependent_dims import name_dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops import signal_told
from tvmlite.relay.onnx.reading.registry import converter

LARGEST_PRIME = 2048
"""A prime factor of a transform's length becomes a matrix of its square."""

Complex = tuple[Expr, Expr | None]
"""Real and imaginary parts, ``(rows, n)``; None: all zeros."""


@converter("DFT", since=17)
def dft_by_attribute(node: OnnxNode, data: Expr, length: Expr | None = None) -> Expr:
    return _dft(node, data, length, node.attr("axis", 1))


@converter("DFT", since=20)
def dft(node: OnnxNode, data: Expr, length: Expr | None = None, axis: Expr | None = None) -> Expr:
    return _dft(node, data, length, -2 if axis is None else node.one_int(axis, "axis"))


def _dft(node: OnnxNode, data: Expr, length: Expr | None, given: Dim) -> Expr:
    """Along one axis, complex numbers in the last; the axis is cut or filled with zeros to ``length``."""
    rank = node.rank(data)
    axis = node.axis(given, rank) if isinstance(given, int) else given
    if (isinstance(axis, int) and axis == rank - 1) or node.shape(data)[-1] not in (1, 2):
        node.bad(f"axis {given} of data {show_shape(node.shape(data))}, whose last axis must be 1 or 2")
    inverse, onesided = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    wanted = None if length is None else node.one_int(length, "dft_length")
    wanted = wanted if wanted is None else signal_told.positive(node, wanted, "dft_length")

    def transformed(rows: list[Expr], have: Dim) -> list[Expr]:
        size = 2 * (have - 1) if inverse and onesided else have
        size = signal_told.positive(node, size, "length") if wanted is None else wanted
        pair = rows[0], rows[1] if len(rows) > 1 else None
        return [part for part in _transform(node, pair, have, size, onesided, inverse) if part is not None]

    parts = _parts(node, data)
    if not isinstance(axis, int):
        return _stacked(node, signal_told.along(node, parts, axis, transformed))
    order = [a for a in range(rank - 1) if a != axis] + [axis]
    lead, have = [node.shape(data)[a] for a in order[:-1]], node.shape(data)[axis]
    rows = [node.reshape(node.transpose(part, order), (node.product(lead), have)) for part in parts]
    made = transformed(rows, have)
    back = [order.index(a) for a in range(rank - 1)]
    count = node.shape(made[0])[-1]
    return _stacked(node, [node.transpose(node.reshape(p, (*lead, count)), back) for p in made])


def _parts(node: OnnxNode, data: Expr) -> list[Expr]:
    """The fields of the last axis, which goes."""
    rank, shape = node.rank(data), node.shape(data)
    count = shape[-1]
    assert isinstance(count, int)
    return [node.reshape(node.slice(data, [rank - 1], [i], [i + 1]), shape[:-1]) for i in range(count)]


def _stacked(node: OnnxNode, planes: list[Expr]) -> Expr:
    columns = [node.reshape(p, (*node.shape(p), 1)) for p in planes]
    return (
        columns[0] if len(columns) == 1 else node.many("concatenate", columns, axis=node.rank(columns[0]) - 1)
    )


def _transform(node: OnnxNode, data: Complex, have: Dim, size: Dim, onesided: bool, inverse: bool) -> Complex:
    """All ``size`` coefficients, ``onesided`` the first half; of an inverse that is so, the signal."""
    if not isinstance(have, int) or not isinstance(size, int):
        return signal_told.transform(node, data, have, size, onesided, inverse)
    if inverse and onesided:
        return _signal(node, data, have, size), None
    real, imaginary = (None if part is None else _fitted(node, part, have, size) for part in data)
    assert real is not None
    real, imaginary = _fourier(node, (real, imaginary), size, 1 if inverse else -1)
    if inverse:
        real, imaginary = (node.make("divide", p, float(size)) for p in (real, imaginary))
    if not onesided:
        return real, imaginary
    real, imaginary = (node.slice(p, [1], [0], [size // 2 + 1]) for p in (real, imaginary))
    return real, imaginary


def _fitted(node: OnnxNode, data: Expr, have: int, size: int) -> Expr:
    if size < have:
        return node.slice(data, [1], [0], [size])
    if size == have:
        return data
    return node.make("nn.pad", data, pad_width=((0, 0), (0, size - have)), pad_value=0.0)


def _signal(node: OnnxNode, data: Complex, have: int, size: int) -> Expr:
    """The real signal whose first coefficients are given: the others are their conjugates."""
    count = size // 2 + 1
    real, imaginary = (None if part is None else _fitted(node, part, have, count) for part in data)
    assert real is not None
    mirrored = list(range(count - 1 - (size % 2 == 0), 0, -1))
    if mirrored:
        flipped = node.const(mirrored, "int64")
        tail = node.make("take", real, flipped, axis=1)
        real = node.many("concatenate", [real, tail], axis=1)
        if imaginary is not None:
            imaginary = _without_constant(node, imaginary, count, size)
            tail = node.make("negative", node.make("take", imaginary, flipped, axis=1))
            imaginary = node.many("concatenate", [imaginary, tail], axis=1)
    elif imaginary is not None:
        imaginary = _without_constant(node, imaginary, count, size)
    made = _fourier(node, (real, imaginary), size, 1)
    return node.make("divide", made[0], float(size))


def _without_constant(node: OnnxNode, imaginary: Expr, count: int, size: int) -> Expr:
    """A real signal has no imaginary part at frequency 0, nor at half of an even length."""
    mask = np.ones(count)
    mask[0] = 0
    if size % 2 == 0:
        mask[-1] = 0
    return node.make(
        "where", node.const(mask[None] > 0, "bool"), imaginary, node.const(0, node.dtype(imaginary))
    )


def _fourier(node: OnnxNode, data: Complex, size: int, sign: int) -> tuple[Expr, Expr]:
    """``sum_j x[j] exp(sign 2 pi i j k / size)`` of each row, by Cooley and Tukey's split of the length."""
    one = _divisor(size)
    two = size // one
    if one == 1:
        if size > LARGEST_PRIME:
            node.unsupported(f"a length with the prime factor {size}; at most {LARGEST_PRIME} are supported")
        return _by_matrix(node, data, size, sign)
    rows = node.shape(data[0])[0]
    # x[j] with j = two * j1 + j2: first over j1, for each j2
    split = _each(data, lambda p: node.transpose(node.reshape(p, (rows, one, two)), (0, 2, 1)))
    flat = _each(split, lambda p: node.reshape(p, (dims.simplify(rows * two), one)))
    inner = _fourier(node, flat, one, sign)
    inner = tuple(node.reshape(p, (rows, two, one)) for p in inner)
    rotation = np.exp(sign * 2j * np.pi * np.outer(np.arange(two), np.arange(one)) / size)
    rotated = _rotated(node, (inner[0], inner[1]), rotation)
    columns = tuple(
        node.reshape(node.transpose(p, (0, 2, 1)), (dims.simplify(rows * one), two)) for p in rotated
    )
    outer = _fourier(node, (columns[0], columns[1]), two, sign)
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


def _each(data: Complex, function: Callable[[Expr], Expr]) -> Complex:
    """``function`` of the real and of the imaginary part."""
    real, imaginary = data
    return function(real), None if imaginary is None else function(imaginary)


def _rotated(node: OnnxNode, data: tuple[Expr, Expr], factor: np.ndarray) -> tuple[Expr, Expr]:
    """A complex product, element by element."""
    real, imaginary = data
    cosine, sine = (node.const(part[None], node.dtype(real)) for part in (np.real(factor), np.imag(factor)))
    return (
        node.make("subtract", node.make("multiply", real, cosine), node.make("multiply", imaginary, sine)),
        node.make("add", node.make("multiply", real, sine), node.make("multiply", imaginary, cosine)),
    )


def _by_matrix(node: OnnxNode, data: Complex, size: int, sign: int) -> tuple[Expr, Expr]:
    angles = 2 * np.pi * (np.outer(np.arange(size), np.arange(size)) % size) / size
    real, imaginary = data
    cosine, sine = (node.const(m, node.dtype(real)) for m in (np.cos(angles), sign * np.sin(angles)))
    if imaginary is None:
        return node.make("nn.dense", real, cosine), node.make("nn.dense", real, sine)
    return (
        node.make("subtract", node.make("nn.dense", real, cosine), node.make("nn.dense", imaginary, sine)),
        node.make("add", node.make("nn.dense", real, sine), node.make("nn.dense", imaginary, cosine)),
    )


@converter("STFT", since=17)
def stft(
    node: OnnxNode, data: Expr, step: Expr, window: Expr | None = None, length: Expr | None = None
) -> Expr:
    """Transforms of frames, ``step`` apart, each times the window."""
    if node.rank(data) not in (2, 3):
        node.bad(f"a signal of rank {node.rank(data)}, expected 3")
    if node.rank(data) == 2:
        data = node.reshape(data, (*node.shape(data), 1))
    batch, total, fields = node.shape(data)
    hop = signal_told.positive(node, node.one_int(step, "frame_step"), "frame_step")
    size = total if window is None else math.prod(node.shape(window)[:1])
    if length is not None:
        size = node.one_int(length, "frame_length")
    size = signal_told.positive(node, size, "frame_length")
    beyond = dims.simplify(total - size)
    if not isinstance(beyond, int):
        (beyond,) = name_dims(node, [beyond], "elements_beyond")
    elif beyond < 0:
        node.bad(f"frames of {size}, {hop} apart, of a signal of {total}")
    frames = dims.simplify(1 + beyond // hop)
    onesided = bool(node.attr("onesided", 1))
    if onesided and fields != 1:
        node.bad("onesided=1 of a complex signal")
    starts = node.make("multiply", signal_told.places(node, frames), signal_told.scalar(node, hop))
    starts = node.reshape(starts, (frames, 1))
    places = node.make("add", starts, signal_told.places(node, size))
    parts: list[Expr | None] = []
    for part in _parts(node, data):
        cut = node.make("take", part, places, axis=1)
        if window is not None:
            cut = node.make("multiply", cut, _window(node, window, size))
        parts.append(node.reshape(cut, (dims.simplify(batch * frames), size)))
    real, imaginary = parts[0], parts[1] if len(parts) > 1 else None
    assert real is not None
    made = _transform(node, (real, imaginary), size, size, onesided, inverse=False)
    return _stacked(node, [node.reshape(p, (batch, frames, node.shape(p)[1])) for p in made if p is not None])


def _window(node: OnnxNode, window: Expr, size: Dim) -> Expr:
    """The window, with zeros after it where frames are longer."""
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


@converter("MelWeightMatrix", since=17)
def mel_weight_matrix(node: OnnxNode, bins: Expr, length: Expr, rate: Expr, low: Expr, high: Expr) -> Expr:
    """Triangles over the spectrum's bins, equally far apart on the mel scale: a constant if all is known."""
    if any(node.is_dynamic(x) for x in (bins, length, rate, low, high)):
        return signal_told.mel_weights(node, bins, length, rate, low, high)
    count, size = int(node.number(bins, "num_mel_bins")), int(node.number(length, "dft_length"))
    per_second = int(node.number(rate, "sample_rate"))
    edges = [
        float(node.number(x, name)) for x, name in ((low, "lower_edge_hertz"), (high, "upper_edge_hertz"))
    ]
    if count < 1 or size < 1 or per_second < 1:
        node.bad(f"{count} bins of a transform of length {size} at {per_second} a second")
    first, last = (2595 * math.log10(1 + hertz / 700) for hertz in edges)
    mels = np.arange(count + 2) * ((last - first) / (count + 2)) + first
    places = np.floor((size + 1) * (700 * (10 ** (mels / 2595) - 1)) / per_second).astype(np.int64)
    if places.min() < 0 or places.max() > size // 2:
        node.bad(f"edges {edges} lie outside of the spectrum")
    made = np.zeros((size // 2 + 1, count))
    for k, (left, middle, right) in enumerate(zip(places, places[1:], places[2:], strict=False)):
        rows = np.arange(len(made))
        rising = (rows >= left) & (rows <= middle)
        made[rising, k] = (rows[rising] - left) / (middle - left) if middle > left else 0
        if middle == left:
            made[middle, k] = 1
        if right > middle:
            falling = (rows >= middle) & (rows < right)
            made[falling, k] = (right - rows[falling]) / (right - middle)
    return node.const(made, dtypes.check(node.dtype_attr("output_datatype", "float32")))
