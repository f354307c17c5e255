"""What would fill memory between kernels is computed by the kernels that read it, where memory is small.

A convolution copies the window that it multiplies, so it can pad on the way; and what reads a plane once can
dequantize it, of a quarter of the bytes.
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
"""The convolutions of so many spatial axes, channels first."""

Reads = Callable[[Call, Function, Var], bool]
"""Whether a group, by one of its parameters, can compute the last operator of what it is given."""


@graph_pass
def pad_in_readers(body: Expr) -> Expr:
    """Groups (``fuse``) that end in ``nn.pad`` leave it to the convolutions that read them::

    p = fn(x) { pad(x) }(x)                 -->    fn(x, w) { conv2d(pad(x), w) }(x, w)
    fn(p, w) { conv2d(p, w) }(p, w)
    """
    return _moved(body, _padding, _convolves)


@graph_pass
def dequantize_in_readers(body: Expr) -> Expr:
    """Groups that end in ``qnn.dequantize`` give codes, where readers take each element once or compute with
    elements: as ``dequantize_late``, for reductions too."""
    return _moved(body, _dequantization, _reads_elements)


def _padding(last: Call) -> bool:
    """Whether ``last`` pads with one number."""
    return (
        last.op == "nn.pad" and last["pad_mode"] == "constant" and isinstance(last["pad_value"], (int, float))
    )


def _dequantization(last: Call) -> bool:
    """Whether ``last`` dequantizes codes by constants."""
    return last.op == "qnn.dequantize" and all(isinstance(arg, Constant) for arg in last.args[1:])


def _convolves(last: Call, group: Function, param: Var) -> bool:
    """Whether ``param`` is the data of the convolution in ``group``, and nothing else, and is padded along
    spatial axes. It adds no padding of its own, which would be zeros."""
    call = anchor_call(group)
    rank = CONVOLUTIONS.get(str(call.op))
    users = [node for node in postorder(group.body) if isinstance(node, Expr) and param in node.children()]
    if rank is None or users != [call] or call.args[0] is not param or param in call.args[1:]:
        return False
    widths = [tuple(width) for width in last["pad_width"]]
    begins, ends = windows.padding_of(call, rank)
    return widths[:2] == [(0, 0), (0, 0)] and not any((*begins, *ends))


def _reads_elements(last: Call, group: Function, param: Var) -> bool:
    """Whether all in ``group`` that reads ``param`` is element-wise, injective, or a reduction."""
    users = [node for node in postorder(group.body) if isinstance(node, Expr) and param in node.children()]
    kinds = [(fuse_class(node), _is_pooling(node)) for node in users]
    return group.body is not param and all(
        kind is not None and (kind <= Fuse.COMM_REDUCE or pools) for kind, pools in kinds
    )


def _is_pooling(node: Expr) -> bool:
    """Whether ``node`` reduces windows or planes, whose elements are read once for each."""
    kinds = (anchors.POOL, anchors.PLANE_REDUCTION)
    return isinstance(node, Call) and isinstance(node.op, str) and operators.get(node.op).schedule in kinds


def _moved(body: Expr, suits: Callable[[Call], bool], reads: Reads) -> Expr:
    """``body`` with the last operators of groups that ``suits`` accepts in the groups that read them."""
    moving: dict[Expr, Call] = {}
    for node, readers in readers_of(body).items():
        last = node.op.body if isinstance(node, Call) and isinstance(node.op, Function) else None
        if not isinstance(last, Call) or not suits(last):
            continue
        given = [
            (reader.op, param)
            for reader in readers
            if isinstance(reader, Call) and isinstance(reader.op, Function)
            for param, arg in zip(reader.op.params, reader.args, strict=True)
            if arg is node
        ]
        if len(given) == len(readers) and all(reads(last, group, param) for group, param in given):
            moving[node] = last

    def rule(node: Expr, made: Expr) -> Expr:
        if not (isinstance(node, Call) and isinstance(node.op, Function)):
            return made
        assert isinstance(made, Call)
        own = {p: moving[arg] for p, arg in zip(node.op.params, node.args, strict=True) if arg in moving}
        group = _with_first(node.op, own) if own else node.op
        if node not in moving:
            return dataclasses.replace(made, op=group) if own else made
        return _without_last(made, group)

    return rebuild(body, rule) if moving else body


def _with_first(group: Function, own: Mapping[Var, Call]) -> Function:
    """``group`` that computes the operators ``own`` of what is given for parameters."""
    params, computed = {param: param for param in group.params}, {}
    for param, last in own.items():
        params[param] = dataclasses.replace(param, type=type_of(last.args[0]))
        computed[param] = dataclasses.replace(last, args=(params[param], *last.args[1:]))
    return dataclasses.replace(group, params=tuple(params.values()), body=substitute(group.body, computed))


def _without_last(made: Call, group: Function) -> Expr:
    """The call ``made`` of ``group`` without its last operator; what it is given if that was all."""
    assert isinstance(group.body, Call)
    inner = group.body.args[0]
    if isinstance(inner, Var):
        return made.args[group.params.index(inner)]
    used = set(postorder(inner))
    kept = [(p, arg) for p, arg in zip(group.params, made.args, strict=True) if p in used]
    op = dataclasses.replace(group, params=tuple(p for p, _ in kept), body=inner)
    return dataclasses.replace(made, op=op, args=tuple(arg for _, arg in kept))
