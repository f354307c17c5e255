"""Post-training quantization of a module."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.relay.ir.attributes import describe, show
from tvmlite.relay.ir.nodes import Function, Module
from tvmlite.relay.passes.precision.to_mixed_precision import DTYPES
from tvmlite.relay.quantize.data import LEAST_EXAMPLES, calibration_runs
from tvmlite.relay.quantize.layers import OPERATORS
from tvmlite.relay.quantize.modes.halves import Halves
from tvmlite.relay.quantize.modes.integers import Integers
from tvmlite.relay.quantize.modes.options import Options, checked, names_in, refuse
from tvmlite.relay.quantize.modes.result import QuantizedModule
from tvmlite.relay.quantize.modes.weights import quantize_weights_only
from tvmlite.relay.quantize.noise import Metric
from tvmlite.relay.quantize.prepare import prepare
from tvmlite.relay.quantize.ranges import PERCENTILE
from tvmlite.relay.quantize.run import Compile, Progress, compiled, silent

__all__ = ["QuantizedModule", "quantize"]


def quantize(
    module: Module | Function,
    data: Any = None,
    *,
    calibration: str = "mse",
    percentile: float = PERCENTILE,
    per_channel: bool = True,
    mode: str = "static",
    bits: int = 8,
    group: int = 32,
    data_bits: int = 0,
    max_drop: float | None = None,
    metric: Metric | str | None = None,
    min_snr: float | None = None,
    smooth: float | None = None,
    equalize: bool = False,
    bias_correction: bool = False,
    attention: bool = False,
    operators: Collection[str] = OPERATORS,
    keep_float: Iterable[str] = (),
    min_examples: int = LEAST_EXAMPLES,
    measure: bool | None = None,
    records: Any = None,
    compile_options: Mapping[str, Any] | None = None,
    compile: Compile | None = None,
    progress: Progress = silent,
) -> QuantizedModule:
    """``module`` with its products, and the operators between them, in 8 bits where that is faster.

    The result is a float module in which tensors are rounded to steps: ``qnn.dequantize(qnn.quantize(x))``
    around unchanged operators. When it is compiled, these become integer kernels. Activations are uint8 with
    one range per tensor, weights int8 with a scale for each output channel (a single one with
    ``per_channel=False``).

    ``data`` are typical inputs, on which ranges are measured (see ``calibration_runs``); nothing is random.
    ``calibration`` chooses ranges: "mse", "percentile" (of ``percentile``), "min_max" or "entropy"
    (``relay.quantize.ranges``). With ``mode="dynamic"`` ranges are computed from the data in each run; then
    only products are quantized, and ``data`` may be omitted. With ``mode="weight_only"`` only weights of
    dense layers are quantized, to ``bits`` (4 or 8) with a scale for each ``group`` of consecutive elements
    (``relay.quantize.weight_only``); with ``data_bits`` 8 or 16, the data that they are multiplied with is
    quantized as well, in each run. This needs data only for the report's noise, and takes no other argument.
    With ``mode="bfloat16"`` or "float16" the operands of products are rounded to 16 bits, and the result is
    to be compiled with its ``compile_options``: ``tvmlite.compile(made.module, **made.compile_options)``.
    This needs data only for ``min_snr`` and the report's noise.

    ``smooth``, 0 to 1, moves outliers of channels into weights (``smooth_outliers``; 0.5 is usual for
    transformers); ``equalize`` equalizes the weights of consecutive convolutions (``equalize_layers``);
    ``bias_correction`` corrects the mean error of rounding (``correct_bias``). ``attention`` quantizes the
    two products of attention as well, which then is not one kernel.

    Layers stay in float32 if they are in ``keep_float`` or not in ``operators``, if their signal-to-noise
    ratio is below ``min_snr`` (in dB), or if the ``metric`` would otherwise drop by more than ``max_drop``.
    ``metric(run)`` returns the quality of a model, where ``run(inputs by name)`` returns its outputs; "top1"
    and "cosine" compare outputs on ``data`` with those in float32. The report lists each layer with its
    precision and the reason.

    Layers also stay in float32 if they are slower in 8 bits, conversions included: the compiled model is
    timed kernel by kernel, in float32 and in 8 bits, in interleaved runs on the first of ``data``, and again
    with those layers in float32, so the result is never slower than float32. The decisions are appended to
    ``records``, a file, like the records of ``tvmlite.tune``, or are in the result's ``records``. With the
    records of an equal model on the same machine nothing is timed: the same data and records give the same
    module. ``measure=False`` times nothing and quantizes all layers; ``measure=True`` raises an InputError if
    something cannot be timed, which by default is a note in the report. ``compile_options`` are the options
    of ``tvmlite.compile`` with which the model will be compiled.

    ``compile`` turns a module into a function that runs it; the default compiles for this machine. Layers are
    timed only with the default.
    """
    if isinstance(module, Function):
        module = Module({"main": module})
    if not isinstance(module, Module):
        raise InputError(f"quantize: module is {describe(module)}, expected a relay module or function")
    if "main" not in module.functions:
        raise InputError("quantize: the module has no function main")
    for name, value in (("compile", compile), ("progress", progress)):
        if value is not None and not callable(value):
            raise InputError(f"quantize: {name} is {describe(value)}, expected a function")
    if mode == "weight_only":
        measured = {"max_drop": max_drop, "metric": metric, "min_snr": min_snr, "smooth": smooth}
        measured |= {"equalize": equalize, "bias_correction": bias_correction, "attention": attention}
        measured |= {"keep_float": keep_float, "measure": measure, "records": records}
        refuse(mode, "each weight is rounded by itself", measured)
        runs = [] if data is None else calibration_runs(module, data, min_examples)
        return quantize_weights_only(module, bits, group, data_bits, runs, compile or compiled, progress)
    refuse(mode, "it is for mode='weight_only'", {"data_bits": data_bits})
    if mode in DTYPES:
        given = {"calibration": calibration != "mse", "per_channel": not per_channel, "max_drop": max_drop}
        given |= {"metric": metric, "smooth": smooth, "equalize": equalize, "attention": attention}
        given |= {"bias_correction": bias_correction, "operators": operators is not OPERATORS}
        given |= {"precision": (compile_options or {}).get("precision", "float32") != "float32"}
        refuse(mode, "each operand is rounded by itself, without a range", given)
    if bits != 8:
        raise InputError(
            f"quantize: bits is {show(bits)}, expected 8", hint='mode="weight_only" takes 4 as well'
        )
    options = checked(
        Options(
            calibration, percentile, per_channel, mode, names_in("operators", operators),
            names_in("keep_float", keep_float), smooth,
            equalize, bias_correction, attention, max_drop, min_snr, measure, records, compile_options or {},
        ),
        data, metric,
    )  # fmt: skip
    exact = prepare(module, attention)
    runs = [] if data is None else calibration_runs(exact, data, min_examples)
    if compile is not None and measure:
        raise InputError(
            "quantize: measure is True and compile is given", hint="a custom compile has no kernels to time"
        )
    if compile is not None:
        options = replace(options, measure=False)
    if mode in DTYPES:
        return Halves(exact, runs, options, compile or compiled, progress).run(module)
    return Integers(exact, runs, options, metric, compile or compiled, progress).run(module)
