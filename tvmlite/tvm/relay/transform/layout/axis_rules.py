"""Layout rules of operators whose attributes name axes, which are translated to the new layout."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from tvmlite.tvm.relay.transform.layout import names
from tvmlite.tvm.relay.transform.layout.question import Answer, Question


def _moved(question: Question, axes: list[int]) -> list[int] | None:
    """``axes`` of the first operand translated to its new layout, or unchanged if there is no new layout;
    None if they cannot be translated."""
    old, new = question.old[0], question.first
    if question.new is None:
        return axes
    return None if old is None or new is None else names.moved(axes, old, new)


def _axis(question: Question) -> int:
    return int(question.attrs["axis"]) % max(question.rank, 1)


def _with_axis(question: Question) -> dict[str, Any] | None:
    """The attributes with ``axis`` translated to the new layout; None if that is not possible."""
    if question.new is None:
        return dict(question.attrs)
    axes = _moved(question, [_axis(question)])
    return None if axes is None else {**question.attrs, "axis": axes[0]}


def _along(question: Question) -> Answer | None:
    """Normalizations: operators along one axis whose other operands are vectors for that axis."""
    attrs, layout = _with_axis(question), question.first
    if attrs is None or layout is None or question.rank != len(names.parts(question.old[0] or layout)):
        return None
    vectors = ["C"] * (len(question.old) - 1)
    results = [layout, "C", "C"] if question.op == "nn.batch_norm" else [layout]
    return Answer([layout, *vectors], results, attrs)


def _instance_norm(question: Question) -> Answer | None:
    """Instance normalizations: axis 0 must not move, as each index of it is an instance."""
    found = _along(question)
    if found is None or question.new is None:
        return found
    return found if names.moved([0], question.old[0] or "", question.first or "") == [0] else None


def _requantize(question: Question) -> Answer | None:
    """Translate the scales' axis, also for scalar scales, for which it has no meaning, as TVM does."""
    return _along(question)


def _concatenate(question: Question) -> Answer | None:
    """All operands get the new layout if it is the same for all, or else the first known old layout."""
    count = len(question.old) if question.op == "concatenate" else (len(question.old) - 2) // 3
    data = [question.old[index] for index in range(count)]
    known = next((one for one in data if one is not None), None)
    axis = _axis(question)
    if known is None or len(names.parts(known)) <= axis:
        return None
    layout, attrs = known, dict(question.attrs)
    new = question.new[:count] if question.new is not None else []
    if new and all(one == new[0] for one in new):
        at = names.outer(new[0], names.parts(known)[axis])  # whole blocks are concatenated
        if at is not None:
            layout, attrs = new[0], {**attrs, "axis": at}
    rest = ["C"] * (len(question.old) - count)
    return Answer([layout] * count + rest, [layout], attrs)


