"""TVM's simulated quantization, whose dtype may be given at run time as a number."""

from __future__ import annotations

from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.tvm.relay.expr import const
from tvmlite.tvm.relay.op.builders import function
from tvmlite.tvm.topi.nn.qnn import SQNN_DTYPE_TO_CODE


def simulated_quantize(
    data: Any, output_scale: Any, output_zero_point: Any, axis: int = -1, out_dtype: Any = "int8"
) -> Any:
    """Quantize ``data`` to the range of a dtype, with the codes stored as floats. ``out_dtype`` is the
    dtype's name, or a tensor with its number in ``topi.nn.SQNN_DTYPE_TO_CODE``."""
    given = data, output_scale, output_zero_point, axis
    return _of_kind("qnn.simulated_quantize", given, "out_dtype", out_dtype)


def simulated_dequantize(
    data: Any, input_scale: Any, input_zero_point: Any, axis: int = -1, in_dtype: Any = "int8"
) -> Any:
    """Dequantize the codes in ``data``, which are stored as floats. ``in_dtype`` is as ``out_dtype`` of
    ``simulated_quantize``."""
    return _of_kind(
        "qnn.simulated_dequantize", (data, input_scale, input_zero_point, axis), "in_dtype", in_dtype
    )


def _of_kind(name: str, given: tuple[Any, ...], attr: str, kind: Any) -> Any:
    build = function(name)
    if not isinstance(kind, nodes.Expr):
        return build(*given, **{attr: kind})
    made = given[0]
    for dtype, code in SQNN_DTYPE_TO_CODE.items():
        if dtype != "disable":
            chosen = function("equal")(kind, const(code, "int32"))
            made = function("where")(chosen, build(*given, **{attr: dtype}), made)
    return made
