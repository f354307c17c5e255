"""Merge operators that read the same data into one whose result is sliced; used by two passes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tvmlite.core.node import postorder
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.ir.op import Fuse, is_view, make
from tvmlite.relay.passes.graph_pass import readers_of


@dataclass(eq=False)
class Branch:
    """``anchor``, a call with constant weights, and ``end``, the addition of its constant bias, if any."""

    anchor: Call
    end: Call
    bias: np.ndarray | None


Key = Callable[[Call], "Hashable | None"]
"""Returns equal keys for anchors of branches that can be merged; None for a call that is not an anchor."""

Combine = Callable[[Expr, Sequence[Call]], Expr]
"""Builds one anchor in place of several, given the data that they read."""


def combine_parallel(body: Expr, key: Key, combine: Combine, axis: int, min_branches: int) -> Expr:
    """Merge ``min_branches`` or more anchors of ``body`` with equal keys; ``axis`` is the axis of
    channels."""
    groups = _groups(body, key, axis, min_branches)
    group_of: dict[Expr, list[Branch]] = {branch.end: group for group in groups for branch in group}
    if not groups:
        return body
    merged: dict[int, Expr] = {}
    done: dict[Expr, Expr] = {}
    for node in postorder(body):
        assert isinstance(node, Expr)
        group = group_of.get(node)
        if group is None:
            done[node] = node.map_children(done.__getitem__)
            continue
        if id(group) not in merged:
            merged[id(group)] = _merged(group, done[group[0].anchor.args[0]], combine, axis)
        done[node] = _slice(group, node, merged[id(group)], axis)
    return done[body]


def _groups(body: Expr, key: Key, axis: int, min_branches: int) -> list[list[Branch]]:
    readers = readers_of(body)
    found: dict[Hashable, list[Branch]] = {}
    for node in postorder(body):
        if isinstance(node, Call) and (common := key(node)) is not None:
            branch = _branch(node, readers, axis)
            if _read_in_slices(branch.end, readers):
                found.setdefault((node.args[0], common, branch.bias is None), []).append(branch)
    return [group for group in found.values() if len(group) >= min_branches]


def _branch(anchor: Call, readers: Mapping[Expr, Sequence[Expr | None]], axis: int) -> Branch:
    """``anchor`` with the bias added to it, if nothing else reads its result."""
    if len(readers[anchor]) == 1:
        (reader,) = readers[anchor]
        if isinstance(reader, Call) and reader.op == "add":
            other = reader.args[1] if reader.args[0] is anchor else reader.args[0]
            bias = _bias(other, anchor, axis)
            if bias is not None:
                return Branch(anchor, reader, bias)
    return Branch(anchor, anchor, None)


def _bias(given: Expr, anchor: Call, axis: int) -> np.ndarray | None:
    """``given`` as a constant with one element per channel of ``anchor`` and extent 1 elsewhere, or None."""
    type_ = tensor_type_of(anchor)
    if not isinstance(given, Constant) or len(given.shape) > type_.ndim:
        return None
    shape = (1,) * (type_.ndim - len(given.shape)) + given.shape
    channels = axis % type_.ndim
    wanted = tuple(type_.shape[channels] if k == channels else 1 for k in range(type_.ndim))
    return given.data.reshape(shape) if shape == wanted else None


def _read_in_slices(expr: Expr, readers: Mapping[Expr, Sequence[Expr | None]]) -> bool:
    """Whether every reader of ``expr`` can compute its slice in its own loops, so that no slice is a copy."""
    for reader in readers[expr]:
        if not (isinstance(reader, Call) and isinstance(reader.op, str)):
            return False
        row = operators.get(reader.op)
        if row.fuse > Fuse.COMM_REDUCE or row.num_inputs is None:
            return False
        if is_view(reader) and not _read_in_slices(reader, readers):
            return False
    return True


def _merged(group: Sequence[Branch], data: Expr, combine: Combine, axis: int) -> Expr:
    """The merged anchor of ``group``, with the concatenated biases added."""
    made = combine(data, [branch.anchor for branch in group])
    biases = [branch.bias for branch in group if branch.bias is not None]
    if not biases:
        return made
    return make("add", made, Constant(np.concatenate(biases, axis=axis)), span=group[0].end.span)


def _slice(group: Sequence[Branch], end: Expr, whole: Expr, axis: int) -> Expr:
    """The slice of ``whole`` that equals ``end``."""
    rank = tensor_type_of(end).ndim
    begin = 0
    for branch in group:
        width = tensor_type_of(branch.end).shape[axis % rank]
        assert isinstance(width, int), "constant weights have numbers of channels"
        if branch.end is end:
            return make(
                "strided_slice",
                whole,
                begin=(begin,),
                end=(begin + width,),
                strides=(1,),
                axes=(axis % rank,),
                span=branch.end.span,
            )
        begin += width
    raise AssertionError("a branch of another group")
