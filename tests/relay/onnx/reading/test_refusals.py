"""All missing operators are listed at once, with their nodes, the reason and a hint."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.relay.onnx import from_onnx

OWN = [("ai.onnx.ml", 3), ("ai.onnx.preview.training", 1), ("my.ops", 1)]


def model_of(nodes: list[Any], opset: int = 20, kind: int = TensorProto.FLOAT) -> onnx.ModelProto:
    given = helper.make_tensor_value_info("x", kind, [2])
    graph = helper.make_graph(nodes, "g", [given], [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(*one) for one in OWN)]
    return helper.make_model(graph, opset_imports=opsets)


def test_error_lists_all_missing_operators_with_nodes_and_hints() -> None:
    nodes = [
        helper.make_node("Whirl", ["x"], ["a"], "first", domain="my.ops"),
        helper.make_node("Whirl", ["a"], ["b"], domain="my.ops"),
        helper.make_node("SVMRegressor", ["b"], ["c"], "scale", domain="ai.onnx.ml"),
        helper.make_node("Adam", ["c"] * 5, ["d", "e"], "step", domain="ai.onnx.preview.training"),
        helper.make_node("RandomNormalLike", ["d"], ["f"], "noise"),
        helper.make_node("StringConcat", ["s", "s"], ["t"], "join"),
        helper.make_node("RegexFullMatch", ["t"], ["u"], "match"),
        helper.make_node("ImageDecoder", ["f"], ["y"], "decode"),
    ]

    with pytest.raises(UnsupportedError) as caught:
        from_onnx(model_of(nodes))

    assert caught.value.message == (
        "g: operators that are not supported:\n"
        "  ImageDecoder: 1 node ('decode')\n"
        "    it decodes files: give the model the decoded image\n"
        "  RandomNormalLike: 1 node ('noise')\n"
        "    random numbers are not supported: make them an input of the model\n"
        "  RegexFullMatch: 1 node ('match')\n"
        "    strings are not supported: convert the text to numbers before the model\n"
        "  StringConcat: 1 node ('join')\n"
        "    strings are not supported: convert the text to numbers before the model\n"
        "  ai.onnx.ml.SVMRegressor: 1 node ('scale')\n"
        "    of ai.onnx.ml only tensor arithmetic is supported: run this part with onnxruntime\n"
        "  ai.onnx.preview.training.Adam: 1 node ('step')\n"
        "    training is not supported: export the model for inference\n"
        "  my.ops.Whirl: 2 nodes ('first', 'b')\n"
        "    write a converter for it: docs/adding_an_operator.md"
    )


def test_string_inputs_are_refused_with_a_hint() -> None:
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], kind=TensorProto.STRING)

    with pytest.raises(
        UnsupportedError, match=r"(?s)input 'x': element type STRING .*hint: prepare the text"
    ):
        from_onnx(model)


@pytest.mark.parametrize("opset", [0, 999])
def test_an_unknown_opset_is_refused(opset: int) -> None:
    with pytest.raises(UnsupportedError, match=rf"the model is of opset {opset}, supported are 1 to \d+"):
        from_onnx(model_of([helper.make_node("Relu", ["x"], ["y"])], opset))


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ([helper.make_node("Softmax", ["x"], ["y"], axis="0")], "'axis' is of kind STRING, expected INT"),
        ([helper.make_node("Transpose", ["x"], ["y"], perm=0)], "'perm' is of kind INT, expected INTS"),
        ([helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["y"])], "another value"),
        ([helper.make_node("Add", ["x", "y"], ["y"])], "the nodes are in a cycle"),
        (
            [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Neg", ["a"], ["b"]),
             helper.make_node("Abs", ["b"], ["y"])],
            "the nodes are in a cycle",
        ),
        ([helper.make_node("Add", ["x", "w"], ["y"])], "'w' is the name of nothing in the graph"),
    ],
)  # fmt: skip
def test_invalid_nodes_are_refused(nodes: list[Any], text: str) -> None:
    with pytest.raises(ModelError, match=text):
        from_onnx(model_of(nodes))
