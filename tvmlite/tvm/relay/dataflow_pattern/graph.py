"""The graph of an expression: the readers and the post-dominators of its nodes."""

from __future__ import annotations

from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.tvm.relay.graph.visit import in_order, parts_of


class ExpressionGraph:
    """The nodes of ``root`` with their readers. ``order`` is the post-order: operands before a node."""

    def __init__(self, root: Any) -> None:
        self.order = [node for node in in_order(root) if isinstance(node, nodes.Expr)]
        self.readers: dict[Any, list[Any]] = {node: [] for node in self.order}
        for node in self.order:
            for part in parts_of(node):
                if part in self.readers:
                    self.readers[part].append(node)
        self._behind = self._immediate()

    def dominates(self, node: Any, other: Any) -> bool:
        """Whether every path from ``other`` to the root leads through ``node``, which is another node."""
        while other is not None:
            other = self._behind.get(other)
            if other is node:
                return True
        return False

    def _immediate(self) -> dict[Any, Any]:
        """The immediate post-dominator of each node; None for the root."""
        behind: dict[Any, Any] = {}
        depth: dict[Any, int] = {}
        for node in reversed(self.order):
            first: Any = None
            for position, reader in enumerate(self.readers[node]):
                first = reader if position == 0 else _meeting(first, reader, behind, depth)
            behind[node] = first
            depth[node] = 0 if first is None else depth[first] + 1
        return behind


def _meeting(one: Any, other: Any, behind: dict[Any, Any], depth: dict[Any, int]) -> Any:
    """The nearest common post-dominator of two nodes."""
    while one is not other:
        if one is None or other is None:
            return None
        if depth[one] >= depth[other]:
            one = behind[one]
        else:
            other = behind[other]
    return one
