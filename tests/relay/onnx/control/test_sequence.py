"""Sequences and optionals: resolved at import, or passed and returned as lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import tvmlite
from tvmlite import relay, runtime
from tvmlite.core.errors import InputError, ModelError, UnsupportedError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.onnx import from_onnx

FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
LIST = helper.make_sequence_type_proto(FLOATS)

X = np.arange(12, dtype=np.float32).reshape(4, 3)
Y = X + 100


def model_of(nodes: list[Any], inputs: dict[str, Any], outputs: list[str], held: dict[str, Any] = {}) -> Any:  # noqa: B006
    given = [
        helper.make_value_info(name, type_)
        if isinstance(type_, onnx.TypeProto)
        else helper.make_tensor_value_info(name, TensorProto.FLOAT, type_)
        for name, type_ in inputs.items()
    ]
    weights = [numpy_helper.from_array(np.asarray(value), name) for name, value in held.items()]
    graph = helper.make_graph(nodes, "g", given, [onnx.ValueInfoProto(name=n) for n in outputs], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def node(op_type: str, inputs: str, outputs: str, **attrs: Any) -> Any:
    return helper.make_node(op_type, inputs.split(), outputs.split(), **attrs)


PLACES = {"zero": 0, "one": 1, "last": -1, "two": 2, "sizes": np.array([1, 3])}


@pytest.mark.parametrize(
    "nodes",
    [
        [node("SequenceConstruct", "x y", "s"), node("SequenceAt", "s last", "z")],
        [
            node("SequenceConstruct", "x y x", "s"),
            node("SequenceErase", "s one", "t"),
            node("SequenceLength", "t", "z"),
        ],
        [
            node("SequenceConstruct", "x y x", "s"),
            node("SequenceErase", "s", "t"),
            node("SequenceAt", "t one", "z"),
        ],
        [
            node("SequenceEmpty", "", "s"),
            node("SequenceInsert", "s x", "t"),
            node("SequenceAt", "t zero", "z"),
        ],
        [
            node("SequenceConstruct", "x", "s"),
            node("SequenceInsert", "s y zero", "t"),
            node("ConcatFromSequence", "t", "z", axis=1),
        ],
        [node("SequenceConstruct", "x y", "s"), node("ConcatFromSequence", "s", "z", axis=-1, new_axis=1)],
        [node("SplitToSequence", "x sizes", "s"), node("SequenceAt", "s one", "z")],
        [node("SplitToSequence", "x two", "s", axis=-1), node("SequenceAt", "s last", "z")],
        [node("SplitToSequence", "x", "s", axis=0, keepdims=0), node("SequenceAt", "s two", "z")],
        [node("SplitToSequence", "x", "s", axis=1), node("ConcatFromSequence", "s", "z", axis=0)],
    ],
    ids=lambda nodes: "-".join(n.op_type for n in nodes),
)
def test_sequences_inside_a_model_are_resolved_at_import(nodes: list[Any]) -> None:
    model = model_of(nodes, {"x": [4, 3], "y": [4, 3]}, ["z"], PLACES)

    module = from_onnx(model)

    np.testing.assert_array_equal(
        interpret(module, [X, Y]), ReferenceEvaluator(model).run(None, {"x": X, "y": Y})[0]
    )


def test_optionals_are_replaced_by_their_elements() -> None:
    nodes = [
        node("Optional", "x", "s"),
        node("OptionalGetElement", "s", "element"),
        node("OptionalHasElement", "s", "has"),
        node("Optional", "", "e", type=FLOATS),
        node("Identity", "e", "still"),
        node("OptionalHasElement", "still", "has_not"),
    ]

    element, has, has_not = interpret(
        from_onnx(model_of(nodes, {"x": [4, 3]}, ["element", "has", "has_not"])), [X]
    )

    np.testing.assert_array_equal(element, X)
    assert has
    assert not has_not


def test_a_loop_of_known_length_carries_a_sequence() -> None:
    body = helper.make_graph(
        [node("Identity", "go", "go_on"), node("SequenceInsert", "s x", "t")],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_value_info("s", LIST),
        ],
        [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []), helper.make_value_info("t", LIST)],
    )
    nodes = [
        node("SequenceEmpty", "", "none"),
        node("Loop", "trips go none", "all", body=body),
        node("ConcatFromSequence", "all", "z", axis=0),
    ]

    model = model_of(nodes, {"x": [4, 3]}, ["z"], {"trips": 3, "go": True})

    np.testing.assert_array_equal(interpret(from_onnx(model), [X]), np.concatenate([X, X, X]))


def test_lists_are_inputs_and_outputs_of_a_compiled_model(tmp_path: Any) -> None:
    body = helper.make_graph(
        [node("Add", "a b", "sum")],
        "body",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in "ab"],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, None)],
    )
    model = model_of(
        [node("SequenceMap", "s y", "t", body=body), node("Neg", "y", "n")], {"s": LIST, "y": [3]}, ["t", "n"]
    )
    module = from_onnx(model, {"s": [(4, 3), ("rows", 3)]})
    library = tvmlite.compile(relay.parse(module.astext()))
    library.export(tmp_path / "m.so")
    ones = np.ones((2, 3), np.float32)

    for lib in (library, runtime.load(tmp_path / "m.so")):
        added, negative = lib([X, ones], Y[0])
        np.testing.assert_array_equal(added[0], X + Y[0])
        np.testing.assert_array_equal(added[1], ones + Y[0])
        np.testing.assert_array_equal(negative, -Y[0])
        by_name = lib.run({"s": [X, ones], "y": Y[0]})
        assert list(by_name) == ["t", "n"]
        np.testing.assert_array_equal(by_name["t"][1], added[1])
        with pytest.raises(InputError, match="input 's' is a list of 1 arrays, expected 2"):
            lib([X], Y[0])
        with pytest.raises(InputError, match="input 's' is a ndarray, expected a list of 2 arrays"):
            lib(X, Y[0])
        with pytest.raises(InputError, match="input 'y' is not given"):
            lib([X, ones])


def test_a_single_sequence_output_is_returned_as_a_list() -> None:
    library = tvmlite.compile(
        from_onnx(model_of([node("SplitToSequence", "x", "s", axis=0)], {"x": [4, 3]}, ["s"]))
    )

    assert [row.tolist() for row in library(X)] == [[row] for row in X.tolist()]


def test_a_sequence_input_needs_a_shape_for_each_array() -> None:
    model = model_of([node("SequenceAt", "s zero", "z")], {"s": LIST}, ["z"], PLACES)

    with pytest.raises(
        UnsupportedError, match=r"(?s)input 's' is a sequence: how many .*give shape=\{'s': \[\(\.\.\.\)"
    ):
        from_onnx(model)
    with pytest.raises(ModelError, match=r"input 's': shape is \(2, 3\), expected a list of shapes"):
        from_onnx(model, {"s": (2, 3)})


def test_shape_decides_whether_an_optional_input_is_present() -> None:
    optional = helper.make_optional_type_proto(FLOATS)
    model = model_of([node("OptionalHasElement", "o", "z")], {"o": optional}, ["z"])

    with pytest.raises(
        UnsupportedError, match=r"(?s)input 'o' is optional: .*shape=\{'o': None\} to leave it out"
    ):
        from_onnx(model)
    assert not interpret(from_onnx(model, {"o": None}), [])
    assert interpret(from_onnx(model, {"o": (2, 3)}), [X[:2]])


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        (
            [node("SequenceConstruct", "x y", "s"), node("SequenceAt", "s two", "z")],
            "position 2 is outside \\[-2, 1\\]",
        ),
        ([node("SequenceEmpty", "", "s"), node("SequenceErase", "s", "z")], "the sequence is empty"),
        ([node("SequenceAt", "x two", "z")], "'input_sequence' is float32, expected no tensor"),
        (
            [node("SequenceConstruct", "x", "s"), node("Relu", "s", "z")],
            "input 'X' is a sequence, expected a tensor",
        ),
        (
            [node("Optional", "", "s", type=FLOATS), node("OptionalGetElement", "s", "z")],
            "the optional is empty",
        ),
        ([node("SplitToSequence", "x sizes", "z", axis=1)], "split is .1, 3., which do not add up to 3"),
    ],
)
def test_invalid_sequence_nodes_are_refused(nodes: list[Any], text: str) -> None:
    model = model_of(nodes, {"x": [4, 3], "y": [4, 3]}, ["z"], PLACES)

    with pytest.raises(ModelError, match=text):
        from_onnx(model)


def test_a_sequence_position_that_depends_on_data_is_refused() -> None:
    nodes = [
        node("SequenceConstruct", "x x", "s"),
        node("Cast", "p", "i", to=TensorProto.INT64),
        node("SequenceAt", "s i", "z"),
    ]

    with pytest.raises(UnsupportedError, match="SequenceAt: input 'position' must be a constant"):
        from_onnx(model_of(nodes, {"x": [4, 3], "p": []}, ["z"]))
