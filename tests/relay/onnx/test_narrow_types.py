"""Floats and integers of at most eight bits: casts, quantization and moves, bit-exact with onnx.reference."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import tvmlite
from tvmlite.core.errors import ModelError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.onnx import from_onnx

KINDS = {
    "FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn,
    "FLOAT8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "FLOAT8E5M2": ml_dtypes.float8_e5m2,
    "FLOAT8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "FLOAT6E2M3": ml_dtypes.float6_e2m3fn,
    "FLOAT6E3M2": ml_dtypes.float6_e3m2fn,
    "FLOAT4E2M1": ml_dtypes.float4_e2m1fn,
    "INT4": ml_dtypes.int4,
    "UINT4": ml_dtypes.uint4,
    "INT2": ml_dtypes.int2,
    "UINT2": ml_dtypes.uint2,
}
OPSET = onnx.defs.onnx_opset_version()

EDGES = np.concatenate(
    [
        np.array(
            [0.0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 464.1, -480, 57344, 61440, 1e9, 1e-7], np.float32
        ),
        np.array([2.0**-k * s for k in range(130, 0, -3) for s in (1, 1.5, -1.25)], np.float32),
        np.linspace(-300, 300, 401, dtype=np.float32),
        np.linspace(-2, 2, 129, dtype=np.float32),
    ]
)


def model_of(nodes: list[Any], inputs: dict[str, np.ndarray], outputs: list[str], held: Any = ()) -> Any:
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in inputs.items()
    ]
    graph = helper.make_graph(nodes, "g", given, [onnx.ValueInfoProto(name=name) for name in outputs], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])


def check(nodes: list[Any], inputs: dict[str, np.ndarray], held: Any = (), source: str = "native") -> None:
    """Check that compiled and interpreted outputs of ``nodes`` equal onnx.reference's bit for bit."""
    outputs = [name for node in nodes for name in node.output]
    model = model_of(nodes, inputs, outputs, held)
    with np.errstate(all="ignore"):
        expected = ReferenceEvaluator(model).run(None, inputs)
    module = from_onnx(model)
    library = tvmlite.compile(module, source)
    for way in (interpret(module, list(inputs.values())), library(*inputs.values())):
        made = way if isinstance(way, tuple) else (way,)
        for name, got, want in zip(outputs, made, expected, strict=True):
            assert got.dtype == want.dtype, name
            assert got.shape == want.shape, name
            wide = [np.asarray(v).astype(np.float64) for v in (got, want)]
            same = (got.view(np.uint8) == want.view(np.uint8)) if got.itemsize == 1 else wide[0] == wide[1]
            same |= np.isnan(wide[0]) & np.isnan(wide[1])
            where = np.flatnonzero(~same.reshape(-1))[:3]
            assert not where.size, f"{name}: {got.reshape(-1)[where]}, expected {want.reshape(-1)[where]}"


def cast(to: str, number: int, **attrs: Any) -> Any:
    return helper.make_node("Cast", ["x"], [f"y{number}"], to=TensorProto.DataType.Value(to), **attrs)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", "c"])
@pytest.mark.parametrize("source", [np.float32, ml_dtypes.bfloat16])
def test_casts_saturate_by_default(source: Any, target: str) -> None:
    with np.errstate(all="ignore"):
        x = EDGES.astype(source)
    settings = itertools.product(KINDS, ({}, {"saturate": 0}))

    check([cast(to, k, **attrs) for k, (to, attrs) in enumerate(settings)], {"x": x}, source=target)


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_casts_to_powers_of_two_round_up_down_or_to_nearest(mode: str, saturate: int) -> None:
    exponents = np.arange(256, dtype=np.uint32)[:, None] << 23
    fractions = np.array([0, 1, 0x200000, 0x3FFFFF, 0x400000, 0x400001, 0x600000, 0x7FFFFF], np.uint32)
    x = (exponents | fractions).reshape(-1).view(np.float32)

    check([cast("FLOAT8E8M0", 0, saturate=saturate, round_mode=mode)], {"x": x})


def test_an_unknown_round_mode_is_refused() -> None:
    model = model_of([cast("FLOAT8E8M0", 0, round_mode="odd")], {"x": EDGES}, ["y0"])

    with pytest.raises(ModelError, match="round_mode is 'odd', expected up, down or nearest"):
        from_onnx(model)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", "c"])
@pytest.mark.parametrize("kind", [*KINDS, "FLOAT8E8M0"])
def test_every_code_is_cast_exactly_to_wider_types(kind: str, target: str) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(kind))
    count = 1 << {"4": 4, "6": 6, "2": 2}.get(
        kind.removeprefix("U").removeprefix("INT").removeprefix("FLOAT")[0], 8
    )
    x = np.arange(count, dtype=np.uint8).view(dtype)

    wider = ("FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE")
    check([cast(to, k) for k, to in enumerate(wider)], {"x": x}, source=target)


def test_cast_like_saturates_by_default() -> None:
    like = np.zeros(1, ml_dtypes.float8_e4m3fn)
    nodes = [
        helper.make_node("CastLike", ["x", "like"], ["a"]),
        helper.make_node("CastLike", ["x", "like"], ["b"], saturate=0),
    ]

    check(nodes, {"x": EDGES, "like": like})


