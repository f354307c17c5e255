"""TVM's structural equality, in which graphs are equal if they differ only in names of bound variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core.errors import TvmliteError, UnsupportedError
from tvmlite.core.node import Node, postorder
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.te import expr as te
from tvmlite.tvm.absent.script import Unread
from tvmlite.tvm.arith.analyzer import Analyzer
from tvmlite.tvm.ir import node_structure
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import GlobalVar, adopt
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.text.operators import as_in_tvm
from tvmlite.tvm.written import Uncompiled


class StructuralMismatch(TvmliteError, ValueError):
    """``assert_structural_equal`` failed. The message has the first difference and both texts."""


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Return whether two modules, expressions or types are structurally equal. With ``map_free_vars``, a free
    variable may match another one. In Relay, a value used twice does not equal two separate equal values."""
    return difference(lhs, rhs, map_free_vars) is None


def get_first_structural_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False) -> Any:
    """Return the paths to the first difference in two expressions or loop IR values; None if they are equal.
    Raises an UnsupportedError for Relay expressions and modules."""
    for one in (lhs, rhs):
        if not node_structure.is_of_loops(one):
            raise UnsupportedError(
                f"get_first_structural_mismatch: a {type(one).__name__} given, expected expressions or loops",
                Span.of_caller(),
                "structural_equal compares others",
            )
    return node_structure.Comparison(map_free_vars).mismatch(lhs, rhs)


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise a ValueError with both texts unless ``lhs`` and ``rhs`` are structurally equal."""
    found = difference(lhs, rhs, map_free_vars)
    if found is not None:
        raise StructuralMismatch(f"StructuralEqual check failed: {found}\nlhs:\n{lhs}\nrhs:\n{rhs}")


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """Return a hash that is equal for structurally equal nodes."""
    if node_structure.is_of_loops(node):
        return hash(tuple(node_structure.tokens(node, map_free_vars)))
    return hash(tuple(_tokens(node, map_free_vars)))


def difference(lhs: Any, rhs: Any, map_free_vars: bool = False) -> str | None:
    """A text that describes the first difference of ``lhs`` and ``rhs``; None if they are equal."""
    for one in (lhs, rhs):
        if isinstance(one, Unread):
            one()
    if node_structure.is_of_loops(lhs) and node_structure.is_of_loops(rhs):
        return _difference_of_loops(lhs, rhs, map_free_vars)
    bound: dict[Any, Any] = {}
    back: dict[Any, Any] = {}
    seen: set[tuple[int, int]] = set()
    kept: list[Any] = []
    stack: list[tuple[Any, Any]] = [(lhs, rhs)]
    while stack:
        a, b = stack.pop()
        if isinstance(a, nodes.Expr) and isinstance(b, nodes.Expr):
            a, b = adopt(a), adopt(b)
            if (id(a), id(b)) in seen:
                continue
            seen.add((id(a), id(b)))
            kept += (a, b)
            if type(a) is not type(b):
                return f"{_brief(a)} and {_brief(b)}"
            if isinstance(a, nodes.Var) and not isinstance(a, GlobalVar):
                if bound.get(a, b) is not b or back.get(b, a) is not a:
                    return f"variables %{a.name} and %{b.name} are bound differently"
                if a not in bound and a is not b and not map_free_vars:
                    return f"free variables %{a.name} and %{b.name}"
                if a not in bound:
                    found = _bind(a, b, bound, back)
                    if found is not None:
                        return found
                continue
            if not _is_plain(a):
                if bound.get(a, b) is not b or back.get(b, a) is not a:
                    return f"{_brief(a)} is shared on one side and duplicated on the other"
                bound[a], back[b] = b, a
            found = _binders(a, b, bound, back)
            if found is not None:
                return found
            stack.extend(reversed(_fields(a, b)))
            if isinstance(a, nodes.Function) and any(map(_has_written_result, (a, b))):
                stack.append((a.ret_type, b.ret_type))  # type: ignore[attr-defined]
            continue
        found = _compare(a, b, stack)
        if found is not None:
            return found
    return None


def _difference_of_loops(lhs: Any, rhs: Any, map_free_vars: bool = False) -> str | None:
    found = node_structure.Comparison(map_free_vars).mismatch(lhs, rhs)
    if found is not None and not map_free_vars and _same_normal_form(lhs, rhs):
        return None
    return None if found is None else f"lhs at {found[0]} and rhs at {found[1]}"


def _same_normal_form(lhs: Any, rhs: Any) -> bool:
    """Whether two expressions, or lists of them, can be proved equal. Programs compare simplified expressions
    with the form that TVM's simplifier would choose, which may differ from the one chosen here."""
    if isinstance(lhs, (tuple, list)) and isinstance(rhs, (tuple, list)):
        return len(lhs) == len(rhs) and all(map(_same_normal_form, lhs, rhs))
    numbers = (te.Expr, int, float)
    if not (isinstance(lhs, numbers) and isinstance(rhs, numbers)) or isinstance(lhs, str):
        return False
    left, right = te.convert(lhs), te.convert(rhs)
    if (left.dtype, left.lanes) != (right.dtype, right.lanes):
        return False
    uncompiled = any(isinstance(node, Uncompiled) for one in (left, right) for node in postorder(one))
    return not uncompiled and Analyzer().can_prove_equal(left, right)


def _is_plain(node: Any) -> bool:
    """Whether sharing of ``node`` is ignored: a global variable, a constant or an empty tuple."""
    return isinstance(node, (GlobalVar, nodes.Constant)) or (
        isinstance(node, nodes.Tuple) and not node.fields
    )


