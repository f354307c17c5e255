"""SpaceToDepth and DepthToSpace against numpy, with and without a mode in the schema."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.onnx import from_onnx
from tvmlite.relay.onnx.reading import schemas

BLOCKS = np.arange(2 * 3 * 4 * 6, dtype=np.float32).reshape(2, 3, 4, 6)


def run(op_type, data, **attrs):
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x"], ["y"], blocksize=2, **attrs)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, data.shape)],
        [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)],
    )
    return interpret(from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])), [data])


def to_depth(data):
    n, c, h, w = data.shape
    return (
        data.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 3, 5, 1, 2, 4).reshape(n, 4 * c, h // 2, w // 2)
    )


def test_space_to_depth_makes_the_block_the_outer_channels():
    np.testing.assert_array_equal(run("SpaceToDepth", BLOCKS), to_depth(BLOCKS))


def test_space_to_depth_works_where_the_schema_has_no_mode(monkeypatch):
    monkeypatch.setattr(schemas, "defaults", lambda *_: {})

    np.testing.assert_array_equal(run("SpaceToDepth", BLOCKS), to_depth(BLOCKS))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space_restores_blocks(mode):
    data = BLOCKS.reshape(2, 12, 2, 3)
    n, c, h, w = data.shape
    parts = data.reshape(n, 2, 2, c // 4, h, w) if mode == "DCR" else data.reshape(n, c // 4, 2, 2, h, w)
    order = (0, 3, 4, 1, 5, 2) if mode == "DCR" else (0, 1, 4, 2, 5, 3)

    made = run("DepthToSpace", data, mode=mode)

    np.testing.assert_array_equal(made, parts.transpose(order).reshape(n, c // 4, 2 * h, 2 * w))
