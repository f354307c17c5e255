"""The regions of a graph: its parts between marks that begin and end a part for one compiler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.relay.ir import nodes
from tvmlite.tvm.relay.expr import Call, Var
from tvmlite.tvm.relay.graph.visit import in_order, parts_of
from tvmlite.tvm.relay.op.op import Op

BEGIN, END = Op("annotation.compiler_begin"), Op("annotation.compiler_end")
DEFAULT = "default"
"""The compiler of nodes that no other compiler supports."""


def is_mark(node: Any, *ops: Op) -> bool:
    """Whether ``node`` is a call of one of ``ops``; by default, of either mark."""
    return isinstance(node, nodes.Call) and node.op in (ops or (BEGIN, END))


def compiler_of(mark: Any) -> str:
    """The compiler that a mark names."""
    return str(mark["compiler"])


def marked(op: Op, value: Any, compiler: str) -> Any:
    """``value`` wrapped in the mark ``op`` for ``compiler``."""
    return Call(op, [value], {"compiler": compiler}, span=value.span)


class AnnotatedRegion:
    """A region: its ``nodes``, which include the begin marks ``args`` and the end marks ``rets``."""

    def __init__(self, number: int, target: str) -> None:
        self.id, self.target = number, target
        self.nodes: list[Any] = []
        self.args: list[Any] = []
        self.rets: list[Any] = []


class AnnotatedRegionSet:
    """The regions of ``expr``. A region extends from its begin marks, over every node whose operands are all
    in it, to its end marks. Regions with a common reader are merged, and keep the first one's id."""

    def __init__(self, expr: Any, region_begin_op: Any = BEGIN, region_end_op: Any = END) -> None:
        self._begin, self._end = region_begin_op, region_end_op
        self._region_of: dict[Any, AnnotatedRegion] = {}
        self._regions: dict[AnnotatedRegion, None] = {}
        self._count = 0
        for node in in_order(expr):
            self._place(node)

    def get_region(self, expr: Any) -> AnnotatedRegion | None:
        """The region of ``expr``, or None if it is not in a region."""
        return self._region_of.get(expr)

    def __len__(self) -> int:
        return len(self._regions)

    def __iter__(self) -> Iterator[AnnotatedRegion]:
        return iter(self._regions)

    def read_by(self, value: Any) -> list[AnnotatedRegion]:
        """The regions whose results ``value`` is computed from without passing another region. If ``value``
        is a region's result, that region."""
        found: dict[AnnotatedRegion, None] = {}
        stack, seen = [value], set()
        while stack:
            node = stack.pop()
            if node in seen or isinstance(node, Op):
                continue
            seen.add(node)
            if is_mark(node, self._end):
                found[self._region_of[node]] = None
            else:
                stack += parts_of(node)
        return list(found)

    def merge(self, region: AnnotatedRegion, into: AnnotatedRegion) -> None:
        """Merge ``region`` into ``into``; values passed between the two become internal."""
        for node in region.nodes:
            self._region_of[node] = into
        into.nodes += region.nodes
        args, rets = into.args + region.args, into.rets + region.rets
        inner = {one.args[0] for one in args if one.args[0] in rets}
        into.args = [one for one in args if one.args[0] not in inner]
        into.rets = [one for one in rets if one not in inner]
        del self._regions[region]

    def _place(self, node: Any) -> None:
        if is_mark(node, self._begin):
            region = self._made(compiler_of(node))
            region.args.append(node)
        elif is_mark(node, self._end):
            found = self._region_of.get(node.args[0])
            region = self._made_of_nothing(node) if found is None else found
            region.rets.append(node)
        else:
            found = self._common(node)
            if found is None:
                return
            region = found
        region.nodes.append(node)
        self._region_of[node] = region

    def _made_of_nothing(self, end: Any) -> AnnotatedRegion:
        """A new region for a value without operands (zeros); an InputError if it depends on a variable."""
        if any(isinstance(one, Var) for one in in_order(end)):
            raise InputError(
                f"regions: {_brief(end.args[0])} ends a region that begins nowhere",
                end.span,
                "mark its arguments with compiler_begin",
            )
        return self._made(compiler_of(end))

    def _made(self, target: str) -> AnnotatedRegion:
        region = AnnotatedRegion(self._count, target)
        self._count += 1
        self._regions[region] = None
        return region

    def _common(self, node: Any) -> AnnotatedRegion | None:
        """The region of the operands of ``node``, merged if they are in several, or None if they are in none;
        an InputError if only some are in a region."""
        values = [one for one in _values(node) if not is_mark(one, self._end)]
        found = list(dict.fromkeys(self._region_of.get(one) for one in values))
        if found in ([], [None]):
            return None
        first, *others = found
        if first is None or None in others:
            raise InputError(
                f"regions: a part of {_brief(node)} is in a region and another in none",
                node.span,
                "mark each of its arguments with compiler_begin",
            )
        for other in others:
            assert other is not None
            self.merge(other, first)
        return first


def _values(node: Any) -> tuple[Any, ...]:
    """The operands of ``node``: a function's parameters, nothing for an operator, else its children."""
    if isinstance(node, nodes.Function):
        return tuple(node.params)
    return () if isinstance(node, Op) else tuple(node.children())


def _brief(node: Any) -> str:
    return str(node.op) if isinstance(node, nodes.Call) and isinstance(node.op, Op) else type(node).__name__
