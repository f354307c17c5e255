"""``relay.dataflow_pattern``: matching, and rewriting by callbacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError
from tvmlite.tvm import relay
from tvmlite.tvm.relay.dataflow_pattern import (
    DFPattern,
    DFPatternCallback,
    FunctionPattern,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    rewrite,
    wildcard,
)

X, Y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
ONE = relay.const(1.0)
POOL = relay.nn.max_pool2d(relay.var("p", shape=(1, 1, 4, 4)), pool_size=(2, 2))
W = wildcard()


@pytest.mark.parametrize(
    ("pattern", "expr", "holds"),
    [
        (is_var("x"), X, True),
        (is_var("y"), X, False),
        (is_constant(), ONE, True),
        (is_constant(), X, False),
        (is_expr(X + Y), X + Y, True),
        (is_expr(X + Y), X * Y, False),
        (is_op("add"), relay.op.get("add"), True),
        (is_op("add")(is_var("x"), is_var("y")), X + Y, True),
        (is_op("add")(is_var("y"), is_var("x")), X + Y, True),
        (is_op("subtract")(is_var("y"), is_var("x")), X - Y, False),
        (is_op("add")(None), X + Y, True),
        ((is_op("add") | is_op("subtract"))(W, wildcard()), X - Y, True),
        (W + W, X + X, True),
        (W + W, X + Y, False),
        (wildcard() * is_constant(), ONE * X, True),
        (is_op("exp")(W).optional(is_op("nn.relu")), relay.nn.relu(relay.exp(X)), True),
        (is_op("exp")(W).optional(is_op("nn.relu")), relay.exp(X), True),
        (is_tuple((is_var("x"), wildcard())), relay.Tuple([X, Y]), True),
        (is_tuple((is_var("x"),)), relay.Tuple([X, Y]), False),
        (is_tuple_get_item(is_tuple(None), 1), relay.TupleGetItem(relay.Tuple([X, Y]), 1), True),
        (is_tuple_get_item(is_tuple(None), 0), relay.TupleGetItem(relay.Tuple([X, Y]), 1), False),
        (is_if(is_var("c"), is_var("x"), wildcard()), relay.If(relay.var("c", "bool"), X, Y), True),
        (is_let(is_var("a"), is_constant(), is_var("a")), relay.Let(a := relay.var("a"), ONE, a), True),
        (FunctionPattern([is_var("x")], wildcard() + wildcard()), relay.Function([X], X + X), True),
        (FunctionPattern([], wildcard()), relay.Function([X], X), False),
        (has_type(relay.TensorType((2, 3), "float32")), X, True),
        (has_type(relay.TensorType((3,), "float32")), X, False),
        (has_dtype("float32"), X + Y, True),
        (has_dtype("int8", is_var()), X, False),
        (has_shape((2, 3)), X + Y, True),
        (has_shape((2, 4)), X + Y, False),
        (is_op("nn.max_pool2d")(W).has_attr({"pool_size": [2, 2]}), POOL, True),
        (has_attr({"pool_size": (3, 3)}), POOL, False),
        (has_attr({"no_such": 1}), POOL, False),
    ],
)
def test_patterns_match_what_they_describe(pattern: DFPattern, expr: Any, holds: bool) -> None:
    assert pattern.match(expr) is holds


class Normalization(DFPatternCallback):
    def __init__(self) -> None:
        super().__init__()
        self.x, self.mean, self.scale = wildcard(), wildcard(), wildcard()
        self.pattern = (self.x - self.mean) * self.scale

    def callback(self, pre: Any, post: Any, node_map: dict[DFPattern, list[Any]]) -> Any:
        x, mean, scale = (node_map[part][0] for part in (self.x, self.mean, self.scale))
        return x * scale - mean * scale


def test_a_callback_replaces_every_match() -> None:
    made = rewrite(Normalization(), relay.exp((X - Y) * ONE) + (Y - ONE) * X)

    expected = relay.exp(X * ONE - Y * ONE) + (Y * X - ONE * X)
    assert tvm.ir.structural_equal(made, expected)
    assert tvm.ir.structural_equal(Normalization().rewrite(X + Y), X + Y)


class Grow(DFPatternCallback):
    def __init__(self, once: bool) -> None:
        super().__init__(rewrite_once=once)
        self.pattern = is_op("exp")(wildcard())

    def callback(self, pre: Any, post: Any, node_map: dict[DFPattern, list[Any]]) -> Any:
        return relay.exp(post)


def test_an_endless_rewrite_is_an_error_unless_it_runs_once() -> None:
    assert tvm.ir.structural_equal(rewrite(Grow(once=True), relay.exp(X)), relay.exp(relay.exp(X)))
    with pytest.raises(InputError, match="still change the expression after "):
        rewrite(Grow(once=False), relay.exp(X))


def test_a_callback_without_a_pattern_is_an_error() -> None:
    with pytest.raises(InputError, match="expected a DFPatternCallback with a pattern"):
        rewrite(DFPatternCallback(), X)


def elementwise() -> DFPattern:
    return wildcard().has_attr({"TOpPattern": 0})(wildcard())


def test_dominates_requires_all_paths_to_lead_to_the_parent() -> None:
    softmax = relay.nn.softmax(X)
    both = relay.nn.relu(relay.tanh(softmax)) + relay.exp(softmax)
    pattern = dominates(is_op("nn.softmax")(wildcard()), elementwise(), wildcard() + wildcard())

    assert pattern.match(both)
    assert (wildcard() + wildcard()).dominates(is_op("nn.softmax")(wildcard()), elementwise()).match(both)
    assert not pattern.match(relay.tanh(softmax) + relay.exp(X))
    assert not pattern.match(relay.tanh(softmax) + relay.exp(relay.nn.softmax(Y)))
    assert not pattern.match(relay.tanh(softmax) + relay.exp(softmax + Y))


def test_a_match_with_other_readers_inside_is_not_replaced() -> None:
    shared = X - Y
    expr = shared * ONE + relay.exp(shared)

    assert Normalization().rewrite(expr) is expr


def test_a_quotient_of_a_product_matches_in_other_orders() -> None:
    pattern = is_var("x") * is_var("y") / is_constant()

    assert pattern.match(X * Y / ONE)
    assert pattern.match(X * (Y / ONE))
    assert pattern.match(Y * (X / ONE))
    assert not pattern.match(X / ONE)
    assert (is_var("x") * (is_var("y") / is_constant())).match(X * Y / ONE)


def test_a_partition_calls_a_function_of_the_open_arguments() -> None:
    pattern = is_op("nn.relu")(wildcard() + is_constant())
    before = relay.tanh(relay.nn.relu(relay.exp(X) + ONE))

    made = pattern.partition(before, {"Composite": "shifted"})

    x = relay.var("a")
    function = relay.Function([x], relay.nn.relu(x + ONE)).with_attr(
        {"Composite": "shifted", "PartitionedFromPattern": "add_nn.relu_"}
    )
    assert tvm.ir.structural_equal(made, relay.tanh(function(relay.exp(X))))
    assert pattern.partition(made) is made  # a partitioned function is not partitioned again
    assert pattern.partition(before, check=lambda one: one.args[0].op.name != "add") is before
    arrays = {"x": np.linspace(-2, 0, 6, dtype=np.float32).reshape(2, 3)}
    values = [
        relay.create_executor("debug", tvm.IRModule.from_expr(one)).evaluate()(**arrays).numpy()
        for one in (before, made)
    ]
    np.testing.assert_array_equal(*values)


def test_unnamed_arguments_of_a_pattern_become_parameters() -> None:
    made = is_op("concatenate")(is_tuple(None)).partition(relay.concatenate([X, relay.exp(Y)], 0))

    assert [type(arg) for arg in made.args] == [relay.Var, relay.Call]
    assert made.op.attrs.PartitionedFromPattern == "Tuple_concatenate_"


def test_merge_composite_partitions_by_a_table_of_patterns() -> None:
    table = [
        ("sum", wildcard() + wildcard(), lambda one: isinstance(one.args[1], relay.Constant)),
        ("product", wildcard() * wildcard()),
    ]

    made = relay.transform.MergeComposite(table)(tvm.IRModule.from_expr((X + ONE) * (X + Y)))["main"]

    names = [
        node.op.attrs.get("Composite") if isinstance(node.op, relay.Function) else node.op.name
        for node in (made.body, *made.body.args)
    ]
    assert names == ["product", "sum", "add"]
    with pytest.raises(InputError, match=r"pattern_table\[0\] is .*expected a name, a pattern"):
        relay.transform.MergeComposite(["sum"])
