"""Simplifies a transpose or layout transform of another to one of them, or to none."""

from __future__ import annotations

import re
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make


def without_transposes(call: nodes.Call) -> Any:
    """``call``, a transpose or layout transform, merged with the one that it reads, or its source if the two
    cancel; None if there is nothing to simplify."""
    if call.op not in ("transpose", "layout_transform"):
        return None
    (data,) = call.args
    outer = _axes(call)
    if outer is not None and outer == tuple(range(len(outer))):
        return data
    if not isinstance(data, nodes.Call) or data.op not in ("transpose", "layout_transform"):
        return None
    source, inner = data.args[0], _axes(data)
    if inner is not None and outer is not None:
        axes = tuple(inner[axis] for axis in outer)
        if axes == tuple(range(len(axes))):
            return source
        return make("transpose", source, axes=axes, span=call.span)
    layouts = _layouts(data, inner, call, outer)
    if layouts is None:
        return None
    before, behind = layouts
    if before == behind:
        return source
    return make("layout_transform", source, src_layout=before, dst_layout=behind, span=call.span)


def _axes(call: nodes.Call) -> tuple[int, ...] | None:
    """The permutation that ``call`` performs; None if it changes the rank or block sizes."""
    if call.op == "transpose":
        rank = tensor_type_of(call.args[0]).ndim
        axes = call["axes"]
        return tuple(reversed(range(rank))) if axes is None else tuple(int(axis) % rank for axis in axes)
    source, result = call["src_layout"], call["dst_layout"]
    if sorted(_parts(source)) != sorted(_parts(result)):
        return None
    return tuple(_parts(source).index(one) for one in _parts(result))


def _parts(layout: str) -> list[str]:
    """The axes of a layout: ``["N", "C", "H", "W", "4c"]`` for ``"NCHW4c"``."""
    return re.findall(r"\d*[A-Za-z]", layout)


def _layouts(
    data: nodes.Call, inner: tuple[int, ...] | None, call: nodes.Call, outer: tuple[int, ...] | None
) -> tuple[str, str] | None:
    """The layouts of the operand of ``data`` and of the result of ``call``, at least one of which is a layout
    transform; None if they do not match."""
    if call.op == "layout_transform" and data.op == "layout_transform":
        return (data["src_layout"], call["dst_layout"]) if data["dst_layout"] == call["src_layout"] else None
    if call.op == "layout_transform" and inner is not None:
        parts = _parts(call["src_layout"])
        before = [parts[inner.index(axis)] for axis in range(len(inner))]
        return "".join(before), call["dst_layout"]
    if data.op == "layout_transform" and outer is not None:
        parts = _parts(data["dst_layout"])
        return data["src_layout"], "".join(parts[axis] for axis in outer)
    return None
