"""Traversal and substitution of nodes."""

from __future__ import annotations

from tvmlite.core.alike import alike
from tvmlite.core.node import (
    Node,
    postorder,
    postorder_from,
    reachable,
    reachable_from,
    substitute,
    substitute_each,
)
from tvmlite.te import expr as e
from tvmlite.te.loop import ir

X, Y = e.Var("x"), e.Var("y")


def test_substitute_each_agrees_with_substitute() -> None:
    root = (X + 1) * (X + 1) - Y * 2

    results = list(substitute_each(root, X, [e.const(n) for n in range(3)]))

    for n, result in enumerate(results):
        assert alike(result, substitute(root, {X: e.const(n)}))


def test_unchanged_nodes_are_shared_by_all_results() -> None:
    fixed = Y * 2
    first, second = substitute_each(X - fixed, X, [e.const(1), e.const(2)])

    assert first.b is fixed
    assert second.b is fixed
    assert list(substitute_each(fixed, X, [e.const(1)])) == [fixed]
    assert list(substitute_each(X, X, [Y])) == [Y]


def test_postorder_yields_each_node_once_children_first() -> None:
    x, y = e.Var("x", "int64"), e.Var("y", "int64")
    shared = e.Mul(x, y)
    root = e.Add(e.Sub(shared, x), shared)
    assert list(postorder(root)) == [x, y, shared, root.a, root]


def test_reachable_yields_the_nodes_of_postorder_once() -> None:
    x, y = e.Var("x", "int64"), e.Var("y", "int64")
    shared = e.Mul(x, y)
    root = e.Add(e.Sub(shared, x), e.Select(e.Less(x, y), shared, y))
    found = reachable(root)
    assert len(found) == len(set(found))
    assert set(found) == set(postorder(root))
    assert found[0] is root


def test_children_agree_with_the_fields() -> None:
    """Frequent node classes override the generic methods with faster ones."""
    x, y = e.Var("x", "int64"), e.Var("y", "int64")
    buffer = ir.Buffer("A", "float32", (e.const(8, "int64"), e.const(8, "int64")))
    load, masked = ir.Load(buffer, (x, y)), ir.Load(buffer, (x, y), e.Less(x, y))
    flat = ir.Load(buffer, (x,))
    store = ir.Store(buffer, (x, y), load, e.Less(y, x))
    nodes: list[Node] = [x, e.const(1), e.Add(x, y), e.Cast("int32", x), e.Ramp(x, y, 4), e.Broadcast(x, 4)]
    nodes += [load, masked, flat, store, ir.Store(buffer, (x, y), load), ir.Seq((store, store))]
    for node in nodes:
        assert list(node.children()) == list(Node.children(node))
        assert node.map_children(lambda child: child) is node
        other = node.map_children(lambda child: y if child is x else child)
        assert alike(other, Node.map_children(node, lambda child: y if child is x else child))


DIAMOND = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": [], "other": ["d"]}


def test_each_item_is_reached_once() -> None:
    assert list(reachable_from(["a", "other"], DIAMOND.__getitem__)) == ["other", "d", "a", "c", "b"]


def test_items_are_ordered_after_their_dependencies() -> None:
    assert list(postorder_from(["a", "other"], DIAMOND.__getitem__)) == ["d", "b", "c", "a", "other"]
