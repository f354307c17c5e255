"""Depthwise convolutions with a channel multiplier, whose weights TVM accepts in a second shape."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.op import get
from tvmlite.relay.ir.types import TensorType
from tvmlite.tvm.relay.op.assumed import FROM_OPEN_SHAPES
from tvmlite.tvm.relay.op.builders import function


def _merging(name: str) -> Callable[..., Any]:
    """The function of the convolution ``name`` that, for a depthwise convolution with ``channels`` equal to
    ``groups * n``, also accepts a weight of ``(groups, n, ...)`` and reshapes it to
    ``(groups * n, 1, ...)``."""
    build, row = FROM_OPEN_SHAPES.get(name) or function(name), get(name)
    order = row.parameters

    def convolution(*args: Any, **options: Any) -> Any:
        given = dict(zip(order, args, strict=False)) | options
        layout = str(given.get("kernel_layout") or row.attrs["kernel_layout"])
        weight = given.get(row.argument_names[1])
        shape = known_shape(weight)
        place = layout.find("OI")
        if len(args) > len(order) or shape is None or place < 0 or len(shape) != len(layout):
            return build(*args, **options)
        groups, (outputs, each) = given.get("groups", 1), shape[place : place + 2]
        if each in (0, 1) or outputs != groups or given.get("channels") != outputs * each:
            return build(*args, **options)
        merged = (*shape[:place], outputs * each, 1, *shape[place + 2 :])
        given[row.argument_names[1]] = function("reshape")(weight, merged)
        zero = given.get("kernel_zero_point")
        if known_shape(zero) == (outputs,):
            given["kernel_zero_point"] = function("repeat")(zero, each, 0)
        return build(**given)

    return functools.update_wrapper(convolution, build)


def known_shape(expr: Any) -> tuple[int, ...] | None:
    """The shape of ``expr`` if all its extents are known, else None."""
    try:
        type_ = type_of(expr) if isinstance(expr, nodes.Expr) else None
    except TypeInferError:
        return None
    if isinstance(type_, TensorType) and all(isinstance(extent, int) for extent in type_.shape):
        return type_.shape  # type: ignore[return-value]
    return None


FROM_MULTIPLIERS: dict[str, Callable[..., Any]] = {
    name: _merging(name) for name in ("nn.conv1d", "nn.conv2d", "nn.conv3d", "qnn.conv2d")
}
"""The functions of this module by TVM's names."""
