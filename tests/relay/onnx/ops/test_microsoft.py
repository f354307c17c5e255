"""Operators of com.microsoft, and ONNX's own filter and region operators, against onnxruntime."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from tvmlite.core.errors import UnsupportedError
from tvmlite.driver import compile
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.onnx import from_onnx

MS = "com.microsoft"


def _random(shape, dtype="float32", low=-2, high=2, seed=0):
    random = np.random.default_rng(seed + zlib.crc32(repr((shape, dtype)).encode()))
    if np.issubdtype(dtype, np.floating):
        return random.uniform(low, high, shape).astype(dtype)
    return random.integers(low, high, shape).astype(dtype)


def F(*shape, seed=0):
    return _random(shape, seed=seed)


def U8(*shape, seed=0):
    return _random(shape, "uint8", 0, 256, seed)


def I8(*shape, seed=0):
    return _random(shape, "int8", -128, 128, seed)


def I7(*shape, seed=0):
    """Return weights with 7 bits, so that onnxruntime's byte products are exact on every processor: without a
    byte dot product it adds two products in 16 bits, and 255 times -128 twice saturates."""
    return _random(shape, "int8", -64, 64, seed)


def S(value, dtype=np.float32):
    return np.array(value, dtype)


def _group_query():
    """Return cases with prompts, and one token after a past: packed inputs, rotary angles, window, bias."""
    heads, groups, size = 4, 2, 16
    shape = {"num_heads": heads, "kv_num_heads": groups}
    tables = [F(16, size // 2), F(16, size // 2, seed=1)]

    def projections(length):
        return [F(2, length, heads * size), F(2, length, groups * size), F(2, length, groups * size, seed=1)]

    def past(length):
        return [F(2, groups, length, size), F(2, groups, length, size, seed=1)]

    def lengths(*known):
        return [S(known, np.int32) - 1, S(max(known), np.int32)]

    prompt = [*projections(5), None, None, *lengths(5, 5)]
    token = [*projections(1), *past(6), *lengths(7, 7)]
    packed = [F(2, 5, (heads + 2 * groups) * size), None, None, None, None, *lengths(5, 5)]
    rotary = {"do_rotary": 1}
    return [
        (prompt, shape, 3),
        (token, shape, 3),
        ([*prompt, *tables], {**shape, **rotary}, 3),
        ([*token, *tables], {**shape, **rotary, "rotary_interleaved": 1}, 3),
        (packed, shape, 3),
        ([*packed, *tables], {**shape, **rotary}, 3),
        (prompt, {**shape, "local_window_size": 2, "scale": 0.2}, 3),
        (token, {**shape, "softcap": 1.5, "local_window_size": 3}, 3),
        ([*prompt, None, None, None, F(2, heads, 5, 5)], shape, 3),
        ([*(x[:1] for x in (*projections(3), *past(6))), *lengths(9)], shape, 3),
    ]


X = F(2, 6, 8)
HALVES = F(2, 4, 6, 8)

CASES: list[tuple[str, list[Any], dict[str, Any], int]] = [
    ("Gelu", [X], {}, 1),
    ("BiasGelu", [X, F(8)], {}, 1),
    ("FastGelu", [X], {}, 1),
    ("FastGelu", [X, F(8)], {}, 1),
    ("QuickGelu", [X], {"alpha": 1.3}, 1),
    ("FusedConv", [F(1, 3, 6, 5), F(4, 3, 3, 3), F(4)], {"activation": "Relu", "pads": [1] * 4}, 1),
    (
        "FusedConv",
        [F(1, 3, 6, 5), F(4, 3, 3, 3), F(4), F(1, 4, 4, 3)],
        {"activation": "LeakyRelu", "activation_params": [0.3]},
        1,
    ),
    (
        "FusedConv",
        [F(1, 3, 6, 5), F(4, 3, 3, 3)],
        {"activation": "Clip", "activation_params": [-0.5, 1.0]},
        1,
    ),
    (
        "FusedGemm",
        [F(3, 4), F(4, 5), F(5)],
        {"activation": "LeakyRelu", "activation_alpha": 0.2, "alpha": 0.5},
        1,
    ),
    ("FusedMatMul", [F(2, 3, 4), F(2, 5, 4)], {"transB": 1, "alpha": 0.25}, 1),
    ("FusedMatMul", [F(4, 3), F(4, 5)], {"transA": 1}, 1),
    (
        "SkipLayerNormalization",
        [X, F(2, 6, 8, seed=1), F(8), F(8, seed=1), F(8, seed=2)],
        {"epsilon": 1e-5},
        1,
    ),
    ("SkipLayerNormalization", [X, F(2, 6, 8, seed=1), F(8)], {}, 1),
    ("SkipSimplifiedLayerNormalization", [X, F(2, 6, 8, seed=1), F(8)], {"epsilon": 1e-5}, 1),
    (
        "EmbedLayerNormalization",
        [
            _random((2, 5), "int32", 0, 9),
            _random((2, 5), "int32", 0, 2),
            F(9, 8),
            F(7, 8),
            F(2, 8),
            F(8),
            F(8, seed=1),
            S([[1] * 5, [1, 1, 1, 0, 0]], np.int32),
        ],
        {"epsilon": 1e-6},
        2,
    ),
    (
        "EmbedLayerNormalization",
        [_random((2, 5), "int32", 0, 9), None, F(9, 8), F(7, 8), None, F(8), F(8, seed=1)],
        {},
        2,
    ),
    *(
        ("Attention", [X, F(8, 24), F(24), mask], {"num_heads": 2, **more}, 1)
        for mask in (
            None,
            S([[1] * 6, [1, 1, 1, 0, 0, 0]], np.int32),
            S([6, 3], np.int32),
            _random((2, 6, 6), "int32", 0, 2),
        )
        for more in ({}, {"unidirectional": 1}, {"scale": 0.3})
    ),
    ("Attention", [X, F(8, 24), F(24), None, F(2, 2, 2, 3, 4)], {"num_heads": 2, "unidirectional": 1}, 2),
    ("Attention", [X, F(8, 24), F(24), None, None, F(2, 2, 6, 6)], {"num_heads": 2}, 1),
    ("Attention", [X, F(8, 20), F(20)], {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 4]}, 1),
    ("MultiHeadAttention", [X, F(2, 5, 8), F(2, 5, 12)], {"num_heads": 4}, 1),
    (
        "MultiHeadAttention",
        [X, F(2, 5, 8), F(2, 5, 8, seed=3), F(24), S([5, 2], np.int32)],
        {"num_heads": 2},
        1,
    ),
    (
        "MultiHeadAttention",
        [
            X,
            F(2, 5, 8),
            F(2, 5, 8, seed=3),
            None,
            S([[1, 1, 0, 1, 1], [1, 0, 0, 0, 1]], np.int32),
            F(1, 2, 6, 5),
        ],
        {"num_heads": 2, "scale": 0.4},
        1,
    ),
    ("MultiHeadAttention", [X, F(2, 2, 5, 4), F(2, 2, 5, 4, seed=3)], {"num_heads": 2}, 1),
    (
        "MultiHeadAttention",
        [X, F(2, 6, 8, seed=1), F(2, 6, 8, seed=2), None, None, None, F(2, 2, 3, 4), F(2, 2, 3, 4, seed=1)],
        {"num_heads": 2},
        3,
    ),
    *(
        ("RotaryEmbedding", [data, places, F(16, 4), F(16, 4, seed=1)], {"interleaved": kind}, 1)
        for data in (F(2, 6, 16), HALVES)
        for places in (_random((2, 6), "int64", 0, 16), S([3], np.int64))
        for kind in (0, 1)
    ),
    (
        "RotaryEmbedding",
        [F(2, 6, 32), _random((2, 6), "int64", 0, 16), F(16, 3), F(16, 3, seed=1)],
        {"num_heads": 2, "rotary_embedding_dim": 6},
        1,
    ),
    *(
        (
            "MatMulNBits",
            [F(3, 40), U8(5, blocks, block * bits // 8), F(5, blocks), zeros],
            {"K": 40, "N": 5, "bits": bits, "block_size": block},
            1,
        )
        for bits, block, blocks, zeros in (
            (4, 32, 2, None),
            (4, 16, 3, U8(5, 2)),
            (8, 32, 2, None),
            (4, 16, 3, F(5, 3)),
        )
    ),
    ("DynamicQuantizeMatMul", [F(3, 8), I7(8, 5), F(5), _random((5,), "int8", -9, 9), F(5, seed=1)], {}, 1),
    ("DynamicQuantizeMatMul", [F(2, 3, 8), U8(8, 5), S(0.02), S(120, np.uint8)], {}, 1),
    (
        "MatMulIntegerToFloat",
        [U8(3, 8), I7(8, 5), S(0.1), F(5), S(7, np.uint8), _random((5,), "int8", -9, 9), F(5, seed=1)],
        {},
        1,
    ),
    (
        "QAttention",
        [
            U8(2, 6, 8),
            I7(8, 24),
            F(24),
            S(0.01),
            S(0.02),
            S([6, 3], np.int32),
            S(100, np.uint8),
            S(3, np.int8),
        ],
        {"num_heads": 2},
        1,
    ),
    (
        "QLinearAdd",
        [U8(3, 4), S(0.1), S(120, np.uint8), U8(4), S(0.05), S(3, np.uint8), S(0.2), S(99, np.uint8)],
        {},
        1,
    ),
    (
        "QLinearMul",
        [I8(3, 4), S(0.1), S(12, np.int8), I8(3, 4, seed=1), S(0.05), S(3, np.int8), S(0.7), S(-9, np.int8)],
        {},
        1,
    ),
    ("QLinearSigmoid", [U8(3, 4), S(0.05), S(120, np.uint8), S(1 / 256), S(0, np.uint8)], {}, 1),
    ("QLinearLeakyRelu", [I8(3, 4), S(0.05), S(10, np.int8), S(0.04), S(-20, np.int8)], {"alpha": 0.2}, 1),
    (
        "QLinearGlobalAveragePool",
        [U8(2, 3, 4, 5), S(0.05), S(120, np.uint8), S(0.03), S(128, np.uint8)],
        {},
        1,
    ),
    (
        "QLinearConcat",
        [S(0.1), S(100, np.uint8), U8(2, 3), S(0.05), S(128, np.uint8), U8(2, 2), S(0.2), S(90, np.uint8)],
        {"axis": 1},
        1,
    ),
    (
        "QGemm",
        [U8(3, 8), S(0.1), S(7, np.uint8), I7(5, 8), S(0.02), S(3, np.int8), _random((5,), "int32", -99, 99)],
        {"transB": 1},
        1,
    ),
    (
        "QGemm",
        [U8(3, 8), S(0.1), S(7, np.uint8), I7(8, 5), S(0.02), S(3, np.int8), None, S(1.5), S(128, np.uint8)],
        {},
        1,
    ),
    ("QuantizeLinear", [F(3, 4), S(0.03), S(7, np.uint8)], {}, 1),
    ("QuantizeLinear", [F(3, 4), F(4) * 0.01 + 0.05, S([1, 2, 3, 4], np.int16)], {"axis": 1}, 1),
    ("DequantizeLinear", [I8(3, 4), F(3) + 3, I8(3)], {"axis": 0}, 1),
    ("QLinearSoftmax", [U8(2, 5), S(0.05), S(128, np.uint8), S(1 / 256), S(0, np.uint8)], {"opset": 13}, 1),
    (
        "QLinearSoftmax",
        [I8(2, 3, 5), S(0.05), S(-3, np.int8), S(1 / 256), S(-128, np.int8)],
        {"opset": 11, "axis": 1},
        1,
    ),
    (
        "QLinearAveragePool",
        [U8(1, 3, 6, 7), S(0.05), S(100, np.uint8), S(0.04), S(120, np.uint8)],
        {"kernel_shape": [3, 3], "pads": [1] * 4, "strides": [2, 2]},
        1,
    ),
    (
        "QLinearWhere",
        [
            S([[True], [False], [True]], bool),
            *(U8(3, 4), S(0.05), S(3, np.uint8)),
            *(U8(3, 4, seed=1), S(0.02), S(130, np.uint8)),
            *(S(0.06), S(100, np.uint8)),
        ],
        {},
        1,
    ),
    (
        "GatherBlockQuantized",
        [U8(10, 16), S([[1, 3], [9, 0]], np.int64), F(10, 2)],
        {"block_size": 16, "bits": 4},
        1,
    ),
    (
        "GatherBlockQuantized",
        [U8(10, 32), S([2, 5, 2], np.int32), F(10, 2), U8(10, 2, seed=1)],
        {"block_size": 16, "bits": 8},
        1,
    ),
    *((("GroupQueryAttention", *rest)) for rest in _group_query()),
]

WEIGHTS = {"MatMulNBits": (1, 2, 3), "GatherBlockQuantized": (0, 2, 3)}
"""Inputs that are constants of the model."""


def _model(op_type, inputs, attrs, outputs, domain=MS, constants=()):
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    node = helper.make_node(op_type, names, [f"y{i}" for i in range(outputs)], domain=domain, **attrs)
    given = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for i, (n, x) in enumerate(zip(names, inputs, strict=True))
        if x is not None and i not in constants
    ]
    held = [numpy_helper.from_array(inputs[i], names[i]) for i in constants if inputs[i] is not None]
    made = [helper.make_empty_tensor_value_info(n) for n in node.output]
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MS, 1)]
    return helper.make_model(
        helper.make_graph([node], "g", given, made, held), opset_imports=opsets, ir_version=9
    )


def _both(model, arrays):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    feeds = dict(zip([i.name for i in session.get_inputs()], arrays, strict=True))
    expected = session.run(None, feeds)
    made = interpret(from_onnx(model), arrays)
    return list(made) if isinstance(made, tuple) else [made], expected


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{len(c[1])}")
def test_results_equal_onnxruntimes(case):
    op_type, inputs, attrs, outputs = case
    constants = WEIGHTS.get(op_type, ())
    constants = [i for i in constants if i < len(inputs)]
    arrays = [x for i, x in enumerate(inputs) if x is not None and i not in constants]

    made, expected = _both(_model(op_type, inputs, attrs, outputs, constants=constants), arrays)

    for got, want in zip(made, expected, strict=True):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        if got.dtype.kind in "iu":  # ties may round either way
            assert np.abs(got.astype(int) - want.astype(int)).max(initial=0) <= 1
        else:
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


def test_products_with_full_range_int8_weights_do_not_saturate():
    """The expected result is computed from the dequantized operands in float."""
    mask = S([6, 3], np.int32)
    data, weight, bias = U8(2, 6, 8), I8(8, 24), F(24)
    assert np.abs(data.astype(int) @ weight.astype(int)).max() > 2**15
    scales, zeros = (S(0.01), S(0.02)), (S(100, np.uint8), S(3, np.int8))
    meant = [(x.astype("float32") - z) * s for x, s, z in zip((data, weight), scales, zeros, strict=True)]
    given = [data, weight, bias, *scales, mask, *zeros]
    model = _model("QAttention", given, {"num_heads": 2}, 1)

    made = interpret(from_onnx(model), given)
    lib = compile(from_onnx(model))(*given)
    _, (expected,) = _both(
        _model("Attention", [*meant, bias, mask], {"num_heads": 2}, 1), [*meant, bias, mask]
    )

    for got in (made, lib):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_skip_layer_norm_returns_the_sum_as_its_fourth_output():
    inputs = [X, F(2, 6, 8, seed=1), F(8), F(8, seed=1)]
    model = _model("SkipLayerNormalization", inputs, {}, 4)
    for index in (2, 1):
        del model.graph.output[index]
        model.graph.node[0].output[index] = ""

    made, expected = _both(model, inputs)

    np.testing.assert_allclose(made[1], expected[1], rtol=1e-6)


def test_matmul_nbits_weight_must_be_constant():
    inputs = [F(3, 40), U8(5, 2, 16), F(5, 2)]

    with pytest.raises(UnsupportedError, match="a weight that is not constant"):
        from_onnx(_model("MatMulNBits", inputs, {"K": 40, "N": 5, "bits": 4, "block_size": 32}, 1))


def test_shorter_batches_append_at_the_end_of_their_past():
    """The past is a buffer longer than what each batch has seen, as in a decoder's loop."""
    heads, groups, size = 4, 2, 8
    token = [F(2, 1, heads * size), F(2, 1, groups * size), F(2, 1, groups * size, seed=1)]
    past = [F(2, groups, 6, size), F(2, groups, 6, size, seed=1)]
    inputs = [*token, *past, S([4, 6], np.int32), S(7, np.int32)]

    made, expected = _both(
        _model("GroupQueryAttention", inputs, {"num_heads": heads, "kv_num_heads": groups}, 3), inputs
    )

    np.testing.assert_allclose(made[0], expected[0], rtol=1e-5, atol=1e-6)
    for got, want in zip(made[1:], expected[1:], strict=True):
        np.testing.assert_allclose(got[0, :, :5], want[0, :, :5])
        np.testing.assert_allclose(got[1], want[1])


