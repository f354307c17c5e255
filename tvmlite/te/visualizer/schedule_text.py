"""The text of schedules and of the calls of their primitives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import StageState
from tvmlite.te.schedule.trace import Step
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar, Operation, Tensor


def schedule(schedule: Schedule) -> str:
    """The stages and the loops of each, one per line."""
    return "\n".join(line for stage in schedule.stages for line in _describe(stage))


def step(step: Step) -> str:
    """The call of a primitive in Python: ``i, j = s[C].split(...)``."""
    results = ", ".join(_names(step.result))
    return f"{results} = {call(step)}" if results else call(step)


def call(step: Step) -> str:
    """The call without its results."""
    args = [_text(a) for a in step.args] + [f"{name}={_text(a)}" for name, a in step.named]
    owner = "s" if step.stage is None else f"s[{step.stage.name}]"
    return f"{owner}.{step.primitive}({', '.join(args)})"


def _describe(stage: Stage) -> list[str]:
    if isinstance(stage.op, t.PlaceholderOp):
        return [f"{stage.name}: placeholder"]
    where = stage.attach_type
    if stage.attach_stage is not None and stage.attach_ivar is not None:
        where = f"at {stage.attach_stage.name}, {stage.attach_ivar.var.name}"
    if stage.is_output:
        where = f"output, {where}" if stage.is_computed_with else "output"
    lines = [f"{stage.name}: {where}"]
    for axis in stage.leaf_iter_vars:
        notes = [axis.kind, stage.loop_kinds.get(axis, ""), *(p for p, _ in stage.pragmas.get(axis, ()))]
        lines.append(f"    {axis.var.name}: {', '.join(n for n in notes if n)}")
    return lines


def _names(result: Any) -> Iterator[str]:
    """The names of the loops and tensors that a primitive returned."""
    if isinstance(result, tuple):
        for one in result:
            yield from _names(one)
    elif isinstance(result, IterVar):
        yield result.var.name
    elif isinstance(result, (Tensor, Operation)):
        yield result.name


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, StageState):
        return f"s[{value.name}]"
    if isinstance(value, IterVar):
        return value.var.name
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return name
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    return str(value) if hasattr(value, "dtype") else repr(value)
