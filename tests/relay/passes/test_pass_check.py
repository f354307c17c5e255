"""A pass that changes a model's results is found, and named with the first node that differs."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvmlite
from tvmlite import relay
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import InputError, VerifyError
from tvmlite.core.node import Node, rewrite
from tvmlite.relay import passes
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.random_inputs import random_inputs
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.relay.passes.pass_check import ReferenceRun, difference


def _model() -> onnx.ModelProto:
    """Return ``softmax(tanh(x * w) + sigmoid(x))`` with named nodes and open sizes."""
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["scaled"], "scale"),
        helper.make_node("Tanh", ["scaled"], ["bent"], "bend"),
        helper.make_node("Sigmoid", ["x"], ["gate"], "open"),
        helper.make_node("Add", ["bent", "gate"], ["both"], "join"),
        helper.make_node("Softmax", ["both"], ["y"], "share", axis=-1),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 8])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 8])]
    weights = [numpy_helper.from_array(np.linspace(-1, 1, 8).astype(np.float32), "w")]
    graph = helper.make_graph(nodes, "net", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _swapped(old: str, new: str) -> passes.Pass:
    """Return a wrong pass, which replaces one operator by another."""

    @graph_pass
    def mistake(body: Expr) -> Expr:
        def rule(node: Node) -> Node:
            return dataclasses.replace(node, op=new) if isinstance(node, Call) and node.op == old else node

        return rewrite(body, rule)

    return mistake


@pytest.mark.parametrize(
    ("old", "new", "node"), [("tanh", "sin", "bend"), ("sigmoid", "exp", "open"), ("add", "subtract", "join")]
)
@pytest.mark.parametrize("place", [0, 4, 7])
def test_a_wrong_pass_is_named_with_its_node(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, node: str, place: int
) -> None:
    right = passes.pipeline()
    wrong = dataclasses.replace(
        right, passes=[*right.passes[:place], _swapped(old, new), *right.passes[place:]]
    )
    monkeypatch.setattr(passes, "pipeline", lambda *_: wrong)
    module = from_onnx(_model())

    tvmlite.compile(module)
    with pytest.raises(VerifyError) as caught:
        tvmlite.compile(module, verify=True)

    assert "pass 'mistake' changed what the model computes: output 'y': off by" in caught.value.message
    assert f"it begins at {new}" in caught.value.message
    assert caught.value.span is not None
    assert f'node "{node}"' in caught.value.span.note


def test_a_correct_model_is_verified_at_every_level() -> None:
    for level in range(4):
        tvmlite.compile(from_onnx(_model()), opt_level=level, verify=True)


def test_verify_takes_inputs() -> None:
    x = np.ones((2, 8), np.float32)

    tvmlite.compile(from_onnx(_model()), verify={"x": x})
    with pytest.raises(InputError, match=r"input 'x' is missing"):
        tvmlite.compile(from_onnx(_model()), verify={"z": x})


@pytest.mark.parametrize(
    ("dtype", "factor", "right"),
    [
        ("float32", 1 + 2e-5, True),
        ("float32", 1 + 1e-3, False),
        ("float64", 1 + 1e-7, False),
        ("float16", 1 + 1e-2, True),
        ("float16", 1 + 1e-1, False),
    ],
)
def test_only_differences_beyond_rounding_errors_are_found(dtype: str, factor: float, right: bool) -> None:
    want = np.linspace(1, 2, 5).astype(dtype)

    assert (difference(want, (want * factor).astype(dtype)) == "") is right


def test_integers_shapes_and_non_finite_values_must_agree() -> None:
    assert difference(np.array([1, 2, 3]), np.array([1, 2, 4])) == "1 of 3 elements differ"
    assert difference(np.ones((2, 1), "f4"), np.ones((1, 2), "f4")) == "float32[1, 2], expected float32[2, 1]"
    assert "NaN" in difference(np.array([1, np.nan], "f4"), np.array([1, 2], "f4"))
    assert difference(np.array([1, np.nan, np.inf], "f4"), np.array([1, np.nan, np.inf], "f4")) == ""


def test_random_inputs_fit_their_types_and_index_ranges() -> None:
    rows = relay.dim("rows")
    ids, table = (
        relay.var("ids", shape=(rows,), dtype="int64"),
        relay.var("table", shape=(3, 4), dtype="float32"),
    )
    flags = relay.var("flags", shape=(rows,), dtype="bool")
    checked = relay.make("assume_indices", ids, extents=(3,))
    module = Module.from_expr(
        relay.Function((ids, table, flags), relay.Tuple((relay.take(table, checked, axis=0), flags)))
    )

    for seed in range(5):
        (made, floats, bools), _ = random_inputs(module.main, seed)
        assert made.dtype == np.int64
        assert made.shape == bools.shape
        assert 0 <= made.min() <= made.max() < 3
        assert floats.dtype == np.float32
        assert bools.dtype == np.bool_


def test_sizes_grow_until_the_model_accepts_them() -> None:
    x = relay.var("x", shape=(1, 1, relay.dim("h"), 8), dtype="float32")
    weight = relay.const(np.ones((1, 1, 11, 3), np.float32))
    module = Module.from_expr(relay.Function((x,), relay.nn.conv2d(x, weight)))

    (image,), result = random_inputs(module.main)

    assert image.shape[2] >= 11
    assert result.shape[2] == image.shape[2] - 10


def test_error_for_a_module_without_valid_random_inputs_has_a_hint() -> None:
    x = relay.var("x", shape=(relay.dim("h"),), dtype="float32")
    module = Module.from_expr(relay.Function((x,), relay.make("assume_shape", x, newshape=(1000,))))

    with pytest.raises(
        InputError, match=r"(?s)no random input was found.*must be equal.*verify=\{name: array"
    ):
        ReferenceRun(module)


@pytest.mark.parametrize("dtype", [*dtypes.NARROW, "bfloat16"])
def test_narrow_dtypes_are_verified(dtype: str) -> None:
    x, w = relay.var("x", shape=(3, "n"), dtype=dtype), relay.var("w", shape=(3, "n"))
    rounded = make("cast", make("multiply", w, w), dtype=dtype)
    moved = make("transpose", x, axes=(1, 0))
    function = Function((x, w), Tuple((moved, rounded, make("cast", x, dtype="float32"))))

    tvmlite.compile(function, verify=True)
