"""Groups whose open extents are written in the plainest way: what differs in nothing else is one kernel."""

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
from tvmlite.relay.ops.assume import promises
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer

Values = dict[e.SizeVar, e.Expr]
"""Dimensions of a kernel, and what its caller gives for them."""


def with_plain_extents(group: Function) -> tuple[Function, Values]:
    """``group`` with a dimension for each quotient, remainder or dimension in its extents, and what that is::

        fn(p0: (n, (h + 31) // 32 * 8))   -->   fn(p0: (extent0, extent1 * 8))
                                                {extent0: n, extent1: (h + 31) // 32}

    Index arithmetic of a kernel is then of plain variables, and what extents are multiples of still shows.
    A dimension is at least 0: what is not proved to be so, as a number in an attribute, stays as it is.
    A group stays as it is where its messages speak of dimensions, and where its types do not follow any more
    from those of its parameters: one extent may be known to be half of another.
    """
    names = _Names()
    calls = [node for node in postorder(group.body) if isinstance(node, Call)]
    if any(operators.get(str(call.op)).fuse is Fuse.OPAQUE or promises(call) for call in calls):
        return group, {}
    params = {p: dataclasses.replace(p, type=names.value(p.type)) for p in group.params}
    made: dict[Any, Any] = dict(params)
    for node in postorder(group.body):
        if isinstance(node, Var):
            continue
        new = node.map_children(made.__getitem__)
        if isinstance(new, Call) and any(is_symbolic(value) for _, value in new.attrs):
            new = dataclasses.replace(new, attrs=tuple((k, names.value(v)) for k, v in new.attrs))
        made[node] = new
    if not names.values:
        return group, {}
    plain = dataclasses.replace(group, params=tuple(params.values()), body=made[group.body])
    try:
        made_of = map_dims(type_of(plain.body), lambda extent: normal_dim(substitute(extent, names.values)))
        follows = same_type(made_of, type_of(group.body))
    except TypeInferError:
        follows = False
    return (plain, names.values) if follows else (group, {})


class _Names:
    """The dimensions that stand for parts of extents, in order of first appearance."""

    def __init__(self) -> None:
        self.values: Values = {}
        self._known: dict[str, e.SizeVar] = {}

    def value(self, value: Any) -> Any:
        """A type or an attribute with these dimensions."""
        return map_dims(value, lambda extent: normal_dim(self._named(extent)))

    def _named(self, value: Any) -> Any:
        whole = isinstance(value, (e.FloorDiv, e.FloorMod)) and Analyzer().prove(e.convert(value >= 0))
        if not whole and not isinstance(value, e.SizeVar):
            return value.map_children(self._named)
        key = str(value)
        if key not in self._known:
            name = self._known[key] = dim(f"extent{len(self._known)}")
            self.values[name] = value
        return self._known[key]
