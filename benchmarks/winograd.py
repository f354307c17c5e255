"""Compare Winograd's convolutions and dense layers with the direct ones: speedups and errors.

    python benchmarks/winograd.py                      3 x 3 convolutions of ResNets, one thread, in turns
    python benchmarks/winograd.py --shapes 28x128 --rounds 30
    python benchmarks/winograd.py --dense              dense layers of encoders: Winograd's inner product
    python benchmarks/winograd.py --dense --shapes 128x768x3072
    python benchmarks/winograd.py --errors             largest errors by channels and kinds of data
    python benchmarks/winograd.py --errors --dense     by terms and kinds of data

A row gives microseconds of processor time, the minimum of all rounds, for the direct convolution and both
filterings, or the direct layer and the inner product; GFLOP/s are computed with the operations of the direct
version. An error is the largest difference from float64, relative to the largest result. With ``--errors`` it
is in units of 2^-24 for one channel, as in ``winograd_matrices.ERRORS``, or relative to the stated error of a
layer. The load is printed: times of a busy machine are not reliable, though ratios of interleaved runs are
nearly right.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from tvmlite import driver, runtime
from tvmlite.relay.ir.nodes import Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.techniques.inner_product.operator import DENSE, Weight
from tvmlite.techniques.inner_product.operator import stated_error as dense_error
from tvmlite.techniques.winograd.matrices import ERRORS
from tvmlite.techniques.winograd.operator import CONVOLUTION, WEIGHT_TRANSFORM

LANES = 16
SHAPES = ["56x64", "28x128", "14x256", "7x512"]
DENSE_SHAPES = ["128x768x2304", "128x768x768", "128x768x3072", "128x3072x768", "128x384x1536", "50x256x1024"]
MEASUREMENT_SECONDS = 5e-3
"""The least duration of a measurement, in seconds."""


def main() -> int:
    """Print the table; return 1 if an error exceeds the stated one."""
    options = _options()
    runtime.set_num_threads(1)
    print(f"load {os.getloadavg()[0]:.1f}")
    if options.dense:
        shapes = options.shapes or DENSE_SHAPES
        return _dense_errors() if options.errors else _dense_times(shapes, options.rounds)
    return _errors() if options.errors else _times(options.shapes or SHAPES, options.rounds)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shapes", nargs="+", metavar="SIZExCHANNELS[xOUTPUTS]|ROWSxTERMSxCOLUMNS")
    parser.add_argument("--dense", action="store_true", help="dense layers instead of convolutions")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each (default: 20)")
    parser.add_argument("--errors", action="store_true", help="measure errors instead")
    return parser.parse_args()


def convolution(
    size: int, inputs: int, outputs: int, weight: np.ndarray, tile: int
) -> Callable[..., np.ndarray]:
    """A compiled, padded convolution of an image in blocks, by F(``tile``, 3), or direct if ``tile`` is 0."""
    x = var("x", (1, -(-inputs // LANES), size, size, LANES))
    layouts = {"data_layout": "NCHW16c", "padding": (1, 1, 1, 1), "channels": outputs}
    if tile:
        there = make(WEIGHT_TRANSFORM, constant(weight), tile_size=tile)
        packed = make("layout_transform", there, src_layout="HWOI", dst_layout="OHWI16o")
        body = make(CONVOLUTION, x, packed, tile_size=tile, **layouts)
    else:
        packed = make("layout_transform", constant(weight), src_layout="OIHW", dst_layout="OIHW16o")
        body = make("nn.contrib_conv2d_NCHWc", x, packed, kernel_layout="OIHW16o", **layouts)
    return driver.compile(Module({"main": Function((x,), body)}))


def blocks(image: np.ndarray) -> np.ndarray:
    """``CHW`` as ``1, C / 16, H, W, 16``."""
    channels, *size = image.shape
    return np.ascontiguousarray(image.reshape(channels // LANES, LANES, *size).transpose(0, 2, 3, 1)[None])


def reference(image: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The padded convolution in float64, in blocks."""
    padded = np.pad(image.astype("float64"), ((0, 0), (1, 1), (1, 1)))
    _, height, width = image.shape
    total = np.zeros((weight.shape[0], height * width))
    for y, x in np.ndindex(3, 3):
        seen = padded[:, y : y + height, x : x + width].reshape(len(image), -1)
        total += weight[:, :, y, x].astype("float64") @ seen
    return blocks(total.reshape(-1, height, width))


def relative_error(got: np.ndarray, want: np.ndarray) -> float:
    """The largest error relative to the largest value."""
    return float(np.abs(got - want).max() / np.abs(want).max())


def _times(shapes: list[str], rounds: int) -> int:
    print(f"{'shape':>12}  {'direct us':>9}  {'F(2, 3)':>9}  {'F(4, 3)':>9}   GFLOP/s             errors")
    for shape in shapes:
        size, channels, *rest = (int(part) for part in shape.split("x"))
        outputs = rest[0] if rest else channels
        rng = np.random.default_rng(0)
        image = rng.standard_normal((channels, size, size), "float32")
        weight = rng.standard_normal((outputs, channels, 3, 3), "float32")
        data, want = blocks(image), reference(image, weight)
        runs = [convolution(size, channels, outputs, weight, tile) for tile in (0, 2, 4)]
        errors = [relative_error(run(data), want) for run in runs]
        least = _interleave([partial(run, data) for run in runs], rounds)
        work = 2 * 9 * channels * outputs * size**2
        _print_row(f"{shape:>12}", least, work, errors)
    return 0


