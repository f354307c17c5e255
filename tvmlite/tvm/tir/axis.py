"""``tvm.tir.Var``, ``SizeVar``, ``IterVar`` and ``tvm.ir.Range`` with the arguments of TVM's constructors."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.attributes import ITER_TYPES
from tvmlite.tvm.marks import mark, with_marked_constants
from tvmlite.tvm.te.threads import ThreadAxis, range_of
from tvmlite.tvm.tir.nodes import Named
from tvmlite.tvm.tir.types import variable

_KINDS = {0: "data", 2: "reduce", 3: "ordered"}


def _var(name: str, dtype: Any = "int32", span: Any = None) -> e.Var:
    return variable(e.Var, name, dtype)


def _size_var(name: str, dtype: Any = "int32", span: Any = None) -> e.Var:
    return variable(e.SizeVar, name, dtype)


def _iter_var(dom: Any, var: Any, iter_type: int, thread_tag: str = "") -> t.IterVar:
    axis = mark(e.Var(var)) if isinstance(var, str) else var
    domain = None if dom is None else range_of(dom)
    if iter_type == ITER_TYPES["ThreadIndex"]:
        return ThreadAxis(domain, axis, "data", thread_tag)
    if iter_type not in _KINDS:
        raise UnsupportedError(f"IterVar: iter_type {iter_type} is not supported", Span.of_caller())
    return t.IterVar(domain, axis, _KINDS[iter_type])


def _named(name: str, ours: Any, make: Any, **more: Any) -> Any:
    body = {"ours": ours, "make": staticmethod(make), "checks": False, "__module__": __name__}
    return Named(name, (), {**body, "__doc__": f"TVM's ``{name}``.", **more})


class _Ranges(Named):
    """The metaclass of ``Range``, with its named constructors."""

    def from_min_extent(cls, min_value: Any, extent: Any, span: Any = None) -> t.Range:
        """Return the range of ``extent`` numbers starting at ``min_value``."""
        return with_marked_constants(t.Range(e.convert(min_value), e.convert(extent)))

    make_by_min_extent = from_min_extent


def _range(begin: Any, end: Any = None) -> t.Range:
    return range_of(begin if end is None else (begin, end))


Range = _Ranges(
    "Range",
    (),
    {"ours": t.Range, "make": staticmethod(_range), "checks": False, "__doc__": "Numbers from begin to end."},
)
Var = _named("Var", e.Var, _var)
SizeVar = _named("SizeVar", e.SizeVar, _size_var)
IterVar = _named("IterVar", t.IterVar, _iter_var, **ITER_TYPES)
