"""TOPI's ``padding`` parameters: one int, one or two ints per axis, ``"SAME"`` or ``"VALID"``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite import relay
from tvmlite.core import arguments
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.operate import operate


def moved(data: Tensor, layout: str, wanted: str) -> Tensor:
    """``data`` converted from ``layout`` to ``wanted``, since operators are computed with channels first.
    Either layout may be blocked, such as ``"NCHW16c"``."""
    if layout == wanted:
        return data
    if not (layout.isupper() and wanted.isupper()):
        return operate("layout_transform", lambda x: relay.layout_transform(x, layout, wanted), data)
    if sorted(layout) != sorted(wanted):
        raise arguments.refused("topi: layout", layout, f"the axes of {wanted} in some order")
    order = [layout.index(axis) for axis in wanted]
    return operate("transpose", lambda x: relay.transpose(x, order), data)


def each(value: Any, count: int) -> tuple[int, ...]:
    """``value``, one number for all axes or one per axis, as a tuple of ``count`` ints."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,) * count
    if len(given) != count:
        raise arguments.refused("topi: a number for each axis", value, f"{count} ints")
    return tuple(int(one.value) if isinstance(one, e.Const) else int(one) for one in given)


def extent(value: Any) -> Any:
    """An extent as an int if it is a constant, else the expression."""
    return value if isinstance(value, e.Expr) and not isinstance(value, e.Const) else each(value, 1)[0]


def sides(
    name: str,
    padding: Any,
    size: Sequence[Any],
    dilation: Sequence[int],
) -> tuple[int, ...]:
    """The padding before each axis, then after each axis, for windows of ``size``. With ``"SAME"`` and stride
    1, there are as many windows as elements; if the padding is odd, the larger part is before, as in TOPI."""
    count = len(size)
    if not isinstance(padding, str):
        given = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * count
        if len(given) not in (count, 2 * count):
            raise arguments.refused(f"topi.{name}: padding", padding, f"{count} or {2 * count} ints")
        return each(given if len(given) == 2 * count else given * 2, 2 * count)
    if padding not in ("SAME", "VALID"):
        raise TensorExpressionError(
            f"topi.{name}: padding is {padding!r}, expected ints, 'SAME' or 'VALID'", Span.of_caller()
        )
    whole = [0] * count
    if padding == "SAME":
        whole = [(int(n) - 1) * d for n, d in zip(size, dilation, strict=True)]
    before = [(n + 1) // 2 for n in whole]
    return (*before, *(n - b for n, b in zip(whole, before, strict=True)))


__getattr__ = refusing(__name__)
