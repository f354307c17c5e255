"""Coverage of a model: which nodes are supported, which are not and why, for all nodes."""

import onnx
import pytest
from onnx import TensorProto, helper

from tvmlite.cli import main
from tvmlite.relay.onnx.coverage import coverage


def _model(*nodes, opset=20, output="z"):
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])]
    graph = helper.make_graph(list(nodes), "g", given, [helper.make_empty_tensor_value_info(output)])
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.example", 1)]
    return helper.make_model(graph, opset_imports=opsets)


MIXED = _model(
    helper.make_node("Relu", ["x"], ["a"], name="first"),
    helper.make_node("Strange", ["a"], ["b"], name="odd", domain="com.example"),
    helper.make_node("Add", ["a", "b"], ["c"], name="after"),
    helper.make_node("Dropout", ["a", "", "t"], ["d"], name="random"),
    helper.make_node("Mish", ["a"], ["e"]),
    helper.make_node("HammingWindow", ["s"], ["w"], name="made of others"),
    helper.make_node("Neg", ["e"], ["z"]),
)
MIXED.graph.initializer.append(helper.make_tensor("t", TensorProto.BOOL, [], [True]))
MIXED.graph.initializer.append(helper.make_tensor("s", TensorProto.INT64, [], [8]))


def test_status_of_each_node_is_reported_separately():
    rows = coverage(MIXED)

    assert [row.status for row in rows] == [
        "native", "missing", "unchecked", "refused", "native", "function", "native",
    ]  # fmt: skip
    assert rows[1].operator == "com.example.Strange"
    assert rows[2].reason == "needs 'b'"
    assert rows[3].reason == "Dropout: training_mode: dropping at random"


def test_a_node_whose_subgraph_uses_missing_values_is_unchecked():
    inner = [helper.make_graph([], name, [], [helper.make_empty_tensor_value_info("b")]) for name in "te"]
    model = _model(
        helper.make_node("Strange", ["x"], ["b"], domain="com.example"),
        helper.make_node("If", ["c"], ["z"], then_branch=inner[0], else_branch=inner[1]),
    )
    model.graph.initializer.append(helper.make_tensor("c", TensorProto.BOOL, [], [True]))

    assert [row.status for row in coverage(model)] == ["missing", "unchecked"]


def test_an_unsupported_node_in_a_branch_is_named():
    nothing = onnx.ValueInfoProto(name="z")
    branch = helper.make_graph([helper.make_node("Foo", ["x"], ["z"], "inner")], "b", [], [nothing])
    choose = helper.make_node("If", ["c"], ["y"], "choose", then_branch=branch, else_branch=branch)
    made = _model(choose, output="y")
    made.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))

    (row,) = coverage(made)

    assert row.status == "refused"
    assert row.reason.startswith("Foo: no converter")
    assert row.reason.endswith('(in its node "inner" (Foo))')


def test_the_command_reports_coverage_and_its_exit_status(tmp_path, capsys):
    path = tmp_path / "m.onnx"
    path.write_bytes(MIXED.SerializeToString())

    assert main(["coverage", str(path)]) == 1

    text = capsys.readouterr().out
    assert 'missing: node "odd" (Strange): no converter' in text
    assert "4 of 7 nodes are supported." in text
    assert text.index("com.example.Strange") < text.index("Mish")


@pytest.mark.parametrize("flags", [[], ["--nodes"]])
def test_the_command_reports_a_fully_supported_model(tmp_path, capsys, flags):
    path = tmp_path / "m.onnx"
    path.write_bytes(_model(helper.make_node("Relu", ["x"], ["z"], name="only")).SerializeToString())

    assert main(["coverage", str(path), *flags]) == 0

    text = capsys.readouterr().out
    assert "1 of 1 nodes are supported." in text
    assert ('native: node "only" (Relu)' in text) == bool(flags)
