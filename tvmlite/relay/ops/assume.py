"""Dimensions taken to be equal: what a model promises of its sizes, checked when it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core.errors import ExecutionError
from tvmlite.relay.ir import Call
from tvmlite.relay.op import REQUIRED, Fuse, operator
from tvmlite.relay.ops.common import fault, tensors
from tvmlite.relay.types import Shape, TensorType, Type, normal_dim, same_dim, show_dim, show_shape
from tvmlite.te import expr as e
from tvmlite.te import ir_builder
from tvmlite.te.loop import ir
from tvmlite.te.tensor import Tensor


def _wanted(call: Call) -> Shape:
    return tuple(normal_dim(extent) for extent in call["newshape"])


def _message(call: Call, have: Any, want: Any) -> str:
    where = f"{call.span.note}: " if call.span is not None and call.span.note else ""
    return f"{where}the extents {show_dim(have)} and {show_dim(want)} must be equal"


def _assume_type(call: Call, data: Type) -> TensorType:
    (checked,) = tensors(call, data)
    wanted = _wanted(call)
    clash = any(
        isinstance(a, int) and isinstance(b, int) and a != b
        for a, b in zip(checked.shape, wanted, strict=False)
    )
    if len(wanted) != checked.ndim or clash:
        raise fault(call, f"data is {show_shape(checked.shape)}, newshape is {show_shape(wanted)}")
    return TensorType(wanted, checked.dtype)


def _assume_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    for have, want in zip(data.shape, call["newshape"], strict=True):
        if have != want:
            raise ExecutionError(_message(call, have, want), call.span)
    return data


@operator(
    "assume_shape",
    infer=_assume_type,
    reference=_assume_numpy,
    fuse=Fuse.OPAQUE,
    attrs={"newshape": REQUIRED},
)
def assume_shape(call: Call, data: Tensor) -> Tensor:
    """``data`` itself, of the shape ``newshape`` that it is not known to have: else the run stops."""
    shape = _wanted(call)

    def body(ins: list[ir.Buffer], outs: list[ir.Buffer]) -> ir.Stmt:
        builder = ir_builder.create()
        source, target = builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0])
        for have, want in zip(data.shape, shape, strict=True):
            if not same_dim(have, want):
                condition = e.Equal(*e.match(e.convert(have), e.convert(want)))
                builder.emit(ir.Assert(condition, _message(call, have, want)))
        _copied(builder, source, target, shape, ())
        return builder.get()

    return ir_builder.extern(shape, [data], body, name="assume_shape")


def _copied(
    builder: ir_builder.IRBuilder, source: Any, target: Any, shape: Shape, at: tuple[e.Expr, ...]
) -> None:
    """Loops over the axes of ``shape`` from the ``len(at)``-th on, around one assignment."""
    if len(at) == len(shape):
        target[at] = source[at]
        return
    kind = ir.PARALLEL if not at and len(shape) > 1 else ir.SERIAL
    with builder.for_range(0, shape[len(at)], name=f"i{len(at)}", kind=kind) as index:
        _copied(builder, source, target, shape, (*at, index))
