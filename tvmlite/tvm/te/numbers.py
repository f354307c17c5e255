"""Python numbers as operands of narrow values: TVM takes them as int32 and float32, which widens the result.

``A[i] + 1`` for an int8 ``A`` is an int32, and ``A[i] > 200`` compares 32-bit ints. ``tvmlite.te``, and so
the compiler's own code, gives a number the dtype of the other operand instead."""

from __future__ import annotations

from types import FrameType
from typing import Any

from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.marks import is_marked_itself, is_own
from tvmlite.tvm.runtime.convert import const

_NARROW = {
    int: frozenset(("int8", "uint8", "int16", "uint16")),
    float: frozenset(("float16", "bfloat16")),
}
"""The dtypes that a Python number of each type widens."""


def beside(number: Any, value: Any, frame: FrameType) -> Any:
    """``number`` as a constant of TVM's default dtype, if the other operand ``value`` is narrower and was
    declared with TVM's functions and ``frame`` is not code of tvmlite; else ``number`` unchanged."""
    narrow = _NARROW.get(type(number), ())
    if narrow and getattr(value, "dtype", None) in narrow and not is_own(frame) and _is_made_here(value):
        return const(number)
    return number


def all_beside(values: tuple[Any, ...], frame: FrameType) -> list[Any]:
    """``values``, with ``beside`` applied to each number for each of the other values."""
    wide = list(values)
    for one in values:
        wide = [beside(number, one, frame) for number in wide]
    return wide


def _is_made_here(value: Any) -> bool:
    """Whether a variable, a tensor or a buffer in ``value`` was declared with TVM's functions."""
    if isinstance(value, t.Tensor):
        return is_marked_itself(value.op)
    return any(is_marked_itself(_declared(node)) for node in postorder(e.convert(value)))


def _declared(node: Any) -> Any:
    """The declared object that ``node`` refers to: the operation of the tensor read, the buffer or itself."""
    if isinstance(node, t.TensorRead):
        return node.tensor.op
    return node.buffer if isinstance(node, ir.Load) else node
