"""The rules by which operators propagate layouts from operands to results, and translate axis attributes.

A rule is called twice for each call. With ``new`` None, it returns the original layouts, from ``old`` (the
operands' layouts, as far as they are known) and the attributes. With ``new``, the operands' current layouts,
it returns the layouts that the operator reads and produces, and its attributes. None means that the operator
does not propagate layouts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tvmlite.relay.ir import op as table
from tvmlite.relay.ir.op import Fuse
from tvmlite.relay.ir.types import TensorType
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.transform.layout import axis_rules, names, own_rules
from tvmlite.tvm.relay.transform.layout.question import Answer, Question

Rule: TypeAlias = "Callable[[Question], Answer | None]"


def answer(question: Question) -> Answer | None:
    """The result of the operator's rule, preferably one that the program registered. None if there is no
    rule, or if a layout in its result is unknown."""
    own = Op(question.op).get_attr(own_rules.RULE)
    rule = _RULES.get(question.op) or _general(question)
    if own is not None:
        found: Answer | None = own_rules.answer_of(own, question)
    else:
        found = None if rule is None else rule(question)
    unknown = found is None or None in found.inputs or None in found.results
    return None if unknown else found


def _general(question: Question) -> Rule | None:
    """The rule for elementwise and broadcast operators without attributes that name axes; None for others."""
    row = table.get(question.op)
    if not _OF_AXES.isdisjoint(question.attrs) or row.fuse > Fuse.BROADCAST:
        return None
    if len(question.old) == 1:
        return _elementwise
    return _broadcast if len(question.old) == 2 else None


_OF_AXES = {"axis", "axes", "shape"}
"""Attributes that depend on the order of the axes."""


def _elementwise(question: Question) -> Answer:
    layout = question.first
    return Answer([layout], [layout], question.attrs)


def _broadcast(question: Question) -> Answer | None:
    """Change both operands' layouts in the same way, so that they still broadcast."""
    pair = _together(question.old[:2], question.types[:2], question.new and question.new[:2])
    return None if pair is None else Answer(pair[0], [pair[1]], question.attrs)


def _together(
    old: Sequence[str | None], types: Sequence[TensorType], new: Sequence[str] | None
) -> tuple[list[Any], str] | None:
    ranks = [len(type_.shape) for type_ in types]
    layouts = list(old)
    larger = 0 if ranks[0] >= ranks[1] else 1
    if None in layouts:
        known = next((index for index, one in enumerate(layouts) if one is not None), None)
        if known is None or ranks[known] < ranks[1 - known]:
            return None
        layouts[1 - known] = names.last(layouts[known] or "", ranks[1 - known])
        larger = known
    if new is None:
        return layouts, layouts[larger] or ""
    sizes = [len(names.whole(one)) for one in new]
    larger = 0 if sizes[0] >= sizes[1] else 1
    small = 1 - larger
    target = names.renamed(layouts[small] or "", layouts[larger] or "", new[larger])
    if target is None:
        return None
    made: list[Any] = ["", ""]
    made[larger] = new[larger]
    made[small] = names.fitted(target, layouts[small] or "", types[small].shape)
    return made, new[larger]


def _convolution(question: Question) -> Answer:
    data, kernel = question.attrs["data_layout"], question.attrs["kernel_layout"]
    count = len(question.old)
    inputs = [data, data, kernel] if question.op == "nn.deformable_conv2d" else [data, kernel]
    inputs += ["C"] * (count - len(inputs))
    return Answer(inputs, [question.attrs["out_layout"] or data], question.attrs)


def _pool(question: Question) -> Answer:
    attrs = dict(question.attrs)
    if not attrs.get("out_layout") and question.new is not None and not question.chosen:
        attrs["layout"] = question.new[0]
    scales = ["C"] * (len(question.old) - 1)
    return Answer([attrs["layout"], *scales], [attrs["layout"]], attrs)


def _with_layout(question: Question) -> Answer:
    """The data has the layout of the attribute ``layout``; the other operands do not change."""
    attrs = dict(question.attrs)
    if question.new is not None and question.op in _FOLLOWING and not question.chosen:
        attrs["layout"] = question.new[0]
    layout = attrs["layout"]
    return Answer([layout, *(["AB"] * (len(question.old) - 1))], [layout], attrs)


def _quantized_broadcast(question: Question) -> Answer | None:
    found = _broadcast(question)
    axes = [question.attrs.get(name, -1) for name in ("lhs_axis", "rhs_axis")]
    scalar = all(not one.shape for one in question.types[2:])
    if found is None or (axes != [-1, -1] and not scalar):
        return None
    if not scalar and question.new is not None and question.new[0] != question.old[0]:
        return None
    rest = ["C"] * (len(question.old) - 2)
    return Answer([*found.inputs, *rest], found.results, question.attrs)


def _dense(question: Question) -> Answer | None:
    """Dense layers: data and result are "NC"; the weight's layout may be an attribute."""
    if any(len(type_.shape) != 2 for type_ in question.types[:1]):
        return None
    return Answer(["NC", question.attrs.get("weight_layout", "NC")], ["NC"], question.attrs)


def _layout_transform(question: Question) -> Answer:
    return Answer([question.attrs["src_layout"]], [question.attrs["dst_layout"]], question.attrs)


_FOLLOWING = ("image.resize2d", "nn.upsampling")
"""Operators with a ``layout`` attribute that adopt their operand's layout."""

_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "nn.conv1d nn.conv2d nn.conv3d nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose "
            "nn.deformable_conv2d nn.contrib_conv2d_NCHWc nn.contrib_depthwise_conv2d_NCHWc "
            "qnn.conv2d qnn.conv2d_transpose"
        ).split(),
        _convolution,
    ),
    **dict.fromkeys(
        (
            "nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d "
            "nn.global_max_pool2d nn.global_avg_pool2d nn.adaptive_max_pool2d nn.adaptive_avg_pool2d "
            "nn.adaptive_max_pool1d nn.adaptive_avg_pool1d nn.adaptive_max_pool3d nn.adaptive_avg_pool3d "
            "qnn.avg_pool2d"
        ).split(),
        _pool,
    ),
    **dict.fromkeys((*_FOLLOWING, "vision.roi_align", "vision.roi_pool"), _with_layout),
    **dict.fromkeys(("qnn.add", "qnn.subtract", "qnn.mul"), _quantized_broadcast),
    **dict.fromkeys(("nn.dense", "nn.contrib_dense_pack"), _dense),
    "layout_transform": _layout_transform,
    **axis_rules.RULES,
}
