"""ONNX's conversions between element types: Cast, CastLike, BitCast."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter

_SATURATED = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")


@converter("Cast")
def cast(node: OnnxNode, data: Expr) -> Expr:
    """Cast to the element type in attribute ``to``, a number, or a name before opset 6."""
    return cast_to(node, data, node.dtype_attr("to"))


@converter("CastLike", since=15)
def cast_like(node: OnnxNode, data: Expr, like: Expr) -> Expr:
    """CastLike: Cast to the element type of the second input, whose elements are not read."""
    return cast_to(node, data, node.dtype(like))


def cast_to(node: OnnxNode, data: Expr, dtype: str) -> Expr:
    """Return ``data`` as ``dtype``; beyond the range of an 8-bit float it saturates if ``saturate``."""
    saturate = node.flag("saturate")
    if dtype == node.dtype(data):
        return data
    if dtype == dtypes.POWER_OF_TWO:
        return _to_power_of_two(node, node.cast(data, "float32"), saturate)
    if dtype in _SATURATED and saturate:
        return saturated(node, data, dtype)
    return node.cast(data, dtype)


def saturated(node: OnnxNode, data: Expr, dtype: str) -> Expr:
    """Return ``data`` as a narrow float, clipped to its range; NaN stays NaN."""
    low, high = dtypes.limits(dtype)
    return node.cast(node.make("clip", node.cast(data, "float32"), a_min=low, a_max=high), dtype)


def _to_power_of_two(node: OnnxNode, data: Expr, saturate: bool) -> Expr:
    """The exponent of a float32, without its sign; infinity and NaN give NaN.

    ``round_mode``: "up" rounds up any fraction, "nearest" one of at least a half (for subnormals: of more),
    "down" none. ``saturate``: the greatest power of two is not rounded up to NaN.
    """
    mode = node.choice("round_mode", "up", "down", "nearest")
    bits = node.make("reinterpret", data, dtype="uint32")
    exponent = node.make("bitwise_and", node.make("right_shift", bits, 23), 255)
    fraction = node.make("bitwise_and", bits, 0x7FFFFF)
    half = node.const(1 << 22, "uint32")
    if mode == "nearest":
        more = node.greater(fraction, half)
        tie = node.make("logical_and", node.make("equal", fraction, half), node.greater(exponent, 0))
        up = node.make("logical_or", more, tie)
    else:
        up = node.greater(fraction, 0 if mode == "up" else 0x7FFFFF)
    limit = 254 if saturate else 255
    up = node.make("logical_and", up, node.less(exponent, limit))
    code = node.add(exponent, node.cast(up, "uint32"))
    return node.make("reinterpret", node.cast(code, "uint8"), dtype=dtypes.POWER_OF_TWO)


@converter("BitCast", since=26)
def bit_cast(node: OnnxNode, data: Expr) -> Expr:
    """BitCast: the same bits as type ``to``, of the same width; a bool only to types of 8 bits."""
    to = node.dtype_attr("to")
    if node.dtype(data) == to:
        return data
    if node.dtype(data) == "bool" and dtypes.width(to) == 8:
        return (
            node.make("reinterpret", node.cast(data, "uint8"), dtype=to)
            if to != "uint8"
            else node.cast(data, to)
        )
    if "bool" in (to, node.dtype(data)):
        node.unsupported(f"from {node.dtype(data)} to {to}")
    return node.make("reinterpret", data, dtype=to)