@pytest.mark.parametrize(("batch", "tolerance"), [(1, 1e-5), (3, 0.03)])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize(("size", "dtype"), [(5, "int8"), (16, "int8"), (21, "uint8")])
def test_quantized_lstm_rounds_inputs_and_states(size, dtype, direction, batch, tolerance):
    """With several samples onnxruntime rounds the states with one scale, tvmlite with one per sample."""
    count, middle = 1 + (direction == "bidirectional"), 128 if dtype == "uint8" else 0
    zeros = [S([middle + n] * count, np.dtype(dtype).type) for n in (3, -2)]
    scales = [S([0.02] * count), zeros[0], S([0.03] * count), zeros[1]]
    shapes = ((count, 6, 4 * size), (count, size, 4 * size))
    weights = [_random(s, dtype, middle - 40, middle + 40) for s in shapes]
    inputs = [F(12, batch, 6), *weights, F(count, 8 * size), None, None, None, None, *scales]
    model = _model(
        "DynamicQuantizeLSTM",
        inputs,
        {"hidden_size": size, "direction": direction},
        3,
        constants=(1, 2, 8, 9, 10, 11),
    )

    made, expected = _both(model, [inputs[0], inputs[3]])

    for got, want in zip(made, expected, strict=True):
        np.testing.assert_allclose(got, want, atol=tolerance)


