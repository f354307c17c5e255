"""Products of 8-bit data with weights of few bits agree with plain numpy, exactly where sums are exact."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tvmlite.core.errors import TvmliteError
from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.machine.target import Target
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Function, Module, Tuple, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.te.codegen import process
from tvmlite.techniques.group_weights.codes import CODES
from tvmlite.techniques.group_weights.operator import DENSE_CODES, DENSE_CODES_OFFSET
from tvmlite.techniques.group_weights.rule import pack_group_weights

QUANTIZED = "nn.contrib_dense_group_quantized"


class Layer:
    """A layer of random codes, and its weight as element-wise ``codes``, ``scale`` and ``middle``."""

    def __init__(
        self,
        units: int,
        depth: int,
        bits: int,
        group: int,
        zeros: str = "",
        scales: str = "float16",
        data_bits: int = 8,
    ) -> None:
        rng = np.random.default_rng(units * depth + bits)
        groups = -(-depth // group)
        weight = rng.integers(0, 256, (units, groups, group * bits // 8), np.uint8)
        if scales == "powers":
            scale = 2.0 ** rng.integers(-4, 4, (units, groups)).astype("float32")
        else:
            scale = (rng.random((units, groups)) * 0.1 + 0.01).astype(scales)
        zero = rng.integers(0, 2**bits, (units, groups)).astype(zeros or "uint8")
        zero = zero if zeros else np.full((1, 1), 2 ** (bits - 1), "uint8")
        self.constants = weight, scale, zero
        self.attrs: dict[str, Any] = {"bits": bits, "group": group, "data_bits": data_bits}
        parts = [weight] if bits == 8 else [weight & 15, weight >> 4]
        self.codes = np.stack(parts, -1).reshape(units, groups, group).astype("int64")
        self.scale, self.depth, self.group = scale.astype("float64"), depth, group
        self.middle = np.broadcast_to(zero, scale.shape).astype("float64")

    def module(self, *lead: Any) -> Module:
        x = var("x", (*lead, self.depth))
        return Module(
            {"main": Function((x,), make(QUANTIZED, x, *map(constant, self.constants), **self.attrs))}
        )

    def weight(self) -> np.ndarray:
        """The dequantized weight ``(units, depth)``."""
        plain = (self.codes - self.middle[..., None]) * self.scale[..., None]
        return plain.reshape(len(plain), -1)[:, : self.depth]

    def product(self, data: np.ndarray) -> np.ndarray:
        """The product: data rounded per group, summed as integers, then scaled."""
        filled = np.pad(data, ((0, 0), (0, -self.depth % self.group))).reshape(len(data), -1, self.group)
        total = np.zeros((len(data), len(self.codes)))
        for g in range(filled.shape[1]):
            codes, step = rounded(filled[:, g], LARGEST[self.attrs["data_bits"]])
            sums = codes @ self.codes[:, g].T - codes.sum(1)[:, None] * self.middle[:, g]
            total += sums * step[:, None] * self.scale[:, g]
        return total


LARGEST = {8: 127, 16: 32639}


def rounded(rows: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The codes of one group of each row, at most ``most``, and their step."""
    largest = np.abs(rows).max(1)
    factor = np.divide(np.float32(most), largest, out=np.zeros_like(largest), where=largest > 0)
    codes = np.rint(rows * factor[:, None])
    assert np.abs(codes).max() <= most
    return codes.astype("int64"), largest / np.float32(most)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape[0]).standard_normal(shape).astype("float32")


def check(lib: CompiledModule, layer: Layer, rows: int) -> None:
    data = normal(rows, layer.depth)
    want = layer.product(data)
    assert np.abs(lib(data) - want).max() <= 1e-6 * np.abs(want).max()


