"""DequantizeLinear in blocks before a product, which then reads the codes, against onnxruntime."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tvmlite import compile
from tvmlite.core.errors import ModelError
from tvmlite.core.node import postorder
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call

DTYPES = {"int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4, "int8": np.int8, "uint8": np.uint8}
FLOATS = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}


def model(
    dtype: str,
    *,
    depth: int = 96,
    units: int = 40,
    block: int = 32,
    axis: int = 0,
    zeros: bool = True,
    steps: tuple[str, ...] = ("MatMul",),
    scale: str = "float32",
    **attrs: Any,
) -> ModelProto:
    """Return ``x`` times a weight with its depth on ``axis``; ``steps`` follow the dequantization."""
    rng = np.random.default_rng(depth)
    shape, blocks = [units, units], [units, units]
    shape[axis], blocks[axis] = depth, -(-depth // block)
    low, high = {"int4": (-8, 8), "uint4": (0, 16), "int8": (-128, 128), "uint8": (0, 256)}[dtype]
    held = {
        "w": rng.integers(low, high, shape).astype(DTYPES[dtype]),
        "s": rng.uniform(0.01, 0.1, blocks).astype(scale),
        **({"z": rng.integers(low, high, blocks).astype(DTYPES[dtype])} if zeros else {}),
    }
    nodes = [helper.make_node("DequantizeLinear", list(held), ["w0"], axis=axis, block_size=block)]
    for n, step in enumerate(steps):
        last = n == len(steps) - 1
        inputs = ["x", f"w{n}"] if last else [f"w{n}"]
        nodes.append(
            helper.make_node(step, inputs, ["y" if last else f"w{n + 1}"], **(attrs if last else {}))
        )
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOATS[scale], ["n", depth])],
        [helper.make_tensor_value_info("y", FLOATS[scale], ["n", units])],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def groups(module: Any) -> list[Call]:
    name = "nn.contrib_dense_group_quantized"
    return [one for one in postorder(module.main.body) if isinstance(one, Call) and one.op == name]


def as_written(proto: ModelProto, x: np.ndarray) -> np.ndarray:
    """Return onnxruntime's result without graph rewrites, which would round the data."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])
    (made,) = session.run(None, {"x": x})
    return made


CASES = [
    {"dtype": "int4"},
    {"dtype": "uint4", "block": 16},
    {"dtype": "int8", "zeros": False},
    {"dtype": "uint8", "block": 64},
    {"dtype": "int4", "axis": 1, "steps": ("Transpose", "MatMul")},
    {"dtype": "uint4", "axis": 1, "steps": ("Gemm",), "transB": 1},
    {"dtype": "int4", "steps": ("Gemm",), "alpha": 0.5, "zeros": False},
    {"dtype": "uint4", "scale": "float16"},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_product_reads_the_quantized_weight(case: dict[str, Any]) -> None:
    proto = model(**case)
    module = from_onnx(proto)
    (product,) = groups(module)
    assert product["bits"] == (4 if case["dtype"].endswith("4") else 8)

    kind = case.get("scale", "float32")
    x = np.random.default_rng(1).standard_normal((5, 96)).astype(kind)
    expected = as_written(proto, x)
    allowed = (1e-5 if kind == "float32" else 4e-3) * np.abs(expected).max()
    in_c = [compile(module, "c")(x)] if case in CASES[:2] else []
    for made in (interpret(module, [x]), compile(module)(x), compile(module)(x[:1]), *in_c):
        np.testing.assert_allclose(made, expected[: len(made)], atol=allowed, rtol=0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "case",
    [
        {"dtype": "int4", "axis": 1},  # blocks along the units
        {"dtype": "int4", "block": 5, "depth": 96},  # blocks that do not fill whole bytes
        {"dtype": "int4", "steps": ("Relu", "MatMul")},
    ],
    ids=str,
)
def test_other_quantized_weights_are_dequantized(case: dict[str, Any]) -> None:
    proto = model(units=96, **case)
    module = from_onnx(proto)
    assert not groups(module)

    x = np.random.default_rng(1).standard_normal((3, 96)).astype("float32")
    expected = as_written(proto, x)
    np.testing.assert_allclose(compile(module)(x), expected, atol=1e-5 * np.abs(expected).max(), rtol=0)


def test_scales_that_do_not_fit_the_blocks_are_refused() -> None:
    proto = model("int4")
    proto.graph.node[0].attribute[1].i = 16
    with pytest.raises(ModelError, match=r"scales \(3, 40\) in blocks of 16 along axis 0 of \(96, 40\)"):
        from_onnx(proto)
