"""Convolutions, poolings and resizes whose layouts order the axes differently: ``NHWC``, ``HWIO``.

Each is its channels-first form between transposes, which ``passes/write_out`` adds to the graph so that they
can cancel. Convolutions, resizes and adaptive pools also accept blocked layouts: ``NCHW4c``, ``OIHW4i8o``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir import op
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType, Type
from tvmlite.relay.ops.common import fault
from tvmlite.relay.ops.convolutions import conv, conv_transpose, pool, pool_ranks, pool_whole  # noqa: F401
from tvmlite.relay.ops.images import resize, roi_align, roi_pool  # noqa: F401
from tvmlite.relay.ops.quantized import products  # noqa: F401
from tvmlite.relay.ops.shapes import layout
from tvmlite.relay.ops.windows import LAYOUTS
from tvmlite.relay.ops.written_out import LAYOUT_RULES, compute_from_rule, infer_from_rule

Conversion = tuple[str, str] | None
"""The source and the destination layout; None if they are equal."""


@dataclasses.dataclass(frozen=True)
class Layouts:
    """The layout attributes of an operator, and the layouts that its formula expects.

    ``plain`` maps attributes to expected layouts. ``arguments`` names the layout attribute of each argument,
    or None; ``result`` that of the result, which defaults to the data's. With ``blocks``, axes may be in
    blocks.
    """

    plain: Mapping[str, str]
    arguments: tuple[str | None, ...]
    result: str | None = "out_layout"
    blocks: bool = False

    def needs_conversion(self, call: Call) -> bool:
        """Whether a layout of ``call`` has its axes in another order, or in blocks."""
        known = [(call[key], plain) for key, plain in self.plain.items()]
        out = call[self.result] if self.result else ""
        if out:
            known.append((out, next(iter(self.plain.values()))))
        return any(given != plain for given, plain in known) and all(
            isinstance(given, str) and self._has_same_axes(given, plain) for given, plain in known
        )

    def _has_same_axes(self, given: str, plain: str) -> bool:
        whole = layout.axes_of(given) if self.blocks else given
        return whole is not None and sorted(whole) == sorted(plain)

    def to_plain(self, call: Call) -> list[Conversion]:
        """For each argument, the conversion to its plain layout."""
        return [None if key is None else _conversion(call[key], self.plain[key]) for key in self.arguments]

    def from_plain(self, call: Call) -> Conversion:
        """The conversion of the plain result to the requested layout."""
        first = next(iter(self.plain))
        wanted = (call[self.result] if self.result else "") or call[first]
        return _conversion(self.plain[first], wanted)

    def plain_attrs(self, call: Call) -> dict[str, Any]:
        """The attributes of the channels-first call."""
        more: dict[str, Any] = dict(self.plain)
        return {**dict(call.attrs), **more, **({self.result: ""} if self.result else {})}


def _conversion(given: str, wanted: str) -> Conversion:
    return None if given == wanted else (given, wanted)


def _transposition(given: str, wanted: str) -> tuple[int, ...] | None:
    """The transposition from layout ``given`` to ``wanted``; None if they differ in their blocks."""
    return tuple(map(given.index, wanted)) if sorted(given) == sorted(wanted) else None


def _convert(value: Expr, conversion: Conversion) -> Expr:
    if conversion is None:
        return value
    order = _transposition(*conversion)
    if order is not None:
        return make("transpose", value, axes=order)
    return make("layout_transform", value, src_layout=conversion[0], dst_layout=conversion[1])


def _convert_numpy(array: np.ndarray, conversion: Conversion) -> np.ndarray:
    if conversion is None:
        return array
    order = _transposition(*conversion)
    if order is not None:
        return np.ascontiguousarray(np.transpose(array, order))
    call = Call("layout_transform", (), (("dst_layout", conversion[1]), ("src_layout", conversion[0])))
    return op.get("layout_transform").reference(call, array)


def accept_layouts(name: str, layouts: Layouts) -> None:
    """Let the registered operator ``name`` accept layouts with its axes in any order."""
    row = op.OPERATORS[name]

    def rule(call: Call, *args: Expr) -> Expr:
        if not layouts.needs_conversion(call):
            return call
        plain = [_convert(arg, move) for arg, move in zip(args, layouts.to_plain(call), strict=True)]
        return _convert(make(name, *plain, **layouts.plain_attrs(call)), layouts.from_plain(call))

    by_rule = infer_from_rule(rule)

    def infer(call: Call, *types: TensorType) -> Type:
        if not layouts.needs_conversion(call):
            return row.infer(call, *types)
        for position, (type_, conversion) in enumerate(zip(types, layouts.to_plain(call), strict=True)):
            if conversion is not None and type_.ndim != (count := len(layout.layout(conversion[0]).axes)):
                what = row.argument_names[position]
                raise fault(call, f"{what} has {type_.ndim} axes, expected {count}, as its layout has")
        try:
            return by_rule(call, *types)
        except TypeInferError as error:
            axes = ", ".join(layouts.plain.values())
            raise TypeInferError(f"{error.message} (of axes in the order {axes})", call.span) from None

    def compute(call: Call, *tensors: Any) -> Any:
        return (
            compute_from_rule(rule, call, tensors)
            if layouts.needs_conversion(call)
            else row.compute(call, *tensors)
        )

    def reference(call: Call, *arrays: np.ndarray) -> np.ndarray:
        if not layouts.needs_conversion(call):
            return row.reference(call, *arrays)
        plain = [_convert_numpy(a, move) for a, move in zip(arrays, layouts.to_plain(call), strict=True)]
        attrs = tuple(sorted(layouts.plain_attrs(call).items()))
        made = row.reference(dataclasses.replace(call, attrs=attrs), *plain)
        return _convert_numpy(made, layouts.from_plain(call))

    compute.__doc__ = row.compute.__doc__
    compute.__module__ = row.compute.__module__
    op.OPERATORS[name] = dataclasses.replace(row, infer=infer, compute=compute, reference=reference)
    LAYOUT_RULES[name] = rule


def _accept_all(names: Sequence[str], layouts: Callable[[int], Layouts]) -> None:
    for rank in (1, 2, 3):
        for name in names:
            accept_layouts(name.format(rank), layouts(rank))


_accept_all(
    ["nn.conv{}d"],
    lambda rank: Layouts(
        {"data_layout": LAYOUTS[rank], "kernel_layout": conv.WEIGHT_LAYOUTS[rank]},
        ("data_layout", "kernel_layout"),
        blocks=True,
    ),
)
_accept_all(
    ["nn.conv{}d_transpose"],
    lambda rank: Layouts(
        {"data_layout": LAYOUTS[rank], "kernel_layout": conv_transpose.WEIGHT_LAYOUTS[rank]},
        ("data_layout", "kernel_layout"),
    ),
)
_accept_all(
    ["nn.max_pool{}d", "nn.avg_pool{}d"], lambda rank: Layouts({"layout": LAYOUTS[rank]}, ("layout",))
)
_accept_all(
    ["image.resize{}d"], lambda rank: Layouts({"layout": LAYOUTS[rank]}, ("layout",), None, blocks=True)
)
_accept_all(
    [f"nn.global_{kind}_pool{{}}d" for kind in ("avg", "max")],
    lambda rank: Layouts({"layout": LAYOUTS[rank]}, ("layout",)),
)
_accept_all(
    [f"nn.adaptive_{kind}_pool{{}}d" for kind in ("avg", "max")],
    lambda rank: Layouts({"layout": LAYOUTS[rank]}, ("layout",), blocks=True),
)
_QUANTIZED_ARGUMENTS = ("data_layout", "kernel_layout", None, None, None, None)
for _name, _kernel in (
    ("qnn.conv2d", conv.WEIGHT_LAYOUTS[2]),
    ("qnn.conv2d_transpose", conv_transpose.WEIGHT_LAYOUTS[2]),
):
    accept_layouts(
        _name, Layouts({"data_layout": LAYOUTS[2], "kernel_layout": _kernel}, _QUANTIZED_ARGUMENTS)
    )
for _name in ("vision.roi_align", "vision.roi_pool"):
    accept_layouts(_name, Layouts({"layout": LAYOUTS[2]}, ("layout", None), None))
