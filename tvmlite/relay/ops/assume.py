"""Checks of what a model assumes about its sizes and indices. A failed check stops the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core.errors import ExecutionError
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Rounding
from tvmlite.relay.ir.types import Shape, TensorType, normal_dim, same_dim, show_dim, show_shape
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import axis_of, fault, replaced, same_as_first
from tvmlite.relay.ops.register import Indices, elemwise, statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.tensor.tensor import Tensor


def _expected_shape(call: Call) -> Shape:
    return tuple(normal_dim(extent) for extent in call["newshape"])


def _extents_message(have: Any, want: Any) -> str:
    """Return the message without the node's name, which ``entry`` adds: equal groups share one kernel."""
    return f"the extents {show_dim(have)} and {show_dim(want)} must be equal"


def _assume_shape_type(call: Call, data: TensorType) -> TensorType:
    wanted = _expected_shape(call)
    clash = any(
        isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(data.shape, wanted, strict=False)
    )
    if len(wanted) != data.ndim or clash:
        raise fault(call, f"data is {show_shape(data.shape)}, newshape is {show_shape(wanted)}")
    return TensorType(wanted, data.dtype)


def _assume_shape_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    for have, want in zip(data.shape, call["newshape"], strict=True):
        if have != want:
            raise ExecutionError(_extents_message(have, want), call.span)
    return data


@elemwise(
    "assume_shape",
    rounding=Rounding.NEVER,
    may_stop=True,
    infer=_assume_shape_type,
    reference=_assume_shape_numpy,
    attrs={"newshape": REQUIRED},
    open_attrs=("newshape",),
)
def assume_shape(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Return ``data`` typed with the shape ``newshape``; stop the run if an extent differs from it."""
    return data[i]


# --- conditions on dimensions -----------------------------------------------------------------------


def _assume_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    if (data.size or call["always"]) and not all(call["conditions"]):
        raise ExecutionError(call["message"], call.span)
    return data


@elemwise(
    "assume",
    rounding=Rounding.NEVER,
    may_stop=True,
    infer=same_as_first,
    reference=_assume_numpy,
    attrs={"conditions": REQUIRED, "message": REQUIRED, "always": False},
    open_attrs=("conditions",),
)
def assume(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Return ``data`` unchanged; stop the run with ``message`` if one of the ``conditions`` is false.

    The conditions on dimensions are not checked if ``data`` is empty, unless ``always`` is true.
    """
    return data[i]


# --- where they are checked -------------------------------------------------------------------------


def runtime_checks(call: Call) -> list[ir.Assert]:
    """Return the checks at the start of the kernel that contains ``call``; none for most operators."""
    if call.op == "assume_shape":
        return [
            ir.Assert(e.Equal(*e.match(e.convert(have), e.convert(want))), _extents_message(have, want))
            for have, want in zip(tensor_type_of(call.args[0]).shape, _expected_shape(call), strict=True)
            if not same_dim(have, want)
        ]
    if call.op == "assume":
        shape = tensor_type_of(call.args[0]).shape
        empty = [] if call["always"] else [e.Equal(*e.match(e.convert(n), 0)) for n in shape]
        return [ir.Assert(e.any_of([e.all_of(call["conditions"]), *empty]), call["message"])]
    return []


# --- indices that must be inside --------------------------------------------------------------------


def _index_message(extent: Any) -> str:
    end = show_dim(extent) if isinstance(extent, int | e.SizeVar) else f"({show_dim(extent)})"
    return f"an index is outside [-{end}, {extent - 1 if isinstance(extent, int) else f'{end} - 1'}]"


def _indices_type(call: Call, indices: TensorType) -> TensorType:
    if indices.dtype not in ("int32", "int64", "uint32", "uint64"):
        raise fault(call, f"indices are {indices.dtype}, expected integers of 32 or 64 bits")
    axis, extents = call["axis"], call["extents"]
    if axis is None:
        fits = len(extents) == 1
    else:
        fits = same_dim(indices.shape[axis_of(call, axis, indices.ndim)], len(extents))
    if not fits:
        raise fault(call, f"indices are {show_shape(indices.shape)}, axis is {axis}, extents are {extents}")
    return indices


def _indices_numpy(call: Call, indices: np.ndarray) -> np.ndarray:
    made = np.moveaxis(indices, call["axis"], 0).copy() if call["axis"] is not None else indices[None].copy()
    for part, extent in enumerate(call["extents"]):
        given = made[part]
        if ((given < -extent) | (given >= extent)).any():
            raise ExecutionError(_index_message(extent), call.span)
        made[part] = np.where(given < 0, given + given.dtype.type(extent), given)
    return np.moveaxis(made, 0, call["axis"]) if call["axis"] is not None else made.reshape(indices.shape)


@statement(
    "assume_indices",
    may_stop=True,
    infer=_indices_type,
    reference=_indices_numpy,
    attrs={"extents": REQUIRED, "axis": None},
    open_attrs=("extents",),
)
def assume_indices(call: Call, indices: Tensor) -> Tensor:
    """Return ``indices`` with negative ones counted from the end; stop the run if one is out of range.

    ``extents`` holds the extent of the indexed axis. With ``axis``, each position along that axis of
    ``indices`` indexes another axis, and ``extents`` has one extent for each position. Indices have 32 or 64
    bits.
    """
    axis, shape = None if call["axis"] is None else call["axis"] % indices.ndim, indices.shape

    def body(source: ir.Buffer, target: ir.Buffer) -> ir.Stmt:
        def check(*at: e.Expr) -> ir.Stmt:
            checks: list[ir.Stmt] = []
            for part, extent in enumerate(call["extents"]):
                place = at if axis is None else (*at[:axis], loops.index(part), *at[axis:])
                index, end = e.cast("int64", loops.load(source, *place)), e.convert(extent, "int64")
                inside = e.all_of([-end <= index, index < end])
                checks.append(ir.Assert(inside, _index_message(extent)))
                checks.append(loops.store(target, place, e.Select(index < 0, index + end, index)))
            return ir.sequence(*checks)

        # Not in parallel: there are usually too few indices (of tokens, say) to wake threads for.
        return loops.nest(shape if axis is None else replaced(shape, axis), check)

    return loops.extern("assume_indices", [indices], [(shape, indices.dtype)], body)[0]
