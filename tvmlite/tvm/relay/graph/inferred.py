"""Which nodes went through type inference: their types are printed, those of others are not, as in TVM."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from tvmlite.relay.ir.infer import walk

_INFERRED: WeakSet[Any] = WeakSet()


def mark(root: Any) -> None:
    """Everything in ``root`` has its type from inference, its variables too."""
    _INFERRED.update(walk(root))
    for node in walk(root):
        for name in node.binders:
            value = getattr(node, name)
            _INFERRED.update(value if isinstance(value, tuple) else (value,))


def is_inferred(node: Any) -> bool:
    """Whether ``node`` went through type inference."""
    return node in _INFERRED
