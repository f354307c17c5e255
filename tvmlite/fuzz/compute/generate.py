"""Random computes: chains of stages of many kinds, as statements of a program."""

from __future__ import annotations

import random
from collections.abc import Callable

from tvmlite.fuzz.compute.builder import EXTENTS, Builder
from tvmlite.fuzz.compute.data_movement import gather, rearrange
from tvmlite.fuzz.compute.nests import extern
from tvmlite.fuzz.compute.pointwise import broadcast, cast_chain, elementwise, several
from tvmlite.fuzz.compute.reductions import argmax, matmul, reduction, sums_of_pairs
from tvmlite.fuzz.compute.scans import scan
from tvmlite.fuzz.compute.strides import ranged, strided
from tvmlite.fuzz.compute.windows import convolution, padding, stencil


def generate(rnd: random.Random) -> Builder:
    """Write a chain of one to four stages."""
    builder = Builder(rnd)
    if rnd.random() < 0.25:
        builder.symbol(rnd.choice(EXTENTS[:20]))
    wanted = rnd.choice((1, 1, 2, 2, 3, 4))
    for _ in range(wanted * 3):
        if len(builder.tags) >= wanted:
            break
        kind = rnd.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
        if KINDS[kind][1](builder):
            builder.tags.append(kind)
    if not builder.computed:
        elementwise(builder)
        builder.tags.append("elementwise")
    return builder


KINDS: dict[str, tuple[int, Callable[[Builder], bool]]] = {
    "elementwise": (6, elementwise),
    "broadcast": (3, broadcast),
    "cast": (2, cast_chain),
    "padding": (2, padding),
    "stencil": (4, stencil),
    "reduction": (6, reduction),
    "convolution": (3, convolution),
    "matmul": (3, matmul),
    "argmax": (2, argmax),
    "several": (2, several),
    "pairs": (1, sums_of_pairs),
    "gather": (3, gather),
    "rearrange": (4, rearrange),
    "strided": (3, strided),
    "ranged": (2, ranged),
    "scan": (2, scan),
    "extern": (1, extern),
}
"""The kinds of stages by name: the weight, and the function that writes one (False if it does not fit)."""
