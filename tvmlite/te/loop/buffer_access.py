"""The methods by which tensor intrinsics address a buffer: ``vload``, ``vstore`` and ``access_ptr``."""

from __future__ import annotations

from typing import Any

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te.expr import INDEX, Call, Expr, Ramp, cast, const, is_const, lanes_of, scalar
from tvmlite.te.extensions import extend
from tvmlite.te.loop import ir

MASKS = {"r": 1, "w": 2, "rw": 3, "wr": 3}
"""Kinds of access through a pointer, and TVM's numbers for them."""


class BufferAccess:
    """Methods of ``ir.Buffer``."""

    def vload(self: Any, begin: Any, dtype: str | None = None) -> ir.Load:
        """Load contiguous elements starting at ``begin``, an index or one per axis: as many as ``dtype``,
        such as ``"float32x16"``, has lanes; one for a scalar dtype."""
        element, lanes = lanes_of(self.dtype if dtype is None else dtype)
        if element != self.dtype:
            raise TensorExpressionError(
                f"vload: {self.name} holds {self.dtype}, it cannot be read as {dtype}", Span.of_caller()
            )
        return ir.Load(self, _contiguous(self, begin, lanes))

    def vstore(self: Any, begin: Any, value: Any) -> ir.Store:
        """The statement that stores ``value``, a vector or scalar, starting at ``begin``."""
        expr = cast(self.dtype, value)
        return ir.Store(self, _contiguous(self, begin, expr.lanes), expr)

    def access_ptr(
        self: Any,
        access_mask: Any = "rw",
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: Any = 0,
        extent: Any = None,
    ) -> Expr:
        """The address of the first element, or of the element at ``offset``, to pass to a C function.
        ``access_mask`` is the kind of access: ``"r"``, ``"w"`` or ``"rw"``. ``ptr_type``, ``content_lanes``
        and ``extent`` are accepted for compatibility with TVM and have no effect."""
        if access_mask not in (*MASKS, *MASKS.values()):
            raise arguments.refused("access_ptr: access_mask", access_mask, '"r", "w" or "rw"')
        arguments.text("access_ptr: ptr_type", ptr_type)
        first = offset is None or is_const(offset, 0)
        indices = [0] * len(self.shape) if first else [offset]
        return Call("address_of", (ir.Load(self, tuple(_index(self, one) for one in indices)),), "uint64")


def _contiguous(buffer: ir.Buffer, begin: Any, lanes: int) -> tuple[Expr, ...]:
    given = tuple(begin) if isinstance(begin, (tuple, list)) else (begin,)
    if not given:
        raise TensorExpressionError(f"buffer {buffer.name!r} is indexed with nothing", Span.of_caller())
    *outer, last = (_index(buffer, one) for one in given)
    return (*outer, last if lanes == 1 else Ramp(last, const(1, INDEX), lanes))


def _index(buffer: ir.Buffer, value: Any) -> Expr:
    index = scalar(f"an index of buffer {buffer.name!r}", value)
    if not dtypes.is_int(index.dtype):
        raise TensorExpressionError(
            f"buffer {buffer.name!r} is indexed with a {index.dtype} value, expected an int",
            Span.of_caller(),
        )
    return cast(INDEX, index)


extend(ir.Buffer, BufferAccess)
