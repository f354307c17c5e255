"""Prints expressions as TVM 0.11 does: ``(a: int32 + b: int32)``."""

from __future__ import annotations

import dataclasses
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.extensions import extension
from tvmlite.te.loop import ir
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.attributes import tvm_name
from tvmlite.tvm.marks import VectorDtype, is_marked
from tvmlite.tvm.tir.types import PointerVar
from tvmlite.tvm.written import Let, Uncompiled, Written, WrittenCall, _Reversed, plain

_BETWEEN: dict[type, str] = {
    e.Add: " + ",
    e.ContractedAdd: " + ",
    e.Sub: " - ",
    e.ContractedSub: " - ",
    e.Mul: "*",
    e.Div: " / ",
    e.TruncDiv: " / ",
    e.TruncMod: " % ",
    e.Equal: " == ",
    e.NotEqual: " != ",
    e.Less: " < ",
    e.LessEqual: " <= ",
    e.And: " && ",
    e.Or: " || ",
}
_CALLED: dict[type, str] = {e.FloorDiv: "floordiv", e.FloorMod: "floormod", e.Min: "min", e.Max: "max"}


def as_text(expr: e.Expr) -> str:
    """``expr`` in TVM's text if a TVM program made it, else in that of ``tvmlite.te``."""
    if isinstance(expr, _ONLY_HERE) or is_marked(expr):
        return show(expr)
    found = _plain(expr)
    return show(expr) if found is None else extension("printer").show(found)


def statement_text(stmt: ir.Stmt) -> str:
    """The text of a statement. One with nodes that cannot be compiled is written field by field."""
    if not any(isinstance(node, Uncompiled) for node in postorder(stmt)):
        return extension("printer").show(plain(stmt))
    own = [one.name for one in dataclasses.fields(stmt) if one.name != "span"]  # type: ignore[arg-type]
    return f"{tvm_name(stmt)}({', '.join(f'{name}={getattr(stmt, name)}' for name in own)})"


_ONLY_HERE = (Written, Uncompiled)


def _plain(expr: e.Expr) -> e.Expr | None:
    """``expr`` in nodes of ``tvmlite.te`` only; None if that is not possible."""
    if any(isinstance(node, Uncompiled) for node in postorder(expr)):
        return None
    made = plain(expr)
    return made if isinstance(made, e.Expr) else None


def show(root: Any) -> str:
    """``root`` in TVM's text, where the first occurrence of a variable is followed by its type."""
    met: set[e.Var] = set()
    pieces: list[str] = []
    stack: list[Any] = [root]
    while stack:  # from left to right, without recursion: sums may be long
        one = stack.pop()
        if isinstance(one, str) and type(one) is str:
            pieces.append(one)
        elif isinstance(one, e.Var):
            pieces.append(one.name if one in met else f"{one.name}: {_type(one)}")
            met.add(one)
        else:
            stack.extend(reversed(_parts(one)))
    return "".join(pieces)


def _type(var: e.Var) -> str:
    if isinstance(var, PointerVar) and var.type_annotation is not None:
        return f"Pointer({var.type_annotation.element_type.dtype})"
    return _dtype(var)


def _dtype(node: e.Expr) -> str:
    return VectorDtype(node.dtype, node.lanes).shown if node.lanes > 1 else str(node.dtype)


def _parts(node: Any) -> list[Any]:
    """The parts of the text of ``node``, with its children in place of their texts."""
    match node:
        case e.Const(value, dtype):
            text = _constant(value, dtype)
            return [text if node.lanes == 1 else f"broadcast({text}, {node.lanes})"]
        case _Reversed(a=a, b=b):
            return ["(", a, f" {node.symbol} ", b, ")"]
        case e.Binary(a, b) if type(node) in _BETWEEN:
            return ["(", a, _BETWEEN[type(node)], b, ")"]
        case e.Binary(a, b):
            return [f"{_CALLED[type(node)]}(", a, ", ", b, ")"]
        case e.Not(a):
            return ["!", a]
        case e.Select(condition, a, b):
            return ["select(", *_list((condition, a, b)), ")"]
        case e.Cast(value=value):
            return [f"cast({_dtype(node)}, ", value, ")"]
        case e.Ramp(base, stride, lanes):
            return ["ramp(", base, ", ", stride, f", {lanes})"]
        case e.Broadcast(value, lanes):
            return ["broadcast(", value, f", {lanes})"]
        case Let(var, value, body):
            return ["let ", var, " = ", value, " in ", body]
        case t.TensorRead(tensor, indices):
            return [f"{tensor.name}[", *_list(indices), "]"]
        case ir.Load(buffer, indices):
            return [f"{buffer.name}[", *_list(indices), "]"]
        case t.Reduce():
            return [extension("printer").show(node)]
        case e.Call() | e.Foreign() | WrittenCall():
            called: Any = node.op  # type: ignore[union-attr,attr-defined]
            return [f"@{called.name}(", *_list(node.args), f", dtype={_dtype(node)})"]
        case _:
            return [str(node)]


def _list(nodes: Any) -> list[Any]:
    """``nodes`` with commas between them."""
    return [part for k, one in enumerate(nodes) for part in ((", ", one) if k else (one,))]


def _constant(value: int | float, dtype: str) -> str:
    """The text of a constant: digits for an int32, a word for a bool; for other dtypes digits, a letter and
    the width."""
    if dtype == "bool":
        return str(bool(value))
    if dtype == "int32":
        return str(int(value))
    letter = "f" if dtypes.is_float(dtype) else "u" if dtypes.is_unsigned(dtype) else "i"
    digits = f"{value:g}" if letter == "f" else str(int(value))
    return f"{digits}{letter}{dtypes.width(dtype)}"
