"""Dense layers with group-quantized weights against numpy: widths, tails, offsets, rows, targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite.core.errors import TvmliteError
from tvmlite.driver import compile
from tvmlite.machine.target import Target
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.te.codegen import process
from tvmlite.techniques.group_weights.layout import pack_words, unpacked_codes, words_shape
from tvmlite.techniques.group_weights.operator import DENSE, DENSE_OFFSET

QUANTIZED = "nn.contrib_dense_group_quantized"


def layer(
    rows: Any,
    units: int,
    depth: int,
    bits: int,
    group: int,
    zero_points: str = "",
    scales: str = "float16",
    **options: Any,
) -> tuple[CompiledModule, np.ndarray]:
    """The compiled layer of random codes, and its dequantized weight ``(units, depth)``."""
    rng = np.random.default_rng(units * depth + bits)
    groups = -(-depth // group)
    weight = rng.integers(0, 256, (units, groups, group * bits // 8), np.uint8)
    scale = (rng.random((units, groups)) * 0.1 + 0.01).astype(scales)
    zero = rng.integers(0, 2**bits, (units, groups)).astype(zero_points or "uint8")
    zero = zero if zero_points else np.full((1, 1), 2 ** (bits - 1), "uint8")
    plain = np.empty((units, depth))
    for k in range(depth):
        byte = weight[:, k // group, k % group * bits // 8].astype(int)
        code = byte if bits == 8 else byte >> 4 if k % group % 2 else byte & 15
        middle = zero[:, k // group] if zero_points else zero[0, 0]
        plain[:, k] = (code - middle.astype(float)) * scale[:, k // group].astype(float)
    x = var("x", (rows, depth))
    body = make(QUANTIZED, x, *map(constant, (weight, scale, zero)), bits=bits, group=group)
    return compile(Module({"main": Function((x,), body)}), **options), plain


def check(lib: CompiledModule, plain: np.ndarray, rows: int) -> None:
    """Check that results of random data agree with numpy up to rounding."""
    data = np.random.default_rng(rows).standard_normal((rows, plain.shape[1])).astype("float32")
    want = data.astype("float64") @ plain.T

    assert np.abs(lib(data) - want).max() <= 2e-6 * np.abs(want).max() * np.sqrt(plain.shape[1])


CASES = [
    (70, 96, 4, 32, "", "float16"),
    (128, 128, 4, 32, "uint8", "float32"),
    (65, 75, 8, 16, "", "float32"),
    (64, 70, 4, 32, "uint8", "float16"),
    (3, 41, 8, 32, "float32", "float32"),
    (130, 520, 4, 256, "uint8", "float32"),
    (66, 200, 4, 128, "float16", "float16"),
    (20, 50, 4, 24, "", "float16"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "target"),
    [
        pytest.param(
            case,
            target,
            marks=[pytest.mark.exhaustive] if target != "native" and case in CASES[2:] else [],
        )
        for case in CASES
        for target in ("native", "llvm -mcpu=haswell", "llvm -mcpu=x86-64-v2", "c")
    ],
)
def test_few_and_many_symbolic_rows_agree_with_numpy(case: tuple[Any, ...], target: str) -> None:
    if refused := process.reason_not_to_run(Target.parse(target)):
        pytest.skip(refused)
    lib, plain = layer("n", *case, target=target)

    for rows in (1, 2, 3, 4, 5, 6, 7, 11, 13, 40):
        check(lib, plain, rows)


@pytest.mark.parametrize("rows", [1, 3, 6, 8])
@pytest.mark.parametrize("case", CASES[2:5])
def test_rows_known_at_compile_time_agree_with_numpy(case: tuple[Any, ...], rows: int) -> None:
    check(*layer(rows, *case), rows)


def test_without_the_technique_results_are_the_same() -> None:
    check(*layer("n", *CASES[3], opt_level=2), 3)


def test_constant_weights_are_packed_with_16_bit_scales_where_exact() -> None:
    lib, _ = layer(1, 70, 96, 4, 32, "", "float32")

    text = str(lib.module)
    assert f"{DENSE}(" in text
    assert QUANTIZED not in text
    assert f"{DENSE_OFFSET}(" in str(layer(1, 70, 96, 4, 32, "uint8", "float16")[0].module)
    size = sum(c.nbytes for c in lib.constants.offsets)
    panel = -(-70 // 64) * 64 if Target.parse("native").lanes("float32") == 16 else 0
    assert not panel or size == panel * 96 // 2 + panel * 3 * 4


@pytest.mark.parametrize("bits", [4, 8])
def test_words_hold_the_codes(bits: int) -> None:
    rng = np.random.default_rng(bits)
    weight = rng.integers(0, 256, (21, 3, 16 * bits // 8), np.uint8)
    words = np.empty(words_shape(21, 40, bits, 16, 8), np.uint32)

    pack_words(words, weight, bits)

    codes = unpacked_codes(words, bits)
    expected = weight.reshape(21, -1)
    if bits == 4:
        expected = np.stack([expected & 15, expected >> 4], axis=-1).reshape(21, -1)
    np.testing.assert_array_equal(codes[:21], expected)
    assert not codes[21:].any()


def packed_type(data: Any = (1, 40), weight: Any = (2, 6, 8), scale: Any = (2, 3, 8), **given: Any) -> Any:
    attrs = {"bits": 4, "group": 16, "units": 9, **given}
    kinds = {"data": "float32", "scale": "float32", "offset": "int8"}
    kinds = {name: attrs.pop(f"{name}_dtype", kind) for name, kind in kinds.items()}
    args = [var("x", data, kinds["data"]), var("w", weight, "uint32"), var("s", scale, kinds["scale"])]
    offset = attrs.pop("offset", None)
    args += [] if offset is None else [var("o", offset, kinds["offset"])]
    return type_of(make(DENSE if offset is None else DENSE_OFFSET, *args, **attrs))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bits": 3}, "bits is 3, expected 4 or 8"),
        ({"group": 4}, "group is 4, expected codes of 4 bits that fill whole words of 32"),
        ({"data_dtype": "float16"}, "data is float16, expected float32"),
        ({"weight": (2, 5, 8)}, r"weight is \(2, 5, 8\), expected \(2, 6, 8\)"),
        ({"weight": (2, 6, 7)}, r"weight is \(2, 6, 7\), expected columns in 4 vectors"),
        ({"scale_dtype": "int8"}, "weight is uint32, scale int8, expected uint32, and float32 or float16"),
        ({"scale": (2, 2, 8)}, r"scale is \(2, 2, 8\), expected \(2, 3, 8\)"),
        ({"offset": (2, 3, 4)}, r"offset is \(2, 3, 4\), expected \(2, 3, 8\)"),
        (
            {"offset": (2, 3, 8), "offset_dtype": "float64"},
            "offset is float64, expected int8, int16 or float32",
        ),
    ],
)
def test_invalid_packed_weights_are_refused(given: dict[str, Any], message: str) -> None:
    assert packed_type().shape == (1, 9)
    with pytest.raises(TvmliteError, match=message):
        packed_type(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bits": 5}, "bits is 5, expected 4 or 8"),
        ({"group": 3}, "group is 3, expected codes of 4 bits that fill whole bytes"),
        ({"data_bits": 4}, r"data_bits is 4, expected 0 \(the data stay floats\), 8 or 16"),
        ({"data_bits": 16, "group": 512}, "group is 512, expected at most 256, so that int32 holds"),
        ({"data_bits": 8, "group": 1 << 17}, "group is 131072, expected at most 65536, so that int32 holds"),
        ({"data": ("n", "k")}, "expected a last extent that is a number"),
        ({"weight": (5, 2, 8)}, r"data is \(1, 40\), weight \(5, 2, 8\), not \(n, 3, 8\)"),
        ({"scale": (4, 3)}, r"scale is \(4, 3\), expected \(5, 3\)"),
        ({"zero": (5, 2)}, r"zero_point is \(5, 2\), expected \(5, 3\) or \(1, 1\)"),
        ({"zero_dtype": "int8"}, "zero_point is int8, expected uint8 or a float"),
    ],
)
def test_invalid_weights_are_refused(given: dict[str, Any], message: str) -> None:
    args = {
        "data": (1, 40),
        "weight": (5, 3, 8),
        "scale": (5, 3),
        "zero": (1, 1),
        "zero_dtype": "uint8",
        **given,
    }
    x, w = var("x", args["data"]), var("w", args["weight"], "uint8")
    s, z = var("s", args["scale"]), var("z", args["zero"], args["zero_dtype"])
    attrs: dict[str, Any] = {"bits": 4, "group": 16, "data_bits": 0} | {
        name: value for name, value in given.items() if name in ("bits", "group", "data_bits")
    }
    with pytest.raises(TvmliteError, match=message):
        type_of(make(QUANTIZED, x, w, s, z, **attrs))
