"""A-normal form: every value has a let of its own; and back to a graph."""

from __future__ import annotations

from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import dependencies, type_of
from tvmlite.relay.text.printer import Layout, Scope
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import Var, adopt
from tvmlite.tvm.relay.graph.calls import substitute_lets
from tvmlite.tvm.relay.graph.inferred import is_inferred
from tvmlite.tvm.relay.transform.functions import over_functions


def ToANormalForm() -> Pass:
    """The pass that gives every value a let, in the innermost block around its uses."""
    return over_functions("ToANormalForm", 1, lambda function: adopt(_normal(function, _AllBound)))


def ToANormalFormExpr(expr: Any) -> Any:
    """``expr`` in A-normal form."""
    return adopt(_normal(expr, _AllBound))


def ToBasicBlockNormalForm() -> Pass:
    """The pass that gives a let to every value that is used in several blocks."""
    return over_functions(
        "ToBasicBlockNormalForm", 1, lambda function: adopt(_normal(function, _AcrossBlocks))
    )


def ToGraphNormalForm() -> Pass:
    """The pass that puts the value of every let in its variable's place."""
    return over_functions(
        "ToGraphNormalForm", 1, lambda function: adopt(substitute_lets(function)), infer=True, required=()
    )


class _AllBound(Layout):
    """Everything but variables has a let, and lets stand in the block of what reads them."""

    def _scope_of_use(self, node: nodes.Expr, index: int) -> Scope:
        return self.scope_of(node) if isinstance(node, nodes.Let) else super()._scope_of_use(node, index)

    def is_inline(self, node: nodes.Expr) -> bool:
        return isinstance(node, nodes.Var)

    def is_bound(self, node: nodes.Expr, scope: Scope) -> bool:
        return not isinstance(node, nodes.Var)


class _AcrossBlocks(_AllBound):
    """What another block than its own reads has a let."""

    def is_bound(self, node: nodes.Expr, scope: Scope) -> bool:
        return not isinstance(node, (nodes.Var, nodes.Let, nodes.Constant)) and self.is_shared(node)

    def is_shared(self, node: nodes.Expr) -> bool:
        """Whether another block than its own reads ``node``."""
        return any(where is not self.scope_of(node) for where in self.used_in.get(node, ()))


def is_basic_block_normal(expr: Any) -> bool:
    """Whether every value that several blocks read has a let; a variable that nothing binds is one, too."""
    layout = _AcrossBlocks(expr)
    free = set(nodes.free_variables(layout.order))
    return not any(
        layout.is_bound(node, layout.scope_of(node)) or (node in free and layout.is_shared(node))
        for node in layout.order
    )


def _normal(root: Any, kind: type[_AllBound]) -> Any:
    """``root`` with a let for each node that ``kind`` says."""
    layout = kind(root)
    made: dict[nodes.Expr, Any] = {}
    lets: dict[Scope, list[tuple[nodes.Var, Any]]] = {}
    given: dict[nodes.Expr, list[nodes.Let]] = {}
    unbound: set[nodes.Var] = set()
    for node in layout.order:
        if isinstance(node, nodes.Let):
            given.setdefault(node.value, []).append(node)
            unbound.add(node.var)

    def bind(var: nodes.Var, value: Any, scope: Scope) -> None:
        lets.setdefault(scope, []).append((var, value))
        unbound.discard(var)
        if var in made:  # a function that calls itself read it before
            bind_names(var)

    def bind_names(node: nodes.Expr) -> None:
        """Bind what lets call ``node``, before anything of their bodies."""
        for let in given.pop(node, ()):
            bind(let.var, made[node], layout.scope_of(let))
            if made[node] is node and layout.scope_of(let) is layout.scope_of(node):
                made[node] = let.var  # a variable is read by its new name from here on, as in TVM

    for node in layout.order:
        scope = layout.scope_of(node)
        value = made[node] = _rebuilt(node, layout, made, lets)
        if layout.is_bound(node, scope) and node is not root:
            made[node] = given[node].pop(0).var if node in given else Var("x")
            bind(made[node], value, scope)
        if node not in unbound:
            bind_names(node)
    return _wrapped(made[root], lets.get(layout.root_scope, []))


def _rebuilt(node: Any, layout: Layout, made: dict[Any, Any], lets: dict[Scope, list[Any]]) -> Any:
    """``node`` of the parts made of its own; what opens a block gets the lets of the block. A call is another
    one, whose type is not inferred yet, and a function has the type of its result written."""
    if isinstance(node, nodes.Let):
        return made[node.body]
    changes: dict[Any, Any] = {}
    for index, child in enumerate(dependencies(node)):
        block = layout.blocks.get((node, index))
        changes[child] = made[child] if block is None else _wrapped(made[child], lets.get(block, []))
    copy = node.map_children(lambda child: changes.get(child, child))
    if isinstance(node, nodes.Call):
        return copy._with({"op": changes.get(node.op, node.op)})
    if isinstance(node, nodes.Function) and is_inferred(node):
        return copy._with({"declared": ty.adopted(type_of(node.body))})
    return copy


def _wrapped(value: Any, lets: list[tuple[Any, Any]]) -> Any:
    for var, bound in reversed(lets):
        value = nodes.Let(var, bound, value)
    return value
