"""Compare one library for all sizes with a library for each single size, in interleaved runs.

    python benchmarks/dynamic.py                                          # the three cases below
    python benchmarks/dynamic.py ocr_detector --sizes 1x3x640x640 1x3x96x96 --clock cpu
    python benchmarks/dynamic.py model.onnx --free x=n,3,h,w --sizes 1x3x224x224 4x3x160x200

A row gives the milliseconds of both, median and minimum of all rounds, and the ratios of these, whose limit
is 1.2. Then it gives the times of the library for all sizes when it is exported and loaded by another
process, and their ratios to those in this process. ``--sizes`` are shapes of the first input; dimensions that
have the same name in ``--free`` have the same size in all inputs. The load is printed with each row: on a
busy machine the minimum of many rounds is more reliable than the median.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import exported
import networks
import numpy as np
import onnx
from exported import Exported
from interleaved import CLOCKS, interleave, measure
from networks.encoder import encoder
from onnx import helper

from tvmlite import runtime
from tvmlite.driver import compile
from tvmlite.model.artifact import CompiledModule
from tvmlite.model.example_inputs import TOLERANCE, relative_gap
from tvmlite.relay.frontend import from_onnx

BAR = 1.2
"""The limit of the ratio."""

MEASUREMENT_SECONDS = 0.05
"""The least duration of a measurement, in seconds."""

Shape = tuple[int | str, ...]


@dataclass(frozen=True)
class Case:
    """A model, its inputs' shapes with names for the ``free`` extents, and shapes of the first input."""

    model: Callable[[], onnx.ModelProto]
    free: Mapping[str, Shape]
    sizes: tuple[tuple[int, ...], ...]


def _detector() -> onnx.ModelProto:
    """The text detector in the package rapidocr-onnxruntime."""
    import rapidocr_onnxruntime  # an optional extra: only this case needs it

    folder = Path(rapidocr_onnxruntime.__file__).parent / "models"
    return onnx.load(next(folder.glob("*_det_infer.onnx")))


PLANES = (
    *((320, 320), (640, 640), (736, 1280), (480, 352), (96, 96)),
    *((960, 544), (32, 640), (608, 416), (1024, 256), (224, 800)),
)

CASES = {
    "ocr_detector": Case(
        _detector, {"x": ("batch", 3, "height", "width")}, tuple((1, 3, *plane) for plane in PLANES)
    ),
    "resnet18": Case(
        lambda: networks.model("resnet18"),
        {"x": ("batch", 3, 224, 224)},
        tuple((n, 3, 224, 224) for n in (1, 2, 3, 8)),
    ),
    "minilm": Case(
        lambda: encoder(layers=6, hidden=384, heads=12, tokens="tokens"),
        {"input_ids": (1, "tokens"), "attention_mask": (1, "tokens")},
        tuple((1, tokens) for tokens in (16, 50, 128, 200, 384)),
    ),
}


def main() -> int:
    """Print the tables; return 1 if a result is wrong or a ratio exceeds the limit."""
    options = _options()
    runtime.set_num_threads(options.threads)
    failed = False
    for name in options.models or CASES:
        case = CASES.get(name) or Case(lambda path=name: onnx.load(path), {}, ())
        free = dict(options.free) or case.free
        sizes = options.sizes or case.sizes
        failed |= not _table(name, Case(case.model, free, tuple(sizes)), options)
    return int(failed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help=f"of {', '.join(CASES)} (default: all), or ONNX files")
    parser.add_argument("--sizes", type=_size, nargs="+", metavar="NxN", help="shapes of the first input")
    parser.add_argument("--free", type=_free, nargs="+", default=[], metavar="INPUT=N,NAME")
    parser.add_argument("--threads", type=int, default=1, help="default: 1")
    parser.add_argument("--rounds", type=int, default=12, help="turns of each library (default: 12)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: this process's own")
    return parser.parse_args()


def _size(text: str) -> tuple[int, ...]:
    return tuple(int(extent) for extent in text.split("x"))


def _free(text: str) -> tuple[str, Shape]:
    name, _, extents = text.partition("=")
    return name, tuple(int(one) if one.isdecimal() else one for one in extents.split(","))


