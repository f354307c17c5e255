"""Passes that move the last operators of groups into the groups that read them, for targets with little
memory.

A convolution copies the window that it multiplies, so it can pad at the same time; a group that reads each
element once can dequantize it, so that only a quarter of the bytes is stored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from tvmlite.core.node import postorder, substitute
from tvmlite.relay.entry.lower import anchor_call
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Var
from tvmlite.relay.ir.op import Fuse, fuse_class
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.convolutions.conv import WEIGHT_LAYOUTS
from tvmlite.relay.passes.graph_pass import graph_pass, readers_of, rebuild
from tvmlite.te.templates import anchors

CONVOLUTIONS = {f"nn.conv{rank}d": rank for rank in WEIGHT_LAYOUTS}
"""The channels-first convolutions, with the number of their spatial axes."""

ReaderTest = Callable[[Call, Function, Var], bool]
"""Whether a group can compute the given operator, which is the last of another group, on its parameter."""


@graph_pass
def pad_in_readers(body: Expr) -> Expr:
    """Move an ``nn.pad`` at the end of a group (``fuse``) into the convolutions that read the group::

    p = fn(x) { pad(x) }(x)                 -->    fn(x, w) { conv2d(pad(x), w) }(x, w)
    fn(p, w) { conv2d(p, w) }(p, w)
    """
    return _move_into_readers(body, _padding, _convolves)


@graph_pass
def dequantize_in_readers(body: Expr) -> Expr:
    """Move a ``qnn.dequantize`` at the end of a group into its readers, if these read each element once or
    are element-wise; like ``dequantize_late``, but also for reductions."""
    return _move_into_readers(body, _dequantization, _reads_elements)


def _padding(last: Call) -> bool:
    """Whether ``last`` pads with a constant."""
    return (
        last.op == "nn.pad" and last["pad_mode"] == "constant" and isinstance(last["pad_value"], (int, float))
    )


def _dequantization(last: Call) -> bool:
    """Whether ``last`` dequantizes with constant scale and zero point."""
    return last.op == "qnn.dequantize" and all(isinstance(arg, Constant) for arg in last.args[1:])


def _convolves(last: Call, group: Function, param: Var) -> bool:
    """Whether ``param`` is only used as the data of the convolution in ``group``, and ``last`` pads its
    spatial axes only. The convolution may have no padding of its own, which would be zeros."""
    call = anchor_call(group)
    rank = CONVOLUTIONS.get(str(call.op))
    users = [node for node in postorder(group.body) if isinstance(node, Expr) and param in node.children()]
    if rank is None or users != [call] or call.args[0] is not param or param in call.args[1:]:
        return False
    widths = [tuple(width) for width in last["pad_width"]]
    begins, ends = windows.padding_of(call, rank)
    return widths[:2] == [(0, 0), (0, 0)] and not any((*begins, *ends))


def _reads_elements(last: Call, group: Function, param: Var) -> bool:
    """Whether all readers of ``param`` in ``group`` are element-wise, injective, reductions or poolings."""
    users = [node for node in postorder(group.body) if isinstance(node, Expr) and param in node.children()]
    kinds = [(fuse_class(node), _is_pooling(node)) for node in users]
    return group.body is not param and all(
        kind is not None and (kind <= Fuse.COMM_REDUCE or pools) for kind, pools in kinds
    )


def _is_pooling(node: Expr) -> bool:
    """Whether ``node`` reduces windows or planes, whose elements are read once per window."""
    kinds = (anchors.POOL, anchors.PLANE_REDUCTION)
    return isinstance(node, Call) and isinstance(node.op, str) and operators.get(node.op).schedule in kinds


def _move_into_readers(body: Expr, can_move: Callable[[Call], bool], can_compute: ReaderTest) -> Expr:
    """``body`` with the last operators of groups that ``can_move`` accepts moved to their readers."""
    moving: dict[Expr, Call] = {}
    for node, readers in readers_of(body).items():
        last = node.op.body if isinstance(node, Call) and isinstance(node.op, Function) else None
        if not isinstance(last, Call) or not can_move(last):
            continue
        given = [
            (reader.op, param)
            for reader in readers
            if isinstance(reader, Call) and isinstance(reader.op, Function)
            for param, arg in zip(reader.op.params, reader.args, strict=True)
            if arg is node
        ]
        if len(given) == len(readers) and all(can_compute(last, group, param) for group, param in given):
            moving[node] = last

    def rule(node: Expr, made: Expr) -> Expr:
        if not (isinstance(node, Call) and isinstance(node.op, Function)):
            return made
        assert isinstance(made, Call)
        own = {p: moving[arg] for p, arg in zip(node.op.params, node.args, strict=True) if arg in moving}
        group = _with_operators_first(node.op, own) if own else node.op
        if node not in moving:
            return dataclasses.replace(made, op=group) if own else made
        return _without_last(made, group)

    return rebuild(body, rule) if moving else body


def _with_operators_first(group: Function, own: Mapping[Var, Call]) -> Function:
    """``group`` with the operators ``own`` applied to its parameters first."""
    params, computed = {param: param for param in group.params}, {}
    for param, last in own.items():
        params[param] = dataclasses.replace(param, type=type_of(last.args[0]))
        computed[param] = dataclasses.replace(last, args=(params[param], *last.args[1:]))
    return dataclasses.replace(group, params=tuple(params.values()), body=substitute(group.body, computed))


def _without_last(made: Call, group: Function) -> Expr:
    """The call ``made`` of ``group`` without its last operator; its argument if that was the only one."""
    assert isinstance(group.body, Call)
    inner = group.body.args[0]
    if isinstance(inner, Var):
        return made.args[group.params.index(inner)]
    used = set(postorder(inner))
    kept = [(p, arg) for p, arg in zip(group.params, made.args, strict=True) if p in used]
    op = dataclasses.replace(group, params=tuple(p for p, _ in kept), body=inner)
    return dataclasses.replace(made, op=op, args=tuple(arg for _, arg in kept))
