"""MatMulNBits compiled without dequantizing its weight, against onnxruntime: widths, tails, biases."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, helper, numpy_helper

from tvmlite import compile
from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.relay.frontend import from_onnx

MS = "com.microsoft"


def model(
    depth: int,
    units: int,
    bits: int,
    block: int,
    zeros: str = "",
    bias: bool = False,
    level: int = 0,
    **more: np.ndarray,
) -> ModelProto:
    """Return a node with an ``accuracy_level``; ``zeros`` is "packed", "float" or empty; ``more`` are further
    tensors by name."""
    rng = np.random.default_rng(depth + units)
    blocks = -(-depth // block)
    tensors = {
        "w": rng.integers(0, 256, (units, blocks, block * bits // 8), np.uint8),
        "s": (rng.random((units, blocks)) * 0.1).astype("float32"),
    }
    if zeros == "packed":
        tensors["z"] = rng.integers(0, 256, (units, -(-blocks * bits // 8)), np.uint8)
    elif zeros:
        tensors["z"] = rng.random((units, blocks)).astype("float32") * 15
    if bias:
        tensors["b"] = rng.random(units).astype("float32")
    tensors |= more
    names = ["x", "w", "s", *(name if name in tensors else "" for name in "zgb")]
    while not names[-1]:
        names.pop()
    node = helper.make_node(
        "MatMulNBits", names, ["y"], domain=MS,
        K=depth, N=units, bits=bits, block_size=block, accuracy_level=level,
    )  # fmt: skip
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(
                "x", 1, ["batch", "n", more["x"].shape[-1] if "x" in more else depth]
            )
        ],
        [helper.make_tensor_value_info("y", 1, ["batch", "n", units])],
        [numpy_helper.from_array(array, name) for name, array in tensors.items() if name != "x"],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


LAYERS = [
    (96, 70, 4, 32, False, "packed"),
    (75, 64, 4, 16, True, ""),
    (256, 3, 4, 128, False, "float"),
    (100, 65, 8, 32, True, "packed"),
]
OTHER_LAYERS = [
    (*layer, zeros)
    for layer in [*(layer[:5] for layer in LAYERS), (64, 128, 4, 64, True)]
    for zeros in ("", "packed", "float")
    if (*layer, zeros) not in LAYERS and (layer[2], zeros) != (8, "float")  # onnxruntime refuses these
]


@pytest.mark.parametrize(
    ("depth", "units", "bits", "block", "bias", "zeros"),
    [*LAYERS, *(pytest.param(*layer, marks=pytest.mark.exhaustive) for layer in OTHER_LAYERS)],
)
def test_results_equal_onnxruntimes(
    depth: int, units: int, bits: int, block: int, bias: bool, zeros: str
) -> None:
    made = model(depth, units, bits, block, zeros, bias)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    lib = compile(from_onnx(made))

    assert "contrib_dense_group_pack" in str(lib.module)
    for rows in (1, 2, 5, 9):
        data = np.random.default_rng(rows).standard_normal((2, rows, depth)).astype("float32")
        (want,) = session.run(None, {"x": data})
        np.testing.assert_allclose(lib(data), want, rtol=1e-4, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("zeros", ["", "packed"])
@pytest.mark.parametrize(
    ("depth", "units", "bits", "block", "bias"),
    [(96, 70, 4, 32, False), (75, 64, 4, 16, True), (256, 3, 4, 128, False), (100, 65, 8, 32, True)],
)
def test_accuracy_level_4_rounds_data_as_onnxruntime_does(
    depth: int, units: int, bits: int, block: int, bias: bool, zeros: str
) -> None:
    """Codes are equal, so results differ by the order of sums only; unrounded they differ 1000 times more."""
    made = model(depth, units, bits, block, zeros, bias, level=4)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    exact = compile(from_onnx(model(depth, units, bits, block, zeros, bias)))
    for rows in (1, 5):
        data = np.random.default_rng(rows).standard_normal((1, rows, depth)).astype("float32")
        want = np.asarray(session.run(None, {"x": data})[0])
        bound = 1e-6 * np.abs(want).max()

        lib = compile(from_onnx(made, shape={"x": (1, rows, depth)}))
        assert "contrib_dense_group_pack_codes" in str(lib.module)
        np.testing.assert_allclose(lib(data), want, rtol=0, atol=bound)
        assert np.abs(exact(data) - want).max() > 500 * bound


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_data_stay_float_at_other_levels_and_with_2_bits(level: int) -> None:
    assert "data_bits=8" not in str(from_onnx(model(64, 8, 4, 32, level=level)))
    assert "data_bits=8" in str(from_onnx(model(64, 8, 4, 32, level=4)))
    assert "group_quantized" not in str(from_onnx(model(64, 8, 2, 32, level=4)))


def test_g_idx_is_not_supported() -> None:
    with pytest.raises(UnsupportedError, match="MatMulNBits: g_idx"):
        from_onnx(model(64, 8, 4, 32, g=np.zeros(64, "int32")))


def test_zero_points_and_data_of_wrong_shapes_are_refused() -> None:
    with pytest.raises(ModelError, match=r"zero points \(8, 2\) for 8 x 2 blocks"):
        from_onnx(model(64, 8, 4, 32, z=np.zeros((8, 2), "uint8")))
    with pytest.raises(ModelError, match="expected a last extent of 64"):
        from_onnx(model(64, 8, 4, 32, x=np.zeros((1, 63), "float32")))
