"""Lower a fused group to a kernel: Relay operators to te computes, then a schedule, then loops."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ScheduleError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.core.span import warn
from tvmlite.machine.target import Target
from tvmlite.relay.entry.memory import IN_PLACE
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from tvmlite.relay.ir.types import TensorType, dims_of
from tvmlite.relay.ops.assume import runtime_checks
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.in_place import in_place
from tvmlite.te.lowering.lower import lower as lower_schedule
from tvmlite.te.space import Config
from tvmlite.te.templates import templates as schedules
from tvmlite.te.tensor.declare import compute, placeholder
from tvmlite.te.tensor.tensor import PlaceholderOp, Tensor


class LoweredGroup(NamedTuple):
    """The kernel of a group, and the name of the template that scheduled it
    (``te.templates.schedule_and_template``)."""

    function: loop.Function
    template: str


def lower_group(group: Function, target: Target, name: str, config: Config | None = None) -> loop.Function:
    """The kernel of a fused ``group``: see ``lowered_group``."""
    return lowered_group(group, target, name, config).function


def lowered_group(group: Function, target: Target, name: str, config: Config | None = None) -> LoweredGroup:
    """The kernel of a fused ``group``, in structured loop IR; ``config`` sets the knobs of its schedule.

    Its parameters are one buffer for each parameter of the group, one for each output, and then the
    dimensions that the group mentions, sorted by name (``dimensions``). If the group is marked ``in_place``,
    its output is the parameter with that index: one buffer, read and then written.

    If the template's default choices cannot be applied, the kernel gets plain loops and the user a warning,
    not the error of a schedule that the user did not write. An error caused by ``config`` is raised.
    """
    inputs, outputs = group_tensors(group)
    args = [*inputs, *outputs, *dimensions(group)]
    try:
        schedule, template = schedules.schedule_and_template(anchor(group).schedule, outputs, target, config)
        function = lower_schedule(schedule, args, name)
    except ScheduleError as error:
        if config is not None:
            raise
        warn(_plain_loops_warning(name, error))
        function, template = lower_schedule(schedules.plain(outputs), args, name), schedules.PLAIN
    checks = [one for call in operator_calls(group) for one in runtime_checks(call)]
    if checks:
        function = replace(function, body=loop.sequence(*checks, function.body))
    position = dict(group.attrs).get(IN_PLACE)
    return LoweredGroup(function if position is None else in_place(function, position), template)


def _plain_loops_warning(name: str, error: ScheduleError) -> str:
    return (
        f"kernel {name}: the default schedule does not fit its extents ({error.message}), so its loops are "
        "plain: results are right, but it is slow. This is a fault of tvmlite: please report it"
    )


def group_tensors(group: Function) -> tuple[list[Tensor], list[Tensor]]:
    """The buffers of the kernel of ``group``: its parameters, and its results, which are separate buffers."""
    inputs = {param: _placeholder(param) for param in group.params}
    return list(inputs.values()), _outputs(tensors_of(group, inputs))


def group_outputs(group: Function) -> tuple[Tensor, ...]:
    """The results of ``group`` as te tensors, not yet scheduled."""
    return tensors_of(group, {param: _placeholder(param) for param in group.params})


def anchor(group: Function) -> operators.Operator:
    """The operator that decides the group's schedule: the last of those with the most restrictive fusion
    class. An UnsupportedError if the group calls none."""
    return operators.get(str(anchor_call(group).op))


def operator_calls(group: Function) -> list[Call]:
    """The calls of operators in ``group``, producers first."""
    return [node for node in postorder(group.body) if isinstance(node, Call) and isinstance(node.op, str)]


def anchor_call(group: Function) -> Call:
    """The call of the operator that decides the group's schedule; see ``anchor``."""
    calls = operator_calls(group)
    if not calls:
        raise UnsupportedError("a fused group that calls no operator has nothing to schedule", group.span)
    return max(reversed(calls), key=lambda call: operators.get(str(call.op)).fuse)


def dimensions(function: Function) -> tuple[e.SizeVar, ...]:
    """The named dimensions in types and attributes anywhere in ``function``, sorted by name."""
    mentioned: list[object] = [param.type for param in function.params]
    for node in postorder(function.body):
        assert isinstance(node, Expr)
        mentioned += [type_of(node), node.attrs if isinstance(node, Call) else ()]
    return tuple(sorted(dims_of(mentioned), key=lambda d: d.name))


def _placeholder(param: Var) -> Tensor:
    assert isinstance(param.type, TensorType), f"group parameter {param.name} is not a tensor"
    return placeholder(param.type.shape, param.type.dtype, param.name)


def tensors_of(group: Function, inputs: dict[Var, Tensor]) -> tuple[Tensor, ...]:
    """The te tensors of the group's body, given the tensors of its parameters."""
    made: dict[Expr, tuple[Tensor, ...]] = {param: (tensor,) for param, tensor in inputs.items()}
    for node in postorder(group.body):
        match node:
            case Var():
                pass
            case Constant(data):
                made[node] = (constant_tensor(data),)
            case Tuple(fields):
                made[node] = tuple(tensor for one in fields for tensor in made[one])
            case TupleGetItem(value, index):
                made[node] = (made[value][index],)
            case Call(op=str() as name):
                result = operators.get(name).compute(node, *(t for a in node.args for t in made[a]))
                made[node] = tuple(result) if isinstance(result, (list, tuple)) else (result,)
            case _:
                raise AssertionError(f"{type(node).__name__} in a fused group")
    return made[group.body]


def _outputs(tensors: tuple[Tensor, ...]) -> list[Tensor]:
    """``tensors``, with copies in place of inputs and of tensors that are already outputs."""
    outputs: list[Tensor] = []
    for tensor in tensors:
        if isinstance(tensor.op, PlaceholderOp) or tensor in outputs:
            source = tensor
            tensor = compute(source.shape, lambda *i, s=source: s[i], name="copy", tag="injective")
        outputs.append(tensor)
    return outputs


def constant_tensor(data: np.ndarray) -> Tensor:
    """A small array as a compute: its elements are written into the code."""
    dtype = dtypes.check(data.dtype)
    values = [e.const(v.item(), dtype) for v in np.asarray(data).reshape(-1)] or [e.const(0, dtype)]

    def element(*indices: e.Expr) -> e.Expr:
        if len(values) == 1:
            return values[0]
        flat: e.Expr = e.const(0, "int32")
        for index, extent in zip(indices, data.shape, strict=True):
            flat = flat * extent + index
        result: e.Expr = values[-1]
        for position in range(len(values) - 2, -1, -1):
            result = e.Select(e.Equal(*e.match(flat, position)), values[position], result)
        return result

    return compute(data.shape, element, name="constant", tag="injective")
