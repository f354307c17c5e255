"""Dense layers and convolutions of bytes in AMX tiles.

A model of the instructions in numpy (``tile_model``) runs the tile statements, as few machines have tiles;
the assembly is inspected.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tile_model

import tvmlite
from tvmlite.core.errors import TensorExpressionError
from tvmlite.machine.target import Target
from tvmlite.model.kernels import lowered_kernel
from tvmlite.relay.entry.kernels import kernel_tasks
from tvmlite.relay.ir.nodes import Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.templates.group import number
from tvmlite.techniques.common import amx

WITH_TILES = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids -num-cores=1")
WITHOUT = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids -mattr=-amx-int8")
rng = np.random.default_rng(0)
FORMS = [(amx.ROWS, (9, 8), 2), (amx.ROWS, (16, 16), 2), (amx.PIXELS, (7,), 1), (amx.IMAGES, (6, 6), 2)]


def bytes_of(dtype: str, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(("form", "rows", "blocks"), FORMS)
def test_tiles_of_bytes_compute_the_sums_of_the_formula(
    form: str, rows: tuple[int, ...], blocks: int, dtype: str
) -> None:
    intrinsic = amx.tile_product(rows, blocks, form, dtype)
    (data, kernel), (result,) = intrinsic.op.inputs, intrinsic.op.outputs
    schedule = tvmlite.te.create_schedule(result.op)
    lead = result.op.axis
    steps = result.op.reduce_axis
    schedule[result].reorder(*lead, *steps)
    schedule[result].tensorize(lead[0], intrinsic)
    function = tvmlite.lower(schedule, [data, kernel, result])
    given = [bytes_of(dtype, *map(int, data.shape)), bytes_of("int8", *map(int, kernel.shape))]  # type: ignore[arg-type]
    made = np.zeros([int(n) for n in result.shape], np.int32)  # type: ignore[call-overload]

    products = tile_model.interpret(function, [*given, made])

    wide = given[1].transpose(0, 2, 1, 3).reshape(blocks, 16, 64).astype(np.int64)
    sums = np.einsum("...k,bik->b...i", given[0].astype(np.int64), wide)
    np.testing.assert_array_equal(made, np.moveaxis(sums, 0, -2) if form == amx.ROWS else sums)
    assert products == len(rows) * blocks


def quantized(data: Expr, dtype: str = "uint8") -> Expr:
    scale, point = constant(np.float32(0.05)), constant(0 if dtype == "uint8" else -128, "int32")
    return make("qnn.quantize", data, scale, point, out_dtype=dtype)


def rounded(data: Expr) -> Expr:
    scale, point = constant(np.float32(0.05)), constant(0, "int32")
    return make("qnn.dequantize", quantized(data), scale, point)


def weight(*shape: int) -> Expr:
    scales = constant(np.full(shape[0], 0.001, "float32"))
    zeros = constant(np.zeros(shape[0], "int32"))
    return make("qnn.dequantize", constant(bytes_of("int8", *shape)), scales, zeros, axis=0)


def dense() -> Module:
    x = var("x", (18, 128))
    return module(x, make("nn.dense", rounded(x), weight(32, 128)))


def convolution(window: int, side: int) -> Module:
    x = var("x", (1, 64, side, side))
    first = make("nn.conv2d", rounded(x), weight(64, 64, window, window), padding=(window // 2,) * 4)
    second = make("nn.conv2d", rounded(make("nn.relu", first)), weight(64, 64, 1, 1))
    return module(x, make("nn.conv2d", rounded(make("nn.relu", second)), weight(32, 64, 1, 1)))


def module(x: Any, body: Expr) -> Module:
    return Module({"main": Function((x,), body)})


def runs(task: Any, tiles: bool) -> tuple[list[np.ndarray], int]:
    """Run the kernel ``task`` by tiles or plain loops; return its results and the number of tile products."""
    function = lowered_kernel(task, WITH_TILES)
    source = np.random.default_rng(5)
    arrays = []
    for buffer in function.params:
        kind, shape = np.dtype(buffer.dtype), [number(n) for n in buffer.shape]  # type: ignore[union-attr]
        if kind == np.float32:
            arrays.append(source.uniform(0, 0.001, shape).astype(kind))
        else:
            limits = np.iinfo(kind) if kind.itemsize == 1 else np.iinfo(np.int16)
            arrays.append(source.integers(limits.min, limits.max, shape, endpoint=True).astype(kind))
    count = tile_model.interpret(function, arrays) if tiles else 0
    if not tiles:
        interpret(function, arrays)
    return arrays, count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "kernels"),
    [(dense(), 1), (convolution(1, 7), 1), pytest.param(convolution(3, 6), 2, marks=pytest.mark.exhaustive)],
)
def test_layers_of_bytes_in_tiles_have_the_bits_of_plain_loops(made: Module, kernels: int) -> None:
    lib = tvmlite.compile(made, WITH_TILES)
    every, _ = kernel_tasks(lib.module, WITH_TILES)
    by_tiles = 0
    for task in every:
        found, count = runs(task, tiles=True)
        by_tiles += count > 0
        if count:
            for got, want in zip(found, runs(task, tiles=False)[0], strict=True):
                np.testing.assert_array_equal(got, want)
    assert by_tiles == kernels


@pytest.mark.parametrize("made", [dense(), convolution(3, 14)])
def test_only_targets_with_byte_tiles_use_them(made: Module) -> None:
    assembly = tvmlite.compile(made, WITH_TILES).source("asm")
    assert "tdpbusd" in assembly
    assert "tdpbusd" not in (other := tvmlite.compile(made, WITHOUT).source("asm"))
    assert "vpdpbusd" in other


def test_tiles_of_other_dtypes_are_refused() -> None:
    with pytest.raises(TensorExpressionError, match="data of float32, expected bfloat16, uint8, int8"):
        amx.tile_product((16,), 1, amx.ROWS, "float32")