def _table(name: str, case: Case, options: argparse.Namespace) -> bool:
    """Measure one model at all sizes; return whether all results and ratios are acceptable."""
    model = _with_symbolic_extents(case.model(), case.free)
    start = time.process_time()
    for_all_sizes = compile(from_onnx(model, dict(case.free)))
    taken = time.process_time() - start
    print(f"{name}: {len(for_all_sizes.signature.kernels)} kernels, {taken:.1f} s to compile for all sizes")
    print(
        f"{'size':>16}  {'all sizes':>17}  {'this size alone':>17}       ratio  {'exported':>17}       ratio"
        f"{'gap':>7}   load"
    )
    verdicts = [_row(model, case.free, size, for_all_sizes, options) for size in case.sizes]
    return all(verdicts)


def _row(
    model: onnx.ModelProto,
    free: Mapping[str, Shape],
    size: tuple[int, ...],
    for_all_sizes: CompiledModule,
    options: argparse.Namespace,
) -> bool:
    numbers = dict(zip(next(iter(free.values())), size, strict=True))
    shapes = {
        name: tuple(n if isinstance(n, int) else numbers[n] for n in shape) for name, shape in free.items()
    }
    inputs = _inputs(model, shapes)
    for_this_size = compile(from_onnx(model, shapes))
    pairs = zip(for_all_sizes.run(inputs).values(), for_this_size.run(inputs).values(), strict=True)
    gap = max(relative_gap(a, b) for a, b in pairs)
    clock = CLOCKS[options.clock]
    runs = {"all": lambda: for_all_sizes.run(inputs), "one": lambda: for_this_size.run(inputs)}
    measurements = {key: partial(measure, run, clock=clock) for key, run in runs.items()}
    with Exported(for_all_sizes, inputs, options.threads, options.clock) as loaded:
        times = interleave({**measurements, "exported": loaded.measure}, options.rounds, MEASUREMENT_SECONDS)
    size_ratios, loaded_ratios = (
        _ratios(times["all"], times["one"]),
        _ratios(times["exported"], times["all"]),
    )
    cells = {key: f"{np.median(t) * 1e3:8.3f}|{min(t) * 1e3:8.3f}" for key, t in times.items()}
    verdict = "" if gap <= TOLERANCE else "  WRONG"
    verdict += "" if min(size_ratios) <= BAR else f"  over {BAR}"
    verdict += "" if min(loaded_ratios) <= exported.BAR else f"  exported over {exported.BAR}"
    shown = "x".join(map(str, size))
    print(
        f"{shown:>16}  {cells['all']}  {cells['one']}   {size_ratios[0]:4.2f}|{size_ratios[1]:4.2f}  "
        f"{cells['exported']}   {loaded_ratios[0]:4.2f}|{loaded_ratios[1]:4.2f}  {gap:5.0e}  "
        f"{os.getloadavg()[0]:5.2f}{verdict}",
        flush=True,
    )
    return not verdict


def _with_symbolic_extents(model: onnx.ModelProto, free: Mapping[str, Shape]) -> onnx.ModelProto:
    """``model`` with the named extents symbolic, and without the shapes that were inferred from them."""
    for one in model.graph.input:
        for extent, name in zip(one.type.tensor_type.shape.dim, free.get(one.name, ()), strict=False):
            if isinstance(name, str):
                extent.dim_param = name
    for one in model.graph.output:
        one.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return model


def _inputs(model: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Seeded inputs: normal floats, ids, and masks of ones."""
    rng = np.random.default_rng(0)
    kinds = {one.name: one.type.tensor_type.elem_type for one in model.graph.input}
    made: dict[str, np.ndarray] = {}
    for name, shape in shapes.items():
        dtype = helper.tensor_dtype_to_np_dtype(kinds[name])
        if dtype.kind == "f":
            made[name] = rng.standard_normal(shape).astype(dtype)
        else:
            made[name] = np.ones(shape, dtype) if "mask" in name else rng.integers(0, 1000, shape, dtype)
    return made


def _ratios(ours: list[float], other: list[float]) -> tuple[float, float]:
    """The ratios of the medians, and of the minima."""
    return float(np.median(ours) / np.median(other)), min(ours) / min(other)


if __name__ == "__main__":
    sys.exit(main())
