"""Compare models in 8 bits with the same in float32, compiled for other targets that this machine can run.

    python benchmarks/quantized_targets.py "llvm -mcpu=haswell" "llvm -mcpu=skylake-avx512" --models resnet50

The models of ``models.py`` are quantized as in ``quantized.py``. A row gives the minimum CPU time of all runs
in milliseconds, on one thread, in interleaved runs, and the time in float32 divided by that in 8 bits (at
least 1). CPU time is affected least by other programs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import networks
from models import inputs_of
from quantized import quantized

from tvmlite import runtime
from tvmlite.driver import compile
from tvmlite.relay.frontend import from_onnx

RUNS = 3
"""Runs of a model, one after the other, in each round."""


def main() -> int:
    """Print the table; return 1 if a model is slower in 8 bits."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("targets", nargs="+")
    options.add_argument("--models", nargs="+", default=["resnet50", "mobilenet_v2"])
    options.add_argument("--rounds", type=int, default=6)
    given = options.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    runtime.set_num_threads(1)
    print(f"{'model':14} {'target':34}     int8  float32  float32/int8  load")
    quick = [_row(name, target, given.rounds) for name in given.models for target in given.targets]
    return int(not all(quick))


def _row(name: str, target: str, rounds: int) -> bool:
    """Measure one model on one target and print its row; return whether 8 bits are faster."""
    model = networks.model(name)
    inputs = inputs_of(model)
    libs = [compile(from_onnx(one), target=target) for one in (quantized(model), model)]
    least = [float("inf")] * len(libs)
    for _ in range(rounds):
        for which, lib in enumerate(libs):
            for _ in range(RUNS):
                start = time.process_time()
                lib.run(inputs)
                least[which] = min(least[which], time.process_time() - start)
    small, exact = least
    load = os.getloadavg()[0]
    row = f"{name:14} {target:34} {small * 1e3:8.2f} {exact * 1e3:8.2f} {exact / small:13.2f} {load:5.1f}"
    print(row, flush=True)
    return exact > small


if __name__ == "__main__":
    sys.exit(main())
