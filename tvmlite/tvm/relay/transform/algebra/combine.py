"""Combines operators on the same data: ``CombineParallelConv2D``, ``-Dense`` and ``-BatchMatmul``.

A branch is such an operator with the elementwise operators that follow it. The steps that all branches share
are computed once, on concatenated weights and operands; each branch then slices its part of the result.
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
    """A pass that combines at least ``min_num_branches`` convolutions of the same data, whose kernels have
    one size, into one."""
    return _combining("CombineParallelConv2D", Conv2Ds, min_num_branches)


def CombineParallelDense(min_num_branches: int = 3, to_batch: bool = True) -> Pass:
    """A pass that combines at least ``min_num_branches`` dense layers of the same data: with ``to_batch``,
    layers with weights of one shape into a batched matrix product, else into a wider layer."""
    kind = StackedDenses if to_batch else Denses
    return _combining("CombineParallelDense", kind, min_num_branches)


def CombineParallelBatchMatmul(min_num_branches: int = 3) -> Pass:
    """A pass that combines at least ``min_num_branches`` batched products with the same left operand."""
    return _combining("CombineParallelBatchMatmul", BatchMatmuls, min_num_branches)


def BatchingOps() -> Sequential:
    """The three passes above, one after the other."""
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
    """The readers of each node in ``root``, once for each read; ``root`` itself has none."""
    found: dict[Any, list[Any]] = {}
    for node in postorder(root):
        for child in node.children():
            found.setdefault(child, []).append(node)
    return found


def _groups(root: Any, kind: Beside) -> list[list[Any]]:
    """Groups of calls that can be combined, in post-order."""
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
    """``call`` and the elementwise calls after it, as long as each is the only reader of the one before."""
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
    """Combine ``branches``; enter in ``table`` the part of the result for each branch's last node."""
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
    """Whether the calls at ``depth`` are equal except for operands that can be concatenated."""
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
    """Whether the operands ``index`` at ``depth`` can be concatenated and do not depend on the products."""
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
    """``root`` with the nodes in ``table`` replaced, also inside the replacements."""
    done: dict[Any, Any] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if node in done:  # already built for another reader
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
