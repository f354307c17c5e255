"""Operators of the same data as one operator: ``CombineParallelConv2D``, ``-Dense`` and ``-BatchMatmul``.

A branch is such an operator with the elementwise ones that follow it. What all branches do is done once, on
weights and operands put side by side; each then reads its part of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.core.node import postorder
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.op import Fuse, fuse_class
from tvmlite.relay.ir.types import TensorType
from tvmlite.tvm.ir.transform import Pass, Sequential
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.transform.algebra.beside import BatchMatmuls, Beside, Conv2Ds, Denses, StackedDenses
from tvmlite.tvm.relay.transform.functions import over_functions

Branch = list[Any]


def CombineParallelConv2D(min_num_branches: int = 3) -> Pass:
    """The pass that makes one convolution of at least ``min_num_branches`` of the same data, whose kernels
    have one size."""
    return _combining("CombineParallelConv2D", Conv2Ds, min_num_branches)


def CombineParallelDense(min_num_branches: int = 3, to_batch: bool = True) -> Pass:
    """The pass that makes one product of at least ``min_num_branches`` dense layers of the same data: a
    batch of products of weights of one shape with ``to_batch``, else a wider layer."""
    kind = StackedDenses if to_batch else Denses
    return _combining("CombineParallelDense", kind, min_num_branches)


def CombineParallelBatchMatmul(min_num_branches: int = 3) -> Pass:
    """The pass that makes one batch of products of at least ``min_num_branches`` of the same left operand."""
    return _combining("CombineParallelBatchMatmul", BatchMatmuls, min_num_branches)


def BatchingOps() -> Sequential:
    """The passes that make one operator of several of the same data, one after the other."""
    return Sequential([CombineParallelConv2D(), CombineParallelDense(), CombineParallelBatchMatmul()])


def _combining(name: str, kind: Callable[[Sequence[Any]], Beside], least: int) -> Pass:
    def combined(function: Any) -> Any:
        readers = _readers(function)
        table: dict[Any, Any] = {}
        for group in _groups(function, kind([])):
            if len(group) >= max(least, 2):
                _combine([_branch(call, readers) for call in group], kind(group), table)
        return adopt(_replaced(function, table)) if table else function

    return over_functions(name, 4, combined, infer=True)


def _readers(root: Any) -> dict[Any, list[Any]]:
    """The nodes that read each node, once for each reading; what ``root`` is read by is unknown."""
    found: dict[Any, list[Any]] = {}
    for node in postorder(root):
        for child in node.children():
            found.setdefault(child, []).append(node)
    return found


def _groups(root: Any, kind: Beside) -> list[list[Any]]:
    """The calls that can be one, in the order in which they stand."""
    groups: list[list[Any]] = []
    for node in postorder(root):
        if not isinstance(node, nodes.Call) or node.op != kind.op or not kind.takes(node):
            continue
        for group in groups:
            same = group[0].args[0] is node.args[0] and kind.fits(group[0], node)
            if same and not _depends(node.args[1], group):
                group.append(node)
                break
        else:
            groups.append([node])
    return groups


def _branch(call: Any, readers: dict[Any, list[Any]]) -> Branch:
    """``call`` and the elementwise calls after it, as long as each is all that reads the one before."""
    branch = [call]
    while True:
        after = readers.get(branch[-1], [])
        if len(after) != 1 or not isinstance(after[0], nodes.Call):
            return branch
        level = fuse_class(after[0])
        if level is None or (level > Fuse.BROADCAST and after[0].op != "expand_dims"):
            return branch
        if tensor_type_of(after[0]).ndim < tensor_type_of(branch[-1]).ndim:
            return branch
        branch.append(after[0])


def _combine(branches: list[Branch], beside: Beside, table: dict[Any, Any]) -> None:
    """Put the parts of one combined branch into ``table``, by what they stand for."""
    made = beside.product()
    depth = 1
    while depth < min(map(len, branches)) and _alike(branches, depth, beside):
        level = [branch[depth] for branch in branches]
        place = level[0].args.index(branches[0][depth - 1])
        args = [
            made if index == place else beside.operand(level, index) for index in range(len(level[0].args))
        ]
        beside.follow(level[0])
        made = adopt(level[0]._with({"args": tuple(args)}))
        depth += 1
    ends = [branch[depth - 1] for branch in branches]
    table.update(zip(ends, beside.parts(made), strict=True))


def _alike(branches: list[Branch], depth: int, beside: Beside) -> bool:
    """Whether the calls at ``depth`` do the same on operands that can be put side by side."""
    first, before = branches[0][depth], branches[0][depth - 1]
    place = first.args.index(before)
    for branch in branches:
        call = branch[depth]
        if call.op != first.op or call.attrs != first.attrs or len(call.args) != len(first.args):
            return False
        if call.args.index(branch[depth - 1]) != place or not beside.may_follow(call):
            return False
    others = [index for index in range(len(first.args)) if index != place]
    return all(_fits(branches, depth, index, beside) for index in others)


def _fits(branches: list[Branch], depth: int, index: int, beside: Beside) -> bool:
    """Whether the operands ``index`` at ``depth`` can be put side by side before the product is done."""
    calls = [branch[depth] for branch in branches]
    types = [type_of(call.args[index]) for call in calls]
    if any(_depends(call.args[index], beside.calls) for call in calls):
        return False
    if not all(isinstance(one, TensorType) and one.is_static for one in types):
        return False
    return all(beside.operand_fits(calls[0], call, index) for call in calls)


def _depends(node: Any, calls: Sequence[Any]) -> bool:
    """Whether one of ``calls`` is part of ``node``."""
    known = set(calls)
    return any(one in known for one in postorder(node))


def _replaced(root: Any, table: dict[Any, Any]) -> Any:
    """``root`` with the nodes of ``table`` replaced, also in what stands in their place."""
    done: dict[Any, Any] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if node in done:  # another reader had it made meanwhile
            stack.pop()
            continue
        target = table.get(node, node)
        left = [child for child in target.children() if child not in done]
        if left:
            stack.extend(left)
            continue
        done[node] = target.map_children(done.__getitem__)
        stack.pop()
    return done[root]
