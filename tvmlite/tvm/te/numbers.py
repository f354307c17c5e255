"""Python's numbers beside narrow values: TVM reads them as int32 and float32, which are wider then.

``A[i] + 1`` of an int8 is an int32, and ``A[i] > 200`` compares ints of 32 bits. ``tvmlite.te`` gives a
number the dtype of what stands beside it, also where the compiler's own code writes such expressions."""

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
"""Dtypes that are widened by a Python number of a kind."""


def beside(number: Any, value: Any, frame: FrameType) -> Any:
    """``number``, a constant of TVM's dtype if ``frame`` is code of a program of TVM's that writes it beside
    its own ``value``, which is narrower; anything else as it is."""
    narrow = _NARROW.get(type(number), ())
    if narrow and getattr(value, "dtype", None) in narrow and not is_own(frame) and _is_made_here(value):
        return const(number)
    return number


def all_beside(values: tuple[Any, ...], frame: FrameType) -> list[Any]:
    """``values``, in which numbers beside a narrow value are constants: see ``beside``."""
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
    """What was declared for ``node`` to be there."""
    if isinstance(node, t.TensorRead):
        return node.tensor.op
    return node.buffer if isinstance(node, ir.Load) else node
