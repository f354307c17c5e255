"""Loops are simplified using their ranges and guards."""

from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.simplify import simplify
from tvmlite.te.loop.verify import verify


def body(function: ir.Function) -> str:
    return "\n".join(line[4:] for line in str(function).split("\n")[1:])


def test_guards_and_divisions_decided_by_ranges_are_removed(make, agree) -> None:
    c = make.buffer("C", 64)
    at = make.x * 8 + make.y
    guarded = ir.If(at < 64, make.store(c, at // 8 * 8 + at % 8, 1.0))
    inner = make.loop(make.y, 8, guarded, ir.If(make.y < 0, make.store(c, 0, 2.0)))
    function = ir.Function("f", (c,), (c,), (), make.loop(make.x, 8, inner))

    after = simplify(function)

    assert body(after) == ("for x in range(0, 8):\n    for y in range(0, 8):\n        C[x * 8 + y] = 1.0")
    agree(function, after)


def test_conditions_hold_inside_their_branches(make) -> None:
    n = e.SizeVar("n", "int64")
    c = make.buffer("C", n)
    test = make.x < 3
    branch = ir.If(test, ir.If(make.x < 5, make.store(c, make.x, 1.0)), ir.If(test, make.store(c, 0, 2.0)))

    after = simplify(ir.Function("f", (c,), (c,), (n,), make.loop(make.x, n, branch)))

    assert body(after) == "for x in range(0, n):\n    if x < 3:\n        C[x] = 1.0"


def test_loops_of_one_iteration_and_index_lets_are_removed(make, agree) -> None:
    a, c = make.buffer("A", 8), make.buffer("C", 8)
    t = ir.Buffer("T", "float32", (make.y * 0 + 2,))
    let = ir.Let(make.z, make.y * 2 + 1, make.store(t, make.z - 1, make.load(a, make.z)))
    read = make.store(c, make.y, make.load(t, make.y))
    nest = make.loop(make.y, 1, ir.Allocate(t, ir.sequence(let, read)))
    function = ir.Function("f", (a, c), (c,), (), make.loop(make.x, 0, nest, begin=3))
    one = ir.Function("f", (a, c), (c,), (), nest)

    assert body(simplify(function)) == "pass"
    assert body(simplify(one)) == "allocate T[2] float32:\n    T[0] = A[1]\n    C[0] = T[0]"


def test_a_buffer_may_be_simplified_in_one_branch_only(make) -> None:
    n, m = e.SizeVar("n", "int64"), e.SizeVar("m", "int64")
    c = make.buffer("C", n)
    t = make.buffer("T", e.Max(n - 3, make.index(0)), scope="local")
    use = ir.Allocate(t, ir.sequence(make.store(t, 0, 1.0), make.store(c, 0, make.load(t, 0))))
    function = ir.Function("f", (c,), (c,), (n, m), ir.If(e.And(make.index(3) < n, m < 9), use, use))

    after = simplify(function)

    verify(after)
    assert [line.strip() for line in body(after).splitlines() if "allocate" in line] == [
        "allocate T[n - 3] float32:",
        "allocate T_1[max(n - 3, 0)] float32:",
    ]


def test_the_condition_of_an_assert_is_known_after_it(make) -> None:
    n = e.SizeVar("n", "int64")
    c = make.buffer("C", n)
    guarded = ir.If(make.index(3) < n, make.store(c, 3, 1.0))
    function = ir.Function(
        "f", (c,), (c,), (n,), ir.sequence(ir.Assert(n >= 4, "too short"), ir.Assert(n > 0, "empty"), guarded)
    )

    assert body(simplify(function)) == "assert 3 < n, 'too short'\nC[3] = 1.0"


def test_equal_loop_invariant_guards_are_merged_outside_the_loop(make, agree) -> None:
    n = e.SizeVar("n", "int64")
    c, d = make.buffer("C", 8), make.buffer("D", 8)
    guard = make.x * 2 < n
    inner = make.loop(make.y, 4, ir.If(guard, make.store(d, make.y, 2.0)))
    turns = ir.sequence(ir.If(guard, make.store(c, make.x, 1.0)), inner, ir.If(guard, make.store(c, 7, 3.0)))
    function = ir.Function("f", (c, d), (c, d), (n,), make.loop(make.x, 4, turns))

    after = simplify(function)

    assert body(after) == (
        "for x in range(0, 4):\n    if x * 2 < n:\n        C[x] = 1.0\n"
        "        for y in range(0, 4):\n            D[y] = 2.0\n        C[7] = 3.0"
    )
    agree(function, after, {n: 5})


def test_guards_that_read_memory_stay_in_place(make, agree) -> None:
    c = make.buffer("C", 8)
    guard = make.load(c, 0) < 1.0
    twice = ir.sequence(ir.If(guard, make.store(c, 0, 1.0)), ir.If(guard, make.store(c, 1, 1.0)))
    loop = make.loop(make.x, 8, ir.If(guard, make.store(c, make.x, 1.0)))
    function = ir.Function("f", (c,), (c,), (), ir.sequence(twice, loop))

    assert simplify(function) is function
    agree(function, simplify(function))


def test_a_simplified_function_is_returned_as_the_same_object(make) -> None:
    a, c = make.buffer("A", 8, 8), make.buffer("C", 8, 8)
    mask = e.Less(e.Ramp(make.y * 4, make.index(1), 4), e.broadcast(make.index(7), 4))
    at = e.Ramp(make.y * 4, make.index(1), 4)
    store = ir.Store(c, (make.x, at), ir.Load(a, (make.x, at), mask), mask)
    guarded = ir.If(make.x * 3 < 20, make.loop(make.y, 2, store), make.store(c, make.x, 0, 1.0))
    function = ir.Function("f", (a, c), (c,), (), make.loop(make.x, 8, guarded))

    once = simplify(function)

    assert simplify(once) is once
