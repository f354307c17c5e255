"""Apply operators to a whole array instead of to each of its pieces, whose results are concatenated."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import same_type, tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Expr, Tuple, TupleGetItem
from tvmlite.relay.ir.op import Fuse, is_view, make
from tvmlite.relay.ir.types import TensorType, TupleType, normal_dim, same_dim
from tvmlite.relay.ops.common import is_one
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.relay.passes.patterns import Readers, rewrite_with_readers

ROWWISE_WITH_ATTRIBUTES = ("cast", "clip")
"""Element-wise operators whose attributes do not depend on the shape; others must not have attributes."""

MOST_STEPS = 32
"""The maximum number of operators between a concatenation and the pieces."""


@graph_pass
def join_pieces(body: Expr) -> Expr:
    """Rewrite a concatenation of the same operators on adjacent slices to these operators on the whole::

        concatenate((dense(x[0:2], w), dense(x[2:4], w), dense(x[4:6], w)))   -->   dense(x[0:6], w)

    Layers that exporters write step by step ("time distributed") become one layer. Slicing and concatenation
    are along the first axis, and each row of an operator's result depends on one row of its operands, or on
    operands that all pieces share: reshapes, element-wise operators and dense layers. Operators with other
    readers are not joined.
    """
    return rewrite_with_readers(body, _joined)


def _joined(node: Expr, readers: Readers) -> Expr:
    """``node``; if it concatenates pieces, the same computation on the whole array, where there is one."""
    match node:
        case Call(op="concatenate", args=(Tuple(fields),)) if len(fields) > 1:
            if node["axis"] % tensor_type_of(node).ndim == 0:
                whole = _whole(fields, readers, MOST_STEPS)
                if whole is not None and same_type(type_of(whole), type_of(node)):
                    return whole
    return node


def _whole(pieces: Sequence[Expr], readers: Readers, steps: int) -> Expr | None:
    """The expression whose parts are ``pieces``, in order; None if there is none that takes no more work."""
    first = pieces[0]
    if isinstance(first, TupleGetItem):
        return _whole_of_split(pieces)
    if not isinstance(first, Call) or not isinstance(first.op, str):
        return None
    calls = [one for one in pieces if isinstance(one, Call) and one.op == first.op]
    if len(calls) < len(pieces) or not all(same_type(type_of(one), type_of(first)) for one in calls):
        return None
    if first.op == "strided_slice":
        return _whole_of_slices(calls)
    if not steps or any(readers.get(one, 1) > 1 for one in calls):
        return None
    if is_view(first):
        shape = tensor_type_of(first).shape
        whole = _whole([one.args[0] for one in calls], readers, steps - 1) if shape else None
        if whole is None:
            return None
        newshape = (normal_dim(shape[0] * len(calls)), *shape[1:])
        return make("reshape", whole, newshape=newshape, allowzero=True, span=first.span)
    return _whole_of_rows(calls, readers, steps - 1)


def _whole_of_rows(calls: Sequence[Call], readers: Readers, steps: int) -> Expr | None:
    """The whole of ``calls``, whose operator computes rows from rows."""
    first = calls[0]
    if not _is_rowwise(first) or any(one.attrs != first.attrs for one in calls):
        return None
    args: list[Expr] = []
    for column in zip(*(one.args for one in calls), strict=True):
        if all(one is column[0] for one in column) and _is_shared(column[0], first):
            args.append(column[0])
        else:
            whole = _whole(column, readers, steps) if _is_read_rowwise(column[0], first) else None
            if whole is None:
                return None
            args.append(whole)
    return Call(first.op, tuple(args), first.attrs, first.span)


def _is_rowwise(call: Call) -> bool:
    assert isinstance(call.op, str)
    row = operators.get(call.op)
    if not isinstance(type_of(call), TensorType) or not tensor_type_of(call).shape:
        return False
    element_wise = row.fuse <= Fuse.BROADCAST and (not row.attrs or call.op in ROWWISE_WITH_ATTRIBUTES)
    return call.op == "nn.dense" or element_wise


def _is_shared(arg: Expr, call: Call) -> bool:
    """Whether every row of ``call`` reads ``arg`` in the same way."""
    if call.op == "nn.dense":
        return arg is call.args[1]
    shape = tensor_type_of(arg).shape
    return len(shape) < tensor_type_of(call).ndim or is_one(shape[0])


def _is_read_rowwise(arg: Expr, call: Call) -> bool:
    """Whether row i of ``call`` depends on row i of ``arg``."""
    shape, result = tensor_type_of(arg).shape, tensor_type_of(call).shape
    return (
        len(shape) == len(result)
        and same_dim(shape[0], result[0])
        and not (call.op == "nn.dense" and arg is not call.args[0])
    )


def _whole_of_slices(slices: Sequence[Call]) -> Expr | None:
    """The slice that consists of the adjacent ``slices`` of one array along its first axis."""
    (data,) = slices[0].args
    bounds = [_bounds(one) for one in slices if one.args[0] is data]
    known = [one for one in bounds if one is not None]
    if len(known) < len(slices) or any(a[1] != b[0] for a, b in pairwise(known)):
        return None
    begin, end = known[0][0], known[-1][1]
    if begin == 0 and same_dim(tensor_type_of(data).shape[0], end):
        return data
    span = slices[0].span
    return make("strided_slice", data, begin=(begin,), end=(end,), strides=(1,), axes=(0,), span=span)


def _bounds(call: Call) -> tuple[int, int] | None:
    """The first row of a slice and the end of its rows, if it takes whole rows and both are numbers."""
    begin, end, strides, axes = (call[name] for name in ("begin", "end", "strides", "axes"))
    if strides not in (None, (1,)) or axes not in (None, (0,)) or call["slice_mode"] != "end":
        return None
    match begin, end:
        case (int(low),), (int(high),) if low >= 0 and tensor_type_of(call).shape[0] == high - low:
            return low, high
    return None


def _whole_of_split(pieces: Sequence[Expr]) -> Expr | None:
    """The array that was split along the first axis into ``pieces``, if they are all its parts in order."""
    assert isinstance(pieces[0], TupleGetItem)
    split = pieces[0].value
    if not (isinstance(split, Call) and split.op == "split"):
        return None
    (data,) = split.args
    type_ = type_of(split)
    assert isinstance(type_, TupleType)
    indices = [one.index for one in pieces if isinstance(one, TupleGetItem) and one.value is split]
    if indices != list(range(len(type_.fields))) or len(indices) < len(pieces):
        return None
    same_types = all(same_type(one, type_.fields[0]) for one in type_.fields)
    return data if same_types and split["axis"] % tensor_type_of(data).ndim == 0 else None
