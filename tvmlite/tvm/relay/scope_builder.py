"""TVM's ``relay.scope_builder``: lets and branches written in the order in which they are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import If, Let, Var, expr_of


class ScopeBuilder:
    """``sb.let("x", value)`` names a value, ``sb.ret(value)`` ends a scope, ``sb.get()`` gives what was
    built; ``with sb.if_scope(cond): ...`` and ``with sb.else_scope(): ...`` have scopes of their own."""

    def __init__(self) -> None:
        self._lets: list[list[Callable[[Any], Any]]] = [[]]
        self._values: list[Any] = [None]
        self._then: Any = None

    def let(self, var: Any, value: Any) -> Any:
        """Give ``value`` a name: a string, a name and a type, or a variable."""
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
        """The scope of what there is if ``cond`` holds; ``else_scope`` must follow."""
        cond = expr_of("if_scope: cond", cond)
        self._enter()
        yield
        self._then = (cond, self._leave())

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """The scope of what there is otherwise."""
        if self._then is None:
            raise RuntimeError("else_scope: there is no if_scope before it")
        (cond, then), self._then = self._then, None
        self._enter()
        yield
        otherwise = self._leave()
        self._values[-1] = If(cond, then, otherwise)

    def type_of(self, expr: Any) -> Any:
        """The type of ``expr``, a variable's as it is written."""
        return expr.type_annotation if isinstance(expr, Var) else expr.checked_type

    def ret(self, value: Any) -> None:
        """The value of the innermost scope."""
        if self._values[-1] is not None:
            raise RuntimeError("ret: the value of this scope is set already")
        self._values[-1] = expr_of("ret: value", value)

    def get(self) -> Any:
        """What was built."""
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