CASES: list[tuple[Any, ...]] = [
    (70, 96, 4, 32),
    (128, 128, 4, 32, "uint8", "float32"),
    (65, 75, 8, 16),
    (64, 70, 4, 32, "uint8"),
    (3, 41, 8, 32, "float32", "float32"),
    (130, 520, 4, 256, "uint8"),
    (66, 200, 4, 128, "float16"),
    (20, 50, 4, 24),
    (40, 72, 8, 12, "uint8"),
]
TARGETS = (
    "native",
    "llvm -mcpu=skylake-avx512",
    "llvm -mcpu=haswell",
    "llvm -mcpu=x86-64-v2",
    "c",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "target"),
    [
        pytest.param(
            case, target, marks=[pytest.mark.exhaustive] if target != "native" and case in CASES[2:] else []
        )
        for case in CASES
        for target in TARGETS
    ],
)
def test_few_and_many_symbolic_rows_match_numpy(case: tuple[Any, ...], target: str) -> None:
    if refused := process.reason_not_to_run(Target.parse(target)):
        pytest.skip(refused)
    layer = Layer(*case)
    lib = compile(layer.module("n"), target=target)

    for rows in (1, 2, 3, 5, 6, 7, 11, 13, 40):
        check(lib, layer, rows)


@pytest.mark.parametrize("rows", [1, 3, 6, 8])
@pytest.mark.parametrize("case", CASES[2:5])
@pytest.mark.parametrize("data_bits", [8, 16])
def test_rows_known_at_compile_time_match_numpy(case: tuple[Any, ...], rows: int, data_bits: int) -> None:
    layer = Layer(*case, data_bits=data_bits)
    check(compile(layer.module(rows)), layer, rows)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", [CASES[0], CASES[2]])
def test_16_bit_data_agree_with_numpy_on_all_targets(case: tuple[Any, ...], target: str) -> None:
    if refused := process.reason_not_to_run(Target.parse(target)):
        pytest.skip(refused)
    layer = Layer(*case, data_bits=16)
    lib = compile(layer.module("n"), target)

    for rows in (1, 2, 3, 4, 5, 7):
        check(lib, layer, rows)


@pytest.mark.parametrize("case", [CASES[0], CASES[3], CASES[5]])
def test_an_error_bound_allows_16_bit_data(case: tuple[Any, ...]) -> None:
    layer = Layer(*case, data_bits=0)
    data, module = normal(5, layer.depth), layer.module(5)
    exact = data.astype("float64") @ layer.weight().T
    lib = compile(module, error_bound=2**-14)

    assert DENSE_CODES in str(lib.module)
    off = np.abs(lib(data) - exact).max() / np.abs(exact).max()
    assert 2**-20 < off < 2**-14
    native, small = (Target.parse(text) for text in ("native", "c -mcpu=cortex-m0"))
    long = Layer(8, 512, 4, 512, data_bits=0).module(1)
    for target, bound, other in ((native, 2**-15, module), (small, 1e-3, module), (native, 1e-3, long)):
        assert DENSE_CODES not in str(pack_group_weights(target, bound)(other))


@pytest.mark.parametrize("case", [(20, 42, 4, 14, "uint8"), (9, 32, 8, 6), CASES[3]])
@pytest.mark.parametrize("target", ["native", "c"])
def test_without_the_technique_results_are_the_same(case: tuple[Any, ...], target: str) -> None:
    """Covers opt level 2, and groups that do not fill whole words."""
    layer = Layer(*case)
    for level in (2, 3):
        lib = compile(layer.module(5), target, opt_level=level)
        assert (DENSE_CODES in str(lib.module)) == (level == 3 and case is CASES[3])
        check(lib, layer, 5)


@pytest.mark.parametrize("zeros", ["", "uint8", "float32"])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("target", TARGETS)
def test_exact_sums_have_the_same_bits_on_all_targets(target: str, bits: int, zeros: str) -> None:
    """With integer data up to 127 and scales that are powers of 2, float32 holds each sum exactly."""
    if refused := process.reason_not_to_run(Target.parse(target)):
        pytest.skip(refused)
    layer = Layer(37, 96, bits, 32, zeros, "powers")
    data = np.random.default_rng(0).integers(-127, 128, (3, 96)).astype("float32")
    data[:, ::32] = -127
    want = layer.product(data)
    module = layer.module(3)

    np.testing.assert_array_equal(compile(module, target)(data), want)
    np.testing.assert_array_equal(np.asarray(interpret(module, [data])), want)


