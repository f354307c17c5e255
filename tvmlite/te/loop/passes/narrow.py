"""Store narrow floats and ints as bytes, and compute their conversions with integer arithmetic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import Node, postorder
from tvmlite.te import expr as e
from tvmlite.te.expr import minifloat
from tvmlite.te.expr.minifloat import STORED
from tvmlite.te.loop import ir

_MOVES = ("if_then_else", "likely")
"""Intrinsics that return one of their arguments unchanged."""

_OF_A_WIDTH = ("popcount", "clz")


def narrow(function: ir.Function) -> ir.Function:
    """Replace buffers of a narrow dtype by buffers of bytes, decoded for arithmetic and encoded for stores::

        B[i] = float8_e4m3fn(A[i])    -->    B[i] = uint8(... reinterpret(A[i], "uint32") ...)

    Values that are only copied are copied as bytes. ``narrow_dtype`` of a parameter is the dtype the caller
    passes.
    """
    nodes = list(postorder(function))
    if not any(map(_is_narrow, (*nodes, *function.params))):
        return function
    pass_ = _Narrow()
    for node in nodes:
        pass_.made[node] = pass_.rule(node)
    body = pass_.made[function.body]
    assert isinstance(body, ir.Stmt)
    params = tuple(pass_.param(p) for p in function.params)
    outputs = tuple(pass_.buffer(b) for b in function.outputs)
    return replace(function, params=params, outputs=outputs, body=body)


def _is_narrow(node: Node) -> bool:
    match node:
        case e.Expr() | ir.Buffer():
            return dtypes.is_narrow(node.dtype)
        case ir.Store() | ir.Allocate() | ir.View():
            return dtypes.is_narrow(node.buffer.dtype)
    return False


class _Narrow:
    """``made`` maps each node to its replacement; that of a narrow value is the byte that encodes it."""

    def __init__(self) -> None:
        self.made: dict[Node, Any] = {}
        self._buffers: dict[ir.Buffer, ir.Buffer] = {}
        self._decoded: dict[e.Expr, e.Expr] = {}

    def buffer(self, buffer: ir.Buffer) -> ir.Buffer:
        """The buffer of bytes that replaces one of a narrow dtype; others are returned unchanged."""
        if not dtypes.is_narrow(buffer.dtype):
            return buffer
        if buffer not in self._buffers:
            self._buffers[buffer] = replace(buffer, dtype=STORED, narrow_dtype=buffer.dtype)
        return self._buffers[buffer]

    def param(self, param: ir.Buffer | e.Var) -> ir.Buffer | e.Var:
        if isinstance(param, ir.Buffer):
            return self.buffer(param)
        if dtypes.is_narrow(param.dtype):
            raise UnsupportedError(
                f"argument {param.name!r} is a scalar of {param.dtype}; expected an array, or another dtype",
                hint=f"give it as {minifloat.work_dtype(param.dtype)} and cast it where it is used",
            )
        return param

    def rule(self, node: Node) -> Node:
        new = node.map_children(self.made.__getitem__)
        if not isinstance(node, e.Expr):
            return self._statement(new)
        mixed = any(isinstance(c, e.Expr) and dtypes.is_narrow(c.dtype) for c in node.children())
        if isinstance(node, ir.Load):
            assert isinstance(new, ir.Load)
            return replace(new, buffer=self.buffer(node.buffer)) if dtypes.is_narrow(node.dtype) else new
        return self._expr(node, new) if mixed or dtypes.is_narrow(node.dtype) else new

    def _statement(self, new: Node) -> Node:
        match new:
            case ir.Store() | ir.Allocate() | ir.View() if dtypes.is_narrow(new.buffer.dtype):
                return replace(new, buffer=self.buffer(new.buffer))
            case ir.Let() if dtypes.is_narrow(new.var.dtype):
                return replace(new, var=self._variable(new.var))
            case ir.CallKernel():
                return replace(new, buffers=tuple(map(self.buffer, new.buffers)))
        return new

    def _variable(self, var: e.Var) -> e.Var:
        """The variable of a byte that replaces ``var``, the same one for all uses."""
        if not isinstance(self.made.get(var), e.Var) or dtypes.is_narrow(self.made[var].dtype):
            self.made[var] = e.Var(var.name, STORED, var.lanes)
        return self.made[var]

    def _expr(self, node: e.Expr, new: Node) -> e.Expr:
        match node:
            case e.Var():
                return self._variable(node)
            case e.Const(value, dtype, lanes):
                held = np.asarray(value).astype(dtypes.numpy_of(dtype)).view(np.uint8)
                return e.const(int(held), STORED, lanes)
            case e.Cast(dtype, value):
                given = self._decode(value)
                return minifloat.encode(given, dtype) if dtypes.is_narrow(dtype) else _cast(dtype, given)
            case e.Select() | e.Broadcast():
                assert isinstance(new, e.Expr)
                return new
            case e.Compare():
                return type(node)(self._decode(node.a), self._decode(node.b))
            case e.Binary():
                return minifloat.encode(type(node)(self._decode(node.a), self._decode(node.b)), node.dtype)
            case e.Call():
                assert isinstance(new, e.Call)
                return self._call(node, new)
        raise UnsupportedError(f"a {type(node).__name__} of {node.dtype}: cast it to a wider dtype first")

    def _call(self, node: e.Call, new: e.Call) -> e.Expr:
        to_narrow = dtypes.is_narrow(node.dtype)
        if node.name in _MOVES:
            return replace(new, dtype=STORED) if to_narrow else new
        if node.name == "reinterpret":
            (byte,) = new.args
            byte = byte if byte.dtype == STORED else e.Call("reinterpret", (byte,), STORED)
            if to_narrow:
                return minifloat.canonical(byte, node.dtype)
            return byte if node.dtype == STORED else replace(new, args=(byte,))
        if node.name in _OF_A_WIDTH and to_narrow:
            raise UnsupportedError(f"{node.name} of {node.dtype}: cast it to a wider dtype first")
        args = tuple(self._decode(a) for a in node.args)
        if not to_narrow:
            return replace(node, args=args)
        made = replace(node, args=args, dtype=minifloat.work_dtype(node.dtype))
        return minifloat.encode(made, node.dtype)

    def _decode(self, node: e.Expr) -> e.Expr:
        """The replacement of ``node``, decoded if it is narrow."""
        if not dtypes.is_narrow(node.dtype):
            return self.made[node]
        if node not in self._decoded:
            self._decoded[node] = minifloat.decode(self.made[node], node.dtype)
        return self._decoded[node]


def _cast(dtype: str, value: e.Expr) -> e.Expr:
    if dtype != "bool":
        return e.cast(dtype, value)
    return e.NotEqual(value, e.const(0, value.dtype, value.lanes))
