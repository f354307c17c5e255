"""``tvm.ir.save_json`` and ``load_json``. Modules, Relay expressions, types and targets are saved as text,
tensors, operations and schedules as a list of their objects."""

from __future__ import annotations

import json
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.runtime.ndarray import NDArray
from tvmlite.te.expr import Expr
from tvmlite.te.loop import ir
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor.tensor import Operation, Tensor
from tvmlite.tvm import parser
from tvmlite.tvm.ir import graph_json, tvm_json
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.text.parser import TvmParser
from tvmlite.tvm.relay.text.printer import astext, show_type
from tvmlite.tvm.runtime.container import ShapeTuple, String
from tvmlite.tvm.target import Target

_FORMAT = "tvmlite relay text"
_DATA = {one.__name__: one for one in (String, ShapeTuple)}
_OTHERS = (Schedule, Tensor, Operation, Expr, ir.Stmt, ir.Function, ir.Buffer, NDArray)


def save_json(node: Any) -> str:
    """Return ``node`` as JSON in tvmlite's format, which TVM does not read."""
    graph = isinstance(node, _OTHERS) or hasattr(node, "compared_fields")
    if graph or (isinstance(node, (list, tuple, dict)) and not isinstance(node, ShapeTuple)):
        return json.dumps({"format": _FORMAT, "kind": "graph", "text": "", "graph": graph_json.encode(node)})
    if isinstance(node, (String, ShapeTuple)):
        return json.dumps({"format": _FORMAT, "kind": type(node).__name__, "text": json.dumps(node)})
    if isinstance(node, Target):
        return json.dumps({"format": _FORMAT, "kind": "target", "text": str(node)})
    if isinstance(node, IRModule):
        kind, text = "module", astext(node)
    elif isinstance(node, Op):
        kind, text = "expression", str(node)
    elif isinstance(node, nodes.Expr):
        kind, text = "expression", astext(node)
    elif isinstance(node, ty.Type):
        kind, text = "type", show_type(node)
    else:
        expected = "a module, an expression, a type, a target, a tensor, a schedule, a String or a ShapeTuple"
        raise InputError(f"save_json: {show(node)} given, expected {expected}")
    return json.dumps({"format": _FORMAT, "kind": kind, "text": text})


def load_json(json_str: str) -> Any:
    """Load what ``save_json`` wrote, or JSON of TVM as far as ``tvm_json`` supports it. Raises an InputError
    for anything else."""
    try:
        table: Any = json.loads(json_str)
    except (ValueError, TypeError):
        table = {}
    if tvm_json.is_of_tvm(table):
        return tvm_json.decode(table)
    try:
        kind, text = table["kind"], table["text"]
        known = table["format"] == _FORMAT and isinstance(text, str)
    except (KeyError, TypeError):
        known, kind, text = False, None, ""
    if not known or kind not in ("module", "expression", "type", "target", "graph", *_DATA):
        raise InputError("load_json: this is not what tvm.ir.save_json wrote here", hint=tvm_json.HINT)
    if kind == "graph":
        return graph_json.decode(table.get("graph", {}))
    if kind == "target":
        return Target(text)
    if kind in _DATA:
        return _DATA[kind](json.loads(text))
    if kind == "type":
        return TvmParser(text, "json").whole_type()
    return parser.parse(text) if kind == "module" else parser.parse_expr(text)
