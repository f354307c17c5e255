"""Guards are hoisted, become loop bounds, or are confined to the first or last iterations of a loop."""

import pytest

from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.partition import partition
from tvmlite.te.loop.passes.simplify import simplify
from tvmlite.te.loop.verify import verify

N, M = e.SizeVar("n", "int64"), e.SizeVar("m", "int64")


def body(function: ir.Function) -> str:
    return "\n".join(line[4:] for line in str(function).split("\n")[1:])


def partitioned(function: ir.Function, agree, sizes=None) -> str:
    verify(function)
    after = simplify(partition(function))
    verify(after)
    for one in sizes or [None]:
        agree(function, after, one)
    return body(after)


def test_an_invariant_guard_is_hoisted_and_a_linear_one_becomes_a_bound(make, agree) -> None:
    c = make.buffer("C", N, 4)
    guarded = ir.If(e.And(M < 5, make.x + 2 < M), make.store(c, make.x, make.y, 1.0))
    nest = make.loop(make.x, N, make.loop(make.y, 4, guarded))
    function = ir.Function("f", (c, M), (c,), (N,), nest)

    text = partitioned(function, agree, [{N: 3, M: 4}, {N: 3, M: 9}, {N: 3, M: 0}])

    assert text == (
        "if m < 5:\n"
        "    for x in range(0, min(m - 2, n)):\n"
        "        for y in range(0, 4):\n"
        "            C[x, y] = 1.0"
    )


def test_a_lower_bound_becomes_the_begin_of_the_loop(make, agree) -> None:
    c = make.buffer("C", 9)
    guarded = ir.If(make.x * 2 >= 5, make.store(c, make.x, 1.0))
    function = ir.Function("f", (c,), (c,), (), make.loop(make.x, 9, guarded))

    assert partitioned(function, agree) == "for x in range(3, 9):\n    C[x] = 1.0"


