"""Inputs, names and nodes of imported models, and errors where they do not fit."""

import contextlib

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvmlite.core.errors import ExecutionError, ModelError, TvmliteError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import dim
from tvmlite.relay.onnx import converter, from_onnx

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def model_of(nodes, inputs, outputs, weights=(), opset=17):
    def values(rows):
        return [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in rows]

    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in dict(weights).items()]
    graph = helper.make_graph(nodes, "g", values(inputs), values(outputs), held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def node(kind, inputs, outputs, name="", **attrs):
    return helper.make_node(kind, inputs.split(), outputs.split(), name, **attrs)


def unary(kind, shape, opset=17, **attrs):
    return model_of([node(kind, "x", "y", **attrs)], [("x", FLOAT, shape)], [("y", FLOAT, None)], (), opset)


def test_named_dimensions_keep_their_names() -> None:
    module = from_onnx(unary("Relu", ["batch", 3, "h", "batch"]))

    assert module.main.params[0].type.shape == (dim("batch"), 3, dim("h"), dim("batch"))


def test_unnamed_dimensions_are_named_after_their_input() -> None:
    module = from_onnx(unary("Relu", ["?", None, -1, "p2o.Dim.0"]))

    assert module.main.params[0].type.shape == (dim("x_dim0"), dim("x_dim1"), dim("x_dim2"), dim("p2o_Dim_0"))


def test_shape_argument_overrides_dimensions() -> None:
    module = from_onnx(unary("Relu", ["n", 3, "h"]), shape={"x": (2, 3, "rows")})

    assert module.main.params[0].type.shape == (2, 3, dim("rows"))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"z": (1,)}, "shape is given for 'z'; the inputs are 'x'"),
        ({"x": (1,)}, "has 2 dimensions, shape gives 1"),
        ({"x": (1, 4)}, "dimension 1 is 3 in the model, shape gives 4"),
        ({"x": (-2, 3)}, "dimension 0 is -2"),
        ({"x": (1.5, 3)}, "dimension 0 is 1.5"),
        ({"x": ("a b", 3)}, "'a b' is not a name"),
    ],
)
def test_a_shape_that_does_not_fit_is_an_error(shape, message) -> None:
    with pytest.raises(ModelError, match=message):
        from_onnx(unary("Relu", ["n", 3]), shape=shape)


def test_a_negative_input_dimension_is_an_error() -> None:
    with pytest.raises(ModelError, match="input 'x': dimension 0 is -7"):
        from_onnx(unary("Relu", [-7]))


def test_error_lists_all_missing_operators_with_their_nodes() -> None:
    nodes = [
        node("Foo", "x", "a", "foo_1", domain="com.example"),
        node("Relu", "a", "b"),
        node("StringNormalizer", "b", "c", "strings_1"),
        node("Foo", "c", "y", "foo_2", domain="com.example"),
    ]
    model = model_of(nodes, [("x", FLOAT, [2])], [("y", FLOAT, [2])])
    model.opset_import.append(helper.make_opsetid("com.example", 1))

    with pytest.raises(UnsupportedError) as caught:
        from_onnx(model)
    assert "StringNormalizer: 1 node ('strings_1')" in str(caught.value)
    assert "com.example.Foo: 2 nodes ('foo_1', 'foo_2')" in str(caught.value)


def test_a_domain_that_is_not_imported_is_an_error() -> None:
    model = model_of([node("Foo", "x", "y", "f", domain="org.x")], [("x", FLOAT, [1])], [("y", FLOAT, [1])])

    with pytest.raises(ModelError, match=r"operator set 'org\.x', which the model does not import"):
        from_onnx(model)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("Relu", "nothing", "y", "r")], "its input 'nothing' is the name of nothing"),
        (
            [node("Add", "x b", "a"), node("Add", "x a", "b"), node("Relu", "b", "y")],
            "the nodes are in a cycle",
        ),
        ([node("Relu", "x", "a"), node("Neg", "x", "a"), node("Relu", "a", "y")], "name of another value"),
        ([node("Relu", "x", "a")], "graph output 'y' is not the name of any value"),
        ([node("Relu", "x x", "y")], "has 2 inputs, expected 1"),
        ([node("Transpose", "x", "y", perm=[0, 0])], "perm .* does not permute 2 axes"),
        ([node("Concat", "x x", "y")], "attribute 'axis' is missing"),
        ([node("MatMul", "x x", "y", "m")], r"(?s)shapes \(2, 3\) and \(2, 3\) do not multiply.*node \"m\""),
    ],
)
def test_an_inconsistent_graph_is_an_error(nodes, message) -> None:
    with pytest.raises(ModelError, match=message):
        from_onnx(model_of(nodes, [("x", FLOAT, [2, 3])], [("y", FLOAT, None)]))