def _print_row(shape: str, least: list[float], work: int, errors: list[float]) -> None:
    """Microseconds, GFLOP/s of ``work`` operations, and errors."""
    times = "  ".join(f"{seconds * 1e6:9.0f}" for seconds in least)
    rates = " ".join(f"{work / seconds / 1e9:5.0f}" for seconds in least)
    print(f"{shape}  {times}   {rates}   {' '.join(f'{one:.1e}' for one in errors)}", flush=True)


def layer(rows: int, weight: np.ndarray, quick: bool) -> Callable[..., np.ndarray]:
    """A compiled dense layer, by Winograd's inner product or direct."""
    x = var("x", (rows, weight.shape[1]))
    parts = [constant(weight)]
    if quick:
        made = Weight.of(weight, LANES)
        parts = [constant(one) for one in (made.packed, made.terms, made.columns)]
    name = DENSE if quick else "nn.dense"
    return driver.compile(Module({"main": Function((x,), make(name, x, *parts, units=len(weight)))}))


def _dense_times(shapes: list[str], rounds: int) -> int:
    print(f"{'shape':>14}  {'direct us':>9}  {'inner p.':>9}   GFLOP/s       errors")
    for shape in shapes:
        rows, terms, columns = (int(part) for part in shape.split("x"))
        rng = np.random.default_rng(0)
        data = rng.standard_normal((rows, terms), "float32")
        weight = rng.standard_normal((columns, terms), "float32")
        want = data.astype("float64") @ weight.T.astype("float64")
        runs = [layer(rows, weight, quick) for quick in (False, True)]
        errors = [relative_error(run(data), want) for run in runs]
        least = _interleave([partial(run, data) for run in runs], rounds)
        work = 2 * rows * terms * columns
        _print_row(f"{shape:>14}", least, work, errors)
    return 0


def _interleave(calls: list[Callable[[], object]], rounds: int) -> list[float]:
    """The minimum seconds of a call of each, in interleaved runs."""
    least = [math.inf] * len(calls)
    for _ in range(rounds):
        for number, call in enumerate(calls):
            call()
            end = time.perf_counter() + MEASUREMENT_SECONDS
            while time.perf_counter() < end:
                start = time.process_time()
                call()
                least[number] = min(least[number], time.process_time() - start)
    return least


def _data(channels: int, outputs: int, size: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Images and weights of several kinds."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        image = rng.standard_normal((channels, size, size), "float32")
        weight = rng.standard_normal((outputs, channels, 3, 3), "float32")
        scale, other = (np.exp(rng.standard_normal((channels, 1, 1))).astype("float32") for _ in range(2))
        yield "normal", image, weight
        yield "cut at zero", np.maximum(image, 0), weight
        yield "positive", rng.random(image.shape, "float32"), weight
        yield "other scales", np.maximum(image, 0) * scale**1.5, weight * other


def _errors() -> int:
    size, outputs, worst = 16, 64, {2: 0.0, 4: 0.0}
    for channels in (16, 64, 256, 512, 1024):
        found: dict[tuple[str, int], float] = {}
        for kind, image, weight in _data(channels, outputs, size):
            want = reference(image, weight)
            for tile in worst:
                got = convolution(size, channels, outputs, weight, tile)(blocks(image))
                error = relative_error(got, want) * 2**24 / math.sqrt(channels)
                found[kind, tile] = max(found.get((kind, tile), 0.0), error)
                worst[tile] = max(worst[tile], error)
        for (kind, tile), error in found.items():
            print(f"{channels:5} channels  F({tile}, 3)  {kind:12}  {error:6.2f}", flush=True)
    print(", ".join(f"F({tile}, 3): {worst[tile]:.2f}, stated {ERRORS[tile]}" for tile in worst))
    return int(any(worst[tile] > ERRORS[tile] for tile in worst))


def _rows(terms: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Data and weights of several kinds."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        data, weight = (rng.standard_normal((n, terms), "float32") for n in (64, 128))
        scale, other, column = (
            np.exp(1.5 * rng.standard_normal(shape)).astype("float32")
            for shape in ((1, terms), (1, terms), (128, 1))
        )
        yield "normal", data, weight
        yield "cut at zero", np.maximum(data, 0), weight
        yield "positive", rng.random(data.shape, "float32"), weight
        yield "far from zero", data + 10, weight
        yield "terms' scales", data * scale, weight * other
        yield "opposite", data * scale, weight / scale
        yield "columns'", data, weight * column


def _dense_errors() -> int:
    """Print the largest errors of dense layers; return 1 if one exceeds the stated error."""
    worst = 0.0
    for terms in (48, 64, 256, 768, 3072, 8192):
        found: dict[str, float] = {}
        for kind, data, weight in _rows(terms):
            want = data.astype("float64") @ weight.T.astype("float64")
            error = relative_error(layer(len(data), weight, True)(data), want)
            found[kind] = max(found.get(kind, 0.0), error)
        for kind, error in found.items():
            share = error / dense_error(terms)
            worst = max(worst, share)
            print(f"{terms:5} terms  {kind:14} {error:8.1e}, {share:4.2f} of the stated", flush=True)
    print(f"at most {worst:.2f} of the stated")
    return int(worst > 1)


if __name__ == "__main__":
    sys.exit(main())
