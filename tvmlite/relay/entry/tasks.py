"""Fused groups as tuning tasks: the text of a group, and the schedule function that makes a kernel from it.

A task ``("fused", [text])`` stands for every group with that text, wherever it occurs. The text alone
determines the computation, so a record can be replayed without the model it was measured for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder, substitute
from tvmlite.machine.target import Target
from tvmlite.relay.entry import labels
from tvmlite.relay.entry.lower import anchor, dimensions, group_tensors, operator_calls
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Constant, Function, Var
from tvmlite.relay.text import literals, printer
from tvmlite.relay.text.parser import parse_expr
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.space import Config, Task, create, template
from tvmlite.te.templates import templates as schedules
from tvmlite.te.templates.anchors import Anchor
from tvmlite.te.tensor.extern import ExternOp
from tvmlite.te.tensor.tensor import Tensor

NAME = "fused"
"""The name of the schedule function in records."""


def task_text(group: Function) -> str:
    """``group`` as text, with parameters renamed to p0, p1, ..., so that equal computations have equal texts.

    Where its result is stored (``in_place``) is not part of the text.
    """
    params = tuple(Var(f"p{i}", param.type) for i, param in enumerate(group.params))
    renamed = substitute(group.body, dict(zip(group.params, params, strict=True)))
    return printer.show(Function(params, renamed))


def why_no_task(group: Function) -> str:
    """The reason why ``group`` is not a tuning task; empty if it is one."""
    if dimensions(group):
        return f"open dimensions {', '.join(d.name for d in dimensions(group))}"
    for call in operator_calls(group):
        if not operators.get(str(call.op)).compute.__module__.startswith("tvmlite."):
            return f"{call.op} is defined outside the package"
    constants = [node for node in postorder(group.body) if isinstance(node, Constant)]
    if any(literals.inline(one) is None for one in constants):
        return "a large constant is written into it"
    if any(isinstance(tensor.op, ExternOp) for tensor in group_tensors(group)[1]):
        return "its loops are written by hand (te.extern)"
    return ""


def task_of(group: Function, target: Target) -> Task:
    """The tuning task of ``group``; an UnsupportedError if it is not one (``why_no_task``)."""
    reason = why_no_task(group)
    if reason:
        raise UnsupportedError(f"a fused group is no tuning task: {reason}", group.span)
    return replace(create(NAME, [task_text(group)], target), label=labels.label(group))


def is_fused_task(task: tuple[str, Sequence[object]]) -> bool:
    """Whether a record's ``task``, a name and arguments, has the form of a fused group's task."""
    name, args = task
    return name == NAME and len(args) == 1 and isinstance(args[0], str)


def group_of(text: str) -> Function:
    """The group whose ``task_text`` is ``text``; a ParseError if ``text`` cannot be read."""
    group = parse_expr(text)
    if not isinstance(group, Function):
        raise UnsupportedError(f"a fused task's text is a {type(group).__name__}, expected a function")
    type_of(group)
    return group


def _fused(text: str, *, config: Config, target: Target) -> tuple[Schedule, list[Tensor]]:
    """The schedule function of fused groups."""
    kind, inputs, outputs = _tensors_of_text(text)
    schedule = schedules.apply(kind, outputs, target, config)
    return schedule, [*inputs, *outputs]


@lru_cache(maxsize=256)
def _tensors_of_text(text: str) -> tuple[Anchor, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The anchor, parameters and results of a group: built once, then scheduled for each candidate."""
    group = group_of(text)
    inputs, outputs = group_tensors(group)
    return anchor(group).schedule, tuple(inputs), tuple(outputs)


def _rules(_text: str) -> tuple[str, ...]:
    return schedules.rules()


def _weights(text: str) -> tuple[int, ...]:
    """The indices of the parameters that are weights: a model has more of them than caches hold."""
    group = group_of(text)
    found: dict[Var, None] = {}
    for call in operator_calls(group):
        names = operators.get(str(call.op)).argument_names
        used = [arg for name, arg in zip(names, call.args, strict=False) if name == "weight"]
        found.update((arg, None) for arg in used if isinstance(arg, Var))
    return tuple(position for position, param in enumerate(group.params) if param in found)


template(NAME, _fused, _rules, _weights)
