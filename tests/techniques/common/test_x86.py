"""Products by VNNI and bfloat16 instructions where available, and by plain loops elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.core.errors import TensorExpressionError
from tvmlite.machine.target import Target
from tvmlite.te.intrin.words import half_of, word_of
from tvmlite.te.loop.interpret import interpret
from tvmlite.techniques.common import x86

ml_dtypes = pytest.importorskip("ml_dtypes")

DTYPES = {"int8": ("uint8", "int8", "int32", 4), "bfloat16": ("bfloat16", "bfloat16", "float32", 2)}
INSTRUCTION = {"int8": "vpdpbusd", "bfloat16": "vdpbf16ps"}
WITH_BOTH = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver4"


def product(kind: str, rows: int, columns: int, depth: int) -> tuple[te.Schedule, list[Any]]:
    """A times B, packed as the instruction needs it, in tiles of 6 by 64."""
    left, right, out, width = DTYPES[kind]
    A = te.placeholder((rows, depth), left, name="A")
    B = te.placeholder((columns // 16, depth // width, 16, width), right, name="B")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute(
        (rows, columns),
        lambda i, j: te.sum(
            A[i, k].astype(out) * B[j // 16, k // width, j % 16, k % width].astype(out), axis=k
        ),
        name="C",
    )
    i, j = C.op.axis
    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "local")
    _, tile, row, column = s[C].tile(i, j, 6, 64)
    s[C].unroll(row)
    s[C].vectorize(s[C].split(column, factor=16)[1])
    s[CC].compute_at(s[C], tile)
    row, column = CC.op.axis
    outer, inner = s[CC].split(CC.op.reduce_axis[0], factor=width)
    vectors, lane = s[CC].split(column, factor=16)
    s[CC].reorder(outer, row, vectors, lane, inner)
    s[CC].unroll(row)
    s[CC].unroll(vectors)
    dot = x86.dot_16x1x16_uint8_int8_int32 if kind == "int8" else x86.dot_16x1x16_bfloat16_float32
    s[CC].tensorize(lane, dot())
    return s, [A, B, C]


def operands(kind: str, rows: int, columns: int, depth: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    if kind == "int8":
        a = rng.integers(0, 255, (rows, depth)).astype("uint8")
        b = rng.integers(-128, 127, (depth, columns)).astype("int8")
        want: Any = a.astype("int32") @ b.astype("int32")
    else:
        a = rng.standard_normal((rows, depth)).astype(ml_dtypes.bfloat16)
        b = rng.standard_normal((depth, columns)).astype(ml_dtypes.bfloat16)
        want = a.astype("float32") @ b.astype("float32")
    width = DTYPES[kind][3]
    packed = b.reshape(depth // width, width, columns // 16, 16).transpose(2, 0, 3, 1)
    return a, np.ascontiguousarray(packed), want


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(DTYPES))
@pytest.mark.parametrize("target", ["native", "c", "llvm -mcpu=x86-64-v2", "llvm -mcpu=haswell"])
def test_products_are_correct_on_every_target(kind: str, target: str) -> None:
    if "mcpu" in target and not Target.parse("native").triple.startswith("x86_64"):
        pytest.skip("another machine's code cannot be run")
    s, args = product(kind, 6, 64, 16)
    a, b, want = operands(kind, 6, 64, 16)
    result = tvmlite.build(s, args, target=target, name="product")(a, b)
    np.testing.assert_allclose(result, want, rtol=0 if kind == "int8" else 1e-2, atol=1e-2)


@pytest.mark.parametrize("kind", list(DTYPES))
def test_the_interpreter_runs_the_plain_loops(kind: str) -> None:
    s, args = product(kind, 6, 64, 4)
    a, b, want = operands(kind, 6, 64, 4)
    result = np.zeros_like(want)
    interpret(te.lower(s, args), [a, b, result])
    np.testing.assert_allclose(result, want, rtol=0 if kind == "int8" else 1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", list(DTYPES))
def test_the_tile_stays_in_registers(kind: str) -> None:
    s, args = product(kind, 60, 640, 64)
    made = tvmlite.build(s, args, target=WITH_BOTH, name="product")
    assembly = made.source("asm")
    assert assembly.count(INSTRUCTION[kind]) >= 24
    assert "Spill" not in assembly
    assert INSTRUCTION[kind] not in made.source("c")


def test_an_unsupported_number_of_lanes_is_refused() -> None:
    with pytest.raises(TensorExpressionError, match="5 lanes, expected 16, 8 or 4"):
        x86.dot_16x1x16_uint8_int8_int32(5)


@pytest.mark.parametrize("target", ["native", "c", "llvm -mcpu=x86-64-v3"])
def test_pairs_may_be_packed_into_words(target: str) -> None:
    a = te.placeholder((6, 40), "bfloat16", "a")
    b = te.placeholder((10, 16, 2), "bfloat16", "b")
    pair, k = te.reduce_axis(2, name="pair"), te.reduce_axis(10, name="k")
    words = te.compute((3, 40), lambda i, j: word_of(a[2 * i, j], a[2 * i + 1, j]), name="words")
    c = te.compute(
        (3, 16),
        lambda i, j: te.sum(half_of(words[i, k], pair.var) * b[k, j, pair].astype("float32"), axis=[k, pair]),
        name="c",
    )
    s = te.create_schedule(c.op)
    s[words].vectorize(s[words].split(words.op.axis[1], 8)[1])
    s[c].reorder(k, *c.op.axis, pair)
    s[c].tensorize(c.op.axis[1], x86.dot_16x1x16_bfloat16_float32(words=True))
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((6, 40), (10, 16, 2)))

    made = tvmlite.build(s, [a, b, c], target=target, name="product")(left, right)

    pairs = left.astype("float32").reshape(3, 2, 40)[:, :, :10]
    np.testing.assert_allclose(made, np.einsum("ipk,kjp->ij", pairs, right.astype("float32")), 1e-4, 1e-4)
