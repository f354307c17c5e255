"""Schedules with deliberate mistakes: each must be refused with an error that names the primitive, the thing
at fault and the user's line, and must leave the schedule unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvmlite.core.errors import ScheduleError
from tvmlite.fuzz.expected.check import Wrong
from tvmlite.fuzz.program import FILE, run
from tvmlite.fuzz.schedule.arranger import Arranger
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.tensor import tensor as t


@dataclass(frozen=True)
class Mistake:
    """A line that must be refused, with an error that contains all of ``words``."""

    line: str
    words: tuple[str, ...]


def attempt(arranger: Arranger) -> str | None:
    """Try one mistake; return its name, or None if none fits.

    Raise Wrong if the schedule accepts it, or if the error says too little.
    """
    stages = arranger.stages()
    if not stages:
        return None
    name = arranger.rnd.choice(list(MISTAKES))
    mistake = MISTAKES[name](arranger, arranger.rnd.choice(stages))
    if mistake is None:
        return None
    before, number = str(arranger.schedule), len(arranger.lines) + 1
    try:
        run([mistake.line], dict(arranger.names), number)
    except ScheduleError as error:
        text = str(error)
        missing = [word for word in mistake.words if word not in text]
        if missing:
            raise Wrong("refusal", "words", f"{mistake.line}: {', '.join(missing)} not in: {text}") from error
        if error.span is None or (error.span.source, error.span.line) != (FILE, number):
            raise Wrong("refusal", "line", f"{mistake.line}: line {number} is not in: {text}") from error
    except Exception as error:
        raise Wrong("refusal", type(error).__name__, f"{mistake.line}: {error!r}") from error
    else:
        raise Wrong("refusal", "none", f"{mistake.line}: was not refused")
    if str(arranger.schedule) != before:
        raise Wrong("refusal", "state", f"{mistake.line}: was refused, but changed the schedule")
    return name


def _leaf(a: Arranger, stage: Stage, kind: str) -> tuple[str, str] | None:
    """Return a loop's label in the program, and its name."""
    leaves = [axis for axis in stage.leaf_iter_vars if axis.kind == kind]
    if not leaves:
        return None
    axis = a.rnd.choice(leaves)
    return a.label(stage, axis), axis.var.name


def _on_reduce_axis(primitive: str) -> Callable[[Arranger, Stage], Mistake | None]:
    def make(a: Arranger, stage: Stage) -> Mistake | None:
        found = _leaf(a, stage, "reduce")
        if found is None:
            return None
        return Mistake(f"s[{a.tensor(stage)}].{primitive}({found[0]})", (primitive, found[1], stage.name))

    return make


def _axis_without_loop(a: Arranger, stage: Stage) -> Mistake | None:
    replaced = [axis for axis in stage.all_iter_vars if axis not in set(stage.leaf_iter_vars)]
    replaced = [axis for axis in replaced if axis in a.labels]
    if not replaced:
        return None
    axis = a.rnd.choice(replaced)
    primitive, rest = a.rnd.choice((("split", ", factor=2"), ("unroll", ""), ("reorder", "")))
    line = f"s[{a.tensor(stage)}].{primitive}({a.labels[axis]}{rest})"
    return Mistake(line, (primitive, axis.var.name, stage.name))


def _bad_factor(a: Arranger, stage: Stage) -> Mistake | None:
    found = _leaf(a, stage, "data")
    if found is None:
        return None
    given = a.rnd.choice(("factor=0", "factor=-3", "nparts=0", "factor=2, nparts=2", "factor=1.5", ""))
    return Mistake(f"s[{a.tensor(stage)}].split({found[0]}, {given})", ("split", found[1], stage.name))


def _fuse_nonadjacent(a: Arranger, stage: Stage) -> Mistake | None:
    if len(stage.leaf_iter_vars) < 3:
        return None
    x, y = stage.leaf_iter_vars[0], stage.leaf_iter_vars[2]
    line = f"s[{a.tensor(stage)}].fuse({a.label(stage, x)}, {a.label(stage, y)})"
    return Mistake(line, ("fuse", y.var.name, stage.name))