def _split(question: Question) -> Answer | None:
    layout, old = question.first, question.old[0]
    if layout is None:
        return None
    attrs, sections = dict(question.attrs), question.attrs["indices_or_sections"]
    if question.new is not None:
        part = names.parts(old or layout)[_axis(question)]
        if part not in names.parts(layout):
            return None
        factor = names.block(layout, part)
        attrs["axis"] = names.parts(layout).index(part)
        if factor:
            extent = question.types[0].shape[_axis(question)]
            whole = isinstance(sections, int) and isinstance(extent, int) and extent // factor % sections == 0
            if isinstance(sections, int) and not whole:
                return None
            if not isinstance(sections, int):
                if any(one % factor for one in sections):
                    return None
                attrs["indices_or_sections"] = tuple(one // factor for one in sections)
    count = sections if isinstance(sections, int) else len(sections) + 1
    return Answer([layout], [layout] * count, attrs)


def _transpose(question: Question) -> Answer | None:
    old, layout = question.old[0], question.first
    if old is None or layout is None:
        return None
    axes = question.attrs["axes"]
    axes = [axis % question.rank for axis in axes] if axes else list(reversed(range(question.rank)))
    moved = _moved(question, axes)
    if moved is None or len(names.parts(layout)) != question.rank:
        return None
    result = "".join(names.parts(layout)[axis] for axis in moved)
    return Answer([layout], [result], {**question.attrs, "axes": tuple(moved)})


def _reduce(question: Question) -> Answer | None:
    """Reductions: the remaining axes keep their order. A blocked axis is reduced together with its block."""
    old, layout = question.old[0], question.first
    if old is None or layout is None:
        return None
    axes = question.attrs["axis"]
    given = [] if axes is None else [axes] if isinstance(axes, int) else list(axes)
    given = [axis % max(question.rank, 1) for axis in given]
    named = {names.parts(old)[axis] for axis in given}
    if question.attrs["exclude"]:
        named = set(names.parts(old)) - named
    reduced = named if given or question.attrs["exclude"] else set(names.parts(old))
    found, left, kept = [], [], []
    for index, part in enumerate(names.parts(layout)):
        if part[-1].upper() in reduced:
            found.append(index)
            kept.append(part if part.isupper() else f"1{part[-1]}")
        else:
            left.append(part)
            kept.append(part)
    if question.attrs["keepdims"]:
        left = kept
    if question.op in ("argmax", "argmin"):  # the resulting index depends on the order of the axes
        order = [[part[-1].upper() for part in names.parts(one)] for one in (old, layout)]
        counted = [[letter for letter, _ in groupby(filter(reduced.__contains__, one))] for one in order]
        if counted[0] != counted[1]:
            return None
    attrs = dict(question.attrs)
    if question.new is not None and (given or attrs["exclude"]):
        others = [index for index in range(len(names.parts(layout))) if index not in found]
        attrs["axis"] = tuple(others if attrs["exclude"] else found)
    means = ["".join(kept)] * (len(question.old) - 1)  # the second operand of a variance
    return Answer([layout, *means], ["".join(left)], attrs)


def _squeeze(question: Question) -> Answer | None:
    old, layout = question.old[0], question.first
    if old is None or layout is None:
        return None
    axes = question.attrs["axis"]
    if axes is None:
        axes = [axis for axis, extent in enumerate(question.types[0].shape) if extent == 1]
    gone = [names.parts(old)[axis % question.rank] for axis in ([axes] if isinstance(axes, int) else axes)]
    found = [names.place(layout, part) for part in gone]
    if None in found:
        return None
    places = tuple(one for one in found if one is not None)
    left = "".join(part for index, part in enumerate(names.parts(layout)) if index not in places)
    attrs = question.attrs if question.new is None else {**question.attrs, "axis": places}
    return Answer([layout], [left], attrs)


def _strided_slice(question: Question) -> Answer | None:
    old, layout = question.old[0], question.first
    attrs = dict(question.attrs)
    if old is None or layout is None or len(question.old) > 1:
        return None
    if question.new is None:
        return Answer([layout], [layout], attrs)
    if attrs["axes"] is not None:
        attrs = _sliced_along(question)
        return None if attrs is None else Answer([layout], [layout], attrs)
    order = _moved(question, list(range(question.rank)))
    backwards = any(stride < 0 for stride in attrs["strides"] or ())
    if order is None or backwards or attrs["slice_mode"] != "end" or not question.types[0].is_static:
        return None
    whole = {
        "begin": [0] * question.rank,
        "end": list(question.types[0].shape),
        "strides": [1] * question.rank,
    }
    for name, filling in whole.items():
        given = list(attrs[name] or ())
        given = given * question.rank if name == "strides" and len(given) == 1 else given
        full = [*given, *filling[len(given) :]]
        if name == "end":
            full = [min(one, extent) for one, extent in zip(full, filling, strict=True)]
        attrs[name] = tuple(full[axis] for axis in sorted(range(question.rank), key=order.__getitem__))
    return Answer([layout], [layout], attrs)


def _sliced_along(question: Question) -> dict[str, Any] | None:
    """The attributes of a slice with ``axes``, translated to the new layout. Slices along a blocked axis must
    consist of whole blocks; otherwise the result is None."""
    attrs, old, new = dict(question.attrs), question.old[0] or "", question.first or ""
    given = [names.parts(old)[axis % question.rank] for axis in attrs["axes"]]
    places = [names.outer(new, part) for part in given]
    if None in places or (any(names.block(new, part) for part in given) and attrs["slice_mode"] != "end"):
        return None
    strides = list(attrs["strides"] or ())
    strides = strides * len(given) if len(strides) == 1 else strides
    begin, end = list(attrs["begin"]), list(attrs["end"])
    for index, part in enumerate(given):
        factor = names.block(new, part)
        if not factor:
            continue
        extent = question.types[0].shape[names.parts(old).index(part)]
        end[index] = min(end[index], extent)
        within = min(begin[index], end[index]) >= 0 and strides[index : index + 1] in ([], [1])
        if not within or begin[index] % factor or end[index] % factor:
            return None
        begin[index], end[index] = begin[index] // factor, end[index] // factor
    return {**attrs, "axes": tuple(places), "begin": tuple(begin), "end": tuple(end)}


def _slice_like(question: Question) -> Answer | None:
    """Translate the axes if both operands have the same layout."""
    if None in question.old or question.old[0] != question.old[1]:
        return None
    layout, attrs = question.first, dict(question.attrs)
    if layout is None or (question.new is not None and question.new[0] != question.new[1]):
        return None
    if question.new is not None and attrs["axes"]:
        axes = _moved(question, [axis % question.rank for axis in attrs["axes"]])
        if axes is None:
            return None
        attrs["axes"] = tuple(axes)
    return Answer([layout, layout], [layout], attrs)


def _topk(question: Question) -> Answer | None:
    attrs, layout = _with_axis(question), question.first
    if attrs is None or layout is None:
        return None
    return Answer([layout], [layout] * (2 if attrs["ret_type"] == "both" else 1), attrs)


def _axes(question: Question) -> Answer | None:
    """Operators over several axes, which are translated in their order."""
    layout = question.first
    axes = _moved(question, [axis % question.rank for axis in question.attrs["axis"] or ()])
    if axes is None or layout is None:
        return None
    return Answer([layout], [layout], {**question.attrs, "axis": tuple(axes)})


def _pad(question: Question) -> Answer | None:
    """Reorder the padding widths; a blocked axis cannot be padded."""
    layout, attrs = question.first, dict(question.attrs)
    if layout is None:
        return None
    if question.new is not None:
        old = question.old[0]
        widths = {} if old is None else dict(zip(names.parts(old), attrs["pad_width"], strict=True))
        made = []
        for part in names.parts(layout):
            width = widths.get(part[-1].upper(), (0, 0))
            if names.block(layout, part[-1].upper()) and tuple(width) != (0, 0):
                return None
            made.append(tuple(width))
        attrs["pad_width"] = tuple(made)
    return Answer([layout, *([""] * (len(question.old) - 1))], [layout], attrs)


RULES: dict[str, Callable[[Question], Answer | None]] = {
    **dict.fromkeys(("nn.batch_norm", "nn.layer_norm"), _along),
    "nn.instance_norm": _instance_norm,
    "qnn.requantize": _requantize,
    "concatenate": _concatenate,
    "qnn.concatenate": _concatenate,
    "split": _split,
    "transpose": _transpose,
    **dict.fromkeys("sum mean max min prod all any argmax argmin variance std".split(), _reduce),
    "squeeze": _squeeze,
    "strided_slice": _strided_slice,
    "slice_like": _slice_like,
    "topk": _topk,
    "nn.l2_normalize": _axes,
    "nn.pad": _pad,
}
"""The rules by operator. An operator along an axis that would be blocked keeps its layout."""
