"""``tvm.tir.stmt_functor``: walks over expressions and statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvmlite.core.node import Node, postorder, rewrite
from tvmlite.core.node import substitute as replaced
from tvmlite.te import expr as e
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.attributes import tvm_name


def post_order_visit(stmt: Any, fvisit: Callable[[Any], Any]) -> None:
    """Call ``fvisit`` with each node of ``stmt``, each once, children first."""
    root = getattr(stmt, "body", stmt) if not isinstance(stmt, Node) else stmt
    for node in postorder(root):
        fvisit(node)


def substitute(node: Any, vmap: Mapping[Any, Any]) -> Any:
    """``node`` with variables replaced by the values of ``vmap``."""
    if isinstance(node, (int, float)):
        return node
    made = replaced(node, {key: e.cast(key.dtype, e.convert(value)) for key, value in vmap.items()})
    return rewrite(made, _cast_at_once)


def _cast_at_once(node: Any) -> Any:
    return e.cast(node.dtype, node.value) if isinstance(node, e.Cast) else node


def ir_transform(
    stmt: Any,
    preorder: Callable[[Any], Any] | None,
    postorder: Callable[[Any], Any] | None,
    only_enable: Sequence[str] | None = None,
) -> Any:
    """``stmt`` with each node replaced by what ``postorder`` gives for it, children first; None keeps it.
    ``only_enable`` names the classes that are looked at."""
    wanted = None if only_enable is None else {name.removeprefix("tir.") for name in only_enable}
    rule = postorder or preorder

    def apply(node: Any) -> Any:
        if rule is None or (wanted is not None and tvm_name(node) not in wanted):
            return node
        made = rule(node)
        return node if made is None else made

    return rewrite(stmt, apply)


__getattr__ = refusing(__name__)
