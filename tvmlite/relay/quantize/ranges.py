"""Four methods that choose the quantized range of a tensor from a histogram of its elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

BINS = 4096
"""The number of bins of a histogram; a step of 8 bits over the whole range is 16 bins."""

LEVELS = 255
"""The number of steps between the ends of an 8-bit range."""

CANDIDATES = 128
"""The number of candidates for each end of a range, evenly spaced from 0 to the outermost element."""

LARGE_FLOAT32 = 1e30
"""The magnitude above which float32 overflows in computing a histogram."""

PERCENTILE = 99.99
"""The default of ``percentile``: 0.01 percent of elements are cut off on either side."""


@dataclass
class Histogram:
    """The number of elements of a tensor in each of ``BINS`` equal parts of the range ``least`` to ``most``.

    First ``widen`` is called with all arrays, then ``count``. ``zeros`` are elements that are exactly 0, such
    as a rectifier's, which every range represents exactly.
    """

    least: float = np.inf
    most: float = -np.inf
    zeros: int = 0
    total: int = 0
    counts: np.ndarray = field(default_factory=lambda: np.zeros(BINS, np.int64))

    def widen(self, values: np.ndarray) -> None:
        """Extend ``least`` and ``most`` to include ``values``."""
        if values.size:
            self.least = min(self.least, float(values.min()))
            self.most = max(self.most, float(values.max()))

    def count(self, values: np.ndarray) -> None:
        """Count ``values``, which are all between ``least`` and ``most``."""
        flat = values.reshape(-1)
        self.zeros += flat.size - int(np.count_nonzero(flat))
        self.total += flat.size
        if max(-self.least, self.most) > LARGE_FLOAT32:
            flat = flat.astype(np.float64)  # differences of large float32 values may overflow
        if self.most > self.least:
            self.counts += np.histogram(flat, BINS, (self.least, self.most))[0]
        else:
            self.counts[0] += flat.size

    @property
    def centers(self) -> np.ndarray:
        """The center of each bin."""
        return self.least + (np.arange(BINS) + 0.5) * self.width

    @property
    def width(self) -> float:
        """The width of a bin."""
        return (self.most - self.least) / BINS

    def clipped(self, low: float, high: float) -> float:
        """The share of elements, 0 to 1, outside ``low`` to ``high``, with the accuracy of a bin."""
        if not self.total or (low <= self.least and high >= self.most):
            return 0.0
        outside = (self.centers < low) | (self.centers > high)
        return float(self.counts[outside].sum()) / self.total


def min_max(histogram: Histogram, symmetric: bool, percentile: float) -> tuple[float, float]:
    """The range from the minimum to the maximum: nothing is clipped, but an outlier makes all steps large."""
    return histogram.least, histogram.most


def percentile(histogram: Histogram, symmetric: bool, percentile: float) -> tuple[float, float]:
    """The range without the outermost ``100 - percentile`` percent of elements on either side.

    Source: Wu et al., "Integer Quantization for Deep Learning Inference: Principles and Empirical
    Evaluation", 2020, arXiv:2004.09602, section 3.2.
    """
    shares = np.cumsum(histogram.counts) / max(histogram.total, 1)
    edges = histogram.least + np.arange(BINS + 1) * histogram.width
    tail = 1 - percentile / 100
    first = int(np.searchsorted(shares, tail, side="right"))
    last = int(np.searchsorted(shares, 1 - tail, side="left"))
    low = edges[min(first, BINS - 1)] if first else histogram.least
    high = edges[last + 1] if last + 1 < BINS else histogram.most
    return float(low), float(high)


def mse(histogram: Histogram, symmetric: bool, percentile: float) -> tuple[float, float]:
    """The range with the least expected squared error of rounding and clipping.

    Rounding with a step ``s`` has a mean squared error of ``s^2 / 12``. Elements that are 0 are not rounded.
    Source: Banner et al., "Post training 4-bit quantization of convolutional networks for rapid-deployment",
    2019, arXiv:1810.05723, section 3, with measured in place of assumed distributions.
    """
    centers, counts = histogram.centers, histogram.counts.astype(np.float64)
    if symmetric:
        largest = max(-histogram.least, histogram.most, 0.0)
        limits = largest * np.arange(1, CANDIDATES + 1) / CANDIDATES
        clipping = _clipping_error(np.abs(centers), counts, limits)
        error = clipping[0] + (histogram.total - histogram.zeros - clipping[1]) * (limits / 127) ** 2 / 12
        best = float(limits[int(np.argmin(error))])
        return -best, best
    parts = np.arange(1, CANDIDATES + 1) / CANDIDATES
    lows = -min(histogram.least, 0.0) * (parts if histogram.least < 0 else np.zeros(1))
    highs = max(histogram.most, 0.0) * (parts if histogram.most > 0 else np.zeros(1))
    below, above = _clipping_error(-centers, counts, lows), _clipping_error(centers, counts, highs)
    step = (lows[:, None] + highs[None, :]) / LEVELS
    inside = histogram.total - histogram.zeros - below[1][:, None] - above[1][None, :]
    error = below[0][:, None] + above[0][None, :] + inside * step**2 / 12
    low, high = np.unravel_index(int(np.argmin(error)), error.shape)
    return -float(lows[low]), float(highs[high])


def _clipping_error(
    values: np.ndarray, counts: np.ndarray, limits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """For each of ``limits``, the sum of ``(value - limit)^2`` over the values above it, and their number."""
    order = np.argsort(values)
    values, counts = values[order], counts[order]

    def above(weights: np.ndarray) -> np.ndarray:
        """The sum of ``weights`` from each position to the end."""
        return np.concatenate((np.cumsum(weights[::-1])[::-1], [0.0]))

    start = np.searchsorted(values, limits, side="right")
    number, first, second = (above(counts * values**power)[start] for power in range(3))
    return np.maximum(second - 2 * limits * first + limits**2 * number, 0.0), number


def entropy(histogram: Histogram, symmetric: bool, percentile: float) -> tuple[float, float]:
    """The range whose quantized distribution has the least Kullback-Leibler divergence from the elements'.

    Elements beyond a cut are counted at the cut. The quantized distribution has one value per level,
    distributed evenly over the level's bins that have elements. The cut has the same magnitude on both sides,
    unless elements end before it. Source: Migacz, "8-bit Inference with TensorRT", GTC 2017.
    """
    largest = max(-histogram.least, histogram.most, 0.0)
    levels = 2 * 127 if symmetric else LEVELS
    best, found = np.inf, (histogram.least, histogram.most)
    centers, counts = histogram.centers, histogram.counts.astype(np.float64)
    if counts[np.abs(centers) <= histogram.width].sum() and histogram.zeros:
        # Zeros, as from a rectifier, are exact in every range, and so are not counted.
        at = int(np.clip(-histogram.least / (histogram.width or 1.0), 0, BINS - 1))
        counts[at] = max(counts[at] - histogram.zeros, 0.0)
    for part in np.arange(CANDIDATES // 8, CANDIDATES + 1) / CANDIDATES:
        cut = largest * part
        low, high = max(histogram.least, -cut), min(histogram.most, cut)
        inside = np.flatnonzero((centers >= low) & (centers <= high))
        if inside.size < levels:
            continue
        first, last = int(inside[0]), int(inside[-1]) + 1
        kept = counts[first:last]
        clipped = kept.copy()
        clipped[0] += counts[:first].sum()
        clipped[-1] += counts[last:].sum()
        divergence = _divergence(clipped, _quantized_counts(kept, levels))
        if divergence < best:
            best, found = divergence, (low, high)
    return found


def _quantized_counts(counts: np.ndarray, levels: int) -> np.ndarray:
    """``counts`` with the count of each level distributed evenly over its bins that are not empty."""
    level = np.arange(counts.size) * levels // counts.size
    filled = counts > 0
    sums = np.bincount(level, counts, levels)
    bins = np.bincount(level, filled, levels)
    return np.where(filled, (sums / np.maximum(bins, 1))[level], 0.0)


def _divergence(given: np.ndarray, quantized: np.ndarray) -> float:
    """The Kullback-Leibler divergence of ``quantized`` from ``given``, both normalized to sum to 1."""
    if not given.sum() or not quantized.sum():
        return np.inf
    p, q = given / given.sum(), quantized / quantized.sum()
    floor = 1e-9
    where = p > 0
    return float(np.sum(p[where] * np.log(p[where] / np.maximum(q[where], floor))))


def safe_scales(scales: Any) -> Any:
    """``scales``, float32, with 0 and subnormal values, which processors may flush to 0, replaced by 1."""
    return np.where(scales >= np.finfo(np.float32).tiny, scales, np.float32(1))[()]


METHODS: Mapping[str, Callable[[Histogram, bool, float], tuple[float, float]]] = {
    "percentile": percentile,
    "min_max": min_max,
    "entropy": entropy,
    "mse": mse,
}
"""Map a histogram, whether the range must be symmetric about 0, and a percentile to the two ends."""
