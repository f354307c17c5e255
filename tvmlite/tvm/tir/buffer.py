"""``tvm.tir.decl_buffer``, with TVM's parameters in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite import te
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.loop.ir import Buffer as Buffer
from tvmlite.tvm.absent import refusing


def decl_buffer(
    shape: Sequence[Any],
    dtype: str | None = None,
    name: str = "buffer",
    data: Any = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
    span: Any = None,
) -> Any:
    """A buffer, or what a tensor intrinsic asks of one: see ``te.decl_buffer``. Memory is given when the code
    runs, so that ``data`` is not known; ``buffer_type="auto_broadcast"`` is not supported."""
    for label, value in (("data", data), ("buffer_type", buffer_type), ("axis_separators", axis_separators)):
        if value:
            raise UnsupportedError(f"decl_buffer: {label}= is not supported", Span.of_caller())
    offset = elem_offset if isinstance(elem_offset, e.Var) else None
    if elem_offset is not None and offset is None and not e.is_const(elem_offset, 0):
        raise UnsupportedError("decl_buffer: elem_offset is a te.var, or left out", Span.of_caller())
    kind = "float32" if dtype is None else dtype
    return te.decl_buffer(
        shape, kind, name, strides or None, offset, max(1, offset_factor), max(0, data_alignment), scope
    )


__getattr__ = refusing(__name__)
