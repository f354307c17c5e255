"""Time whole models before and after tuning, onnxruntime, OpenVINO and torch.compile (float32), interleaved.

    python benchmarks/tuned.py light_squeezenet ocr_rec --budget 1m
    python benchmarks/tuned.py light_squeezenet --budget 1m 5m 20m --threads 1 --folder records
    python benchmarks/tuned.py light_squeezenet --budget 1m --folder records --measure    once more
    python benchmarks/tuned.py resnet18 --budget 5m --error-bound 1e-4         with Winograd's convolutions
    python benchmarks/tuned.py resnet18 --budget 5m --torch                    beside torch.compile, too

For each budget, the model is tuned without earlier records, into ``FOLDER/MODEL.BUDGET.THREADSt.jsonl``. A
row gives the number of kernels whose schedule comes from a record, the milliseconds of each runtime, the gain
(untuned / tuned) with its 95% interval, tuned / onnxruntime, and best peer / tuned: medians of the ratios of
all rounds. If no schedule was replaced, untuned and tuned are the same library, and their runs are counted
together. The limits: no gain significantly below 1; at most 1.1 times onnxruntime's time; and, for some
models, a least value of best peer / tuned (``BARS``). If a limit is missed, the exit status is 1. The load is
printed with each row: the results of tuning are valid on a busy machine as well, the times in this table are
not.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import networks
import numpy as np
import onnx
from models import CLOCKS, MEASUREMENT_SECONDS, PAUSE, inputs_of
from runtimes import Run, peers

import tvmlite
from tvmlite import runtime
from tvmlite.autotune.report.watch import Watch
from tvmlite.autotune.tune import seconds_of
from tvmlite.model.artifact import CompiledModule
from tvmlite.model.example_inputs import TOLERANCE, relative_gap
from tvmlite.relay.frontend import from_onnx
from tvmlite.runtime import timing

BAR = 1.1
"""The limit of a tuned model's time, relative to onnxruntime's."""

BARS = {
    "resnet50": 1.15,
    "resnet18": 1.3,
    "mobilenet_v2": 1.15,
    "bert_base": 1.1,
    "minilm": 1.2,
    "mlp": 1.4,
    "lstm": 1.2,
}
"""The least value of best peer / tuned; for the residual networks, with ``--error-bound 1e-4``."""

COPIES = 3
"""The number of copies of each library. Their weights are at different addresses, which matters if the
weights nearly fill a cache."""

PEERS = ("onnxruntime", "openvino", "torch")

HEAD = (
    f"{'model':20} {'budget':>6} threads   replaced  "
    + "  ".join(f"{name:>11}" for name in ("untuned", "tuned", *PEERS))
    + "    gain                   /ort  best peer /  load"
)


def main() -> int:
    """Tune and print the table; return 1 if a model is wrong, slower than before, or misses a limit."""
    options = _options()
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[: options.threads])
    runtime.set_num_threads(options.threads)
    options.folder.mkdir(parents=True, exist_ok=True)
    print(HEAD, flush=True)
    failed = False
    for name in options.models:
        model = networks.model(name)
        for budget in options.budget:
            path = options.folder / f"{name}.{budget}.{options.threads}t.jsonl"
            if not options.measure:
                _tune(model, path, budget, options)
            if not options.tune_only:
                failed |= not _row(name, model, path, budget, options)
    return int(failed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", choices=networks.names())
    parser.add_argument("--budget", nargs="+", default=["1m"], help="one or several (default: 1m)")
    parser.add_argument("--threads", type=int, default=1, help="default: 1")
    parser.add_argument("--rounds", type=int, default=18, help="turns of each (default: 18)")
    parser.add_argument("--seed", type=int, default=0, help="of tuning (default: 0)")
    parser.add_argument("--folder", type=Path, default=Path("tuned"), help="of the records (default: tuned)")
    parser.add_argument("--measure", action="store_true", help="only time, with the records of a run before")
    parser.add_argument("--tune-only", action="store_true", help="only make the records")
    parser.add_argument("--error-bound", type=float, default=0.0, help="see tvmlite.compile (default: 0)")
    parser.add_argument("--torch", action="store_true", help="torch.compile is a peer, too")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: for a busy machine")
    return parser.parse_args()


def _tune(model: onnx.ModelProto, path: Path, budget: str, options: argparse.Namespace) -> None:
    """Tune without earlier records, and print the result to standard error."""
    path.unlink(missing_ok=True)
    with Watch(budget=seconds_of(budget)) as watch:
        tuned = tvmlite.tune(
            from_onnx(model),
            records=path,
            budget=budget,
            seed=options.seed,
            error_bound=options.error_bound,
            callbacks=[watch],
        )
    print(tuned, file=sys.stderr, flush=True)


def _row(name: str, model: onnx.ModelProto, path: Path, budget: str, options: argparse.Namespace) -> bool:
    """Measure one model and print its row; return whether it is correct and within its limits."""
    inputs = inputs_of(model)
    module, bound = from_onnx(model), options.error_bound
    untuned = tvmlite.compile(module, error_bound=bound)
    tuned = tvmlite.compile(module, records=path, error_bound=bound)
    same = untuned.kernel_names == tuned.kernel_names
    runs = {"untuned": _of_copies(untuned, inputs)}
    runs["tuned"] = runs["untuned"] if same else _of_copies(tuned, inputs)
    others = peers(model, inputs, options.threads, with_torch=options.torch)
    runs |= {key: [run] for key, run in others.items()}
    answers = zip(runs["tuned"][0](), runs["onnxruntime"][0](), strict=True)
    gap = max(relative_gap(a, b) for a, b in answers)
    seconds = interleave(runs, options.rounds, CLOCKS[options.clock])
    gain, low, high = _ratio(seconds["untuned"], seconds["tuned"])
    ours = seconds["tuned"]
    if same:
        ours = [(a + b) / 2 for a, b in zip(seconds["untuned"], seconds["tuned"], strict=True)]
    peer, *_ = _ratio(ours, seconds["onnxruntime"])
    ahead, bar = min(_ratio(seconds[key], ours)[0] for key in others), BARS.get(name, 0.0)
    times = "  ".join(
        f"{np.median(seconds[key]) * 1e3:11.3f}" if key in runs else f"{'-':>11}"
        for key in ("untuned", "tuned", *PEERS)
    )
    verdict = f"  WRONG by {gap:.1e}" if not gap <= TOLERANCE else ""
    verdict += "  slower than untuned" if high < 1 and not same else ""
    verdict += f"  over {BAR}" if peer > BAR else ""
    verdict += f"  under {bar}" if ahead < bar else ""
    print(
        f"{name:20} {budget:>6} {options.threads:7}  {_replaced(tuned):>9}  {times}    "
        f"{gain:.3f} [{low:.3f}, {high:.3f}]  {peer:5.3f}  {ahead:11.3f}  {os.getloadavg()[0]:4.2f}{verdict}",
        flush=True,
    )
    return not verdict


def _of_copies(lib: CompiledModule, inputs: Mapping[str, np.ndarray]) -> list[Run]:
    """Runs of ``lib`` and of copies of it."""
    copies = [lib, *(lib.copy() for _ in range(COPIES - 1))]
    return [lambda one=one: list(one.run(inputs).values()) for one in copies]


def interleave(
    runs: Mapping[str, Sequence[Run]], rounds: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """The median seconds of a call in each measurement. The order differs in each round, so that none always
    follows the same one, and so does the choice among several runs with the same name."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    orders = list(itertools.permutations(runs))
    random.Random(0).shuffle(orders)
    for number in range(rounds):
        for name in orders[number % len(orders)]:
            run = runs[name][number % len(runs[name])]
            time.sleep(PAUSE)
            run()
            seconds: list[float] = []
            end = time.perf_counter() + MEASUREMENT_SECONDS
            while time.perf_counter() < end or not seconds:
                start = clock()
                run()
                seconds.append(clock() - start)
            times[name].append(float(np.median(seconds)))
    return times


def _ratio(one: list[float], other: list[float]) -> tuple[float, float, float]:
    """The median of the ratio of ``one`` to ``other`` over all rounds, and its confidence interval."""
    ratios = sorted(a / b for a, b in zip(one, other, strict=True))
    return timing.median(ratios), *timing.interval(ratios)


def _replaced(lib: CompiledModule) -> str:
    """The number of kernels whose schedule comes from a record."""
    return f"{sum(one.task.config is not None for one in lib.kernels)} of {len(lib.kernels)}"


if __name__ == "__main__":
    sys.exit(main())
