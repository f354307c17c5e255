"""The order in which TVM's printer visits an expression's values, which determines lines, numbers and names.

A call or a tuple first prepares all its operands and then writes them, so that the values that they read have
lines before the first operand. A called function's body is prepared, and numbered, before the arguments of
the call; the function's own line comes after theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import dependencies
from tvmlite.relay.text.printer import run_nested
from tvmlite.tvm.relay.expr import GlobalVar


class Order:
    """``values`` in the order of their lines; ``variables`` in the order of naming, ``params`` first."""

    def __init__(self, root: Any, params: Sequence[Any] = ()) -> None:
        self.values: dict[Any, int] = {}
        self.variables: list[Any] = []
        self._prepared: set[Any] = set()
        self._bind(params)
        run_nested(self._write(root))

    def _bind(self, variables: Sequence[Any]) -> None:
        self.variables += [one for one in variables if one not in self._prepared]
        self._prepared.update(variables)

    def _write(self, node: Any) -> Iterator[Any]:
        """Prepare ``node``, then give it a line, if it has none yet."""
        yield self._prepare(node)
        self.values.setdefault(node, len(self.values))

    def _prepare(self, node: Any) -> Iterator[Any]:
        """Write all operands of ``node``, unless that has been done."""
        if node in self._prepared:
            return
        if isinstance(node, nodes.Var):
            self._bind([] if isinstance(node, GlobalVar) else [node])
            return
        self._prepared.add(node)
        read: Iterable[Any] = dependencies(node)
        match node:
            case nodes.Call(op=op, args=args):
                called = () if isinstance(op, str) else (op,)
                for part in (*called, *args):
                    yield self._prepare(part)
                read = (*args, *called)
            case nodes.Tuple(fields=fields):
                for part in fields:
                    yield self._prepare(part)
            case nodes.Function(params=params):
                self._bind(params)
            case nodes.Let(var=var):
                self._bind([var])
            case nodes.Loop(index=index, states=states):
                self._bind((index, *states))
        for part in read:
            yield self._write(part)
