"""The set of nodes that went through type inference; as in TVM, only their types are printed."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from tvmlite.relay.ir.infer import walk

_INFERRED: WeakSet[Any] = WeakSet()


def mark(root: Any) -> None:
    """Record that all nodes in ``root``, and the variables they bind, went through type inference."""
    _INFERRED.update(walk(root))
    for node in walk(root):
        for name in node.binders:
            value = getattr(node, name)
            _INFERRED.update(value if isinstance(value, tuple) else (value,))


def is_inferred(node: Any) -> bool:
    """Whether ``node`` went through type inference."""
    return node in _INFERRED
