"""``tvm.topi.utils``: constants as Python numbers, and helpers for shapes, layouts and schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.arith import simplify as simplified
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.absent import refusing


def get_const_int(expr: Any) -> int:
    """Return ``expr`` as an int; raises a TensorExpressionError if it is not a constant."""
    value = simplified(expr) if isinstance(expr, e.Expr) else expr
    value = value.value if isinstance(value, e.Const) else value
    if isinstance(value, bool) or not isinstance(value, int):
        raise TensorExpressionError(f"get_const_int: {expr} is no known int", Span.of_caller())
    return value


def get_const_float(expr: Any) -> float:
    """Return ``expr`` as a float; raises a TensorExpressionError if it is not a constant."""
    value = expr.value if isinstance(expr, e.Const) else expr
    if not isinstance(value, (int, float)):
        raise TensorExpressionError(f"get_const_float: {expr} is no known number", Span.of_caller())
    return float(value)


def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """Return the extents with constants as ints and others simplified."""
    return tuple(_plain(one) for one in in_tuple)


def _plain(value: Any) -> Any:
    made = simplified(value) if isinstance(value, e.Expr) else value
    return int(made.value) if isinstance(made, e.Const) else made


def get_float_tuple(in_tuple: Sequence[Any]) -> tuple[float, ...]:
    """Return the numbers as floats; raises a TensorExpressionError if one is not a constant."""
    return tuple(get_const_float(one) for one in in_tuple)


def get_shape(src_shape: Sequence[Any], src_layout: str, dst_layout: str) -> tuple[Any, ...]:
    """Return ``src_shape`` with its axes in the order of ``dst_layout`` instead of ``src_layout``."""
    places = [[name for name in one if name.isalpha()] for one in (src_layout, dst_layout)]
    if sorted(places[0]) != sorted(places[1]):
        raise arguments.refused("get_shape: dst_layout", dst_layout, f"the axes of {src_layout}")
    return get_const_tuple([src_shape[places[0].index(name)] for name in places[1]])


def is_empty_shape(shape: Sequence[Any]) -> bool:
    """Whether an array of ``shape`` is known to have no elements."""
    return any(equal_const_int(one, 0) for one in shape)


def ceil_div(a: Any, b: Any) -> Any:
    """Return ``a / b`` rounded up."""
    return -(-a // b) if isinstance(a, int) and isinstance(b, int) else te.indexdiv(a + (b - 1), b)


def get_max_power2_factor(n: int, max_value: int | None = None) -> int:
    """Return the largest power of two that divides ``n`` and is at most ``max_value``."""
    if n < 1:
        raise arguments.refused("get_max_power2_factor: n", n, "at least 1")
    factor = 1
    while n % (2 * factor) == 0 and (max_value is None or 2 * factor <= max_value):
        factor *= 2
    return factor


def equal_const_int(expr: Any, value: int) -> bool:
    """Whether ``expr`` is a constant equal to ``value``."""
    return _plain(expr) == value if isinstance(_plain(expr), int) else False


def prod(x: Sequence[Any]) -> Any:
    """Return the product of ``x``; 1 if it is empty."""
    made: Any = 1
    for one in x:
        made = made * one
    return made


def simplify(expr: Any) -> Any:
    """Return ``expr`` simplified; a Python number is returned unchanged."""
    return simplified(expr) if isinstance(expr, e.Expr) else expr


def ravel_index(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """Return the flat index of ``indices`` in an array of ``shape``."""
    made: Any = 0
    for index, extent in zip(indices, shape, strict=True):
        made = made * extent + index
    return made


def unravel_index(idx: Any, shape: Sequence[Any]) -> list[Any]:
    """Return the indices of the flat index ``idx`` in an array of ``shape``."""
    made = []
    for extent in reversed(shape):
        made.append(idx % extent)
        idx = idx // extent
    return made[::-1]


def nchw_pack_layout(layout_info: str) -> bool:
    """Whether a layout is NCHW with blocks of images and channels, such as ``"NCHW1n16c"``."""
    return layout_info[:4] == "NCHW" and "c" in layout_info and "n" in layout_info


def nchw_xc_layout(layout_info: str) -> bool:
    """Whether a layout is NCHW with blocks of channels, such as ``"NCHW16c"``."""
    return layout_info[:4] == "NCHW" and "c" in layout_info and layout_info[4:-1].isnumeric()


def traverse_inline(s: Any, final_op: Any, callback: Any) -> None:
    """Inline the element-wise, broadcast and injective stages that ``final_op`` reads, and call ``callback``
    with each operation visited, producers first. Operations behind other kinds of stages are not visited."""
    seen: set[Any] = set()

    def visit(op: Any) -> None:
        if op in seen:
            return
        seen.add(op)
        if getattr(op, "tag", "").startswith(("elemwise", "broadcast", "injective")):
            if not any(op is one for one in s.outputs):
                s[op].compute_inline()
            for tensor in op.input_tensors:
                if not isinstance(tensor.op, t.PlaceholderOp):
                    visit(tensor.op)
        callback(op)

    visit(final_op)


__getattr__ = refusing(__name__)
