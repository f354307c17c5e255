"""Object detection as in TVM: valid boxes, and non-maximum suppression."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.relay.ir.attributes import INTEGER, Attribute
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import TensorType, TupleType, Type, same_shape, show_shape
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import FLOAT, expect, expect_extent, fault
from tvmlite.relay.ops.reductions.sort import MergeSort
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor


def _integer(default: int) -> Attribute:
    return Attribute(default, lambda _: INTEGER)


def _check_boxes(call: Call, data: TensorType, **places: int) -> None:
    """Raise a type error unless data is (batch, boxes, numbers) and ``places`` are indices of numbers."""
    expect(call, "data is", data.dtype, FLOAT)
    if data.ndim != 3 or not isinstance(data.shape[2], int):
        raise fault(call, f"data is {show_shape(data.shape)}, expected (batch, boxes, numbers of a box)")
    for name, place in places.items():
        if not place < data.shape[2]:
            raise fault(call, f"{name} is {place}, a box has {data.shape[2]} numbers")


# --- valid boxes ------------------------------------------------------------------------------------


def _valid_type(call: Call, data: TensorType, score_threshold: TensorType) -> TupleType:
    _check_boxes(call, data, id_index=call["id_index"], score_index=call["score_index"])
    if score_threshold.ndim:
        raise fault(call, f"score_threshold is {show_shape(score_threshold.shape)}, expected a scalar")
    counts = TensorType((data.shape[0],), "int32")
    return TupleType((counts, data, TensorType(data.shape[:2], "int32")))


def _valid_numpy(
    call: Call, data: np.ndarray, score_threshold: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    boxes, places = np.full_like(data, -1), np.full(data.shape[:2], -1, np.int32)
    counts = np.zeros(len(data), np.int32)
    for batch, rows in enumerate(data):
        good = rows[:, call["score_index"]] > score_threshold
        if call["id_index"] >= 0:
            good &= rows[:, call["id_index"]] >= 0
        found = np.flatnonzero(good)
        counts[batch] = len(found)
        boxes[batch, : len(found)], places[batch, : len(found)] = rows[found], found
    return counts, boxes, places


@statement(
    "vision.get_valid_counts",
    infer=_valid_type,
    reference=_valid_numpy,
    attrs={"id_index": _integer(0), "score_index": _integer(1)},
)
def get_valid_counts(call: Call, data: Tensor, score_threshold: Tensor) -> list[Tensor]:
    """Select boxes with a score above ``score_threshold`` and a class that is not negative.

    Data is (batch, boxes, numbers), with score and class at ``score_index`` and ``id_index``; -1 for the
    latter ignores classes. Return the number of selected boxes of each batch, the boxes moved to the front,
    and their indices; the rest is -1. Numbers and indices are int32.
    """
    batches, count, width = data.shape

    def body(
        read: loop.Buffer,
        score_threshold_buffer: loop.Buffer,
        counts: loop.Buffer,
        boxes: loop.Buffer,
        places: loop.Buffer,
    ) -> loop.Stmt:
        def one(batch: e.Expr) -> loop.Stmt:
            place = loops.Cell("place")

            def empty(k: e.Expr) -> loop.Stmt:
                clear = loops.over(
                    width, lambda x: loops.store(boxes, (batch, k, x), e.const(-1, data.dtype)), "x"
                )
                return loop.sequence(clear, loops.store(places, (batch, k), e.const(-1, "int32")))

            def consider(k: e.Expr) -> loop.Stmt:
                threshold = e.cast(data.dtype, loops.load(score_threshold_buffer))
                good = threshold < loops.load(read, batch, k, call["score_index"])
                if call["id_index"] >= 0:
                    kind = loops.load(read, batch, k, call["id_index"])
                    good = e.And(good, kind >= e.const(0, data.dtype))
                at = place.value
                copy = loops.over(
                    width, lambda x: loops.store(boxes, (batch, at, x), loops.load(read, batch, k, x)), "x"
                )
                return loop.If(
                    good, loop.sequence(copy, loops.store(places, (batch, at), k), place.set(at + 1))
                )

            done = loops.store(counts, (batch,), place.value)
            parts = loops.over(count, empty, "e"), place.set(0), loops.over(count, consider, "k"), done
            return loops.allocated(loop.sequence(*parts), place)

        return loops.over(batches, one, "b", kind=loop.PARALLEL)

    kinds: list[Any] = [((batches,), "int32"), (data.shape, data.dtype), (data.shape[:2], "int32")]
    return loops.extern("valid_counts", [data, score_threshold], kinds, body)


# --- non-maximum suppression ------------------------------------------------------------------------


def _suppression_type(call: Call, *types: TensorType) -> Type:
    data, valid_count, indices, max_output_size, iou_threshold = types
    _check_boxes(call, data, coord_start=call["coord_start"] + 3, score_index=call["score_index"])
    expect_extent(
        call, "the number of valid_count", valid_count.shape[0] if valid_count.ndim == 1 else 0, data.shape[0]
    )
    if not same_shape(indices.shape, data.shape[:2]) or indices.dtype != "int32":
        raise fault(call, f"indices are {indices}, expected {show_shape(data.shape[:2])} of int32")
    for name, one in (("max_output_size", max_output_size), ("iou_threshold", iou_threshold)):
        if one.ndim:
            raise fault(call, f"{name} is {show_shape(one.shape)}, expected a scalar")
    if not call["return_indices"]:
        return data
    return TupleType((TensorType(data.shape[:2], "int32"), TensorType((data.shape[0], 1), "int32")))


def _overlap_numpy(a: np.ndarray, b: np.ndarray) -> Any:
    (al, at, ar, ab), (bl, bt, br, bb) = (
        (min(x[0], x[2]), min(x[1], x[3]), max(x[0], x[2]), max(x[1], x[3])) for x in (a, b)
    )
    common = max(min(ar, br) - max(al, bl), 0) * max(min(ab, bb) - max(at, bt), 0)
    union = (ar - al) * (ab - at) + (br - bl) * (bb - bt) - common
    return common / union if union > 0 else 0.0


def _suppression_numpy(
    call: Call,
    data: np.ndarray,
    valid_count: np.ndarray,
    indices: np.ndarray,
    max_output_size: np.ndarray,
    iou_threshold: np.ndarray,
) -> Any:
    boxes, kept = np.full_like(data, -1), np.full(data.shape[:2], -1, np.int32)
    start, score, kind = call["coord_start"], call["score_index"], call["id_index"]
    for batch, valid in enumerate(valid_count):
        order = np.argsort(-data[batch, :valid, score], kind="stable")
        if iou_threshold <= 0:
            order = np.arange(valid)
        elif 0 < call["top_k"] < valid:
            order = order[: call["top_k"]]
        rows = data[batch, order]
        chosen: list[int] = []
        for place, row in enumerate(rows):
            if iou_threshold > 0:
                if len(chosen) == max_output_size:
                    continue
                if row[score] > 0:
                    if any(
                        (call["force_suppress"] or kind < 0 or row[kind] == rows[other][kind])
                        and _overlap_numpy(row[start : start + 4], rows[other][start : start + 4])
                        >= iou_threshold
                        for other in chosen
                    ):
                        continue
                    chosen.append(place)
            boxes[batch, place], kept[batch, place] = row, indices[batch, order[place]]
    if not call["return_indices"]:
        return (
            np.stack([_compact(one, one[:, 0] >= 0) for one in boxes]) if call["invalid_to_bottom"] else boxes
        )
    found = np.stack([_compact(one, one >= 0) for one in kept])
    return found, (kept >= 0).sum(axis=1, keepdims=True).astype(np.int32)


def _compact(rows: np.ndarray, good: np.ndarray) -> np.ndarray:
    result = np.full_like(rows, -1)
    result[: good.sum()] = rows[good]
    return result


@statement(
    "vision.non_max_suppression",
    infer=_suppression_type,
    reference=_suppression_numpy,
    attrs={
        "force_suppress": False,
        "top_k": _integer(-1),
        "coord_start": _integer(2),
        "score_index": _integer(1),
        "id_index": _integer(0),
        "return_indices": True,
        "invalid_to_bottom": False,
    },
)
def non_max_suppression(
    call: Call,
    data: Tensor,
    valid_count: Tensor,
    indices: Tensor,
    max_output_size: Tensor,
    iou_threshold: Tensor,
) -> Any:
    """Suppress boxes that overlap a better box of the same class.

    Of the first ``valid_count`` boxes of each batch, best score first, a box is suppressed if its
    intersection over union with a kept box of its class is ``iou_threshold`` or more, or if
    ``max_output_size`` boxes are kept (unlimited if negative). ``top_k`` above 0 limits the boxes that are
    considered. With ``force_suppress``, or without an ``id_index``, classes are ignored. Boxes with a score
    not above 0 neither suppress nor are suppressed by overlap. An ``iou_threshold`` not above 0 keeps all
    boxes in the given order.

    With ``return_indices``, return the ``indices`` of the kept boxes, moved to the front and then -1, and
    their number. Else return the boxes in order, suppressed ones -1; ``invalid_to_bottom`` moves those to the
    end.
    """
    return _Suppression(call, data).tensors([data, valid_count, indices, max_output_size, iou_threshold])


class _Suppression:
    """The loops of non-maximum suppression."""

    def __init__(self, call: Call, data: Tensor) -> None:
        self.call, self.data = call, data
        self.batches, self.count, self.width = data.shape
        self.boxes = loops.buffer("boxes", data.shape[1:], data.dtype)
        self.kept_indices = loops.buffer("kept", data.shape[1:2], "int32")
        self.selected = loops.buffer("stays", data.shape[1:2], "bool")
        self.num_selected, self.valid, self.out_position = (
            loops.Cell(name) for name in ("chosen", "valid", "place")
        )
        self.is_kept = loops.Cell("apart", "bool")

    def tensors(self, given: list[Tensor]) -> Any:
        """Return the results."""
        lead = self.data.shape[:2]
        if self.call["return_indices"]:
            kinds: list[Any] = [(lead, "int32"), ((self.batches, 1), "int32")]
        else:
            kinds = [(self.data.shape, self.data.dtype)]
        found = loops.extern("non_max_suppression", given, kinds, self._body)
        return found if self.call["return_indices"] else found[0]

    def number(self, value: float) -> e.Expr:
        return e.const(value, self.data.dtype)

    def _body(self, *buffers: loop.Buffer) -> loop.Stmt:
        self.read, self.counts, self.indices, self.max_outputs, self.threshold, *self.outs = buffers
        return loops.over(self.batches, self._batch, "b", kind=loop.PARALLEL)

    def _batch(self, batch: e.Expr) -> loop.Stmt:
        valid = e.Min(*e.match(e.cast(loops.INT, loops.load(self.counts, batch)), loops.index(self.count)))

        def score(k: e.Expr) -> e.Expr:
            own = loops.load(self.read, batch, k, self.call["score_index"])
            return e.Select(k < self.valid.value, own, self.number(-math.inf))

        order = MergeSort(score, self.count, ascending=False)
        threshold = e.cast(self.data.dtype, loops.load(self.threshold))
        some = threshold > self.number(0)
        empty = loops.over(self.count, lambda k: self._store_box(k, None), "e")
        by_score = order.then(lambda at: self._select(batch, at))
        as_given = loops.over(self.valid.value, lambda k: self._copy_box(batch, k, k), "g")
        work = loop.sequence(
            self.valid.set(valid), empty, loop.If(some, by_score, as_given), *self._write_results(batch)
        )
        memory = (
            self.boxes, self.kept_indices, self.selected, self.num_selected, self.valid,
            self.out_position, self.is_kept,
        )  # fmt: skip
        return loops.allocated(work, *memory)

    def _store_box(self, k: e.Expr, row: Callable[[e.Expr], e.Expr] | None, kept: Any = -1) -> loop.Stmt:
        """Store ``row`` and ``kept`` as box ``k``, or -1 where they are not given."""
        clear = loops.over(
            self.width, lambda x: loops.store(self.boxes, (k, x), row(x) if row else self.number(-1)), "x"
        )
        return loop.sequence(
            clear,
            loops.store(
                self.kept_indices, (k,), kept if isinstance(kept, e.Expr) else e.const(kept, "int32")
            ),
            loops.store(self.selected, (k,), e.const(False)),
        )

    def _copy_box(self, batch: e.Expr, k: e.Expr, source: e.Expr) -> loop.Stmt:
        kept = loops.load(self.indices, batch, source)
        return self._store_box(k, lambda x: loops.load(self.read, batch, source, x), kept)

    def _select(self, batch: e.Expr, at: Callable[[e.Expr], e.Expr]) -> loop.Stmt:
        last = self.valid.value
        if self.call["top_k"] > 0:
            last = e.Min(*e.match(last, self.call["top_k"]))
        take = loops.over(
            last, lambda k: loops.let("source", at(k), lambda s: self._copy_box(batch, k, s)), "t"
        )
        consider = loops.over(last, self._consider, "k")
        return loop.sequence(take, self.num_selected.set(0), consider)

    def _consider(self, k: e.Expr) -> loop.Stmt:
        def compare(other: e.Expr) -> loop.Stmt:
            suppresses = loops.load(self.selected, other)
            class_index = self.call["id_index"]
            if not self.call["force_suppress"] and class_index >= 0:
                same = e.Equal(
                    loops.load(self.boxes, k, class_index), loops.load(self.boxes, other, class_index)
                )
                suppresses = e.And(suppresses, same)
            limit = e.cast(self.data.dtype, loops.load(self.threshold))
            return loop.If(suppresses, loop.If(self._overlap(k, other) >= limit, self.is_kept.set(False)))

        full = e.Equal(*e.match(self.num_selected.value, e.cast(loops.INT, loops.load(self.max_outputs))))
        positive = loops.load(self.boxes, k, self.call["score_index"]) > self.number(0)
        select = loop.sequence(
            loops.store(self.selected, (k,), e.const(True)),
            self.num_selected.set(self.num_selected.value + 1),
        )
        decide = loop.sequence(
            self.is_kept.set(True),
            loops.over(k, compare, "o"),
            loop.If(self.is_kept.value, select, self._store_box(k, None)),
        )
        return loop.If(full, self._store_box(k, None), loop.If(positive, decide))

    def _overlap(self, k: e.Expr, other: e.Expr) -> e.Expr:
        """The intersection over union of two boxes."""
        start, zero = self.call["coord_start"], self.number(0)
        sides = []
        for one in (k, other):
            x0, y0, x1, y1 = (loops.load(self.boxes, one, start + c) for c in range(4))
            sides.append((e.Min(x0, x1), e.Min(y0, y1), e.Max(x0, x1), e.Max(y0, y1)))
        a, b = sides
        wide = e.Max(e.Min(a[2], b[2]) - e.Max(a[0], b[0]), zero)
        tall = e.Max(e.Min(a[3], b[3]) - e.Max(a[1], b[1]), zero)
        common = wide * tall
        union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common
        nonempty = union > zero
        return e.Select(nonempty, e.Div(common, e.Select(nonempty, union, self.number(1))), zero)

    def _write_results(self, batch: e.Expr) -> list[loop.Stmt]:
        """Return the statements that write the results of a batch."""
        if self.call["return_indices"]:
            found, total = self.outs

            def clear(k: e.Expr) -> loop.Stmt:
                return loops.store(found, (batch, k), e.const(-1, "int32"))

            def move(k: e.Expr) -> loop.Stmt:
                own, at = loops.load(self.kept_indices, k), self.out_position.value
                puts = loops.store(found, (batch, at), own), self.out_position.set(at + 1)
                return loop.If(own >= 0, loop.sequence(*puts))

            done = loops.store(total, (batch, 0), self.out_position.value)
            steps = loops.over(self.count, clear, "c"), self.out_position.set(0)
            return [*steps, loops.over(self.count, move, "m"), done]
        (out,) = self.outs

        def row(k: e.Expr, at: e.Expr, empty: bool = False) -> loop.Stmt:
            return loops.over(
                self.width,
                lambda x: loops.store(
                    out, (batch, at, x), self.number(-1) if empty else loops.load(self.boxes, k, x)
                ),
                "x",
            )

        if not self.call["invalid_to_bottom"]:
            return [loops.over(self.count, lambda k: row(k, k), "m")]

        def move_row(k: e.Expr) -> loop.Stmt:
            good = loops.load(self.boxes, k, 0) >= self.number(0)
            moved = loop.sequence(
                row(k, self.out_position.value), self.out_position.set(self.out_position.value + 1)
            )
            return loop.If(good, moved)

        clear_rows = loops.over(self.count, lambda k: row(k, k, empty=True), "c")
        return [clear_rows, self.out_position.set(0), loops.over(self.count, move_row, "m")]
