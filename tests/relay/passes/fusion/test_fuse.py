import time

import pytest

from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import (
    Call,
    Constant,
    Expr,
    Function,
    Module,
    Tuple,
    TupleGetItem,
    Var,
    constant,
    var,
)
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes.fusion.fuse import MAX_GROUP_SIZE, fuse

pytestmark = pytest.mark.usefixtures("toys")

x = var("x", (4, 8))
y = var("y", (4, 8))
weight = var("w", (8, 8))


def groups_of(body: Expr, *params: Var) -> list[list[str]]:
    """Return the operators of each group of the fused ``body``, in execution order."""
    fused = fuse(Module({"main": Function(params or (x, y, weight), body)}))
    verify(fused)
    calls = [n for n in postorder(fused.main.body) if isinstance(n, Call)]
    return [[n.op for n in postorder(c.op.body) if isinstance(n, Call)] for c in calls]


def relu(value: Expr) -> Expr:
    return make("test.relu", value)


def add(a: Expr, b: Expr) -> Expr:
    return make("test.add", a, b)


def test_a_single_operator_becomes_a_group() -> None:
    assert groups_of(relu(x)) == [["test.relu"]]


def test_an_element_wise_chain_is_one_group() -> None:
    assert groups_of(relu(add(relu(x), y))) == [["test.relu", "test.add", "test.relu"]]


def test_a_diamond_is_one_group() -> None:
    top = relu(x)

    assert groups_of(add(make("test.scale", top), relu(top))) == [
        ["test.relu", "test.scale", "test.relu", "test.add"]
    ]


def test_an_element_wise_epilogue_joins_its_anchor() -> None:
    dense = make("test.dense", relu(x), weight)

    assert groups_of(relu(add(dense, constant([0.0] * 8, "float32")))) == [
        ["test.relu"],
        ["test.dense", "test.add", "test.relu"],
    ]


def test_two_anchors_are_not_fused_and_one_takes_the_epilogue() -> None:
    both = add(make("test.dense", x, weight), make("test.dense", y, weight))

    assert groups_of(both) == [["test.dense"], ["test.dense", "test.add"]] or groups_of(both) == [
        ["test.dense", "test.add"],
        ["test.dense"],
    ]


def test_a_reduction_is_fused_with_producers_and_its_epilogue() -> None:
    assert groups_of(relu(make("test.sum", make("test.flip", relu(x))))) == [
        ["test.relu", "test.flip", "test.sum", "test.relu"]
    ]


def test_a_value_read_by_a_reduction_and_elsewhere_is_stored() -> None:
    top = relu(x)

    assert groups_of(add(top, make("test.sum", top))) == [["test.relu"], ["test.sum"], ["test.add"]]


def test_opaque_operators_tuples_and_outputs_end_groups() -> None:
    top = relu(x)
    assert groups_of(relu(make("test.opaque", relu(x)))) == [["test.relu"], ["test.opaque"], ["test.relu"]]
    assert groups_of(relu(TupleGetItem(make("test.split", relu(x)), 0))) == [
        ["test.relu"],
        ["test.split"],
        ["test.relu"],
    ]
    assert groups_of(Tuple((top, relu(top)))) == [["test.relu"], ["test.relu"]]
    assert groups_of(relu(make("test.concatenate", Tuple((relu(x), y))))) == [
        ["test.relu"],
        ["test.concatenate", "test.relu"],
    ]


def test_groups_are_limited_in_size() -> None:
    value: Expr = x
    for _ in range(3 * MAX_GROUP_SIZE):
        value = relu(value)

    sizes = [len(group) for group in groups_of(value)]

    assert max(sizes) <= MAX_GROUP_SIZE
    assert len(sizes) < 10


def test_small_constants_stay_in_the_group_and_large_ones_are_arguments() -> None:
    small, large = constant([2.0], "float32"), constant([[1.0] * 8] * 4, "float32")
    fused = fuse(Module({"main": Function((x,), add(add(x, small), large))}))
    call = fused.main.body

    assert isinstance(call, Call)
    assert call.args == (x, large)
    assert [n for n in postorder(call.op.body) if isinstance(n, Constant)] == [small]


def test_fusing_again_changes_nothing() -> None:
    fused = fuse(Module({"main": Function((x,), relu(relu(x)))}))

    assert fuse(fused) is fused


@pytest.mark.parametrize("seed", range(25))
def test_fusion_keeps_results_and_puts_each_operator_into_one_group(
    random_graph, assert_same_meaning, seed: int
) -> None:
    module = random_graph(seed, nodes=40)
    fused = fuse(module)

    verify(fused)
    assert_same_meaning(module, fused)
    calls = [n for n in postorder(fused.main.body) if isinstance(n, Call)]
    inside = [n for c in calls for n in postorder(c.op.body) if isinstance(n, Call)]
    assert len(inside) == sum(isinstance(n, Call) for n in postorder(module.main.body))
    assert all(dict(c.op.attrs) == {"Primitive": 1} for c in calls)


def test_fusion_keeps_the_results_of_a_symbolic_graph(random_graph, assert_same_meaning) -> None:
    module = random_graph(7, nodes=40, shape=("h", 3))

    assert_same_meaning(module, fuse(module), h=5)


def test_a_deep_graph_is_fused_in_linear_time(random_graph) -> None:
    value: Expr = x
    for _ in range(5000):
        value = add(relu(value), y)
    start = time.perf_counter()

    fuse(Module({"main": Function((x, y), value)}))

    assert time.perf_counter() - start < 5
