"""Nodes in any order are converted after their inputs; a cycle is an error that names its nodes."""

import itertools
import random

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from tvmlite.core.errors import ModelError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.onnx import from_onnx
from tvmlite.relay.onnx.reading.node_order import conversion_order

node = helper.make_node
X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


def tensor(name: str, shape=(2, 3)) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(nodes, functions=(), extra=()) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", [tensor("x"), *extra], [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=list(functions))


CHAIN = [
    node("Relu", ["x"], ["a"], "first"),
    node("Neg", ["a"], ["b"], "second"),
    node("Add", ["b", "x"], ["c"], "third"),
    node("Exp", ["c"], ["y"], "fourth"),
]


def test_every_order_of_the_nodes_gives_the_same_graph() -> None:
    wanted = str(from_onnx(model(CHAIN)))

    for order in itertools.permutations(CHAIN):
        assert str(from_onnx(model(list(order)))) == wanted


def test_ordered_nodes_keep_their_order_and_others_move_minimally() -> None:
    apart = [node("Relu", ["x"], [f"v{k}"]) for k in range(4)]

    assert conversion_order([*apart, *CHAIN], "g") == list(range(8))
    assert conversion_order([CHAIN[1], *apart, CHAIN[0]], "g") == [1, 2, 3, 4, 5, 0]
    assert conversion_order([apart[0], CHAIN[3], CHAIN[2], CHAIN[1], CHAIN[0]], "g") == [0, 4, 3, 2, 1]


def test_a_long_reversed_chain_needs_no_recursion() -> None:
    chain = [node("Relu", [f"v{k}"], [f"v{k + 1}"]) for k in range(5000)]

    assert conversion_order(chain[::-1], "g") == list(range(4999, -1, -1))


def test_a_subgraph_is_converted_after_the_outer_values_it_uses() -> None:
    inner = [node("Add", ["t", "late"], ["s"]), node("Abs", ["x"], ["t"])]  # also not in order
    branch = helper.make_graph(inner, "b", [], [tensor("s", None)])
    other = helper.make_graph([], "o", [], [tensor("later", None)])  # an outer value as its output
    nodes = [
        node("If", ["c"], ["y"], then_branch=branch, else_branch=other),
        node("Neg", ["late"], ["later"]),
        node("Exp", ["x"], ["late"]),
    ]
    flag = helper.make_tensor_value_info("c", TensorProto.BOOL, ())
    module = from_onnx(model(nodes, extra=[flag]))

    np.testing.assert_allclose(interpret(module, [X, np.array(True)]), np.abs(X) + np.exp(X), rtol=1e-6)
    np.testing.assert_allclose(interpret(module, [X, np.array(False)]), -np.exp(X), rtol=1e-6)


def test_names_defined_in_a_subgraph_are_not_dependencies() -> None:
    branch = helper.make_graph(
        [node("Abs", ["x"], ["own"]), node("Neg", ["own"], ["s"])], "b", [], [tensor("s")]
    )
    taking = node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)

    assert conversion_order([taking, node("Relu", ["y"], ["own"])], "g") == [0, 1]


def test_function_bodies_may_be_in_any_order() -> None:
    body = [node("Neg", ["t"], ["z"]), node("Exp", ["a"], ["t"])]
    function = helper.make_function("own", "F", ["a"], ["z"], body, [helper.make_opsetid("", 17)])
    made = from_onnx(model([node("F", ["x"], ["y"], domain="own")], [function]))

    np.testing.assert_allclose(interpret(made, [X]), -np.exp(X), rtol=1e-6)


def test_shuffled_random_graphs_equal_onnxruntimes_results() -> None:
    chance = random.Random(3)
    for _ in range(10):
        nodes, names = [], ["x"]
        for k in range(12):
            pair = [chance.choice(names), chance.choice(names)]
            kind = chance.choice(["Add", "Sub", "Max"])
            names.append("y" if k == 11 else f"v{k}")
            nodes.append(node(kind, pair, [names[-1]]))
        session = onnxruntime.InferenceSession(model(nodes).SerializeToString())
        chance.shuffle(nodes)

        got = interpret(from_onnx(model(nodes)), [X])

        np.testing.assert_allclose(got, session.run(None, {"x": X})[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [CHAIN[0], node("Add", ["a", "q"], ["p"], "one"), node("Neg", ["p"], ["q"], "two"), CHAIN[3]],
            r"""in a cycle: node "one" \(Add\) takes 'q' from node "two" \(Neg\), """
            r"""node "two" \(Neg\) takes 'p' from node "one" \(Add\)$""",
        ),
        (
            [node("Add", ["x", "y"], ["y"], "own")],
            r"""in a cycle: node "own" \(Add\) takes 'y' from node "own" \(Add\)$""",
        ),
        (
            [node("Exp", ["p"], ["y"]), node("Neg", ["q"], ["p"], "a"), node("Neg", ["p"], ["q"], "b")],
            r"""in a cycle: node "a" \(Neg\) takes 'q' from node "b" \(Neg\), """
            r"""node "b" \(Neg\) takes 'p' from node "a" \(Neg\)$""",
        ),
    ],
)
def test_error_names_the_nodes_of_the_cycle_only(nodes, message) -> None:
    with pytest.raises(ModelError, match=message):
        from_onnx(model(nodes))


def test_errors_name_a_cycle_through_a_subgraph_and_a_long_cycle() -> None:
    branch = helper.make_graph([node("Abs", ["late"], ["s"])], "b", [], [tensor("s")])
    through = [
        node("If", ["c"], ["y"], "if", then_branch=branch, else_branch=branch),
        node("Relu", ["y"], ["late"], "relu"),
    ]
    long = [node("Relu", [f"v{(k + 1) % 30}"], [f"v{k}"], f"n{k}") for k in range(30)]

    with pytest.raises(ModelError, match=r"""node "if" \(If\) takes 'late' from node "relu" \(Relu\)"""):
        from_onnx(model(through))
    with pytest.raises(
        ModelError,
        match=r"""node "n7" \(Relu\) takes 'v8' from node "n8" \(Relu\), and so on through 30 nodes$""",
    ):
        from_onnx(model(long))


def test_two_nodes_with_one_output_name_are_an_error_in_any_order() -> None:
    twice = [node("Neg", ["a"], ["y"]), node("Exp", ["x"], ["a"], "one"), node("Abs", ["x"], ["a"], "two")]

    for nodes in (twice, twice[::-1]):
        with pytest.raises(ModelError, match="its output 'a' is the name of another value"):
            from_onnx(model(nodes))


def test_a_value_of_a_subgraph_is_not_visible_outside() -> None:
    branch = helper.make_graph([node("Abs", ["x"], ["hidden"])], "b", [], [tensor("hidden")])
    nodes = [
        node("If", ["c"], ["z"], then_branch=branch, else_branch=branch),
        node("Add", ["z", "hidden"], ["y"], "outer"),
    ]

    with pytest.raises(ModelError, match=r"(?s)'hidden' is a value inside another graph.*\"outer\""):
        from_onnx(model(nodes, extra=[helper.make_tensor_value_info("c", TensorProto.BOOL, ())]))
