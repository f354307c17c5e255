"""A state's primitives as rows of TVM's logs: ``["SP", 2, 0, 512, [4, 8], 1]`` splits loop 0 of stage 2.
Replaying a list of rows on a computation's unscheduled loops yields a state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import InputError

_CODES = {
    "split": "SP",
    "follow_split": "FSP",
    "follow_fused_split": "FFSP",
    "fuse": "FU",
    "reorder": "RE",
    "pragma": "PR",
    "storage_align": "SA",
    "compute_at": "CA",
    "compute_inline": "CI",
    "compute_root": "CR",
    "cache_read": "CHR",
    "cache_write": "CHW",
    "rfactor": "RF",
    **dict.fromkeys(("unroll", "vectorize", "parallel", "bind"), "AN"),
}
"""The codes of primitives in TVM's logs."""


@dataclass(frozen=True)
class Step:
    """A primitive of a state: its name, the number of its stage before the call, and ``values``, the rest of
    its row in a log. Loops are given by their positions in the stage."""

    primitive: str
    stage: int
    values: tuple[Any, ...] = ()

    def row(self) -> list[Any]:
        """Return the step as a row of TVM's logs."""
        return [_CODES[self.primitive], self.stage, *self.values]


def replay(state: Any, rows: Iterable[Sequence[Any]]) -> Any:
    """Apply the primitives in ``rows`` to ``state`` and return it. A malformed row is an InputError, a
    primitive that does not fit the computation a ScheduleError."""
    names = {number: name for name, number in state.ANNOTATION_TRANS_TABLE.items()}

    def loop(stage: int, place: int) -> Any:
        loops = state[stage].iters
        if not 0 <= arguments.whole("a step's loop", place, InputError) < len(loops):
            raise InputError(
                f"a step names loop {place} of stage {stage}, {state[stage].op.name}, which has {len(loops)}",
                hint="it is a log of another computation: operators of topi may have other stages than TVM's",
            )
        return loops[place]

    for row in rows:
        match row:
            case ["SP", stage, place, _, [*lengths], inner_to_outer]:
                state.split(stage, loop(stage, place), lengths, bool(inner_to_outer))
            case ["FSP", stage, place, source, n_split]:
                state.follow_split(stage, loop(stage, place), source, n_split)
            case ["FFSP", stage, place, [*sources], level, is_factor]:
                state.follow_fused_split(stage, loop(stage, place), sources, level, bool(is_factor))
            case ["FU", stage, [*places]]:
                state.fuse(stage, [loop(stage, one) for one in places])
            case ["RE", stage, [*places]]:
                state.reorder(stage, [loop(stage, one) for one in places])
            case ["AN", stage, place, kind] if kind in names:
                _annotate(state, stage, loop(stage, place), names[kind])
            case ["PR", stage, place, pragma]:
                state.pragma(stage, loop(stage, place), pragma)
            case ["SA", stage, place, factor, offset]:
                state.storage_align(stage, loop(stage, place), factor, offset)
            case ["CA", stage, target, place]:
                state.compute_at(stage, target, loop(target, place))
            case ["CI", stage]:
                state.compute_inline(stage)
            case ["CR", stage]:
                state.compute_root(stage)
            case ["CHR", stage, scope, [*readers]]:
                state.cache_read(stage, scope, readers)
            case ["CHW", stage, scope]:
                state.cache_write(stage, scope)
            case ["RF", stage, place, factor_place]:
                state.rfactor(stage, loop(stage, place), factor_place)
            case _:
                raise InputError(f"{str(row)[:80]} is no step of TVM's auto-scheduler")
    return state


def _annotate(state: Any, stage: int, loop: Any, kind: str) -> None:
    """Annotate a loop with ``kind``: the primitive of that name, or else a binding to threads of a GPU."""
    if kind in ("unroll", "vectorize", "parallel"):
        getattr(state, kind)(stage, loop)
    elif kind != "none":
        state.bind(stage, loop, kind)