def parameters(kind: Any, shape: tuple[int, ...], dtype: Any, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    name = np.dtype(kind).name
    if name.startswith(("float8", "float4")):  # onnx.reference leaves a float4's zero point out
        zero = np.zeros(shape, kind)
    else:
        zero = (
            random.integers(0, 3 if "4" in name else 1, shape, endpoint=True).astype(np.float32).astype(kind)
        )
    return random.uniform(0.1, 0.9, shape).astype(dtype), zero


FORMS: list[tuple[tuple[int, ...], dict[str, int]]] = [
    ((), {}),
    ((6,), {"axis": 1}),
    ((4,), {"axis": 0}),
    ((4, 2, 5), {"axis": 1, "block_size": 3}),
    ((4, 6, 3), {"axis": -1, "block_size": 2}),
]


HALVES = ("FLOAT8E4M3FN", "FLOAT6E2M3", "INT4", "UINT16")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        *((kind, np.float32) for kind in (*KINDS, "INT8", "UINT16")),
        *((kind, np.float16) for kind in HALVES),
        *((kind, ml_dtypes.bfloat16) for kind in HALVES),
    ],
)
def test_quantization_per_tensor_axis_and_block(kind: str, dtype: Any) -> None:
    random = np.random.default_rng(3)
    held, number = [], TensorProto.DataType.Value(kind)
    x = random.uniform(-9, 9, (4, 6, 5)).astype(dtype)
    nodes = []
    for k, (shape, attrs) in enumerate(FORMS):
        scale, zero = parameters(helper.tensor_dtype_to_np_dtype(number), shape, dtype, k)
        held += [numpy_helper.from_array(scale, f"s{k}"), numpy_helper.from_array(zero, f"z{k}")]
        more: dict[str, Any] = (
            {"saturate": 0} if k == 1 else {"precision": TensorProto.FLOAT} if k == 2 else {}
        )
        nodes.append(helper.make_node("QuantizeLinear", ["x", f"s{k}", f"z{k}"], [f"q{k}"], **attrs, **more))
        nodes.append(helper.make_node("DequantizeLinear", [f"q{k}", f"s{k}", f"z{k}"], [f"d{k}"], **attrs))
        if k % 3:
            continue
        nodes.append(
            helper.make_node("QuantizeLinear", ["x", f"s{k}"], [f"p{k}"], output_dtype=number, **attrs)
        )
        nodes.append(
            helper.make_node(
                "DequantizeLinear", [f"p{k}", f"s{k}"], [f"e{k}"], output_dtype=TensorProto.FLOAT16, **attrs
            )
        )

    check(nodes, {"x": x}, held)


def test_a_zero_point_of_another_dtype_is_refused() -> None:
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"], output_dtype=TensorProto.INT4)
    held = [numpy_helper.from_array(np.float32(1), "s"), numpy_helper.from_array(np.int8(0), "z")]

    with pytest.raises(ModelError, match="output_dtype is int4, the zero point is int8"):
        from_onnx(model_of([node], {"x": EDGES}, ["y"], held))


@pytest.mark.parametrize("kind", [*KINDS, "FLOAT8E8M0"])
def test_data_movement_keeps_the_codes(kind: str) -> None:
    if kind.startswith("FLOAT6"):
        pytest.skip("ONNX moves no 6-bit floats")
    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(kind))
    codes = {"4": 16, "2": 4}.get(kind.removeprefix("U").removeprefix("INT").removeprefix("FLOAT")[0], 256)
    x = np.random.default_rng(0).integers(0, codes, (3, 5)).astype(np.uint8).view(dtype)
    held = [
        numpy_helper.from_array(np.array([5, 3]), "shape"),
        numpy_helper.from_array(np.array([0, 1]), "axes"),
    ]
    nodes = [
        helper.make_node("Identity", ["x"], ["a"]),
        helper.make_node("Transpose", ["x"], ["b"], perm=[1, 0]),
        helper.make_node("Reshape", ["x", "shape"], ["c"]),
        helper.make_node("Unsqueeze", ["x", "axes"], ["d"]),
        helper.make_node("Flatten", ["x"], ["e"]),
    ]

    check(nodes, {"x": x}, held)


@pytest.mark.parametrize("kind", [*KINDS, "FLOAT8E8M0"])
@pytest.mark.parametrize("where", ["raw", "outside"])
def test_packed_initializers_are_read(kind: str, where: str, tmp_path: Any) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(kind))
    weight = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1]]).astype(np.float32).astype(dtype)
    node = helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT)
    model = model_of([node], {}, ["y"], [numpy_helper.from_array(weight, "w")])
    path = tmp_path / "m.onnx"
    onnx.save(model, path, save_as_external_data=where == "outside", size_threshold=0)

    made = interpret(from_onnx(path), [])

    np.testing.assert_array_equal(made, weight.astype(np.float32))


def test_a_packed_initializer_that_is_too_short_is_refused() -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.INT4, dims=[5], raw_data=b"\x12\x34")
    node = helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT)

    with pytest.raises(ModelError, match=r"shape \(5,\) of int4 needs 3 bytes, the file holds 2"):
        from_onnx(model_of([node], {}, ["y"], [tensor]))
