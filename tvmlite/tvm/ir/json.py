"""TVM's ``tvm.ir.save_json``: modules, expressions and types as JSON, which holds their text."""

from __future__ import annotations

import json
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm import parser
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.text.parser import TvmParser
from tvmlite.tvm.relay.text.printer import astext, show_type

_FORMAT = "tvmlite relay text"


def save_json(node: Any) -> str:
    """``node`` as JSON. Other programs than this one do not read it."""
    if isinstance(node, IRModule):
        kind, text = "module", astext(node)
    elif isinstance(node, Op):
        kind, text = "expression", str(node)
    elif isinstance(node, nodes.Expr):
        kind, text = "expression", astext(node)
    elif isinstance(node, ty.Type):
        kind, text = "type", show_type(node)
    else:
        raise InputError(f"save_json: {show(node)} given, expected a module, an expression or a type")
    return json.dumps({"format": _FORMAT, "kind": kind, "text": text})


def load_json(json_str: str) -> Any:
    """What ``save_json`` wrote; an InputError for anything else."""
    try:
        table = json.loads(json_str)
        kind, text = table["kind"], table["text"]
        known = table["format"] == _FORMAT and isinstance(text, str)
    except (ValueError, KeyError, TypeError):
        known, kind, text = False, None, ""
    if not known or kind not in ("module", "expression", "type"):
        raise InputError("load_json: this is not what tvm.ir.save_json wrote here")
    if kind == "type":
        return TvmParser(text, "json").whole_type()
    return parser.parse(text) if kind == "module" else parser.parse_expr(text)