def test_a_tail_is_split_off(make, agree) -> None:
    c = make.buffer("C", N)
    at = make.x * 16 + make.y
    nest = make.loop(make.x, (N + 15) // 16, make.loop(make.y, 16, ir.If(at < N, make.store(c, at, 1.0))))
    function = ir.Function("f", (c,), (c,), (N,), nest)

    text = partitioned(function, agree, [{N: n} for n in (0, 1, 15, 16, 17, 40)])

    assert text == (
        "for x in range(0, n // 16):\n"
        "    for y in range(0, 16):\n"
        "        C[x * 16 + y] = 1.0\n"
        "for x_1 in range(n // 16, (n + 15) // 16):\n"
        "    for y in range(0, n - x_1 * 16):\n"
        "        C[x_1 * 16 + y] = 1.0"
    )


def test_a_constant_tail_becomes_a_shorter_loop(make, agree) -> None:
    c = make.buffer("C", 45)
    at = make.x * 16 + make.y
    guarded = ir.If(at < 45, make.store(c, at, 1.0))
    function = ir.Function(
        "f", (c,), (c,), (), make.loop(make.x, 3, make.loop(make.y, 16, guarded, kind=ir.UNROLL))
    )

    assert partitioned(function, agree) == (
        "for x in range(0, 2):\n"
        "    for y in unroll(0, 16):\n"
        "        C[x * 16 + y] = 1.0\n"
        "for y in unroll(0, 13):\n"
        "    C[y + 32] = 1.0"
    )


def test_head_and_tail_of_a_padded_loop_are_split_off(make, agree) -> None:
    a, c = make.buffer("A", 20), make.buffer("C", 22)
    row = make.x + make.y - 1
    guarded = ir.If(e.And(row >= 0, row < 20), make.store(c, make.x, make.load(a, row)))
    function = ir.Function("f", (a, c), (c,), (), make.loop(make.x, 22, make.loop(make.y, 3, guarded)))

    text = partitioned(function, agree)

    assert "for x in range(1, 19):\n    for y in range(0, 3):\n        C[x] = A[x + y - 1]" in text
    assert "if" not in text


def test_a_parallel_loop_is_not_split(make, agree) -> None:
    c = make.buffer("C", N)
    at = make.x * 16 + make.y
    lanes = make.loop(make.y, 16, ir.If(at < N, make.store(c, at, 1.0)), kind=ir.VECTORIZE)
    function = ir.Function("f", (c,), (c,), (N,), make.loop(make.x, (N + 15) // 16, lanes, kind=ir.PARALLEL))

    assert partitioned(function, agree, [{N: 40}, {N: 32}, {N: 3}]) == (
        "for x in parallel(0, (n + 15) // 16):\n"
        "    if x < n // 16:\n"
        "        for y in vectorize(0, 16):\n"
        "            C[x * 16 + y] = 1.0\n"
        "    else:\n"
        "        for y in vectorize(0, 16):\n"
        "            if x * 16 + y < n:\n"
        "                C[x * 16 + y] = 1.0"
    )


@pytest.mark.parametrize(
    "width, whole, lanes", [(40, 8, 40), (32, 8, 32), (23, 8, 64), (23, 1, 23), (63, 8, 64)]
)
def test_a_guarded_vector_keeps_its_mask_unless_its_width_is_a_multiple(
    make, agree, width: int, whole: int, lanes: int
) -> None:
    c = make.buffer("C", width)
    store = ir.If(make.x < width, make.store(c, make.x, 1.0))
    function = ir.Function("f", (c,), (c,), (), make.loop(make.x, 64, store, kind=ir.VECTORIZE))
    after = simplify(partition(function, whole))
    agree(function, after)

    assert body(after).startswith(f"for x in vectorize(0, {lanes}):")
    assert ("if" in body(after)) == (lanes > width)


@pytest.mark.parametrize("rows", [1, 6, 7, 13])
@pytest.mark.parametrize("columns", [1, 8, 12, 17])
def test_two_tails_at_once_are_split_off(make, agree, rows: int, columns: int) -> None:
    c = make.buffer("C", N, M)
    x0, y0 = e.Var("x0", "int64"), e.Var("y0", "int64")
    row, column = x0 * 6 + make.x, y0 * 8 + make.y
    store = ir.If(row < N, make.loop(make.y, 8, ir.If(column < M, make.store(c, row, column, 1.0))))
    nest = make.loop(x0, (N + 5) // 6, make.loop(y0, (M + 7) // 8, make.loop(make.x, 6, store)))
    function = ir.Function("f", (c,), (c,), (N, M), nest)

    text = partitioned(function, agree, [{N: rows, M: columns}])

    assert "if" not in text


def test_a_loop_with_two_guards_is_split_at_both_bounds(make, agree) -> None:
    c, d = make.buffer("C", 30), make.buffer("D", 30)
    at = make.x * 4 + make.y
    first, second = (ir.If(at < end, make.store(to, at, 1.0)) for end, to in ((9, c), (27, d)))
    nest = make.loop(make.x, 8, make.loop(make.y, 4, ir.Seq((first, second)), kind=ir.UNROLL))
    function = ir.Function("f", (c, d), (c, d), (), nest)

    text = partitioned(function, agree)

    pieces = text.split("for x")[1:]
    assert [piece.split(" in ")[1].split(":")[0] for piece in pieces] == [
        "range(0, 2)",
        "range(2, 6)",
        "range(6, 8)",
    ]
    assert ["< 27" in piece for piece in pieces] == [False, False, True]


def test_a_guard_of_a_prefetch_splits_no_loop(make, agree) -> None:
    c = make.buffer("C", 12)
    at = make.x * 4 + make.y
    ahead = ir.Evaluate(e.Call("prefetch_l2", (ir.Load(c, (at + 4,)),), "float32"))

    def texts(guarded: ir.Stmt) -> str:
        both = ir.Seq((ir.If(at < 6, guarded), make.store(c, at, 1.0)))
        nest = make.loop(make.x, 3, make.loop(make.y, 4, both))
        return partitioned(ir.Function("f", (c,), (c,), (), nest), agree)

    assert texts(make.loop(make.z, 2, ahead)) == (
        "for x in range(0, 3):\n"
        "    for y in range(0, 4):\n"
        "        if x * 4 + y < 6:\n"
        "            for z in range(0, 2):\n"
        "                prefetch_l2(C[x * 4 + y + 4])\n"
        "        C[x * 4 + y] = 1.0"
    )
    assert "for x in range(1, 3):" in texts(ir.Seq((ahead, make.store(c, at, 2.0))))


def test_guards_that_read_memory_or_lets_stay_in_place(make, agree) -> None:
    c = make.buffer("C", 8, dtype="int32")
    t = e.Var("t", "int32")
    inner = ir.Let(t, make.load(c, 0), ir.If(t.astype("int64") + make.x < 5, make.store(c, make.x, t)))
    read = ir.If(make.load(c, 1) < 5, make.store(c, make.x, make.load(c, 1)))
    function = ir.Function("f", (c,), (c,), (), make.loop(make.x, 8, make.loop(make.y, 2, inner, read)))

    assert "if int64(t) + x < 5:" in partitioned(function, agree)


def test_large_bodies_are_not_duplicated(make) -> None:
    c = make.buffer("C", N)
    at = make.x * 4096 + make.y
    nest = make.loop(make.y, 4096, ir.If(at < N, make.store(c, at, 1.0)), kind=ir.UNROLL)
    function = ir.Function("f", (c,), (c,), (N,), make.loop(make.x, (N + 4095) // 4096, nest))

    assert partition(function) is function


def test_a_function_without_guards_is_returned_as_the_same_object(make) -> None:
    c = make.buffer("C", 64)
    function = ir.Function("f", (c,), (c,), (), make.loop(make.x, 64, make.store(c, make.x, 1.0)))

    assert partition(function) is function


def test_a_guard_on_part_of_a_fused_loop_becomes_one_condition_per_tile(make, agree) -> None:
    c = make.buffer("C", M, N)
    tiles = (N + 15) // 16
    column = make.x % tiles * 16 + make.y
    lanes = make.loop(make.y, 16, ir.If(column < N, make.store(c, make.x // tiles, column, 1.0)))
    function = ir.Function("f", (c,), (c,), (M, N), make.loop(make.x, M * tiles, lanes, kind=ir.PARALLEL))

    text = partitioned(function, agree, [{M: 3, N: n} for n in (5, 16, 37)])

    assert text.startswith(
        "for x in parallel(0, m * ((n + 15) // 16)):\n    if x % ((n + 15) // 16) * 16 + 15 < n:"
    )
    assert text.count("for y in range(0, 16):") == 1
