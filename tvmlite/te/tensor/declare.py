"""Declarations by the user: variables, input tensors, computes, and axes to reduce over."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr
from tvmlite.te.extensions import extension
from tvmlite.te.tensor.tensor import (
    ComputeOp,
    Extent,
    IterVar,
    PlaceholderOp,
    Range,
    Reduce,
    Tensor,
    TensorRead,
    shape_of,
)


def var(name: str = "tindex", dtype: str = "int32") -> e.Var:
    """A symbolic integer, usually an extent. Compiled functions take its value from the shapes of arrays."""
    return e.Var(arguments.text("var: name", name), dtypes.check(dtype))


def size_var(name: str = "size", dtype: str = "int32") -> e.SizeVar:
    """A symbolic extent, known to be at least 0."""
    return e.SizeVar(arguments.text("size_var: name", name), dtypes.check(dtype))


def placeholder(
    shape: Sequence[Extent] | Extent, dtype: str | None = None, name: str = "placeholder"
) -> Tensor:
    """An input tensor, by default of dtype float32."""
    arguments.text("placeholder: name", name)
    kind = "float32" if dtype is None else dtypes.check(dtype)
    return PlaceholderOp(name, shape_of(shape), kind, Span.of_caller()).output(0)


def compute(
    shape: Sequence[Extent] | Extent,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: dict[str, Any] | None = None,
) -> Any:
    """Create a tensor whose element at ``i, j, ...`` is ``fcompute(i, j, ...)``.

    ``fcompute`` takes an argument for each axis, or ``*indices``. If it returns a tuple (or a reduction of
    tuples), a list of tensors over the same axes is returned.
    """
    span = Span.of_caller()
    arguments.text("compute: name", name)
    arguments.text(f"compute {name!r}: tag", tag)
    attrs = arguments.mapping(f"compute {name!r}: attrs", attrs)
    extents = shape_of(shape)
    names = _axis_names(fcompute, len(extents), name, span)
    axis = tuple(
        IterVar(Range(e.const(0, _index_dtype(n)), e.convert(n)), e.Var(label, _index_dtype(n)))
        for n, label in zip(extents, names, strict=True)
    )
    made = fcompute(*(a.var for a in axis))
    several = isinstance(made, (tuple, list))
    body = tuple(e.scalar(f"compute {name!r}: its element", b) for b in (made if several else (made,)))
    _check_body(body, name, span)
    reduce_axis = body[0].axis if isinstance(body[0], Reduce) else ()
    op = ComputeOp(name, axis, reduce_axis, body, tag, tuple(attrs.items()), span)
    ranges = op.axis_ranges()
    if not _reads_along_axes(body, ranges) and extension("reads").check_reads(body, ranges, name, span):
        object.__setattr__(op, "reads_earlier_rows", True)
    return list(op.outputs) if several else op.output(0)


def _reads_along_axes(body: Sequence[Expr], ranges: Mapping[e.Var, tuple[Any, Any]]) -> bool:
    """Whether all reads use axes of the formula as indices, of at most the tensor's extent: these are in
    bounds without a further check."""
    reads = [node for root in body for node in postorder(root) if isinstance(node, TensorRead)]
    for index, extent in (
        (i, n) for read in reads for i, n in zip(read.indices, read.tensor.shape, strict=True)
    ):
        if not isinstance(index, e.Var) or index not in ranges:
            return False
        begin, count = ranges[index]
        shorter = isinstance(count, int) and isinstance(extent, int) and count <= extent
        if not e.is_const(begin, 0) or not (count is extent or shorter):
            return False
    return True


def reduce_axis(dom: Any, name: str = "rv") -> IterVar:
    """An axis to reduce over; ``dom`` is ``(begin, end)``, a Range, or a single extent."""
    arguments.text("reduce_axis: name", name)
    if isinstance(dom, Range):
        return IterVar(dom, e.Var(name, dom.extent.dtype), "reduce")
    begin: Any
    end: Any
    begin, end = dom if isinstance(dom, (tuple, list)) and len(dom) == 2 else (0, dom)
    if not all(_is_whole(x) for x in (begin, end)):
        raise arguments.refused(
            f"reduce_axis {name!r}", dom, "an extent or (begin, end)", TensorExpressionError
        )
    extent = e.convert(end) - begin if isinstance(end, Expr) or isinstance(begin, Expr) else end - begin
    if isinstance(extent, int) and extent < 0:
        raise TensorExpressionError(f"reduce_axis {name!r}: its extent is {extent}", Span.of_caller())
    dtype = _index_dtype(extent)
    return IterVar(Range(e.cast(dtype, begin), e.convert(extent)), e.Var(name, dtype), "reduce")


def _is_whole(value: Any) -> bool:
    """Whether ``value`` is an integer, or an integer expression."""
    if isinstance(value, Expr):
        return dtypes.is_int(value.dtype)
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _index_dtype(extent: Extent) -> str:
    if isinstance(extent, Expr):
        return extent.dtype
    return "int32" if extent < 2**31 else "int64"


def _axis_names(fcompute: Callable[..., Any], rank: int, name: str, span: Span) -> list[str]:
    if not callable(fcompute):
        raise TensorExpressionError(
            f"compute {name!r}: a {type(fcompute).__name__} given, expected a function of the axes", span
        )
    parameters = list(inspect.signature(fcompute).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        fixed = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
        return [*fixed, *(f"i{k}" for k in range(len(fixed), rank))]
    names = [p.name for p in parameters if p.default is p.empty]
    if len(names) != rank:
        raise TensorExpressionError(
            f"compute {name!r}: the shape has {rank} axes, the function takes {len(names)}", span
        )
    return names


def _check_body(body: tuple[Expr, ...], name: str, span: Span) -> None:
    reduces = [b for b in body if isinstance(b, Reduce)]
    if reduces and (len(reduces) != len(body) or any(r.axis != reduces[0].axis for r in reduces)):
        raise TensorExpressionError(f"compute {name!r}: all outputs must be of one reduction, or none", span)
    for root in body:
        for node in postorder(root):
            if isinstance(node, Reduce) and node is not root:
                raise TensorExpressionError(
                    f"compute {name!r}: a reduction must be the whole body",
                    span,
                    hint="compute the reduction in a tensor of its own, then read it",
                )