def _fields(a: Any, b: Any) -> list[tuple[Any, Any]]:
    match a:
        case GlobalVar():
            return [(a.name, b.name)]
        case nodes.Var():
            return [(a.type, b.type)]
        case nodes.Constant():
            return [(a.data, b.data)]
        case nodes.Call():
            types = (_given_types(a), _given_types(b))
            attrs = (as_in_tvm(str(a.op), a.attrs), as_in_tvm(str(b.op), b.attrs))
            return [(a.op, b.op), (a.args, b.args), attrs, types]
        case nodes.Function():
            return [(a.body, b.body), (tuple(a.attrs), tuple(b.attrs))]
    names = [name for name in a.__dict__ if name not in ("span", "declared", *a.binders)]
    return [(getattr(a, name), getattr(b, name)) for name in names]


def _given_types(call: Any) -> tuple[Any, ...]:
    """The type arguments that a program gave a call; empty for an operator, whose types are inferred."""
    return () if isinstance(call.op, Op) else getattr(call, "given_types", ())


def _has_written_result(function: Any) -> bool:
    return getattr(function, "declared", None) is not None


def _binders(a: Any, b: Any, bound: dict[Any, Any], back: dict[Any, Any]) -> str | None:
    for name in a.binders:
        mine, other = getattr(a, name), getattr(b, name)
        mine = mine if isinstance(mine, tuple) else (mine,)
        other = other if isinstance(other, tuple) else (other,)
        if len(mine) != len(other):
            return f"{len(mine)} and {len(other)} {name}"
        for x, y in zip(mine, other, strict=True):
            found = _bind(x, y, bound, back)
            if found is not None:
                return found
    return None


def _bind(a: Any, b: Any, bound: dict[Any, Any], back: dict[Any, Any]) -> str | None:
    if not ty.same_type(a.type, b.type):
        return f"variables %{a.name}: {a.type} and %{b.name}: {b.type}"
    bound[a], back[b] = b, a
    return None


def _compare(a: Any, b: Any, stack: list[tuple[Any, Any]]) -> str | None:
    """Compare two values, and push their parts on ``stack`` for comparison."""
    if isinstance(a, IRModule) and isinstance(b, IRModule):
        mine, others = dict(_by_name(a)), dict(_by_name(b))
        if mine.keys() != others.keys():
            return f"functions {sorted(mine)} and {sorted(others)}"
        stack.extend((mine[name], others[name]) for name in mine)
        return None
    if node_structure.is_structural(a) and node_structure.is_structural(b) and not isinstance(a, te.Expr):
        return _difference_of_loops(a, b)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        if node_structure.tag_of(a) != node_structure.tag_of(b):
            return f"tags {node_structure.tag_of(a)} and {node_structure.tag_of(b)}"
        if len(a) != len(b):
            return f"{len(a)} and {len(b)} elements"
        stack.extend(zip(reversed(a), reversed(b), strict=True))
        return None
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return f"keys {sorted(map(str, a))} and {sorted(map(str, b))}"
        stack.extend((a[key], b[key]) for key in a)
        return None
    return None if _same_value(a, b) else f"{_brief(a)} and {_brief(b)}"


def _same_value(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, te.Expr) or isinstance(b, te.Expr):
        return (
            ty.types.same_dim(a, b)
            if isinstance(a, (te.Expr, int)) and isinstance(b, (te.Expr, int))
            else False
        )
    if isinstance(a, Node) and isinstance(b, Node):
        return ty.same_type(a, b)
    if isinstance(a, str) and isinstance(b, str):
        return str(a) == str(b)
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) < _NUMBERS_DIFFER
    return type(a) is type(b) and bool(a == b)


_NUMBERS_DIFFER = 1e-9
"""Floats closer than this are equal, as in TVM, so that an epsilon rounded to float32 equals the original."""


def _by_name(module: IRModule) -> list[tuple[str, Any]]:
    return [(var.name, function) for var, function in module.functions.items()]


def _brief(value: Any) -> str:
    text = str(value).strip().splitlines()
    return text[-1][:120] if text else repr(value)


def _tokens(root: Any, map_free_vars: bool) -> list[Any]:
    """The values that a hash is computed from: the nodes in order, with nodes numbered by first occurrence,
    and free variables identified by ``id`` unless ``map_free_vars``."""
    if isinstance(root, IRModule):
        return [part for name, one in sorted(_by_name(root)) for part in (name, *_tokens(one, map_free_vars))]
    if not isinstance(root, nodes.Expr):
        return [type(root).__name__, str(root)]
    places: dict[Any, int] = {}
    bound: set[Any] = set()
    found: list[Any] = []
    stack: list[Any] = [adopt(root)]
    while stack:
        node = stack.pop()
        if isinstance(node, (tuple, list)):
            found.append(len(node))
            stack.extend(reversed(node))
        elif isinstance(node, nodes.Expr) and not isinstance(node, GlobalVar):
            first = node not in places
            place = 0 if _is_plain(node) else places.setdefault(node, len(places))
            is_free = isinstance(node, nodes.Var) and node not in bound and not map_free_vars
            found += (type(node).__name__, id(node) if is_free else place)
            if first and isinstance(node, nodes.Function):
                found.append(str(node.ret_type))  # type: ignore[attr-defined]
            if first:
                binders = [getattr(node, name) for name in node.binders]
                bound.update(var for one in binders for var in (one if isinstance(one, tuple) else (one,)))
                stack.extend(part for pair in reversed(_fields(node, node)) for part in pair[:1])
                stack.extend(binders)
        else:
            found.append(node.tobytes() if isinstance(node, np.ndarray) else str(node))
    return found
