"""Loops written out, and what becomes of the kinds of loops."""

from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes import asserts, parallel, unroll

N = e.SizeVar("n", "int64")


def body(function: ir.Function) -> str:
    return "\n".join(line[4:] for line in str(function).split("\n")[1:])


def test_turns_are_written_out(make, agree) -> None:
    c = make.buffer("C", 16)
    inner = make.loop(make.y, 2, make.store(c, make.x * 2 + make.y, 1.0), kind=ir.UNROLL, begin=3)
    function = ir.Function("f", (c,), (c,), (), make.loop(make.x, 2, inner, kind=ir.UNROLL))

    after = unroll(function)

    agree(function, after)
    assert body(after).count("\n") == 3
    assert "for" not in body(after)


def test_symbolic_and_huge_loops_stay(make) -> None:
    c = make.buffer("C", N)
    symbolic = make.loop(make.x, N, make.store(c, make.x, 1.0), kind=ir.UNROLL)
    huge = make.loop(make.y, 10**6, make.store(c, make.y, 1.0), kind=ir.UNROLL)

    after = unroll(ir.Function("f", (c,), (c,), (N,), ir.sequence(symbolic, huge)))

    assert body(after).count("range(") == 2
    assert unroll(after) is after


def test_one_level_of_parallel_loops_is_left(make, agree) -> None:
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


def test_messages_are_numbered_once(make) -> None:
    c = make.buffer("C", 4)
    every = ir.sequence(*(ir.Assert(k < N, f"more than {k % 2}") for k in range(3)))
    function = ir.Function("f", (c,), (), (N,), every, messages=("first",))

    after = asserts(function)

    assert after.messages == ("first", "more than 0", "more than 1")
    assert asserts(after) is after
