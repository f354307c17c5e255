"""``tensor.op.attrs`` as TVM's mapping, in which numbers have a ``value``; and the spatial axes of scans."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tvmlite.te import expr as e
from tvmlite.te.tensor.scan import ScanOp
from tvmlite.te.tensor.tensor import IterVar, Range, Tensor
from tvmlite.tvm.marks import mark
from tvmlite.tvm.runtime.convert import convert


class OpAttributes(tuple[tuple[str, Any], ...]):
    """The name-value pairs of an operation's ``attrs``, which can also be looked up by name."""

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        pairs = dict(iter(self))
        if key not in pairs:
            known = ", ".join(pairs) or "none"
            raise KeyError(f"the operation has no attribute {key!r}; it has: {known}")
        return convert(pairs[key])

    def __contains__(self, key: object) -> bool:
        return key in dict(iter(self)) if isinstance(key, str) else super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The attribute ``key``, or ``default``."""
        return convert(dict(iter(self)).get(key, default))

    def keys(self) -> list[str]:
        """The names, in order."""
        return [name for name, _ in self]

    def items(self) -> Iterator[tuple[str, Any]]:
        """The pairs of name and value, in order."""
        return ((name, self[name]) for name in self.keys())

    def __str__(self) -> str:
        return json.dumps(dict(iter(self)), default=str)


def with_attributes(made: Any) -> Any:
    """Mark the operation of ``made``, a tensor or a list of one operation's tensors, make its ``attrs`` an
    ``OpAttributes``, and return ``made``."""
    first = made if isinstance(made, Tensor) else made[0]
    object.__setattr__(mark(first.op), "attrs", OpAttributes(vars(first.op)["attrs"]))
    return made


def spatial_axes(op: ScanOp) -> tuple[IterVar, ...]:
    """One axis for each dimension of each state except the first, in order. Every call returns the same."""
    known = vars(op).get("spatial_axes")
    if known is None:
        known = tuple(
            IterVar(Range(e.const(0), e.convert(extent)), e.Var(f"{op.name}.out{n}.i{k + 1}"))
            for n, state in enumerate(op.state)
            for k, extent in enumerate(state.shape[1:])
        )
        object.__setattr__(op, "spatial_axes", known)
    return known


ScanOp.spatial_axis_ = property(spatial_axes)  # type: ignore[attr-defined]
