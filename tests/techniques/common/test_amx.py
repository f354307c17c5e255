"""Products in AMX tile registers, and errors for schedules and systems without them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.core.errors import ScheduleError, TensorExpressionError
from tvmlite.machine import amx as permission
from tvmlite.machine.target import Target
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.loop.passes import legalize
from tvmlite.te.loop.passes.asserts import REFUSED, permit
from tvmlite.techniques.common import amx

WITH_TILES = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids"
WITHOUT = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver5"

has_tiles = Target.parse("native").has("amx-bf16")
needs_tiles = pytest.mark.skipif(not has_tiles, reason="this machine has no AMX, or the system keeps it")


def product(
    rows: int, columns: int, depth: int, tile: tuple[tuple[int, ...], int], parallel: bool = True
) -> tuple[te.Schedule, list[Any], Any]:
    """A times B packed in pairs, in tiles of the given rows and blocks of columns."""
    high, blocks = tile
    A = te.placeholder((rows, depth), "bfloat16", name="A")
    B = te.placeholder((columns // 16, depth // 2, 16, 2), "bfloat16", name="B")
    k, pair = te.reduce_axis((0, depth // 2), name="k"), te.reduce_axis((0, 2), name="pair")
    sums = te.compute(
        (rows, columns // 16, 16),
        lambda i, o, lane: te.sum(
            A[i, k * 2 + pair].astype("float32") * B[o, k, lane, pair].astype("float32"), axis=[k, pair]
        ),
        name="sums",
    )
    C = te.compute((rows, columns), lambda i, j: sums[i, j // 16, j % 16] + 1.0, name="C")
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    block, lane = s[C].split(j, factor=16)
    outer, inner = s[C].split(block, factor=blocks)
    tiles, row = s[C].split(i, factor=sum(high))
    s[C].reorder(outer, tiles, row, inner, lane)
    s[C].vectorize(lane)
    if parallel:
        s[C].parallel(outer)
    s[sums].compute_at(s[C], tiles)
    turn, step = s[sums].split(k, factor=16)
    s[sums].reorder(turn, *sums.op.axis, step, pair)
    s[sums].tensorize(sums.op.axis[0], amx.tile_product(high, blocks))
    return s, [A, B, C], turn


def operands(rows: int, columns: int, depth: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((rows, depth)).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((depth, columns)).astype(ml_dtypes.bfloat16)
    packed = b.reshape(depth // 2, 2, columns // 16, 16).transpose(2, 0, 3, 1)
    return a, np.ascontiguousarray(packed), a.astype("float32") @ b.astype("float32") + 1


TILES = [
    ((16, 16), 2),
    ((14, 14), 2),
    ((7,), 2),
    ((16,) * 6, 1),
    ((16,), 3),
    ((13, 12, 12, 12), 1),
    ((9, 8), 2),
]


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("parallel", [True, False])
def test_products_in_tiles_agree_with_numpy(tile: tuple[tuple[int, ...], int], parallel: bool) -> None:
    """Where the machine has no tiles, plain loops run."""
    rows, columns = 2 * sum(tile[0]), 32 * tile[1]
    s, args, _ = product(rows, columns, 96, tile, parallel)
    a, b, want = operands(rows, columns, 96)
    built = tvmlite.build(s, args)
    assert ("tdpbf16ps" in built.source("llvm")) == has_tiles
    np.testing.assert_allclose(built(a, b), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", ["native", "c", "llvm -mcpu=x86-64-v3"])
def test_a_machine_without_tiles_runs_the_plain_loops(target: str) -> None:
    if "x86" in target and not Target.parse("native").triple.startswith("x86_64"):
        pytest.skip("another machine's code cannot be run")
    s, args, _ = product(32, 32, 64, ((16, 16), 2))
    a, b, want = operands(32, 32, 64)
    np.testing.assert_allclose(tvmlite.build(s, args, target=target)(a, b), want, rtol=1e-5, atol=1e-4)


def test_the_interpreter_runs_the_plain_loops() -> None:
    s, args, _ = product(16, 16, 32, ((16,), 1))
    a, b, want = operands(16, 16, 32)
    result = np.zeros_like(want)
    interpret(te.lower(s, args), [a, b, result])
    np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-5)


def test_all_tile_instructions_are_used_or_none() -> None:
    s, args, _ = product(32, 32, 64, ((16, 16), 2))
    function = te.lower(s, args)
    names = ["tilezero", "tileloadd64", "tdpbf16ps", "tilestored64", "ldtilecfg", "tilerelease"]
    made = llvm.generate(legalize(function, WITH_TILES), Target.parse(WITH_TILES))
    assert all(f"call void @llvm.x86.{name}(" in made for name in names)
    other = llvm.generate(legalize(function, WITHOUT), Target.parse(WITHOUT))
    assert not any(name in other for name in (*names, "permitted"))


def test_the_loop_over_steps_loads_only_tiles() -> None:
    s, args, _ = product(64, 64, 256, ((16, 16), 2))
    lines = tvmlite.build(s, args, target=WITH_TILES).source("asm").splitlines()
    loads = [n for n, line in enumerate(lines) if "tileloadd" in line]
    dots = [n for n, line in enumerate(lines) if "tdpbf16ps" in line]
    assert (len(loads), len(dots)) == (4, 4)
    inside = [line.split()[0] for line in lines[min(loads) : max(dots)] if line.strip()]
    assert set(inside) <= {"tileloadd", "tdpbf16ps", "leaq", "addq"}


def test_each_function_that_uses_tiles_configures_and_releases_them() -> None:
    s, args, _ = product(32, 64, 64, ((16, 16), 2))
    made = llvm.generate(legalize(te.lower(s, args), WITH_TILES), Target.parse(WITH_TILES))
    functions = made.split("\ndefine ")
    using = [one for one in functions if "tdpbf16ps(i8 0" in one.split("declare")[0] and "call" in one]
    assert using
    assert all(one.count("@llvm.x86.ldtilecfg(ptr @tiles") == 1 for one in using)


def test_a_function_asks_once_for_permission_to_use_tiles() -> None:
    s, args, _ = product(32, 64, 64, ((16, 16), 2))
    legal = legalize(te.lower(s, args), WITH_TILES)
    assert legal.messages == (REFUSED,)
    made = llvm.generate(legal, Target.parse(WITH_TILES))
    assert made.count("call i1 @tiles.permitted()") == 1
    plain = legalize(te.lower(s, args), WITHOUT)
    assert permit(plain) is plain


def test_data_axes_inside_the_reduction_are_refused() -> None:
    s, args, turn = product(64, 32, 64, ((16,), 1))
    sums = next(stage for stage in s.stages if stage.op.name == "sums")
    C = s[args[2]]
    sums.compute_at(C, C.leaf_iter_vars[0])
    outer, inner = sums.split(sums.op.axis[0], factor=16)
    (step,) = [leaf for leaf in sums.leaf_iter_vars if leaf.var.name == "k.inner"]
    row, block, lane = inner, *sums.op.axis[1:]
    sums.reorder(turn, outer, row, block, lane, step, sums.op.reduce_axis[1])
    sums.tensorize(row, amx.tile_product((16,), 1))
    with pytest.raises(ScheduleError, match="runs over elements inside its reduction, while the intrinsic"):
        te.lower(s, args)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (((17,), 1), "tiles of 17 rows, expected 1 to 16"),
        (((), 1), "tiles of no rows"),
        (((16, 16), 3), "2 by 3 tiles of sums do not fit into 8 registers beside 3 of the kernel and 1 of"),
        (((16, 15), 1, "images"), "images of 16, 15 rows, expected equal numbers of rows"),
        (((16,), 1, "columns"), "the form 'columns', expected rows, pixels or images"),
    ],
)
def test_invalid_tiles_are_refused(given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TensorExpressionError, match=message):
        amx.tile_product(*given)


def test_a_native_target_has_no_tiles_if_the_system_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    from tvmlite.machine import features as cpu
    from tvmlite.machine import processor

    monkeypatch.setattr(permission, "request_tiles", lambda: False)
    monkeypatch.setattr(cpu, "_flags", lambda: frozenset({"amxtile", "amxbf16"}))
    assert not any(one.startswith("+amx") for one in processor.host.__wrapped__()[2])
    assert cpu.missing_features(["amx-tile", "amx-bf16"]) == ["amx-tile", "amx-bf16"]


@needs_tiles
def test_a_c_program_needs_no_permission_call(tmp_path: Path) -> None:
    from shutil import which

    if which("cc") is None:
        pytest.skip("there is no C compiler")
    s, args, _ = product(32, 32, 64, ((16, 16), 2))
    tvmlite.build(s, args, name="product").export(tmp_path / "product.so")
    (tmp_path / "main.c").write_text(
        """
#include <stdint.h>
#include <stdio.h>
int32_t product(const uint16_t *, const uint16_t *, float *);
static uint16_t a[32 * 64], b[64 * 32];
static float c[32 * 32];
int main(void) {
    for (int i = 0; i < 32 * 64; i++) a[i] = b[i] = 0x3f80; /* 1 */
    int32_t code = product(a, b, c);
    for (int i = 0; i < 32 * 32; i++) if (c[i] != 65) return 2;
    return code;
}
"""
    )
    command = ["cc", "main.c", "product.so", "-Wl,-rpath,$ORIGIN", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0
