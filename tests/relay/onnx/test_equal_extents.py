"""Models with extents that are spelled differently but equal, or equal at some sizes only."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvmlite
from tvmlite import relay
from tvmlite.core.errors import ExecutionError

NUMBERS = {"zero": [0], "end": [2**31], "four": [4], "two": [2], "twice": [2, 1]}


def _model(nodes: list[onnx.NodeProto], inputs, weights: dict[str, np.ndarray], dtype: int) -> bytes:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info("y", dtype, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def test_quantized_concatenation_checks_that_rows_are_equal() -> None:
    node = helper.make_node
    nodes = [
        node("Slice", ["x", "zero", "end", "zero", "four"], ["fourths"]),
        node("Tile", ["fourths", "twice"], ["a"]),
        node("Slice", ["x", "zero", "end", "zero", "two"], ["b"]),
        node(
            "QLinearConcat",
            ["s", "z", "a", "s", "z", "b", "s", "z"],
            ["y"],
            "joined",
            domain="com.microsoft",
            axis=1,
        ),
    ]
    weights = {k: np.array(v) for k, v in NUMBERS.items()}
    weights |= {"s": np.float32(0.5), "z": np.uint8(3)}
    model = _model(nodes, [("x", TensorProto.UINT8, ["h", 3])], weights, TensorProto.UINT8)
    lib = tvmlite.compile(relay.frontend.from_onnx(model))

    for rows in (3, 4, 7, 8):
        x = np.arange(rows * 3, dtype=np.uint8).reshape(rows, 3)
        np.testing.assert_array_equal(lib(x), np.concatenate([np.tile(x[::4], (2, 1)), x[::2]], 1))
    with pytest.raises(ExecutionError) as error:
        lib(np.zeros((5, 3), np.uint8))
    assert 'node "joined" (QLinearConcat): the extents (h + 1) // 2 and (h + 3) // 4 * 2' in str(error.value)
    assert "must be equal (h is 5)" in str(error.value)


@pytest.mark.parametrize("channels", [8, 6])
def test_open_channels_are_checked_against_the_weight(channels: int) -> None:
    gamma = np.linspace(0.5, 2, 8, dtype="float32")
    nodes = [
        helper.make_node("InstanceNormalization", ["x", "g", "g"], ["normal"]),
        helper.make_node("Conv", ["normal", "w"], ["y"], "conv"),
    ]
    weights = {"g": gamma, "w": np.ones((2, 8, 1), "float32")}
    model = _model(nodes, [("x", TensorProto.FLOAT, ["n", "c", "t"])], weights, TensorProto.FLOAT)
    lib = tvmlite.compile(relay.frontend.from_onnx(model))
    x = np.random.default_rng(0).standard_normal((2, channels, 5)).astype("float32")

    if channels != 8:
        with pytest.raises(ExecutionError, match=r"the extents c and 8 must be equal \(.*c is 6"):
            lib(x)
        return
    normal = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
    wanted = (normal * gamma[:, None] + gamma[:, None]).sum(1, keepdims=True).repeat(2, 1)
    np.testing.assert_allclose(lib(x), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("equation", "shapes", "sizes"),
    [
        ("bk,kn->bn", [["b", "k"], [16, 3]], [(1, 16), (4, 16)]),
        ("bk,kn->bn", [["b", "k"], ["q", 3]], [(1, 16), (4, 16)]),
        ("...k,...k->...", [["b", "k"], [4, 16]], [(4, 16)]),
        ("ii->i", [["n", 4]], [(4, 4)]),
    ],
)
def test_an_einsum_letter_stands_for_one_extent(equation: str, shapes: list, sizes: list) -> None:
    names = "xw"[: len(shapes)]
    inputs = [(name, TensorProto.FLOAT, shape) for name, shape in zip(names, shapes, strict=True)]
    model = _model(
        [helper.make_node("Einsum", list(names), ["y"], "product", equation=equation)],
        inputs,
        {},
        TensorProto.FLOAT,
    )
    lib = tvmlite.compile(relay.frontend.from_onnx(model))
    random = np.random.default_rng(0)
    other = random.random((4 if equation[0] == "." else 16, 16 if equation[0] == "." else 3), np.float32)

    for size in sizes:
        arrays = [random.random(size, np.float32), other][: len(names)]
        np.testing.assert_allclose(lib(*arrays), np.einsum(equation, *arrays), rtol=1e-5)
    if len(names) > 1:
        with pytest.raises(ExecutionError, match=r'"product" \(Einsum\): the extents .* must be equal'):
            lib(random.random((4, 7), np.float32), other)


def test_topk_of_an_open_extent_checks_that_k_fits() -> None:
    node = helper.make_node("TopK", ["x", "k"], ["y", "at"], "best")
    model = _model([node], [("x", TensorProto.FLOAT, ["b", "n"])], {"k": np.array([3])}, TensorProto.FLOAT)
    lib = tvmlite.compile(relay.frontend.from_onnx(model))

    for n in (3, 8):
        x = np.random.default_rng(n).random((2, n), np.float32)
        np.testing.assert_array_equal(lib(x), np.sort(x)[:, :-4:-1])
    with pytest.raises(ExecutionError, match=r'"best" \(TopK\).*n is 2'):
        lib(np.zeros((2, 2), np.float32))
