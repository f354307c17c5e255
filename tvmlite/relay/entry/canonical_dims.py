"""Rename the open extents of groups canonically, so that groups that differ only in them share one kernel."""

from __future__ import annotations

import dataclasses
from typing import Any

from tvmlite.core.errors import TypeInferError
from tvmlite.core.node import postorder, substitute
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Function, Var
from tvmlite.relay.ir.op import Fuse
from tvmlite.relay.ir.types import dim, is_symbolic, map_dims, normal_dim, same_type
from tvmlite.relay.ops.assume import runtime_checks
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer

Values = dict[e.SizeVar, e.Expr]
"""The dimensions of a kernel, with the values that its caller passes."""


def with_canonical_extents(group: Function) -> tuple[Function, Values]:
    """``group`` with a new dimension for each quotient, remainder or dimension in its extents, and their
    values::

        fn(p0: (n, (h + 31) // 32 * 8))   -->   fn(p0: (extent0, extent1 * 8))
                                                {extent0: n, extent1: (h + 31) // 32}

    Then a kernel's index arithmetic is on plain variables, and constant factors of extents are still visible.
    A dimension is at least 0, so an expression that is not proved to be, such as an attribute's number, is
    kept. The group is unchanged if its messages mention dimensions, or if its result type no longer follows
    from its parameters' types, as when one extent is known to be half of another.
    """
    names = _Names()
    calls = [node for node in postorder(group.body) if isinstance(node, Call)]
    if any(operators.get(str(call.op)).fuse is Fuse.OPAQUE or runtime_checks(call) for call in calls):
        return group, {}
    params = {p: dataclasses.replace(p, type=names.value(p.type)) for p in group.params}
    made: dict[Any, Any] = dict(params)
    for node in postorder(group.body):
        if isinstance(node, Var):
            continue
        rebuilt = node.map_children(made.__getitem__)
        if isinstance(rebuilt, Call) and any(is_symbolic(value) for _, value in rebuilt.attrs):
            rebuilt = dataclasses.replace(rebuilt, attrs=tuple((k, names.value(v)) for k, v in rebuilt.attrs))
        made[node] = rebuilt
    if not names.values:
        return group, {}
    canonical = dataclasses.replace(group, params=tuple(params.values()), body=made[group.body])
    try:
        inferred = map_dims(
            type_of(canonical.body), lambda extent: normal_dim(substitute(extent, names.values))
        )
        follows = same_type(inferred, type_of(group.body))
    except TypeInferError:
        follows = False
    return (canonical, names.values) if follows else (group, {})


class _Names:
    """The new dimensions for parts of extents, in order of first appearance."""

    def __init__(self) -> None:
        self.values: Values = {}
        self._known: dict[str, e.SizeVar] = {}

    def value(self, value: Any) -> Any:
        """A type or an attribute with the new dimensions in it."""
        return map_dims(value, lambda extent: normal_dim(self._named(extent)))

    def _named(self, value: Any) -> Any:
        is_replaceable = isinstance(value, (e.FloorDiv, e.FloorMod)) and Analyzer().prove(
            e.convert(value >= 0)
        )
        if not is_replaceable and not isinstance(value, e.SizeVar):
            return value.map_children(self._named)
        key = str(value)
        if key not in self._known:
            name = self._known[key] = dim(f"extent{len(self._known)}")
            self.values[name] = value
        return self._known[key]
