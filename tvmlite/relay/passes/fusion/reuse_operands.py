"""Let kernels store their results over operands that are not read any more."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tvmlite.core import techniques
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay.entry import memory
from tvmlite.relay.entry.lower import anchor
from tvmlite.relay.entry.step_order import reordered
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.blocks import order
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Var, canonical
from tvmlite.relay.ir.op import Fuse
from tvmlite.relay.ir.types import TensorType, same_shape
from tvmlite.relay.passes.graph_pass import rebuild

IN_PLACE_RULES: dict[str, Callable[[Function, int, Target], bool]] = {}
"""By technique: a test whether its kernel of a group, for a target, may store the result over a parameter
that is not ``is_read_elementwise``, because it reads all it needs of the parameter before it stores over
it."""


def reuse_operands(module: Module, target: Target | None = None) -> Module:
    """Mark groups with ``in_place=k`` whose result is to be stored in the memory of argument ``k``.

    The argument is an intermediate value that is read last by the call (``memory.last_uses``). The kernel
    reads each element of it only to compute the result's element with the same index
    (``is_read_elementwise``), or a technique's kernel for ``target`` allows one array for both
    (``IN_PLACE_RULES``). ``lower_group`` and ``memory.plan`` carry the mark out. Existing marks are removed.
    If the result is an output that is declared to be in the memory of an input (``update_in_place``), ``k``
    is the position of that input. For standalone targets, where memory is small, last reads are those in the
    order of steps that needs the least memory with this reuse (``step_order``).
    """
    main = module.main
    updated = _updated_inputs(module)
    if target is not None:
        techniques.load()

    def can_overwrite(group: Function, position: int) -> bool:
        by_technique = target is not None and any(
            rule(group, position, target) for rule in IN_PLACE_RULES.values()
        )
        return by_technique or is_read_elementwise(group, position)

    def call_can_overwrite(call: Call, position: int) -> bool:
        return isinstance(call.op, Function) and can_overwrite(call.op, position)

    root = order(main)
    if target is not None and target.standalone:
        root = reordered(root, {}, target.alignment, call_can_overwrite)
    last_uses = memory.last_uses(root)

    def marked(node: Expr, made: Expr) -> Expr:
        if not (isinstance(node, Call) and isinstance(node.op, Function)):
            return made
        candidates = [k for k in last_uses.get(node, ()) if can_overwrite(node.op, k)]
        if node in updated:
            candidates = [k for k, arg in enumerate(node.args) if arg is updated[node]]
        group = _marked(node.op, candidates[0] if candidates else None)
        assert isinstance(made, Call)
        return made if group is node.op else dataclasses.replace(made, op=group)

    body = rebuild(main.body, marked)
    return module if body is main.body else module.with_main(dataclasses.replace(main, body=body))


def _updated_inputs(module: Module) -> dict[Expr, Expr]:
    """The calls whose results are outputs in the memory of an input, each with that input."""
    declared = dict(dict(module.attrs).get(memory.IN_PLACE, ()))
    params = {param.name: param for param in module.main.params}
    slots = memory.slots_of(module.main.body) if declared else []
    names = zip(slots, module.output_names, strict=False)
    return {slot[0]: params[declared[name]] for slot, name in names if name in declared}


def is_read_elementwise(group: Function, position: int) -> bool:
    """Whether element i of a parameter of ``group`` is read for element i of its one result only.

    The parameter and the result have the same type, and everything that depends on the parameter is
    element-wise in that shape.
    """
    param, result = group.params[position], type_of(group.body)
    if not isinstance(result, TensorType) or not anchor(group).schedule.stores_once:
        return False
    assert isinstance(param.type, TensorType)
    if param.type.dtype != result.dtype:
        return False
    dependent: set[Expr] = {param}
    for node in postorder(group.body):
        if isinstance(node, Expr) and (node is param or not dependent.isdisjoint(node.children())):
            if not _keeps_positions(node, result):
                return False
            dependent.add(node)
    return group.body in dependent and group.body is not param


def _keeps_positions(node: Expr, result: TensorType) -> bool:
    """Whether ``node`` has the shape of ``result`` and is a variable or an element-wise call."""
    if isinstance(node, Call):
        if not isinstance(node.op, str) or operators.get(node.op).fuse > Fuse.BROADCAST:
            return False
    elif not isinstance(node, Var):
        return False
    type_ = type_of(node)
    return isinstance(type_, TensorType) and same_shape(type_.shape, result.shape)


def _marked(group: Function, position: int | None) -> Function:
    """``group`` with the mark for ``position``, or with none if it is None; the same object if unchanged."""
    attrs = {name: value for name, value in group.attrs if name != memory.IN_PLACE}
    if position is not None:
        attrs[memory.IN_PLACE] = position
    made = canonical(attrs)
    return group if made == group.attrs else dataclasses.replace(group, attrs=made)
