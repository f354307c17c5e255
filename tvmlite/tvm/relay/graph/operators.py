"""Python's operators on expressions, which return nodes of ``relay.expr``."""

from __future__ import annotations

from typing import Any

from tvmlite.relay.ir import overloads as _overloads  # noqa: F401  (adds Python's operators to our nodes)
from tvmlite.relay.ir.nodes import Expr
from tvmlite.tvm.absent import missing
from tvmlite.tvm.lazy import later
from tvmlite.tvm.relay.graph.adopt import adopt


def _adopting(name: str) -> Any:
    ours = getattr(Expr, name)

    def operation(self: Any, *given: Any) -> Any:
        return adopt(
            ours(
                self,
                *(getattr(one, "tuple_value", one) if not isinstance(one, Expr) else one for one in given),
            )
        )

    operation.__name__ = name
    return operation


_call = later("relay.expr", "Call")


class Operators:
    """The operators ``x + y``, ``-x``, ``x < y``, ``x.astype("int8")``, and indexing of several results."""

    __add__ = _adopting("__add__")
    __radd__ = _adopting("__radd__")
    __sub__ = _adopting("__sub__")
    __rsub__ = _adopting("__rsub__")
    __mul__ = _adopting("__mul__")
    __rmul__ = _adopting("__rmul__")
    __truediv__ = _adopting("__truediv__")
    __rtruediv__ = _adopting("__rtruediv__")
    __div__ = __truediv__
    __lt__ = _adopting("__lt__")
    __le__ = _adopting("__le__")
    __gt__ = _adopting("__gt__")
    __ge__ = _adopting("__ge__")
    __neg__ = _adopting("__neg__")
    __getitem__ = _adopting("__getitem__")
    astype = _adopting("astype")

    def __iter__(self) -> Any:
        return iter([self[index] for index in range(len(self))])  # type: ignore[arg-type]

    def __call__(self, *args: Any) -> Any:
        """A call of this expression, whose value is a function."""
        return _call(self, args)

    def __mod__(self, other: Any) -> Any:
        return missing("% of relay expressions", "relay.mod or relay.floor_mod")()
