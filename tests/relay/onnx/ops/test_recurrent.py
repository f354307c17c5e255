"""Recurrent layers as exporters write them, against onnxruntime: short, long and dynamic lengths."""

from itertools import product

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.onnx import from_onnx

BATCH, INPUT, HIDDEN = 3, 4, 5
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def _layer(op_type, directions, steps, random, with_lengths=True, **attrs):
    """Return a model of one layer with all optional inputs, and values for the inputs other than weights."""
    wide = GATES[op_type] * HIDDEN
    shapes = {
        "w": (directions, wide, INPUT),
        "r": (directions, wide, HIDDEN),
        "b": (directions, 2 * wide),
        "p": (directions, 3 * HIDDEN),
    }
    names = ["x", "w", "r", "b", "lengths" if with_lengths else "", "h"]
    names += ["c", "p"] if op_type == "LSTM" else []
    held = {n: random.uniform(-1, 1, s).astype(np.float32) for n, s in shapes.items() if n in names}
    given = {
        "x": random.uniform(-2, 2, (steps, BATCH, INPUT)).astype(np.float32),
        "lengths": random.integers(1, steps + 1, BATCH).astype(np.int32),
        "h": random.uniform(-1, 1, (directions, BATCH, HIDDEN)).astype(np.float32),
        "c": random.uniform(-1, 1, (directions, BATCH, HIDDEN)).astype(np.float32),
    }
    given = {n: a for n, a in given.items() if n in names}
    outputs = ["y", "last", "cell"][: 2 + (op_type == "LSTM")]
    node = helper.make_node(op_type, names, outputs, hidden_size=HIDDEN, **attrs)
    inputs = [
        helper.make_tensor_value_info(
            n,
            helper.np_dtype_to_tensor_dtype(a.dtype),
            ["t", "n", INPUT] if n == "x" else [directions, "n", HIDDEN] if a.ndim == 3 else ["n"],
        )
        for n, a in given.items()
    ]
    made = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    weights = [numpy_helper.from_array(a, n) for n, a in held.items()]
    graph = helper.make_graph([node], "g", inputs, made, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), given


def _check(model, given, shape):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, given)

    made = interpret(from_onnx(model, shape), given)

    for got, want in zip(made, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("op_type", "direction", "steps"),
    list(product(GATES, ("forward", "reverse", "bidirectional"), (3, 20, None))),
)
def test_recurrent_layers_equal_onnxruntimes(op_type, direction, steps):
    directions = 2 if direction == "bidirectional" else 1
    attrs = {"linear_before_reset": 1} if op_type == "GRU" and direction == "reverse" else {}
    model, given = _layer(
        op_type, directions, steps or 11, np.random.default_rng(0), direction=direction, **attrs
    )

    _check(model, given, None if steps is None else {"x": (steps, BATCH, INPUT)})


@pytest.mark.parametrize("op_type", GATES)
def test_layers_without_lengths_and_with_other_activations(op_type):
    count = {"RNN": 1, "GRU": 2, "LSTM": 3}[op_type]
    names = (
        ["HardSigmoid", "ScaledTanh", "Affine"][3 - count :]
        if op_type == "RNN"
        else ["HardSigmoid", "Softsign", "LeakyRelu"][:count]
    )
    numbers = {"activation_alpha": [0.3, 0.2], "activation_beta": [0.4]}
    model, given = _layer(
        op_type, 1, 12, np.random.default_rng(1), with_lengths=False, activations=names, **numbers
    )

    _check(model, given, None)


def test_layout_with_the_batch_first():
    model, given = _layer("LSTM", 1, 9, np.random.default_rng(2), with_lengths=False)
    plain = interpret(from_onnx(model), given)
    turned, _ = _layer("LSTM", 1, 9, np.random.default_rng(2), with_lengths=False, layout=1)
    for one in turned.graph.input:
        first, second = one.type.tensor_type.shape.dim[0], one.type.tensor_type.shape.dim[1]
        kept = type(first)()
        kept.CopyFrom(first)
        first.CopyFrom(second)
        second.CopyFrom(kept)

    made = interpret(from_onnx(turned), {n: a.swapaxes(0, 1) for n, a in given.items()})

    np.testing.assert_allclose(made[0], plain[0].transpose(2, 0, 1, 3), rtol=1e-6)
    np.testing.assert_allclose(made[2], plain[2].swapaxes(0, 1), rtol=1e-6)
