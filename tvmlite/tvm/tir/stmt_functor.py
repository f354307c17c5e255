"""``tvm.tir.stmt_functor``: traversals and rewrites of expressions and statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvmlite.core.node import Node, rewrite
from tvmlite.core.node import substitute as replaced
from tvmlite.te import expr as e
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.attributes import tvm_name
from tvmlite.tvm.marks import with_marked_constants
from tvmlite.tvm.tir.nodes import Call
from tvmlite.tvm.written import WrittenCall


def post_order_visit(stmt: Any, fvisit: Callable[[Any], Any]) -> None:
    """Call ``fvisit`` once with each node of ``stmt``, children before parents."""
    seen: set[Any] = set()
    stack = [(getattr(stmt, "body", stmt) if not isinstance(stmt, Node) else stmt, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            fvisit(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((child, False) for child in _children(node)[::-1])


_BY_NAME = ("tir.call_extern", "tir.call_pure_extern", "tir.tvm_call_packed")


def _is_by_name(node: Any) -> bool:
    return isinstance(node, WrittenCall) and node.op.name in _BY_NAME


def _children(node: Any) -> Sequence[Any]:
    """The children of ``node`` in TVM's form: for a call by name, its arguments."""
    return [one for one in node.args if isinstance(one, e.Expr)] if _is_by_name(node) else node.children()


def _rebuilt(node: Any, rule: Callable[[Any], Any]) -> Any:
    """``node`` with ``rule`` applied to its children; the same object if none changes."""
    if not _is_by_name(node):
        return node.map_children(rule)
    args = [rule(one) if isinstance(one, e.Expr) else one for one in node.args]
    same = all(a is b for a, b in zip(args, node.args, strict=True))
    return node if same else Call(node.dtype, node.op, args)


def pre_order_visit(stmt: Any, fvisit: Callable[[Any], bool]) -> None:
    """Call ``fvisit`` once with each node of ``stmt``, parents before children. Its result says whether to
    visit the children."""
    seen: set[Any] = set()
    stack = [stmt]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            if fvisit(node):
                stack.extend(_children(node)[::-1])


def substitute(node: Any, vmap: Mapping[Any, Any]) -> Any:
    """Return ``node`` with variables replaced by their values in ``vmap``."""
    if isinstance(node, (int, float)):
        return node
    made = replaced(node, {key: e.cast(key.dtype, e.convert(value)) for key, value in vmap.items()})
    return with_marked_constants(rewrite(made, _cast_at_once))


def _cast_at_once(node: Any) -> Any:
    return e.cast(node.dtype, node.value) if isinstance(node, e.Cast) else node


def ir_transform(
    stmt: Any,
    preorder: Callable[[Any], Any] | None,
    postorder: Callable[[Any], Any] | None,
    only_enable: Sequence[str] | None = None,
) -> Any:
    """Return ``stmt`` with nodes replaced. A node becomes the result of ``preorder``, which is not visited
    further; if that is None, its children are transformed and it becomes the result of ``postorder``, or
    stays if that is None. ``only_enable`` restricts both functions to nodes of the named classes."""
    wanted = None if only_enable is None else {name.removeprefix("tir.") for name in only_enable}

    def asked(rule: Callable[[Any], Any] | None, node: Any) -> Any:
        looked_at = wanted is None or tvm_name(node) in wanted
        return rule(node) if rule is not None and looked_at else None

    done: dict[Any, Any] = {}
    stack = [(stmt, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            made = _rebuilt(node, done.__getitem__)
            found = asked(postorder, made)
            done[node] = made if found is None else found
        elif node not in done:
            found = asked(preorder, node)
            if found is not None:
                done[node] = found
            else:
                stack.append((node, True))
                stack.extend((child, False) for child in _children(node)[::-1])
    return done[stmt]


__getattr__ = refusing(__name__)
