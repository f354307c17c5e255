"""Lookup tables that apply a function of reals to quantized integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ConfigError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay.build_module import create_executor
from tvmlite.tvm.relay.expr import const
from tvmlite.tvm.relay.op.functions import find

Function: TypeAlias = Callable[[np.ndarray], np.ndarray]

_MOST_BITS = 16
"""The largest width of integers for which a table is made."""


def run_const_expr(expr: Any) -> np.ndarray:
    """The value of ``expr``, which depends on constants only."""
    return create_executor("debug", mod=IRModule.from_expr(expr)).evaluate()().numpy()


def create_integer_lookup_table(
    floating_point_func: Function,
    input_scale: Any,
    input_zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> np.ndarray:
    """Make a lookup table of ``floating_point_func`` on quantized values: for each integer of ``in_dtype``,
    ordered by its bits read as an unsigned integer, the quantized result in ``out_dtype``."""
    for dtype in (in_dtype, out_dtype):
        if not dtypes.is_int(dtype) or dtypes.bits(dtype) > _MOST_BITS:
            raise ConfigError(
                f"create_integer_lookup_table: dtype {dtype}, expected an int's of {_MOST_BITS} bits at most",
                Span.of_caller(),
            )
    count = dtypes.bits(in_dtype)
    integers = np.arange(2**count, dtype=f"uint{count}").view(in_dtype)
    dequantize, quantize = find("qnn.dequantize"), find("qnn.quantize")
    numbers = run_const_expr(dequantize(const(integers), input_scale, input_zero_point, axis=in_axis))
    made = const(np.asarray(floating_point_func(numbers), np.float32))
    return run_const_expr(quantize(made, output_scale, output_zero_point, axis=out_axis, out_dtype=out_dtype))


def create_integer_lookup_op(
    input_arg: Any,
    floating_point_func: Function,
    in_scale: Any,
    in_zero_point: Any,
    out_scale: Any,
    out_zero_point: Any,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> Any:
    """Apply ``floating_point_func`` to the quantized tensor ``input_arg`` by a lookup table. The scales and
    zero points must be constants of a single number."""
    for parameter in (in_scale, in_zero_point, out_scale, out_zero_point):
        if not isinstance(parameter, nodes.Constant) or np.size(parameter.data) != 1:
            raise ConfigError(
                "create_integer_lookup_op: a scale or zero point is no constant of one number",
                Span.of_caller(),
                hint="a table stands for one scale: qnn.dequantize, then the function, then qnn.quantize",
            )
    scales = (in_scale, in_zero_point, out_scale, out_zero_point)
    table = create_integer_lookup_table(
        floating_point_func, *scales, in_axis, out_axis, in_dtype=in_dtype, out_dtype=out_dtype
    )
    index = find("reinterpret")(input_arg, f"uint{dtypes.bits(in_dtype)}")
    return find("take")(const(table), index, axis=0, mode="fast")


__getattr__ = refusing(__name__)