def _axis_of_another_stage(a: Arranger, stage: Stage) -> Mistake | None:
    others = [one for one in a.stages() if one is not stage and one.leaf_iter_vars]
    if not others:
        return None
    other = a.rnd.choice(others)
    axis = a.rnd.choice(other.leaf_iter_vars)
    if any(axis is one for one in stage.all_iter_vars):
        return None
    primitive, rest = a.rnd.choice(
        (("split", ", factor=2"), ("reorder", ""), ("vectorize", ""), ("fuse", ""))
    )
    line = f"s[{a.tensor(stage)}].{primitive}({a.label(other, axis)}{rest})"
    return Mistake(line, (primitive, axis.var.name, stage.name))


def _axis_given_twice(a: Arranger, stage: Stage) -> Mistake | None:
    found = _leaf(a, stage, "data")
    if found is None:
        return None
    line = f"s[{a.tensor(stage)}].reorder({found[0]}, {found[0]})"
    return Mistake(line, ("reorder", found[1], stage.name))


def _output_inlined(a: Arranger, stage: Stage) -> Mistake | None:
    if not stage.is_output:
        return None
    return Mistake(f"s[{a.tensor(stage)}].compute_inline()", ("compute_inline", stage.name))


def _reduction_inlined(a: Arranger, stage: Stage) -> Mistake | None:
    op = stage.op
    if stage.is_output or not isinstance(op, t.ComputeOp) or not op.reduce_axis:
        return None
    line = f"s[{a.tensor(stage)}].compute_inline()"
    return Mistake(line, ("compute_inline", stage.name, op.reduce_axis[0].var.name))


def _at_an_unrelated_stage(a: Arranger, stage: Stage) -> Mistake | None:
    later = a.stages()
    earlier = later[: next(n for n, one in enumerate(later) if one is stage)]
    earlier = [one for one in earlier if one.leaf_iter_vars]
    if stage.is_output or not earlier:
        return None
    parent = a.rnd.choice(earlier)
    axis = a.rnd.choice(parent.leaf_iter_vars)
    line = f"s[{a.tensor(stage)}].compute_at(s[{a.tensor(parent)}], {a.label(parent, axis)})"
    return Mistake(line, ("compute_at", parent.name, stage.name))


def _rfactor_of_data_axis(a: Arranger, stage: Stage) -> Mistake | None:
    found = _leaf(a, stage, "data")
    if found is None:
        return None
    return Mistake(f"s.rfactor({a.tensor(stage)}, {found[0]})", ("rfactor", found[1], stage.name))


def _one_output_cached(a: Arranger, stage: Stage) -> Mistake | None:
    if stage.op.num_outputs < 2:
        return None
    return Mistake(f's.cache_write({a.tensor(stage)}, "local")', ("cache_write", stage.name))


def _cached_without_reader(a: Arranger, stage: Stage) -> Mistake | None:
    if stage.op.num_outputs > 1:
        return None
    name = a.tensor(stage)
    return Mistake(f's.cache_read({name}, "local", [{name}])', ("cache_read", stage.name))


MISTAKES: dict[str, Callable[[Arranger, Stage], Mistake | None]] = {
    "vectorize a reduce axis": _on_reduce_axis("vectorize"),
    "parallel reduce axis": _on_reduce_axis("parallel"),
    "an axis that is no loop any more": _axis_without_loop,
    "a factor that is none": _bad_factor,
    "loops that are apart": _fuse_nonadjacent,
    "another stage's axis": _axis_of_another_stage,
    "an axis given twice": _axis_given_twice,
    "an output inlined": _output_inlined,
    "a reduction inlined": _reduction_inlined,
    "computed at an unrelated stage": _at_an_unrelated_stage,
    "rfactor of a data axis": _rfactor_of_data_axis,
    "cache_write of one output of several": _one_output_cached,
    "cache_read without reader": _cached_without_reader,
}