@pytest.mark.parametrize("bits", [8, 16])
def test_codes_have_the_same_bits_in_all_backends(bits: int) -> None:
    """Covers ties, also among rounded products, and the smallest and largest floats."""
    data = np.ldexp(normal(40, 96), np.arange(-149, 131, 7)[:40, None])
    most = LARGEST[bits]
    data[::3] = np.round(data[::3] / np.abs(data[::3]).max(1)[:, None] * 2 * most) / 2
    data[::3, ::32] = most
    x = var("x", ("n", 96))
    fields = make(CODES, x, group=32, data_bits=bits)
    module = Module({"main": Function((x,), Tuple(tuple(fields[n] for n in range(3))))})
    expected = interpret(module, [data])

    blocks = data.reshape(-1, 32)
    with np.errstate(over="ignore", divide="ignore"):
        factor = np.float32(most) / np.abs(blocks).max(1)
    codes = np.rint(blocks * np.where(np.isfinite(factor), factor, 0)[:, None].astype("float32"))
    parts = np.split(np.asarray(expected[0]).astype(int), bits // 8, axis=1)
    whole = parts[0] + 256 * parts[1] if bits == 16 else parts[0]
    np.testing.assert_array_equal(whole.reshape(-1, 32), codes)
    np.testing.assert_array_equal(np.asarray(expected[2]).reshape(-1), codes.sum(1))
    assert (codes != 0).any(1).sum() < len(codes)
    for target in TARGETS:
        if not process.reason_not_to_run(Target.parse(target)):
            for made, want in zip(compile(module, target)(data), expected, strict=True):
                np.testing.assert_array_equal(made, want)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("target", "level"), [("native", 3), ("native", 2), ("c", 3)])
def test_a_row_with_a_non_finite_element_is_nan(target: str, level: int, value: float) -> None:
    layer = Layer(*CASES[3])
    data = normal(3, layer.depth)
    data[1, 66] = value
    module = layer.module(3)

    for made in (compile(module, target, opt_level=level)(data), np.asarray(interpret(module, [data]))):
        assert np.isnan(made[1]).all()
        assert np.isfinite(made[::2]).all()


def test_zeros_and_subnormal_data_give_zeros() -> None:
    layer = Layer(*CASES[1])
    data = np.zeros((2, layer.depth), "float32")
    data[1] = 1e-40
    module = layer.module(2)

    for made in (compile(module)(data), np.asarray(interpret(module, [data]))):
        assert not np.asarray(made).any()


def test_products_of_the_same_data_share_its_codes() -> None:
    layers = [Layer(70, 96, 4, 32), Layer(33, 96, 4, 32, "uint8"), Layer(33, 96, 4, 16)]
    x = var("x", (5, 96))
    calls = [make(QUANTIZED, x, *map(constant, one.constants), **one.attrs) for one in layers]
    module = pack_group_weights(Target.parse("native"))(Module({"main": Function((x,), Tuple(tuple(calls)))}))
    names = [str(one.op) for one in postorder(module.main.body) if isinstance(one, Call)]

    assert sorted(names) == sorted([CODES, CODES, DENSE_CODES, DENSE_CODES_OFFSET, DENSE_CODES])
    data = normal(5, 96)
    for made, layer in zip(compile(module)(data), layers, strict=True):
        want = layer.product(data)
        assert np.abs(made - want).max() <= 1e-6 * np.abs(want).max()


def test_leading_axes_of_data_are_kept() -> None:
    layer = Layer(*CASES[2])
    data = normal(6, layer.depth).reshape(2, 3, -1)
    made = compile(layer.module(2, 3))(data)

    np.testing.assert_allclose(made, layer.product(data.reshape(6, -1)).reshape(2, 3, -1), rtol=1e-4)


X86, ARM = "llvm -mtriple=x86_64-unknown-linux-gnu ", "llvm -mtriple=aarch64-linux-gnu "


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        (X86 + "-mcpu=znver4", "vpdpbusd"),
        (X86 + "-mcpu=haswell -mattr=+avxvnni", "vpdpbusd"),
        (X86 + "-mcpu=haswell", "vpmaddwd"),
        (ARM + "-mattr=+i8mm", "usdot"),
        (ARM + "-mattr=+dotprod", "sdot"),
    ],
)
@pytest.mark.parametrize("bits", [4, 8])
def test_targets_use_their_instruction_for_four_bytes(target: str, instruction: str, bits: int) -> None:
    lib = compile(Layer(64, 64, bits, 32).module(1), target)

    assert f"{instruction}\t" in lib.source("asm")


