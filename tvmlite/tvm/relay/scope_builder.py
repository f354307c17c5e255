"""``relay.scope_builder``: builds lets and branches in the order in which they are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import If, Let, Var, expr_of


class ScopeBuilder:
    """Builds an expression: ``sb.let("x", value)`` binds a value to a name, ``sb.ret(value)`` ends the scope
    and ``sb.get()`` returns the expression. ``if_scope`` and ``else_scope`` open nested scopes (``with``)."""

    def __init__(self) -> None:
        self._lets: list[list[Callable[[Any], Any]]] = [[]]
        self._values: list[Any] = [None]
        self._then: Any = None

    def let(self, var: Any, value: Any) -> Any:
        """Bind ``value`` to ``var``, a name, a pair of a name and a type, or a variable; return the
        variable."""
        value = expr_of("let: value", value)
        if isinstance(var, (tuple, list)):
            if len(var) != 2:
                raise ValueError(f"let: var has {len(var)} parts, expected a name and a type")
            var = Var(*var)
        name = var if isinstance(var, Var) else Var(var, ty.INCOMPLETE)
        self._lets[-1].append(lambda body: Let(name, value, body))
        return name

    @contextmanager
    def if_scope(self, cond: Any) -> Iterator[None]:
        """Open the scope of the true branch; ``else_scope`` must follow."""
        cond = expr_of("if_scope: cond", cond)
        self._enter()
        yield
        self._then = (cond, self._leave())

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """Open the scope of the false branch, whose end sets the enclosing scope's value to the ``If``."""
        if self._then is None:
            raise RuntimeError("else_scope: there is no if_scope before it")
        (cond, then), self._then = self._then, None
        self._enter()
        yield
        otherwise = self._leave()
        self._values[-1] = If(cond, then, otherwise)

    def type_of(self, expr: Any) -> Any:
        """The type of ``expr``; for a variable, its annotation."""
        return expr.type_annotation if isinstance(expr, Var) else expr.checked_type

    def ret(self, value: Any) -> None:
        """Set the value of the innermost scope."""
        if self._values[-1] is not None:
            raise RuntimeError("ret: the value of this scope is set already")
        self._values[-1] = expr_of("ret: value", value)

    def get(self) -> Any:
        """The expression of the innermost scope: its value within its lets."""
        if self._values[-1] is None:
            raise RuntimeError("get: the scope has no value: ret is missing")
        value = self._values[-1]
        for let in reversed(self._lets[-1]):
            value = let(value)
        return value

    def _enter(self) -> None:
        self._lets.append([])
        self._values.append(None)

    def _leave(self) -> Any:
        value = self.get()
        self._lets.pop()
        self._values.pop()
        return value
