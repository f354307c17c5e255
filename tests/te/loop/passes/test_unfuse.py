"""Fused loops that compute divisions are split into separate loops again."""

from __future__ import annotations

import random

import pytest

from tvmlite import te as api
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes import legalize
from tvmlite.te.loop.passes.unfuse import unfuse
from tvmlite.te.loop.walk import statements
from tvmlite.te.lowering.lower import lower

N, M = e.SizeVar("n", "int64"), e.SizeVar("m", "int64")
DIVISIONS = (e.FloorDiv, e.FloorMod, e.TruncDiv, e.TruncMod)


def body(function: ir.Function) -> str:
    return "\n".join(line[4:] for line in str(function).split("\n")[1:])


def divisions(function: ir.Function) -> list[e.Expr]:
    """The divisions that are left inside loops."""
    loops = [one for one in statements(function.body) if isinstance(one, ir.For)]
    return [node for loop in loops for node in postorder(loop.body) if isinstance(node, DIVISIONS)]


def test_a_loop_that_divides_by_a_factor_of_its_extent_becomes_two(make, agree) -> None:
    a, b = make.buffer("A", 24), make.buffer("B", 6, 4)
    x = make.x
    function = ir.Function(
        "f", (a, b), (b,), (), make.loop(x, 24, make.store(b, x // 4, x % 4, make.load(a, x) + 1.0))
    )

    after = unfuse(function)

    agree(function, after)
    assert body(after) == "\n".join(
        [
            "for x in range(0, 6):",
            "    for x.inner in range(0, 4):",
            "        B[x, x.inner] = A[x * 4 + x.inner] + 1.0",
        ]
    )
    assert unfuse(after) is after


def test_a_loop_fused_from_three_becomes_three(make, agree) -> None:
    a, b = make.buffer("A", 36), make.buffer("B", 4, 3, 3)
    x = make.x
    store = make.store(b, x // 9, x // 3 % 3, x % 3, make.load(a, x))
    function = ir.Function("f", (a, b), (b,), (), make.loop(x, 36, store))

    after = unfuse(function)

    agree(function, after)
    assert [int(s.extent.value) for s in statements(after.body) if isinstance(s, ir.For)] == [4, 3, 3]  # type: ignore[attr-defined]
    assert not divisions(after)


def test_extents_may_be_unknown(make, agree) -> None:
    a, x = make.buffer("A", N, M), make.x
    loop = make.loop(x, N * M, make.store(a, x // M, x % M, e.cast("float32", x)))
    loop = ir.If(M >= 1, loop)
    function = ir.Function("f", (a,), (a,), (N, M), loop)

    after = unfuse(function)

    agree(function, after, {N: 5, M: 7})


@pytest.mark.parametrize("why", ["does not divide", "parallel", "begins later", "divided by what changes"])
def test_other_loops_are_unchanged(make, why: str) -> None:
    a, x, y = make.buffer("A", 64, 64), make.x, make.y
    loop = {
        "does not divide": make.loop(x, 26, make.store(a, x // 4, x % 4, 1.0)),
        "parallel": make.loop(x, 24, make.store(a, x // 4, x % 4, 1.0), kind=ir.PARALLEL),
        "begins later": make.loop(x, 24, make.store(a, x // 4, x % 4, 1.0), begin=2),
        "divided by what changes": make.loop(x, 24, make.loop(y, 3, make.store(a, x // (y + 1), 0, 1.0))),
    }[why]
    function = ir.Function("f", (a,), (a,), (), loop)

    assert unfuse(function) is function


@pytest.mark.parametrize("seed", range(40))
def test_results_and_the_order_of_iterations_are_kept(make, agree, seed: int) -> None:
    """Uses random quotients and remainders of a loop variable, also inside other loops and conditions."""
    choose = random.Random(seed)
    factors = [choose.choice([2, 3, 4, 5]) for _ in range(3)]
    turns = factors[0] * factors[1] * factors[2] + choose.choice([0, 0, 0, 1])
    a, log = make.buffer("A", turns, dtype="int64"), make.buffer("L", 1, dtype="int64")
    x, y = make.x, make.y

    def term() -> e.Expr:
        value: e.Expr = x
        for _ in range(choose.randrange(3)):
            divisor = choose.choice([*factors, factors[1] * factors[2], 7])
            value = value // divisor if choose.random() < 0.5 else value % divisor
        return value * choose.choice([1, 2, -3])

    value = term() + term() * (y + 1)
    mixed = make.store(log, 0, make.load(log, 0) * 3 + value)  # depends on the order of iterations
    inner = make.loop(y, choose.choice([1, 3]), ir.If(term() < choose.choice([1, 3, 9]), mixed))
    function = ir.Function(
        "f", (a, log), (a, log), (), make.loop(x, turns, inner, make.store(a, x, term() + term()))
    )

    agree(function, unfuse(function))


def fused_reduction() -> tuple[api.Schedule, list[object]]:
    a, w = api.placeholder((8, 6, 4), name="A"), api.placeholder((6, 4), name="W")
    i, j = api.reduce_axis((0, 6), "i"), api.reduce_axis((0, 4), "j")
    b = api.compute((8,), lambda x: api.sum(a[x, i, j] * w[i, 0] * w[0, j], [i, j]), "B")
    s = api.create_schedule(b.op)
    s[b].fuse(i, j)
    return s, [a, w, b]


def fused_and_split() -> tuple[api.Schedule, list[object]]:
    a, bias = api.placeholder((12, 64), name="A"), api.placeholder((64,), name="bias")
    b = api.compute((12, 64), lambda x, y: a[x, y] + bias[y], "B")
    s = api.create_schedule(b.op)
    _, lane = s[b].split(s[b].fuse(*s[b].op.axis), factor=16)
    s[b].vectorize(lane)
    return s, [a, bias, b]


def fused_with_unknown_rows() -> tuple[api.Schedule, list[object]]:
    n = api.size_var("n")
    a, bias = api.placeholder((n, 60), name="A"), api.placeholder((60,), name="bias")
    b = api.compute((n, 60), lambda x, y: a[x, y] + bias[y], "B")
    s = api.create_schedule(b.op)
    s[b].fuse(*s[b].op.axis)
    return s, [a, bias, b]


def convolution_with_one_loop_of_windows() -> tuple[api.Schedule, list[object]]:
    a, w = api.placeholder((4, 10, 10), name="A"), api.placeholder((4, 3, 3), name="W")
    c, v, u = (api.reduce_axis((0, n), name) for n, name in ((4, "c"), (3, "v"), (3, "u")))
    b = api.compute((8, 8), lambda y, x: api.sum(a[c, y + v, x + u] * w[c, v, u], [c, v, u]), "B")
    s = api.create_schedule(b.op)
    y, x = s[b].op.axis
    s[b].reorder(y, c, v, u, x)
    s[b].fuse(c, v, u)
    s[b].vectorize(x)
    return s, [a, w, b]


@pytest.mark.parametrize(
    "example",
    [fused_reduction, fused_and_split, fused_with_unknown_rows, convolution_with_one_loop_of_windows],
)
def test_schedules_that_fuse_leave_no_division_in_a_loop(example) -> None:
    schedule, args = example()

    assert not divisions(legalize(lower(schedule, args), "llvm -mcpu=znver4"))
