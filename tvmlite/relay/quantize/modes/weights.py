"""Weights alone in few bits: the mode "weight_only", with its report."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module
from tvmlite.relay.quantize.layers import names_of
from tvmlite.relay.quantize.modes.result import QuantizedModule
from tvmlite.relay.quantize.report.report import LayerRow, QuantizationReport, constant_bytes
from tvmlite.relay.quantize.weight_only import GROUP_QUANTIZED, weight_only


def weights_alone(module: Module, data: Any, bits: int, group: int) -> QuantizedModule:
    """``weight_only`` with a report: which layers have weights in few bits, and what bytes that spares."""
    if data is not None:
        raise InputError("quantize: mode='weight_only' takes no data: nothing is measured")
    made = weight_only(module, bits, group)
    names = names_of(made.main.body)
    rows = tuple(
        LayerRow(name, str(call.op), f"int{call['bits']}", weights=_stored(call.args[1]) * 8 // call["bits"])
        for call, name in names.items()
        if isinstance(call, Call) and call.op == GROUP_QUANTIZED
    )
    if made is module:
        raise InputError(
            "quantize: the module has no layer that can be quantized",
            hint="with mode='weight_only', dense layers of float32 with constant weights can",
        )
    options = {"mode": "weight_only", "bits": str(bits), "group": str(group)}
    report = QuantizationReport(rows, options, constant_bytes(module), constant_bytes(made))
    return QuantizedModule(made, report)


def _stored(weight: Expr) -> int:
    assert isinstance(weight, Constant)
    return weight.size
