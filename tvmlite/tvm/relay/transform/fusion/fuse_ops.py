"""``FuseOps``: replaces each fused group by a call of a function with the attribute ``Primitive``."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of, walk
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.transform import FunctionPass, Pass, PassContext, PassInfo
from tvmlite.tvm.relay.expr import Call, Function, GlobalVar, Tuple, TupleGetItem, Var, adopt
from tvmlite.tvm.relay.transform.fusion.graph import ForwardGraph
from tvmlite.tvm.relay.transform.fusion.partition import MOST_NODES, Group, Partition
from tvmlite.tvm.relay.transform.infer_type import InferType, typed

_RESHAPES = (
    "reshape",
    "expand_dims",
    "squeeze",
    "contrib_reverse_reshape",
    "nn.batch_flatten",
)

_DEPTH = "relay.FuseOps.max_depth"
_LINKED = "relay.FuseOps.link_params"

_BARRIER = "annotation.stop_fusion"


def FuseOps(fuse_opt_level: int = -1) -> Pass:
    """A pass that fuses operators into groups. At level 0, each operator is a group; -1 means the level of
    the ``PassContext``. Its option ``relay.FuseOps.max_depth`` limits the number of values in a group; with
    ``relay.FuseOps.link_params``, constants are inside the groups that read them."""

    def run(mod: IRModule, context: PassContext) -> IRModule:
        level = context.opt_level if fuse_opt_level == -1 else fuse_opt_level
        most, linked = context.config.get(_DEPTH, MOST_NODES), bool(context.config.get(_LINKED, False))
        made = typed(mod)
        for var, function in list(made.functions.items()):
            if isinstance(function, nodes.Function) and not dict(function.attrs).get("Primitive"):
                made[var] = fused(function, level, most, linked)
        return InferType()(made)

    return FunctionPass(PassInfo(0, "FuseOps", ["InferType"]), run)


def fused(function: Any, level: int, most: int, linked: bool) -> Any:
    """``function`` with fused groups of at most ``most`` values, including their constants if ``linked``."""
    graph = ForwardGraph(function.body)
    partition = Partition(graph, level, most)
    groups = {value.node: group for value, group in zip(graph.order, partition.groups, strict=True)}
    return adopt(function._with({"body": adopt(_Mutator(groups, linked).run(function.body))}))


class _Mutator:
    """Rebuilds a graph with groups as functions; values from outside a group become its parameters."""

    def __init__(self, groups: dict[Any, Group], linked: bool) -> None:
        self._groups = groups
        self._linked = linked
        self._done: dict[Any, Any] = {}
        self._params: dict[Group, list[tuple[Any, Var]]] = {}

    def run(self, root: Any) -> Any:
        """The result for ``root``. An explicit stack of generators replaces recursion, as graphs are deep."""
        stack: list[tuple[Any, Generator[Any, Any, Any]]] = [(root, self._visit(root))]
        answer: Any = None
        while stack:
            node, steps = stack[-1]
            try:
                needed = steps.send(answer)
            except StopIteration as end:
                answer = self._done[node] = end.value
                stack.pop()
                continue
            answer = self._done.get(needed)
            if answer is None:
                stack.append((needed, self._visit(needed)))
        return self._done[root]

    def _visit(self, node: Any) -> Generator[Any, Any, Any]:
        group = self._groups[node].top() if node in self._groups else None
        match node:
            case nodes.Call(op=str() as op, args=args) if op == _BARRIER:
                return (yield args[0])
            case nodes.Call(op=str(), args=args):
                assert group is not None
                found = yield from self._arguments(args, group)
                made = Call(node.op, found, node.attrs, span=node.span)
                return self._called(group, node, made) if group.root is node else made
            case nodes.Tuple(fields=fields) if group is not None and group.root is not node:
                found = yield from self._arguments(fields, group)
                return Tuple(found, node.span)
            case nodes.TupleGetItem(value=value) if group is not None:
                if group.root is node and self._groups[value].top() is not group:
                    return TupleGetItem((yield value), node.index, node.span)
                (found,) = yield from self._arguments((value,), group)
                made = TupleGetItem(found, node.index, node.span)
                return self._called(group, node, made) if group.root is node else made
            case nodes.Function() if dict(node.attrs).get("Primitive"):
                return node
        return (yield from self._rebuilt(node))

    def _rebuilt(self, node: Any) -> Generator[Any, Any, Any]:
        new: dict[Any, Any] = {}
        op = node.op if isinstance(node, nodes.Call) and isinstance(node.op, nodes.Expr) else None
        for child in (*node.children(), *([] if op is None or isinstance(op, GlobalVar) else [op])):
            new[child] = yield child
        made = node.map_children(lambda child: new[child])
        return made._with({"op": new[op]}) if op in new else made

    def _arguments(self, args: Any, group: Group) -> Generator[Any, Any, list[Any]]:
        """The arguments of a call in ``group``: values of the group, and parameters for others, numbered
        after the parameters of the calls that it reads."""
        made = []
        for arg in args:
            made.append((yield arg))
        found = []
        for arg, new in zip(args, made, strict=True):
            inside = self._groups[arg].top() is group or (self._linked and isinstance(arg, nodes.Constant))
            found.append(new if inside else self._parameter(group, new, type_of(arg)))
        return found

    def _parameter(self, group: Group, value: Any, type_: Any) -> Var:
        known = self._params.setdefault(group, [])
        for given, param in known:
            if given is value:
                return param
        param = Var(f"p{len(known)}", type_)
        known.append((value, param))
        return param

    def _called(self, group: Group, node: Any, body: Any) -> Any:
        """The call of the function for ``group``, whose body is ``body``."""
        known = self._params.get(group, [])
        calls = [str(one.op) for one in walk(body) if isinstance(one, nodes.Call)]
        attrs: dict[str, Any] = {"Primitive": int(bool(calls))}
        if calls and all(name in _RESHAPES for name in calls):
            attrs["relay.reshape_only"] = 1
        function = Function([param for _, param in known], body, type_of(node), attrs=attrs, span=node.span)
        return Call(function, [value for value, _ in known], span=node.span)
