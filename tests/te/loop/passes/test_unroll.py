"""Unrolling loops, and the lowering of the other kinds of loops."""

from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.asserts import asserts
from tvmlite.te.loop.passes.parallel import parallel
from tvmlite.te.loop.passes.unroll import unroll

N = e.SizeVar("n", "int64")


def load(buffer: ir.Buffer, place: e.Expr) -> e.Expr:
    return e.Broadcast(ir.Load(buffer, (place % 64,)), 16)


def body(function: ir.Function) -> str:
    return "\n".join(line[4:] for line in str(function).split("\n")[1:])


def test_iterations_are_unrolled(make, agree) -> None:
    c = make.buffer("C", 16)
    inner = make.loop(make.y, 2, make.store(c, make.x * 2 + make.y, 1.0), kind=ir.UNROLL, begin=3)
    function = ir.Function("f", (c,), (c,), (), make.loop(make.x, 2, inner, kind=ir.UNROLL))

    after = unroll(function)

    agree(function, after)
    assert body(after).count("\n") == 3
    assert "for" not in body(after)


def test_symbolic_and_huge_loops_are_not_unrolled(make) -> None:
    c = make.buffer("C", N)
    symbolic = make.loop(make.x, N, make.store(c, make.x, 1.0), kind=ir.UNROLL)
    huge = make.loop(make.y, 10**6, make.store(c, make.y, 1.0), kind=ir.UNROLL)

    after = unroll(ir.Function("f", (c,), (c,), (N,), ir.sequence(symbolic, huge)))

    assert body(after).count("range(") == 2
    assert unroll(after) is after


def test_short_loops_over_an_array_in_registers_are_unrolled(make, agree) -> None:
    c, sums = make.buffer("C", 64), make.buffer("sums", 64, scope="local")
    lanes = e.Ramp(make.x * 16, make.index(1), 16)
    start = make.loop(make.x, 4, ir.Store(sums, (lanes,), e.Broadcast(e.const(1.0), 16)))
    store = make.loop(make.x, 4, ir.Store(c, (lanes,), ir.Load(sums, (lanes,))))
    function = ir.Function("f", (c,), (c,), (), ir.Allocate(sums, ir.sequence(start, store)))

    after = unroll(function, registers=256)

    agree(function, after)
    assert "for" not in body(after)
    assert body(after).count("ramp(") == 4 + 2 * 4
    assert unroll(function) is function
    assert unroll(function, registers=255) is function


def test_loops_that_need_no_unrolling_are_unchanged(make) -> None:
    c, sums = make.buffer("C", 2048), make.buffer("sums", 64, scope="local")
    memory = make.loop(make.x, 4, make.store(c, make.x, 1.0))
    scalars = make.loop(make.x, 5, make.store(sums, make.x, 1.0))
    long = make.loop(make.x, 128, ir.Store(c, (e.Ramp(make.x * 16, make.index(1), 16),), load(sums, make.x)))
    same = make.loop(make.x, 4, make.store(sums, 0, 1.0))
    function = ir.Function("f", (c,), (c,), (), ir.Allocate(sums, ir.sequence(memory, scalars, long, same)))

    assert unroll(function, registers=256) is function


def test_only_the_outermost_parallel_loop_stays_parallel(make, agree) -> None:
    c = make.buffer("C", 4, 4)
    inner = make.loop(make.y, 4, make.store(c, make.x, make.y, 1.0), kind=ir.PARALLEL)
    outer = make.loop(make.x, 4, inner, kind=ir.PARALLEL)
    short = make.loop(make.z, e.Min(N, make.index(1)), make.store(c, 0, make.z, 2.0), kind=ir.PARALLEL)
    function = ir.Function("f", (c,), (c,), (N,), ir.sequence(outer, short))

    after = parallel(function)

    agree(function, after, {N: 5})
    assert body(after).startswith("for x in parallel(0, 4):\n    for y in range(0, 4):")
    assert "for z in range(" in body(after)
    assert parallel(after) is after


def test_equal_assert_messages_are_numbered_once(make) -> None:
    c = make.buffer("C", 4)
    every = ir.sequence(*(ir.Assert(k < N, f"more than {k % 2}") for k in range(3)))
    function = ir.Function("f", (c,), (), (N,), every, messages=("first",))

    after = asserts(function)

    assert after.messages == ("first", "more than 0", "more than 1")
    assert asserts(after) is after