def test_quantized_lstm_has_scales_per_column():
    """It also has an initial state, and its weights are inputs."""
    source = np.random.default_rng(0)
    weights = [_random(s, "int8", -99, 99) for s in ((1, 10, 28), (1, 7, 28))]
    scales = [(source.random((1, 28)) * 0.02).astype(np.float32) for _ in range(2)]
    zeros = [np.zeros((1, 28), np.int8)] * 2
    states = [F(1, 1, 7), F(1, 1, 7, seed=1)]
    parameters = [scales[0], zeros[0], scales[1], zeros[1]]
    inputs = [F(9, 1, 10), *weights, F(1, 56), None, *states, None, *parameters]

    given = [x for x in inputs if x is not None]
    made, expected = _both(_model("DynamicQuantizeLSTM", inputs, {"hidden_size": 7}, 3), given)

    for got, want in zip(made, expected, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-5)


def test_unsupported_group_query_attribute_is_named():
    inputs = [F(1, 2, 16), F(1, 2, 8), F(1, 2, 8), None, None, S([1], np.int32), S(2, np.int32)]
    attrs = {"num_heads": 2, "kv_num_heads": 1, "smooth_softmax": 1}

    with pytest.raises(UnsupportedError, match="GroupQueryAttention: smooth_softmax=1"):
        from_onnx(_model("GroupQueryAttention", inputs, attrs, 1))
