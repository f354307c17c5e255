"""Compare grouped convolutions of a quantized network with the same in float32, in interleaved runs.

    python benchmarks/grouped.py --threads 1 --rounds 10

A row is a chain of four residual blocks with one grouped convolution each, as in ResNeXt (32 groups, windows
of 3x3) and in networks with grouped 1x1 convolutions: the QDQ graph with uint8 data between the blocks, and
the float graph. A row gives the minimum times of both, and the speedup of the quantized chain. The load is
printed with each row.
"""

from __future__ import annotations

import argparse
import os
from functools import partial

import numpy as np
from interleaved import CLOCKS, interleave, measure

from tvmlite import relay
from tvmlite.driver import compile
from tvmlite.relay.ir.nodes import Expr, Module

CHAINS = (
    (128, 56, 32, 3), (256, 28, 32, 3), (512, 14, 32, 3), (1024, 7, 32, 3),
    (64, 28, 16, 3), (64, 28, 2, 3), (240, 14, 3, 1), (64, 28, 8, 1),
)  # fmt: skip
"""Channels, pixels per side, groups, window."""

BLOCKS, MEASUREMENT_SECONDS = 4, 0.05


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    os.environ["TVMLITE_NUM_THREADS"] = str(options.threads)
    print(f"{'chain':<36}{'bytes us':>10}{'float32 us':>12}{'quicker':>9}  load")
    for channels, side, groups, window in CHAINS:
        runs = {}
        for quantized in (True, False):
            lib = compile(chain(channels, side, groups, window, quantized))
            x = np.random.default_rng(1).standard_normal((1, channels, side, side)).astype("float32")
            runs["bytes" if quantized else "float32"] = partial(
                measure, partial(lib, x), clock=CLOCKS["wall"]
            )
        times = {
            key: min(calls) * 1e6
            for key, calls in interleave(runs, options.rounds, MEASUREMENT_SECONDS).items()
        }
        name = f"{channels} channels, {side}x{side}, {groups} groups, {window}x{window}"
        ratio = times["float32"] / times["bytes"]
        load = os.getloadavg()[0]
        print(
            f"{name:<36}{times['bytes']:>10.0f}{times['float32']:>12.0f}{ratio:>9.2f}  {load:.1f}", flush=True
        )


def chain(channels: int, side: int, groups: int, window: int, quantized: bool) -> Module:
    """``BLOCKS`` residual blocks, in float32 or with roundings between all operators."""
    rng = np.random.default_rng(0)
    x = relay.var("x", shape=(1, channels, side, side), dtype="float32")
    one, zero = relay.const(np.float32(0.02)), relay.const(np.int32(117))

    def rounded(value: Expr) -> Expr:
        if not quantized:
            return value
        return relay.qnn.dequantize(relay.qnn.quantize(value, one, zero, out_dtype="uint8"), one, zero)

    def weight() -> Expr:
        codes = rng.integers(-127, 128, (channels, channels // groups, window, window)).astype("int8")
        if not quantized:
            return relay.const(codes.astype("float32") * np.float32(0.001))
        scales = relay.const(np.full(channels, 0.001, "float32"))
        return relay.qnn.dequantize(
            relay.const(codes), scales, relay.const(np.zeros(channels, "int32")), axis=0
        )

    value = rounded(x)
    for _ in range(BLOCKS):
        made = relay.nn.conv2d(value, weight(), groups=groups, padding=(window // 2,) * 4)
        made = relay.nn.relu(relay.add(made, relay.const(np.ones((channels, 1, 1), "float32"))))
        value = rounded(relay.add(rounded(made), value))
    return Module.from_expr(relay.Function((x,), value))


if __name__ == "__main__":
    main()
