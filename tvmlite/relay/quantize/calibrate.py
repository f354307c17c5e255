"""Set the ranges of marks, measured on data: the second of the three passes of quantization."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tvmlite.core.errors import InputError
from tvmlite.core.node import rewrite
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, Tuple, with_lets, without_lets
from tvmlite.relay.quantize.annotate import MARK
from tvmlite.relay.quantize.data import Run
from tvmlite.relay.quantize.layers import outer_nodes
from tvmlite.relay.quantize.ranges import METHODS, PERCENTILE, Histogram
from tvmlite.relay.quantize.run import Compile, Progress, interpreted, silent


@dataclass(frozen=True)
class Range:
    """The quantized range of a tensor, ``low`` to ``high``, and the range of its elements, ``least`` to
    ``most``; ``clipped`` is the share of elements outside the former, 0 to 1."""

    low: float
    high: float
    least: float
    most: float
    clipped: float


def quantize_calibrate(
    module: Module,
    runs: Sequence[Run],
    method: str = "mse",
    percentile: float = PERCENTILE,
    compile: Compile = interpreted,
    progress: Progress = silent,
) -> tuple[Module, dict[str, Range]]:
    """``module`` with the ranges of its marks filled in, and the range of each tensor by name.

    The float module runs twice on all of ``runs``: for the minimum and maximum of each marked tensor, then
    for its histogram (``min_max`` needs only the first). ``method`` is one of ``METHODS``. The same data
    gives the same ranges.
    """
    histograms = observe(module, runs, method != "min_max", compile, progress)
    return set_ranges(module, ranges_of(module, histograms, method, percentile))


def observe(
    module: Module,
    runs: Sequence[Run],
    with_counts: bool = True,
    compile: Compile = interpreted,
    progress: Progress = silent,
) -> dict[str, Histogram]:
    """The histogram of each marked tensor that is not constant, by name; only bounds unless
    ``with_counts``."""
    marks = marks_of(module)
    progress("compiling", 0, 0)
    run = compile(with_outputs(module, [mark.args[0] for mark in marks]))
    histograms = {mark["tensor"]: Histogram() for mark in marks}

    def measured(what: str) -> Iterable[tuple[Histogram, np.ndarray]]:
        for number, inputs in enumerate(runs):
            progress(what, number, len(runs))
            for mark, array in zip(marks, run(inputs), strict=True):
                yield histograms[mark["tensor"]], array

    for histogram, array in measured("bounds"):
        if not np.isfinite(array).all():
            name = next(name for name, one in histograms.items() if one is histogram)
            raise InputError(f"quantize: the tensor {name!r} has NaN or infinity on the calibration data")
        histogram.widen(array)
    for histogram, array in measured("histograms") if with_counts else ():
        histogram.count(array)
    return histograms


def ranges_of(
    module: Module, histograms: Mapping[str, Histogram], method: str, percentile: float = PERCENTILE
) -> dict[str, Range]:
    """The range of each marked tensor, determined by ``method``."""
    if method not in METHODS:
        raise InputError(f"quantize: calibration is {show(method)}, expected one of {', '.join(METHODS)}")
    if not 50 < percentile <= 100:
        raise InputError(f"quantize: percentile is {show(percentile)}, expected above 50, at most 100")
    symmetric = {mark["tensor"] for mark in marks_of(module) if mark["dtype"] == "int8"}
    found = {}
    for name, one in histograms.items():
        low, high = map(float, METHODS[method](one, name in symmetric, percentile))
        found[name] = Range(low, high, one.least, one.most, one.clipped(min(low, 0.0), max(high, 0.0)))
    return found


def set_ranges(module: Module, ranges: Mapping[str, Range]) -> tuple[Module, dict[str, Range]]:
    """``module`` with ``ranges`` in its marks, and the ranges that were used."""
    used: dict[str, Range] = {}

    def filled(node: Expr) -> Expr:
        if not _is_data_mark(node):
            return node
        assert isinstance(node, Call)
        used[node["tensor"]] = found = ranges[node["tensor"]]
        attrs = {**dict(node.attrs), "low": found.low, "high": found.high}
        return dataclasses.replace(node, attrs=tuple(sorted(attrs.items())))

    body = rewrite(module.main.body, filled)
    return module.with_main(dataclasses.replace(module.main, body=body)) if used else module, used


def _is_data_mark(node: Expr) -> bool:
    """Whether ``node`` marks a tensor whose range depends on data."""
    return isinstance(node, Call) and node.op == MARK and not isinstance(node.args[0], Constant)


def marks_of(module: Module) -> list[Call]:
    """The marks of tensors that are not constant, one for each tensor."""
    found: dict[tuple[str, Expr], Call] = {}
    for node in outer_nodes(module.main.body):
        if isinstance(node, Call) and _is_data_mark(node):
            found.setdefault((node["tensor"], node.args[0]), node)
    return list(found.values())


def with_outputs(module: Module, values: Sequence[Expr]) -> Module:
    """``module`` without marks, with the outputs ``values``, which are expressions of its main function."""
    lets, _ = without_lets(module.main.body)
    body = rewrite(with_lets(lets, Tuple(tuple(values))), without_mark)
    return Module({**module.functions, "main": Function(module.main.params, body, module.main.attrs)})


def without_mark(node: Expr) -> Expr:
    """The operand of ``node`` if it is a mark; else ``node`` itself."""
    return node.args[0] if isinstance(node, Call) and node.op == MARK else node
