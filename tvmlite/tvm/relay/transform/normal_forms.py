"""A-normal form (a let binds every value), basic-block normal form, and conversion back to a graph."""

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
    """A pass that binds every value by a let, in the innermost block that contains all its uses."""
    return over_functions("ToANormalForm", 1, lambda function: adopt(_normal(function, _AllBound)))


def ToANormalFormExpr(expr: Any) -> Any:
    """``expr`` in A-normal form."""
    return adopt(_normal(expr, _AllBound))


def ToBasicBlockNormalForm() -> Pass:
    """A pass that binds every value that is used outside its block by a let."""
    return over_functions(
        "ToBasicBlockNormalForm", 1, lambda function: adopt(_normal(function, _AcrossBlocks))
    )


def ToGraphNormalForm() -> Pass:
    """A pass that substitutes the values of all lets for their variables."""
    return over_functions(
        "ToGraphNormalForm", 1, lambda function: adopt(substitute_lets(function)), infer=True, required=()
    )


class _AllBound(Layout):
    """The layout in which everything except variables is bound by a let, and lets are in the block of their
    reader."""

    def _scope_of_use(self, node: nodes.Expr, index: int) -> Scope:
        return self.scope_of(node) if isinstance(node, nodes.Let) else super()._scope_of_use(node, index)

    def is_inline(self, node: nodes.Expr) -> bool:
        return isinstance(node, nodes.Var)

    def is_bound(self, node: nodes.Expr, scope: Scope) -> bool:
        return not isinstance(node, nodes.Var)


class _AcrossBlocks(_AllBound):
    """The layout in which only values that are read outside their own block are bound by a let."""

    def is_bound(self, node: nodes.Expr, scope: Scope) -> bool:
        return not isinstance(node, (nodes.Var, nodes.Let, nodes.Constant)) and self.is_shared(node)

    def is_shared(self, node: nodes.Expr) -> bool:
        """Whether ``node`` is read outside its own block."""
        return any(where is not self.scope_of(node) for where in self.used_in.get(node, ()))


def is_basic_block_normal(expr: Any) -> bool:
    """Whether every value that several blocks read is bound by a let. Free variables count as values."""
    layout = _AcrossBlocks(expr)
    free = set(nodes.free_variables(layout.order))
    return not any(
        layout.is_bound(node, layout.scope_of(node)) or (node in free and layout.is_shared(node))
        for node in layout.order
    )


def _normal(root: Any, kind: type[_AllBound]) -> Any:
    """``root`` with a let for each node that the layout ``kind`` binds."""
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
        if var in made:  # already read, by a function that calls itself
            bind_names(var)

    def bind_names(node: nodes.Expr) -> None:
        """Bind the variables of lets whose value is ``node``, before anything in their bodies."""
        for let in given.pop(node, ()):
            bind(let.var, made[node], layout.scope_of(let))
            if made[node] is node and layout.scope_of(let) is layout.scope_of(node):
                made[node] = let.var  # from here on, as in TVM, the variable is read by its new name

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
    """``node`` with its rebuilt parts, each part that is a block wrapped in the block's lets. A call is
    copied, so that its type counts as not inferred; a function gets its result type as an annotation."""
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
