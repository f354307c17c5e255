"""Functions: a model's local functions, and ONNX operators that are defined by function bodies."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.onnx import from_onnx

DOMAIN = "my.ops"
OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]


def model_of(nodes, functions=()):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y])
    return helper.make_model(graph, opset_imports=OPSETS, functions=list(functions))


def function(name, nodes, attributes=()):
    return helper.make_function(DOMAIN, name, ["a"], ["b"], nodes, OPSETS, attributes=list(attributes))


def test_a_local_function_takes_its_attributes_from_the_call() -> None:
    leaky = helper.make_node("LeakyRelu", ["a"], ["b"])
    slope = leaky.attribute.add()
    slope.name, slope.ref_attr_name, slope.type = "alpha", "slope", 1
    call = helper.make_node("Mine", ["x"], ["y"], domain=DOMAIN, slope=0.5)

    made = interpret(
        from_onnx(model_of([call], [function("Mine", [leaky], ["slope"])])), [np.float32([-2, 0, 2])]
    )

    assert made.tolist() == [-1, 0, 2]


def test_names_inside_a_function_are_local() -> None:
    inner = function("Twice", [helper.make_node("Add", ["a", "a"], ["b"])])
    nodes = [
        helper.make_node("Twice", ["x"], ["b"], domain=DOMAIN),
        helper.make_node("Twice", ["b"], ["y"], domain=DOMAIN),
    ]

    assert interpret(from_onnx(model_of(nodes, [inner])), [np.float32([1, 2, 3])]).tolist() == [4, 8, 12]


def test_a_function_that_calls_itself_is_an_error() -> None:
    endless = function("Loop", [helper.make_node("Loop", ["a"], ["b"], domain=DOMAIN)])

    with pytest.raises(ModelError, match="too deeply, or themselves"):
        from_onnx(model_of([helper.make_node("Loop", ["x"], ["y"], domain=DOMAIN)], [endless]))


def test_an_error_inside_a_function_names_the_call() -> None:
    bad = function("Bad", [helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0])])

    with pytest.raises(ModelError, match='node "call_7"'):
        from_onnx(model_of([helper.make_node("Bad", ["x"], ["y"], "call_7", domain=DOMAIN)], [bad]))


def test_an_operator_defined_by_a_function_body_is_imported() -> None:
    made = interpret(from_onnx(_window()), [])

    np.testing.assert_allclose(made, np.hanning(9)[:8], atol=1e-6)


def _window():
    size = helper.make_tensor("n", TensorProto.INT64, [], [8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("HannWindow", ["n"], ["y"])], "g", [], [y], [size])
    return helper.make_model(graph, opset_imports=OPSETS)


def test_a_missing_operator_inside_a_function_is_found() -> None:
    holder = function("Holder", [helper.make_node("Multinomial", ["a"], ["b"])])

    with pytest.raises(UnsupportedError, match="Multinomial"):
        from_onnx(model_of([helper.make_node("Holder", ["x"], ["y"], domain=DOMAIN)], [holder]))
