"""Loads and stores of every shape through LLVM: whole, masked, strided, gathered, scattered."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tvmlite.machine.target import Target
from tvmlite.te import expr as te
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop import ir

LANES = 16


def index(value: int) -> te.Expr:
    return te.const(value, "int64")


def array(name: str, dtype: str, length: int) -> ir.Buffer:
    return ir.Buffer(name, dtype, (index(length),), "param")


def ramp(base: int | te.Expr, stride: int | te.Expr = 1, lanes: int = LANES) -> te.Ramp:
    return te.Ramp(te.convert(base, "int64"), te.convert(stride, "int64"), lanes)


def copy(x: np.ndarray, out: np.ndarray, run: Any, store: Any) -> np.ndarray:
    """Run the statement ``store(x's buffer, out's buffer)`` and return ``out``."""
    a, b = array("a", x.dtype.name, len(x)), array("b", out.dtype.name, len(out))
    function = ir.Function("copy", (a, b), (b,), (), store(a, b))
    assert run(function, x, out) == 0
    return out


def numbers(count: int, dtype: str = "float32") -> np.ndarray:
    return (np.arange(count) % 2 == 0) if dtype == "bool" else np.arange(1, count + 1).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint16", "int64", "bool"])
@pytest.mark.parametrize("stride", [-3, -1, 0, 1, 2, 3, 4, 5])
def test_a_strided_load_reads_exactly_its_elements(run: Any, dtype: str, stride: int) -> None:
    count = (LANES - 1) * abs(stride) + 1
    x = numbers(count, dtype)
    base = 0 if stride >= 0 else count - 1

    out = copy(
        x,
        np.zeros(LANES, dtype),
        run,
        lambda a, b: ir.Store(b, (ramp(0),), ir.Load(a, (ramp(base, stride),))),
    )

    np.testing.assert_array_equal(out, x[base + stride * np.arange(LANES)])


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "bool"])
@pytest.mark.parametrize("stride", [-2, -1, 1, 3])
def test_a_strided_store_writes_only_its_elements(run: Any, dtype: str, stride: int) -> None:
    x = numbers(LANES, dtype)
    count = (LANES - 1) * abs(stride) + 1
    base = 0 if stride >= 0 else count - 1

    out = copy(
        x,
        np.zeros(count, dtype),
        run,
        lambda a, b: ir.Store(b, (ramp(base, stride),), ir.Load(a, (ramp(0),))),
    )

    wanted = np.zeros(count, dtype)
    wanted[base + stride * np.arange(LANES)] = x
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "bool"])
@pytest.mark.parametrize("count", [0, 1, 7, 16, 20])
def test_a_predicate_comparing_the_index_with_a_bound_masks(run: Any, dtype: str, count: int) -> None:
    x = numbers(LANES, dtype)
    n = te.Var("n", "int64")
    a, b = array("a", dtype, LANES), array("b", dtype, LANES)
    inside = te.Less(ramp(0), te.Broadcast(n, LANES))
    body = ir.Store(
        b, (ramp(0),), ir.Load(a, (ramp(0),), inside), te.LessEqual(ramp(0), te.Broadcast(n, LANES))
    )
    out = np.full(LANES, 9, "int8").astype(dtype)
    before = out.copy()

    assert run(ir.Function("masked", (a, b), (b,), (n,), body), x, out, count) == 0

    wanted = np.where(np.arange(LANES) < count, x, np.zeros(LANES, dtype))
    np.testing.assert_array_equal(out, np.where(np.arange(LANES) <= count, wanted, before))


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16"])
@pytest.mark.parametrize("stride", [1, 2, -1, 7])
def test_any_predicate_masks_any_stride(run: Any, dtype: str, stride: int) -> None:
    count = (LANES - 1) * abs(stride) + 1
    x = numbers(count, dtype)
    base = 0 if stride >= 0 else count - 1
    places = base + stride * np.arange(LANES)

    def store(a: ir.Buffer, b: ir.Buffer) -> ir.Stmt:
        odd = te.Equal(te.FloorMod(ramp(0), te.const(2, "int64", LANES)), te.const(1, "int64", LANES))
        return ir.Store(b, (ramp(base, stride),), ir.Load(a, (ramp(base, stride),), odd), odd)

    out = copy(x, np.zeros(count, dtype), run, store)

    wanted = np.zeros(count, dtype)
    wanted[places[1::2]] = x[places[1::2]]
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("holds", [0, 1])
def test_a_scalar_predicate_guards_a_scalar_access(run: Any, holds: int) -> None:
    n = te.Var("n", "int64")
    a, b = array("a", "float32", 1), array("b", "float32", 2)
    condition = te.Equal(n, index(1))
    far = te.Select(condition, index(0), index(1 << 40))  # read only if the predicate does not guard
    body = ir.sequence(
        ir.Store(b, (index(0),), ir.Load(a, (far,), condition)),
        ir.Store(b, (far + 1,), te.const(5.0), condition),
    )
    out = np.full(2, 3.0, "float32")

    assert run(ir.Function("guarded", (a, b), (b,), (n,), body), np.ones(1, "float32"), out, holds) == 0

    np.testing.assert_array_equal(out, [1.0, 5.0] if holds else [0.0, 3.0])


@pytest.mark.parametrize(
    ("wide", "narrow"), [("int64", "int8"), ("int64", "int32"), ("int32", "int16"), ("int32", "int8")]
)
@pytest.mark.parametrize("lanes", [2, 3, 4, 8])
def test_a_mask_of_one_lane_stores_one_element(run: Any, wide: str, narrow: str, lanes: int) -> None:
    """LLVM 22 stored as many bytes as the element had before truncation."""
    x, out = numbers(lanes, wide), np.full(16, 7, narrow)

    def store(a: ir.Buffer, b: ir.Buffer) -> ir.Store:
        value = te.cast(narrow, ir.Load(a, (ramp(0, 1, lanes),)))
        first = te.Less(ramp(0, 1, lanes), te.Broadcast(index(1), lanes))
        return ir.Store(b, (ramp(0, 1, lanes),), value, first)

    assert copy(x, out, run, store).tolist() == [1] + 15 * [7]


@pytest.mark.parametrize("index_type", ["int32", "int64"])
@pytest.mark.parametrize("masked", [False, True])
def test_gather_and_scatter_use_their_indices(run: Any, index_type: str, masked: bool) -> None:
    generator = np.random.default_rng(4)
    x, order = (
        generator.standard_normal(50).astype("float32"),
        generator.permutation(50)[:LANES].astype(index_type),
    )
    a, p = array("a", "float32", 50), array("p", index_type, LANES)
    b, c = array("b", "float32", LANES), array("c", "float32", 50)
    where = ir.Load(p, (ramp(0),))
    few = te.Less(ramp(0), te.Broadcast(index(10), LANES)) if masked else None
    body = ir.sequence(
        ir.Store(b, (ramp(0),), ir.Load(a, (where,), few)),
        ir.Store(c, (ir.Load(p, (ramp(0),)),), ir.Load(b, (ramp(0),)), few),
    )
    gathered, scattered = np.zeros(LANES, "float32"), np.zeros(50, "float32")

    assert run(ir.Function("move", (a, p, b, c), (b, c), (), body), x, order, gathered, scattered) == 0

    count = 10 if masked else LANES
    wanted, spread = np.zeros(LANES, "float32"), np.zeros(50, "float32")
    wanted[:count] = x[order[:count]]
    spread[order[:count]] = wanted[:count]
    np.testing.assert_array_equal(gathered, wanted)
    np.testing.assert_array_equal(scattered, spread)


def test_a_stride_may_be_a_variable(run: Any) -> None:
    n = te.Var("n", "int64")
    a, b = array("a", "float32", 64), array("b", "float32", LANES)
    body = ir.Store(b, (ramp(0),), ir.Load(a, (ramp(1, n),)))
    x, out = numbers(64), np.zeros(LANES, "float32")

    assert run(ir.Function("strided", (a, b), (b,), (n,), body), x, out, 3) == 0

    np.testing.assert_array_equal(out, x[1 + 3 * np.arange(LANES)])


def test_a_vector_if_then_else_reads_only_lanes_whose_condition_holds(run: Any) -> None:
    inside = te.Less(ramp(0), te.const(3, "int64", LANES))

    def store(a: ir.Buffer, b: ir.Buffer) -> ir.Stmt:
        far = ir.Load(a, (index(1 << 40),))  # one element broadcast to all lanes, needed by none
        nowhere = te.Less(ramp(0), te.const(0, "int64", LANES))
        inner = te.Call(
            "if_then_else", (nowhere, te.Broadcast(far, LANES), te.const(2.0, "float32", LANES)), "float32"
        )
        value = te.Call("if_then_else", (inside, ir.Load(a, (ramp(0),)), inner), "float32")
        return ir.Store(b, (ramp(0),), value)

    out = copy(numbers(3), np.zeros(LANES, "float32"), run, store)

    np.testing.assert_array_equal(out, [1.0, 2.0, 3.0] + [2.0] * 13)


@pytest.mark.parametrize("chosen", [0, 1])
def test_a_scalar_if_then_else_evaluates_one_branch(run: Any, chosen: int) -> None:
    n = te.Var("n", "int64")
    a, b = array("a", "float32", 1), array("b", "float32", 1)
    near, far = ir.Load(a, (index(0),)), ir.Load(a, (index(1 << 40),))
    value = te.Call("if_then_else", (te.Equal(n, index(1)), near, te.const(7.0)), "float32")
    value = te.Call("if_then_else", (te.Equal(n, index(2)), far, value), "float32")
    out = np.zeros(1, "float32")

    assert (
        run(ir.Function("lazy", (a, b), (b,), (n,), ir.Store(b, (index(0),), value)), numbers(1), out, chosen)
        == 0
    )

    assert out[0] == (1.0 if chosen else 7.0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "bool"])
@pytest.mark.parametrize("other", [0.0, -0.0, 1.0])
def test_padding_reads_memory_only_inside(run: Any, dtype: str, other: float) -> None:
    n = te.Var("n", "int64")
    a, b = array("a", dtype, LANES), array("b", dtype, LANES)
    padding = te.Broadcast(te.const(other, dtype), LANES)
    far = ir.Load(a, (ramp(n * (1 << 40)),))
    body = ir.Store(b, (ramp(0),), te.Call("if_then_else", (te.Equal(n, index(0)), far, padding), dtype))
    function, x, out = ir.Function("pad", (a, b), (b,), (n,), body), numbers(LANES, dtype), {}

    for inside in (0, 1):
        out[inside] = np.full(LANES, 3, dtype)
        assert run(function, x, out[inside], inside) == 0

    np.testing.assert_array_equal(out[0], x)
    np.testing.assert_array_equal(out[1], np.full(LANES, other, dtype))
    if dtype.startswith("float"):
        assert (np.signbit(out[1]) == np.signbit(other)).all()


def test_padding_uses_a_masked_load_instead_of_a_branch_where_available() -> None:
    n = te.Var("n", "int64")
    a, b, where = array("a", "float32", LANES), array("b", "float32", LANES), array("w", "int64", 1)
    zero, inside = te.const(0.0, "float32", LANES), te.Equal(n, index(0))

    def text(base: te.Expr, target: str) -> str:
        padded = te.Call("if_then_else", (inside, ir.Load(a, (ramp(base),)), zero), "float32")
        body = ir.Store(b, (ramp(0),), padded)
        return llvm.generate(ir.Function("pad", (a, b, where), (b,), (n,), body), Target.parse(target))

    wide, narrow = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4", "llvm -mtriple=x86_64-linux-gnu"

    assert "br i1" not in text(n, wide)
    assert "br i1" in text(n, narrow)
    assert "br i1" in text(
        ir.Load(where, (n,)), wide
    )  # outside there may be no memory to read the index from


@pytest.mark.parametrize("lanes", ["all", "a part of a condition", "each"])
def test_a_load_of_no_lanes_has_an_address_inside_the_array(run: Any, lanes: str) -> None:
    """Other addresses may not be mapped, which takes processors hundreds of cycles to find out."""
    n = te.Var("n", "int64")
    a, b = array("a", "float32", LANES), array("b", "float32", LANES)
    inside: te.Expr = te.Equal(n, index(0))
    if lanes == "a part of a condition":
        inside = te.And(te.Broadcast(inside, LANES), te.Less(ramp(0), te.Broadcast(index(10), LANES)))
    elif lanes == "each":
        inside = te.Less(ramp(n * LANES), te.Broadcast(index(10), LANES))
    far = ir.Load(a, (ramp(n * (1 << 40)),))
    padded = te.Call("if_then_else", (inside, far, te.const(0.0, "float32", LANES)), "float32")
    function = ir.Function("pad", (a, b), (b,), (n,), ir.Store(b, (ramp(0),), padded))
    text = llvm.generate(function, Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"))

    (load,) = re.findall(r"call <16 x float> @llvm.masked.load\S*\(ptr (%\w+)", text)
    (chosen,) = re.findall(rf"{load} = select i1 (%\w+), ptr %\w+, ptr (%\w+)", text)
    assert chosen[1] == re.findall(r"@pad\(ptr[^%]*(%\w+)", text)[0]
    for outside in (0, 1):
        out, x = np.full(LANES, 3, "float32"), numbers(LANES)
        assert run(function, x, out, outside) == 0
        kept = 0 if outside else LANES if lanes == "all" else 10
        np.testing.assert_array_equal(out, np.where(np.arange(LANES) < kept, x, 0))


@pytest.mark.parametrize(("extent", "steps"), [(2 * LANES, []), (5000, [16, 32, 48])])
def test_adjacent_loads_share_a_selected_address_if_the_array_is_large(extent: int, steps: list[int]) -> None:
    """They are ``steps`` elements after one address, whole pages away from the pointer of the loop."""
    n = te.Var("n", "int64")
    a, b = array("a", "float32", extent), array("b", "float32", 3 * LANES)
    zero, inside = te.const(0.0, "float32", LANES), te.Less(n, index(9))
    stores = []
    for k in range(3):
        far = ir.Load(a, (ramp(n * 4096 - 2048 + LANES * (k + 1)),))
        stores.append(
            ir.Store(b, (ramp(LANES * k),), te.Call("if_then_else", (inside, far, zero), "float32"))
        )
    function = ir.Function("pad", (a, b), (b,), (n,), ir.sequence(*stores))
    text = llvm.generate(function, Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"))

    chosen = re.findall(r"(%\w+) = select i1", text)
    found = [re.findall(rf"getelementptr float, ptr {one}, i64 (\d+)", text) for one in chosen]
    assert [int(step) for one in found for step in one] == steps


def test_a_value_loaded_before_a_store_is_loaded_again_after_it(run: Any) -> None:
    def store(a: ir.Buffer, b: ir.Buffer) -> ir.Stmt:
        again = ir.Load(b, (index(0),)) + 1.0
        twice = te.Call("if_then_else", (again > 0.0, again, again), "float32")
        return ir.sequence(*(ir.Store(b, (index(0),), twice) for _ in range(3)))

    out = copy(numbers(1), np.zeros(1, "float32"), run, store)

    assert out[0] == 3.0


def test_a_prefetch_does_not_access_memory(run: Any) -> None:
    def store(a: ir.Buffer, b: ir.Buffer) -> ir.Stmt:
        far = te.Call("prefetch", (ir.Load(a, (index(1 << 40),)),), "float32")
        return ir.sequence(ir.Evaluate(far), ir.Store(b, (index(0),), te.const(1.0)))

    assert copy(numbers(1), np.zeros(1, "float32"), run, store)[0] == 1.0
