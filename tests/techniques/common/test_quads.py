"""Sums of products of bytes have the same bits with all instructions, those of plain numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.driver import compile
from tvmlite.machine.features import missing_features
from tvmlite.machine.target import Target
from tvmlite.relay.ir.nodes import Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.techniques.common.dot import multiplies_bytes, quad_lanes, quads_of

X86 = "llvm -mtriple=x86_64-unknown-linux-gnu "
ARM = "llvm -mtriple=aarch64-linux-gnu "
INSTRUCTIONS = [
    (X86 + "-mcpu=znver4", 16, "uint8", "vpdpbusd"),
    (X86 + "-mcpu=skylake-avx512", 16, "uint8", "vpmaddwd"),
    (X86 + "-mcpu=znver4 -vector-bits=256", 8, "uint8", "vpdpbusd"),
    (X86 + "-mcpu=haswell -mattr=+avxvnni", 8, "uint8", "vpdpbusd"),
    (X86 + "-mcpu=haswell", 8, "uint8", "vpmaddwd"),
    (X86 + "-mcpu=haswell -mattr=+avxvnni -vector-bits=128", 4, "uint8", "vpdpbusd"),
    (X86 + "-mcpu=sandybridge -vector-bits=128", 4, "uint8", "vpmaddwd"),
    (X86 + "-mcpu=x86-64", 4, "uint8", "pmaddwd"),
    (ARM + "-mattr=+i8mm", 4, "uint8", "usdot"),
    (ARM + "-mattr=+dotprod", 4, "int8", "sdot"),
]
rng = np.random.default_rng(0)


def layer(dtype: str, window: int) -> tuple[Module, np.ndarray, np.ndarray]:
    """A product of bytes, or a convolution if there is a ``window``; data and weight hold extreme bytes."""
    shape = (1, 24, 9, 10) if window else (7, 24)
    limits = np.iinfo(dtype)
    data = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    weight = rng.integers(-128, 127, (36, 24, *(window, window)[: 2 * bool(window)]), "int8", endpoint=True)
    data[0, :8], weight[:4] = limits.max, -128
    data[0, 8:12], weight[4:8] = limits.min, 127
    x = var("x", shape, dtype)
    name = "nn.conv2d" if window else "nn.dense"
    body: Expr = make(name, x, constant(weight), out_dtype="int32")
    return Module({"main": Function((x,), body)}), data, weight


def summed(data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    wide, rows = data.astype(np.int64), weight.astype(np.int64)
    if data.ndim == 2:
        return wide @ rows.T
    windows = np.lib.stride_tricks.sliding_window_view(wide, weight.shape[2:], axis=(2, 3))
    return np.einsum("nchwyx,ocyx->nohw", windows, rows)


@pytest.mark.parametrize(("text", "lanes", "data", "_"), INSTRUCTIONS)
def test_targets_use_their_widest_byte_products(text: str, lanes: int, data: str, _: str) -> None:
    target = Target.parse(text)
    found = quads_of(target)

    assert found is not None
    assert (quad_lanes(target), found.data) == (lanes, data)
    assert multiplies_bytes(target, data, "int8")
    assert not multiplies_bytes(target, {"uint8": "int8", "int8": "uint8"}[data], "int8")


@pytest.mark.parametrize(
    "text", ["c", ARM + "-mcpu=cortex-a72", "llvm -mtriple=riscv64-linux-gnu", X86 + "-mcpu=sandybridge"]
)
def test_other_targets_have_no_byte_products(text: str) -> None:
    assert quad_lanes(Target.parse(text)) == 0
    assert not multiplies_bytes(Target.parse(text), "uint8", "int8")


@pytest.mark.parametrize("window", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(("text", "_", "__", "instruction"), INSTRUCTIONS)
def test_sums_of_byte_products_are_exact(
    text: str, _: int, __: str, instruction: str, dtype: str, window: int
) -> None:
    target = Target.parse(text)
    module, data, weight = layer(dtype, window)
    lib = compile(module, target)
    assert instruction in lib.source("asm")
    if target.triple != Target.parse("native").triple or missing_features(target.instructions):
        pytest.skip(
            "another machine's code; tests/techniques/narrow_products/test_emulated.py runs AArch64's"
        )

    np.testing.assert_array_equal(lib(data), summed(data, weight))
