"""Converts single operators to a desired layout, with the attributes that depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.core.errors import ConfigError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.tvm.relay.graph.attrs import Attrs
from tvmlite.tvm.relay.op.adapted import blocks_inputs
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.transform.layout import names

_KERNELS = {
    "nn.conv1d": {"NCW": "OIW", "NWC": "WIO"},
    "nn.conv2d": {"NCHW": "OIHW", "NHWC": "HWIO", "HWNC": "HWOI"},
    "nn.conv3d": {"NCDHW": "OIDHW", "NDHWC": "DHWIO"},
    "nn.conv2d_transpose": {"NCHW": "IOHW", "NHWC": "HWIO"},
    "nn.conv3d_transpose": {"NCDHW": "IODHW", "NDHWC": "DHWOI"},
    "nn.deformable_conv2d": {"NCHW": "OIHW", "NHWC": "HWIO"},
    "qnn.conv2d": {"NCHW": "OIHW", "NHWC": "HWIO"},
    "qnn.conv2d_transpose": {"NCHW": "IOHW", "NHWC": "HWIO"},
}
"""The kernel layout that "default" means, by operator and data layout."""

_POOLS = (
    "nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d "
    "nn.global_max_pool2d nn.global_avg_pool2d qnn.avg_pool2d"
).split()
_OTHERS = ("image.resize2d", "nn.upsampling", "vision.roi_align", "vision.roi_pool")
_ANY = ("nn.batch_norm",)
"""Operators that adopt their operand's layout, whichever layout is requested, as in TVM."""

DEFAULT = "default"

OPERATORS = (*_KERNELS, *_POOLS, *_OTHERS, *_ANY)
"""The operators for which a layout can be requested."""


def check(op: str, layouts: Sequence[str]) -> None:
    """Raise an error unless ``layouts`` can be requested for ``op``."""
    if op not in OPERATORS:
        raise UnsupportedError(
            f"ConvertLayout: no layout can be requested for {op}",
            Span.of_caller(),
            hint="other operators adapt to their inputs; layouts can be requested for "
            + ", ".join(OPERATORS),
        )
    if not layouts or layouts[0] == DEFAULT:
        raise ConfigError(
            f"ConvertLayout: the layouts of {op} are {list(layouts)}, "
            "expected that of the data first, by name",
            Span.of_caller(),
        )
    table = _KERNELS.get(op)
    if table is None:
        return
    if len(layouts) != 2:
        raise ConfigError(
            f"ConvertLayout: the layouts of {op} are {list(layouts)}, expected those of data and kernel",
            Span.of_caller(),
        )
    if layouts[1] == DEFAULT and layouts[0] not in table:
        raise ConfigError(
            f"ConvertLayout: {op} has no default kernel layout for data in {layouts[0]}, expected one of "
            + ", ".join(table),
            Span.of_caller(),
        )


def converted(call: nodes.Call, attrs: dict[str, Any], args: list[Any], layouts: Sequence[str]) -> Any:
    """``call`` with ``args``, converted to ``layouts``. None if a blocked layout does not divide the extents,
    or if the operator just adopts its operand's layout."""
    op, attrs = str(call.op), dict(attrs)
    if op in _ANY:
        return None
    if op in _POOLS:
        attrs.update(layout=layouts[0], out_layout=layouts[0])
    elif op in _OTHERS:
        attrs["layout"] = layouts[0]
    elif names.block(layouts[0], "C"):
        return _blocked(call, attrs, args, layouts)
    else:
        kernel = layouts[1] if layouts[1] != DEFAULT else _default(call, layouts[0])
        attrs.update(data_layout=layouts[0], kernel_layout=kernel)
    return _call(op, args, attrs, call)


def _call(op: str, args: list[Any], attrs: dict[str, Any], call: nodes.Call) -> nodes.Call:
    return nodes.Call(Op(op), tuple(args), Attrs(nodes.canonical(attrs)), call.span)


def _default(call: nodes.Call, data: str) -> str:
    kernel = _KERNELS[str(call.op)][data]
    if str(call.op).endswith("conv2d") and data == "NHWC" and _is_depthwise(call):
        return "HWOI"
    return kernel


def _extent(call: nodes.Call, index: int, layout: str, axis: str) -> Any:
    parts = names.parts(call[layout])
    extent = tensor_type_of(call.args[index]).shape[parts.index(axis)]
    return extent * (names.block(call[layout], axis) or 1)


def _is_depthwise(call: nodes.Call) -> bool:
    """Whether ``call`` is a depthwise convolution."""
    weight = len(call.args) - 1 if call.op == "nn.deformable_conv2d" else 1
    groups = call["groups"]
    return (
        groups > 1
        and groups == _extent(call, 0, "data_layout", "C")
        and _extent(call, weight, "kernel_layout", "I") == 1
    )


def _blocked(call: nodes.Call, attrs: dict[str, Any], args: list[Any], layouts: Sequence[str]) -> Any:
    """The convolution in a blocked layout; None if blocks do not divide the extents."""
    if call.op != "nn.conv2d":
        raise UnsupportedError(
            f"ConvertLayout: {call.op} in {layouts[0]} is not in tvmlite",
            call.span,
            hint="nn.conv2d has channels in blocks",
        )
    depthwise = _is_depthwise(call)
    wanted = {"O": names.block(layouts[1], "O"), "I": names.block(layouts[1], "I")}
    if any(_extent(call, 1, "kernel_layout", axis) % (size or 1) for axis, size in wanted.items()):
        return None
    block = names.block(layouts[0], "C")
    channels = _extent(call, 1, "kernel_layout", "O")
    if (
        _extent(call, 0, "data_layout", "C") % block
        or channels % block
        or (attrs["groups"] > 1 and not depthwise)
    ):
        return None
    attrs.update(data_layout=layouts[0], kernel_layout=layouts[1], channels=attrs["channels"] or channels)
    op = "nn.contrib_depthwise_conv2d_NCHWc" if depthwise else "nn.contrib_conv2d_NCHWc"
    op = "nn.conv2d" if not depthwise and blocks_inputs(layouts[1]) else op
    known = Op(op).defaults()
    return _call(op, args, {name: value for name, value in attrs.items() if name in known}, call)
