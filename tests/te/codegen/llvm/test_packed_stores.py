"""Adjacent vectors of rounded bytes are stored as one, with the same bits as numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite import te
from tvmlite.driver import build
from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.extensions.packed_stores import combine
from tvmlite.te.loop import ir
from tvmlite.te.tensor.intrinsics import fits_int32
from tvmlite.te.tensor.intrinsics import round as rint

SPECIAL = [0.5, 1.5, 2.5, -0.5, -1.5, 3e9, -3e9, np.inf, -np.inf, np.nan, -np.nan, 1e38, -1e38]
SPECIAL += [2.0**31, -(2.0**31), 32767.5, 32768.5, -32768.5, 126.5, 127.5, -128.5, 254.5, 255.5]

AVX512, AVX2 = (Target.parse(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}") for cpu in ("znver4", "haswell"))


def numbers() -> np.ndarray:
    """Numbers at the limits of bytes, int16 and int32, and random ones."""
    ends = [limit + step for limit in (-255.0, -128.0, 0.0, 127.0, 255.0) for step in np.arange(-3, 3.5, 0.5)]
    random = np.random.default_rng(0).uniform(-400, 400, 900)
    return np.concatenate([SPECIAL, ends, random]).astype("float32")[:896]


def rows(dtype: str, moved: int, vectors: int, lanes: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """``round(x) + moved``, ``vectors`` vectors per iteration."""
    x = te.placeholder((896,), "float32", "x")
    y = te.compute(x.shape, lambda i: (rint(x[i]) + float(moved)).astype(dtype), name="y")
    schedule = te.create_schedule(y.op)
    _, inner = schedule[y].split(y.op.axis[0], factor=lanes * vectors)
    part, lane = schedule[y].split(inner, factor=lanes)
    schedule[y].unroll(part)
    schedule[y].vectorize(lane)
    return schedule, [x, y]


@pytest.mark.parametrize("target", ["native", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64", "c"])
@pytest.mark.parametrize(
    ("dtype", "moved"),
    [("uint8", 0), ("uint8", 130), ("uint8", 255), ("int8", 0), ("int8", -128), ("int8", 7)],
)
@pytest.mark.parametrize(("vectors", "lanes"), [(2, 16), (4, 16), (7, 16), (4, 8), (7, 8)])
def test_packed_stores_have_the_bits_of_numpy(
    target: str, dtype: str, moved: int, vectors: int, lanes: int
) -> None:
    given = numbers()

    made = build(*rows(dtype, moved, vectors, lanes), target=target)(given)

    limits = np.iinfo(dtype)
    whole = np.rint(given.astype("float64")) + moved
    wanted = np.where(np.isnan(whole), 0, np.clip(np.nan_to_num(whole), limits.min, limits.max)).astype(dtype)
    np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize(("target", "lanes"), [(AVX512, 16), (AVX2, 8)])
def test_a_register_of_bytes_is_stored_by_one_instruction(target: Target, lanes: int) -> None:
    text = build(*rows("uint8", 3, 4, lanes), target=str(target)).source("llvm")

    stores = [line for line in text.splitlines() if " store " in f" {line.strip()} "]
    assert [line.split()[1:4] for line in stores] == [[f"<{4 * lanes}", "x", "i8>"]]
    assert "packssdw" in text
    assert "packuswb" in text


@pytest.mark.parametrize("target", ["native", "llvm -mcpu=x86-64-v3", "c"])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_values_known_to_fit_int32_are_saturated_correctly(target: str, dtype: str) -> None:
    given = np.concatenate([[2.0**31 - 128, -(2.0**31), 1e9, -1e9], np.arange(-223, 223, 0.5)])
    x = te.placeholder((896,), "float32", "x")
    y = te.compute(x.shape, lambda i: (rint(fits_int32(x[i])) + 3.0).astype(dtype), name="y")
    schedule = te.create_schedule(y.op)
    _, inner = schedule[y].split(y.op.axis[0], factor=64)
    part, lane = schedule[y].split(inner, factor=16)
    schedule[y].unroll(part)
    schedule[y].vectorize(lane)

    built = build(schedule, [x, y], target=target)

    limits = np.iinfo(dtype)
    wanted = np.clip(np.rint(given) + 3, limits.min, limits.max).astype(dtype)
    np.testing.assert_array_equal(built(given.astype("float32")), wanted)
    if target == "native" and "packssdw" in built.source("llvm"):
        assert "fcmp" not in built.source("llvm")


# --- which stores are combined ----------------------------------------------------------------------

OUT, GIVEN = (
    ir.Buffer(name, kind, (e.const(512, e.INDEX),), "param")
    for name, kind in (("out", "uint8"), ("x", "float32"))
)
PLACE = e.Var("p", e.INDEX)


def stored(
    at: Any,
    source: ir.Buffer = GIVEN,
    moved: float = 3.0,
    predicate: e.Expr | None = None,
    read_at: Any = None,
) -> ir.Store:
    """A store of 16 rounded bytes at ``at``."""
    place = e.convert(at if read_at is None else read_at)
    read = e.cast("float32", ir.Load(source, (e.Ramp(place, e.const(1, e.INDEX), 16),)))
    value = e.Cast("uint8", e.Add(e.Call("round", (read,), "float32"), e.Const(moved, "float32", 16)))
    return ir.Store(OUT, (e.Ramp(e.convert(at), e.const(1, e.INDEX), 16),), value, predicate)


def lanes_of(stores: list[ir.Stmt], target: Target = AVX512) -> list[int]:
    """The lanes of the combined stores, or nothing where ``stores`` stay unchanged."""
    body = ir.Seq(tuple(stores))
    function = ir.Function("f", (OUT, GIVEN), (OUT,), (), body)
    made = combine(function, target)
    if made is function:
        return []
    assert isinstance(made.body, ir.Seq)
    return [one.value.lanes for one in made.body.body if isinstance(one, ir.Store)]


def test_consecutive_stores_are_combined() -> None:
    assert lanes_of([stored(PLACE + 16 * n) for n in range(7)]) == [64, 48]
    assert lanes_of([stored(PLACE, OUT), stored(PLACE + 16, OUT)]) == [32]  # each overwrites what it read
    assert lanes_of([stored(PLACE), stored(PLACE + 16), stored(PLACE + 256), stored(PLACE + 272)]) == [32, 32]


@pytest.mark.parametrize(
    "stores",
    [
        [stored(PLACE)],
        [stored(PLACE), stored(PLACE + 32)],
        [stored(PLACE + 16), stored(PLACE)],
        [stored(PLACE), stored(PLACE + 16, moved=4.0)],
        [stored(PLACE, moved=300.0), stored(PLACE + 16, moved=300.0)],
        [stored(PLACE), stored(PLACE + 16, OUT, read_at=PLACE)],
        [stored(PLACE), ir.Evaluate(e.const(0)), stored(PLACE + 16)],
        [stored(PLACE), stored(PLACE + 16, predicate=e.Const(True, "bool", 16))],
    ],
)
def test_other_stores_are_not_combined(stores: list[ir.Stmt]) -> None:
    assert lanes_of(stores) == []


def test_stores_are_not_combined_without_wide_pack_instructions() -> None:
    assert lanes_of([stored(PLACE), stored(PLACE + 16)], AVX2) == []