def test_calls_carry_the_names_of_their_nodes() -> None:
    model = model_of([node("Relu", "x", "y", "Act_3")], [("x", FLOAT, [2])], [("y", FLOAT, [2])])

    assert from_onnx(model).main.body.span.note == 'node "Act_3" (Relu)'


def test_reshape_to_a_shape_from_data_is_resolved_at_run_time() -> None:
    model = model_of(
        [node("Reshape", "x s", "y", "R")],
        [("x", FLOAT, [6]), ("s", INT64, [2])],
        [("y", FLOAT, None)],
    )
    x = np.arange(6, dtype="float32")

    for shape in ((2, 3), (-1, 2), (0, 1)):
        got = interpret(from_onnx(model), [x, np.array(shape, np.int64)])
        np.testing.assert_array_equal(got, x.reshape([6 if d == 0 else d for d in shape]))


def test_reshape_to_a_shape_of_unknown_length_is_unsupported() -> None:
    model = model_of(
        [node("Reshape", "x s", "y", "R")],
        [("x", FLOAT, [6]), ("s", INT64, ["n"])],
        [("y", FLOAT, None)],
    )

    with pytest.raises(UnsupportedError, match=r"(?s)input 'shape' is .* depends on the data.*node \"R\""):
        from_onnx(model)


def test_an_input_given_as_a_constant_is_not_a_parameter() -> None:
    model = model_of(
        [node("Reshape", "x s", "y", "R")],
        [("x", FLOAT, [6]), ("s", INT64, [2])],
        [("y", FLOAT, None)],
    )
    module = from_onnx(model, constants={"s": np.array([2, -1])})

    assert [p.name for p in module.main.params] == ["x"]
    assert interpret(module, [np.zeros(6, np.float32)]).shape == (2, 3)


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ({"q": np.ones(1)}, "constant is given for 'q'"),
        ({"x": np.ones(6)}, "the constant is float64 of shape"),
    ],
)
def test_a_constant_that_does_not_fit_is_an_error(constants, message) -> None:
    with pytest.raises(ModelError, match=message):
        from_onnx(unary("Relu", [6]), constants=constants)


def test_outputs_keep_their_names_and_order() -> None:
    nodes = [node("Relu", "x", "a"), node("Neg", "x", "b")]
    module = from_onnx(model_of(nodes, [("x", FLOAT, [2])], [("b", FLOAT, [2]), ("a", FLOAT, [2])]))
    negated, positive = interpret(module, [np.array([1, -2], np.float32)])

    assert module.output_names == ("b", "a")
    assert negated.tolist() == [-1, 2]
    assert positive.tolist() == [1, 0]


def test_possibly_different_dimensions_are_checked_at_run_time() -> None:
    model = model_of(
        [node("Add", "a b", "y", "Sum_1")],
        [("a", FLOAT, ["n"]), ("b", FLOAT, ["m"])],
        [("y", FLOAT, None)],
    )
    module = from_onnx(model)

    assert interpret(module, [np.ones(3, np.float32), np.ones(3, np.float32)]).tolist() == [2, 2, 2]
    with pytest.raises(ExecutionError, match=r'(?s)must be equal.*node "Sum_1"'):
        interpret(module, [np.ones(3, np.float32), np.ones(4, np.float32)])


def test_different_static_extents_are_an_error_at_import() -> None:
    model = model_of(
        [node("Add", "a b", "y", "Sum_1")], [("a", FLOAT, [3]), ("b", FLOAT, [4])], [("y", FLOAT, None)]
    )

    with pytest.raises(ModelError, match=r"(?s)\(3,\), \(4,\) do not broadcast.*Sum_1"):
        from_onnx(model)