def codes_type(**given: Any) -> Any:
    attrs: dict[str, Any] = {"bits": 4, "group": 16, "units": 9}
    shapes: dict[str, Any] = {
        "data": ((1, 48), "int8"),
        "data_scale": ((1, 3), "float32"),
        "data_sum": ((1, 3), "int32"),
        "weight": ((2, 6, 8), "uint32"),
        "scale": ((2, 3, 8), "float32"),
    }
    args = [var(name, *given.get(name, one)) for name, one in shapes.items()]
    return type_of(make(DENSE_CODES, *args, **attrs | {k: v for k, v in given.items() if k in attrs}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"data": ((1, 48), "uint8")}, "data is uint8, data_scale float32, data_sum int32, expected int8"),
        (
            {"data": ((1, 40), "int8")},
            r"data is \(1, 40\), data_scale \(1, 3\), expected bytes of whole groups",
        ),
        ({"data_sum": ((1, 4), "int32")}, r"data_sum is \(1, 4\), expected \(1, 3\)"),
        ({"data_scale": ((2, 3), "float32")}, r"data_scale is \(2, 3\), expected \(1, 3\)"),
        ({"weight": ((2, 5, 8), "uint32")}, r"weight is \(2, 5, 8\), expected \(2, 6, 8\)"),
        ({"bits": 3}, "bits is 3, expected 4 or 8"),
    ],
)
def test_invalid_packed_operands_are_refused(given: dict[str, Any], message: str) -> None:
    assert codes_type().shape == (1, 9)
    with pytest.raises(TvmliteError, match=message):
        codes_type(**given)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (((1, 40), "float16", 8), "data is float16, expected float32"),
        (((1, "k"), "float32", 8), "expected a last extent that is a number"),
        (((), "float32", 8), "expected a last extent that is a number"),
        (((1, 40), "float32", 4), "data_bits is 4, expected 8 or 16"),
    ],
)
def test_data_that_cannot_be_quantized_are_refused(data: Any, message: str) -> None:
    shape, dtype, bits = data
    with pytest.raises(TvmliteError, match=message):
        type_of(make(CODES, var("x", shape, dtype), data_bits=bits))


PROGRAM = """
#include <stdio.h>
#include "net.h"
static float x[ROWS * DEPTH], y[ROWS * UNITS];
static _Alignas(64) char workspace[1 << 16];
int main(void) {
    if (fread(x, sizeof(float), ROWS * DEPTH, stdin) != ROWS * DEPTH) return 1;
    if (net(x, y, workspace, 1, 0) != 0) return 2;
    return fwrite(y, sizeof(float), ROWS * UNITS, stdout) != ROWS * UNITS;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="no ziglang, which links for ARM")
@pytest.mark.parametrize("instructions", ["+dotprod", "+i8mm"])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("data_bits", [8, pytest.param(16, marks=pytest.mark.exhaustive)])
def test_arm_instructions_agree_with_numpy(
    bits: int, data_bits: int, instructions: str, tmp_path: Path
) -> None:
    if shutil.which("qemu-aarch64-static") is None:
        pytest.skip("no qemu-aarch64-static (apt install qemu-user-static)")
    layer, rows = Layer(10, 40, bits, 16, "uint8", data_bits=data_bits), 3
    target = f"llvm -mtriple=aarch64-linux-musl -mattr={instructions}"
    lib = compile(layer.module(rows), target, name="net")
    for ending in (".a", ".h"):
        lib.export(tmp_path / f"net{ending}")
    (tmp_path / "main.c").write_text(PROGRAM)
    extents = [f"-DROWS={rows}", f"-DDEPTH={layer.depth}", f"-DUNITS={len(layer.codes)}"]
    build = ["-target", "aarch64-linux-musl", "-std=c11", "-static", "main.c", "net.a", "-lm", "-o", "main"]
    subprocess.run([sys.executable, "-m", "ziglang", "cc", *extents, *build], cwd=tmp_path, check=True)

    data = normal(rows, layer.depth)
    run = ["qemu-aarch64-static", "-cpu", "max", str(tmp_path / "main")]
    done = subprocess.run(run, input=data.tobytes(), capture_output=True, check=True)

    made, want = np.frombuffer(done.stdout, "float32").reshape(rows, -1), layer.product(data)
    assert np.abs(made - want).max() <= 1e-6 * np.abs(want).max()
