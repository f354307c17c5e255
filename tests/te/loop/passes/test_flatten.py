"""Flattening gives each access a single index."""

from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.flatten import flatten
from tvmlite.te.loop.verify import verify

N = e.SizeVar("n", "int64")


def body(function: ir.Function) -> str:
    return "\n".join(line[4:] for line in str(function).split("\n")[1:])


def test_accesses_and_local_buffers_get_a_single_axis(make, agree) -> None:
    a, c, r = make.buffer("A", 4, N), make.buffer("C", N, 4), make.buffer("R")
    t = make.buffer("T", 2, 8, scope="local")
    t = ir.Buffer("T", "float32", t.shape, strides=(make.index(9), make.index(1)))
    copy = ir.sequence(
        make.store(t, 1, make.y, make.load(a, make.y, make.x)),
        make.store(c, make.x, make.y, make.load(t, 1, make.y) + make.load(r)),
    )
    nest = make.loop(make.x, N, ir.Allocate(t, make.loop(make.y, 4, copy)))
    function = ir.Function("f", (a, r, c), (c,), (N,), nest)

    after = flatten(function)

    verify(after, legal=True)
    agree(function, after, {N: 3})
    assert body(after) == (
        "for x in range(0, n):\n"
        "    allocate T[17] float32:\n"
        "        for y in range(0, 4):\n"
        "            T[y + 9] = A[n * y + x]\n"
        "            C[x * 4 + y] = T[y + 9] + R[0]"
    )


def test_vector_indices_stay_ramps(make, agree) -> None:
    a, c = make.buffer("A", 3, 8), make.buffer("C", 8, 3)
    lanes = e.Ramp(make.index(0), make.index(1), 8)
    at = e.broadcast(make.x, 8)
    function = ir.Function(
        "f",
        (a, c),
        (c,),
        (),
        make.loop(make.x, 3, ir.Store(c, (lanes, make.x), ir.Load(a, (at, lanes)))),
    )

    after = flatten(function)

    agree(function, after)
    assert body(after) == "for x in range(0, 3):\n    C[ramp(x, 3, 8)] = A[ramp(x * 8, 1, 8)]"


def test_gathers_of_int32_are_widened(make, agree) -> None:
    p, a, c = make.buffer("P", 4, dtype="int32"), make.buffer("A", 5, 2), make.buffer("C", 4)
    read = ir.Load(a, (make.load(p, make.x), e.const(1)))
    function = ir.Function("f", (p, a, c), (c,), (), make.loop(make.x, 4, make.store(c, make.x, read)))

    after = flatten(function)

    verify(after, legal=True)
    agree(function, after)
    assert "A[int64(P[x]) * 2 + 1]" in body(after)


def test_a_flat_function_is_returned_as_the_same_object(make) -> None:
    c, t = make.buffer("C", 2, 8), make.buffer("T", 8, scope="local")
    flat = ir.Store(c, (make.x,), make.load(t, make.x))
    function = ir.Function("f", (c,), (c,), (), ir.Allocate(t, make.loop(make.x, 8, flat)))

    assert flatten(function) is function


def test_a_strided_buffer_with_an_empty_axis_allocates_no_elements(make) -> None:
    t = ir.Buffer(
        "T", "float32", (make.index(2), N, make.index(0)), "local", tuple(map(make.index, (9, 9, 8)))
    )
    function = ir.Function("f", (), (), (N,), ir.Allocate(t, make.store(t, 0, 0, 0, make.index(1))))

    assert "allocate T[max(n * 9 - 7, 0)]" in body(flatten(function))