def test_a_known_condition_chooses_the_branch() -> None:
    def branch(kind):
        return helper.make_graph(
            [node(kind, "x", "z")], kind, [], [helper.make_tensor_value_info("z", FLOAT, [2])]
        )

    choose = node("If", "c", "y", then_branch=branch("Relu"), else_branch=branch("Neg"))
    model = model_of([choose], [("x", FLOAT, [2])], [("y", FLOAT, [2])], {"c": np.array(False)})

    assert interpret(from_onnx(model), [np.array([1, -2], np.float32)]).tolist() == [-1, 2]


def test_an_input_condition_becomes_an_if() -> None:
    def branch(kind):
        return helper.make_graph(
            [node(kind, "x", "z")], kind, [], [helper.make_tensor_value_info("z", FLOAT, [2])]
        )

    choose = node("If", "c", "y", then_branch=branch("Relu"), else_branch=branch("Neg"))
    model = model_of([choose], [("c", TensorProto.BOOL, []), ("x", FLOAT, [2])], [("y", FLOAT, [2])])
    module, x = from_onnx(model), np.array([1, -2], np.float32)

    assert interpret(module, [np.array(True), x]).tolist() == [1, 0]
    assert interpret(module, [np.array(False), x]).tolist() == [-1, 2]


def test_a_corrupted_model_raises_only_tvmlite_errors() -> None:
    random = np.random.default_rng(5)
    model = model_of(
        [node("Conv", "x w", "a", "c", pads=[1, 1, 1, 1]), node("Relu", "a", "b"), node("Flatten", "b", "y")],
        [("x", FLOAT, [1, 3, 8, 8])],
        [("y", FLOAT, None)],
        {"w": random.standard_normal((4, 3, 3, 3)).astype(np.float32)},
    )
    data = bytearray(model.SerializeToString())

    for _ in range(600):
        broken = bytearray(data)
        broken[random.integers(len(data))] = random.integers(256)
        with contextlib.suppress(TvmliteError):
            from_onnx(bytes(broken))


def test_calls_built_with_node_methods_carry_the_node_name() -> None:
    @converter("TwiceLess", domain="com.example.operators")
    def twice_less(node, x):
        return node.subtract(node.multiply(2, node.negative(x)), 1)

    one = helper.make_node("TwiceLess", ["x"], ["y"], "fold", domain="com.example.operators")
    model = model_of([one], [("x", FLOAT, [3])], [("y", FLOAT, [3])])
    model.opset_import.append(helper.make_opsetid("com.example.operators", 1))

    calls = [made for made in postorder(from_onnx(model).main.body) if isinstance(made, Call)]
    assert [made.op for made in calls] == ["negative", "multiply", "subtract"]
    assert {made.span.node for made in calls} == {"fold"}


def test_error_lists_the_values_that_an_attribute_may_have() -> None:
    with pytest.raises(ModelError) as error:
        from_onnx(unary("Gelu", [3], opset=20, approximate="sine"))

    assert "Gelu: approximate is 'sine', expected none or tanh" in str(error.value)


@pytest.mark.parametrize(("opset", "alpha"), [(1, 1.6732), (6, 1.6732632423543772)])
def test_a_missing_attribute_has_the_default_of_the_opset(opset, alpha) -> None:
    module = from_onnx(unary("Selu", [1], opset=opset))

    made = interpret(module.main, [np.array([-1.0], np.float32)])
    gamma = 1.0507 if opset == 1 else 1.0507010221481323
    np.testing.assert_allclose(np.asarray(made).ravel(), gamma * alpha * (np.exp(-1) - 1), rtol=1e-6)


def test_an_attribute_of_a_newer_opset_has_its_default() -> None:
    model = model_of([node("TopK", "x k", "v i")], [("x", FLOAT, [4])], [("v", FLOAT, None)], {"k": [2]}, 10)

    made = interpret(from_onnx(model).main, [np.array([1, 4, 2, 3], np.float32)])
    np.testing.assert_array_equal(np.asarray(made).ravel(), [4, 3])
