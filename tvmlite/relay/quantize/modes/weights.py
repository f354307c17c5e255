"""Weights in few bits, and optionally the data they are multiplied with: the mode "weight_only"."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module
from tvmlite.relay.quantize.data import Run
from tvmlite.relay.quantize.layers import names_of
from tvmlite.relay.quantize.modes.result import QuantizedModule
from tvmlite.relay.quantize.noise import Noise, noise_of, output_noise
from tvmlite.relay.quantize.report.report import LayerRow, QuantizationReport, constant_bytes
from tvmlite.relay.quantize.run import Compile, Progress
from tvmlite.relay.quantize.weight_only import rounded_by, rounding


def quantize_weights_only(
    module: Module,
    bits: int,
    group: int,
    data_bits: int,
    runs: Sequence[Run],
    compile: Compile,
    progress: Progress,
) -> QuantizedModule:
    """``weight_only`` with a report: the layers with weights in few bits, the bytes saved, and, if there are
    ``runs``, the noise of each layer on them."""
    rule = rounding(bits, group, data_bits=data_bits)  # caches rounded weights: it is used twice
    made = rounded_by(module, rule)
    if made is module:
        raise InputError(
            "quantize: the module has no layer that can be quantized",
            hint="with mode='weight_only', dense layers of float32 with constant weights can",
        )
    rounded = {
        name: (call, changed)
        for call, name in names_of(module.main.body).items()
        if isinstance(call, Call) and isinstance(changed := rule(call), Call) and changed is not call
    }
    noise: dict[str, Noise] = {}
    if runs:
        exact = {one: one for one in postorder(module.main.body) if isinstance(one, Expr)}
        layers = {name: call for name, (call, _) in rounded.items()}
        noise = noise_of(module, layers, exact, rule, runs, compile, progress)
    options = {"mode": "weight_only", "bits": str(bits), "group": str(group)}
    report = QuantizationReport(
        tuple(_row(name, *calls, noise.get(name)) for name, calls in rounded.items()),
        options | ({"data bits": str(data_bits)} if data_bits else {}),
        constant_bytes(module),
        constant_bytes(made),
        output_noise(compile(module), compile(made), runs) if runs else None,
    )
    return QuantizedModule(made, report)


def _row(name: str, call: Call, rounded: Call, noise: Noise | None) -> LayerRow:
    weight, bits, data_bits = rounded.args[1], rounded["bits"], rounded["data_bits"]
    assert isinstance(weight, Constant)
    precision = f"int{bits}, data int{data_bits}" if data_bits else f"int{bits}"
    snr = None if noise is None else noise.snr
    return LayerRow(name, str(call.op), precision, snr=snr, weights=weight.size * 8 // bits)
