"""Loops marked vectorize become vector statements, or stay serial where that is impossible."""

import pytest

from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.vectorize import vectorize
from tvmlite.te.loop.verify import verify


def body(function: ir.Function) -> str:
    return "\n".join(line[4:] for line in str(function).split("\n")[1:])


def vectorized(function: ir.Function, agree, sizes=None, lanes: int = 16) -> str:
    after = vectorize(function, lanes)
    verify(function)
    verify(after)
    agree(function, after, sizes)
    return body(after)


def test_linear_accesses_become_ramps_and_invariant_ones_stay_scalar(make, agree) -> None:
    a, b, c = make.buffer("A", 6), make.buffer("B", 6, 16), make.buffer("C", 6, 16)
    value = make.load(a, make.x) * make.load(b, make.x, make.y) + 1.0
    lanes = make.loop(make.y, 16, make.store(c, make.x, make.y, value), kind=ir.VECTORIZE)
    function = ir.Function("f", (a, b, c), (c,), (), make.loop(make.x, 6, lanes))

    assert vectorized(function, agree) == (
        "for x in range(0, 6):\n"
        "    C[x, ramp(0, 1, 16)] = broadcast(A[x], 16) * B[x, ramp(0, 1, 16)] + broadcast(1.0, 16)"
    )


def test_inner_loops_become_loops_of_vectors(make, agree) -> None:
    a, c = make.buffer("A", 5, 8), make.buffer("C", 8)
    add = make.store(c, make.y, make.load(c, make.y) + make.load(a, make.x, make.y))
    function = ir.Function(
        "f", (a, c), (c,), (), make.loop(make.y, 8, make.loop(make.x, 5, add), kind="vectorize")
    )

    assert vectorized(function, agree) == (
        "for x in range(0, 5):\n    C[ramp(0, 1, 8)] = C[ramp(0, 1, 8)] + A[x, ramp(0, 1, 8)]"
    )


def test_guards_become_masks_and_skip_idle_vectors(make, agree) -> None:
    n = e.SizeVar("n", "int64")
    a, c = make.buffer("A", n), make.buffer("C", n)
    at = make.x * 8 + make.y
    guarded = ir.If(at < n, make.store(c, at, make.load(a, at)))
    nest = make.loop(make.x, (n + 15) // 16 * 2, make.loop(make.y, 8, guarded, kind="vectorize"))
    function = ir.Function("f", (a, c), (c,), (n,), nest)

    text = vectorized(function, agree, {n: 21})

    mask = "ramp(x * 8, 1, 8) < broadcast(n, 8)"
    assert text == (
        "for x in range(0, (n + 15) // 16 * 2):\n"
        "    if x * 8 < n:\n"
        f"        C[ramp(x * 8, 1, 8)].where({mask}) = A[ramp(x * 8, 1, 8)].where({mask})"
    )


def test_a_lane_dependent_if_then_else_masks_its_loads(make, agree) -> None:
    a, w, c = make.buffer("A", 6), make.buffer("W", 1), make.buffer("C", 8)
    inside = e.And(make.y >= 1, make.y < 7)
    zero = e.Call("if_then_else", (inside, make.load(a, make.y - 1), e.const(0.0)), "float32")
    other = e.Call("if_then_else", (inside, make.load(w, 0), make.load(a, make.y // 2)), "float32")
    function = ir.Function(
        "f", (a, w, c), (c,), (), make.loop(make.y, 8, make.store(c, make.y, zero + other), kind="vectorize")
    )

    text = vectorized(function, agree)

    assert "A[ramp(-1, 1, 8)].where(" in text
    assert "W[broadcast(0, 8)].where(" in text
    assert text.count("select(") == 1


def test_a_lane_invariant_if_then_else_stays_lazy(make, agree) -> None:
    a, c = make.buffer("A", 3, 8), make.buffer("C", 5, 8)
    value = e.Call("if_then_else", (make.x < 3, make.load(a, make.x, make.y), e.const(2.0)), "float32")
    lanes = make.loop(make.y, 8, make.store(c, make.x, make.y, value), kind="vectorize")
    function = ir.Function("f", (a, c), (c,), (), make.loop(make.x, 5, lanes))

    assert "if_then_else(x < 3, A[x, ramp(0, 1, 8)], broadcast(2.0, 8))" in vectorized(function, agree)


def test_gathers_lets_and_private_buffers(make, agree) -> None:
    a, p, c = make.buffer("A", 5), make.buffer("P", 8, dtype="int32"), make.buffer("C", 8)
    t = ir.Buffer("T", "float32", (make.index(2),))
    v = e.Var("v", "float32")
    let = ir.Let(
        v,
        make.load(a, make.load(p, make.y).astype("int64")),
        ir.Allocate(
            t,
            ir.sequence(
                make.store(t, 0, v),
                make.store(t, 1, v * 2.0),
                make.store(c, make.y, make.load(t, 0) + make.load(t, 1)),
            ),
        ),
    )
    function = ir.Function("f", (a, p, c), (c,), (), make.loop(make.y, 8, let, kind="vectorize"))

    assert vectorized(function, agree) == (
        "v = A[int64(P[ramp(0, 1, 8)])]\n"
        "allocate T[16] float32:\n"
        "    T[ramp(0, 1, 8)] = v\n"
        "    T[ramp(8, 1, 8)] = v * broadcast(2.0, 8)\n"
        "    C[ramp(0, 1, 8)] = T[ramp(0, 1, 8)] + T[ramp(8, 1, 8)]"
    )


def test_accumulation_into_one_element_stays_serial(make, agree) -> None:
    a, c = make.buffer("A", 8), make.buffer("C", 1)
    add = make.store(c, 0, make.load(c, 0) + make.load(a, make.y))
    function = ir.Function("f", (a, c), (c,), (), make.loop(make.y, 8, add, kind="vectorize"))

    assert vectorized(function, agree) == "for y in range(0, 8):\n    C[0] = C[0] + A[y]"


def test_statements_that_cannot_be_vectorized_are_serial_under_their_guard(make, agree) -> None:
    a, c = make.buffer("A", 8, dtype="int32"), make.buffer("C", 8, dtype="int32")
    twice = make.store(c, make.y, make.load(c, make.y) * 2 + 1)
    loop = ir.While(make.load(c, make.y) < 20, twice)
    copy = make.store(a, make.y, make.load(c, make.y))
    guarded = ir.If(make.y < 5, ir.sequence(loop, copy))
    function = ir.Function("f", (a, c), (a, c), (), make.loop(make.y, 8, guarded, kind="vectorize"))

    text = vectorized(function, agree)

    assert text.startswith("for y in range(0, 8):\n    if y < 5:\n        while C[y] < 20:")
    assert "A[ramp(0, 1, 8)].where(" in text


def test_a_condition_read_from_memory_becomes_a_mask(make, agree) -> None:
    a, c = make.buffer("A", 8), make.buffer("C", 8)
    guarded = ir.If(make.load(a, make.y) < 0.0, make.store(c, make.y, 0.0), make.store(c, make.y, 1.0))
    alone = ir.If(make.load(a, make.y) < 0.5, make.store(c, make.y, make.load(a, 3)))
    function = ir.Function("f", (a, c), (c,), (), make.loop(make.y, 8, guarded, alone, kind="vectorize"))

    text = vectorized(function, agree)

    assert text.startswith("for y in range(0, 8):")  # with an else branch the lanes run one after the other
    assert "C[ramp(0, 1, 8)].where(A[ramp(0, 1, 8)] < broadcast(0.5, 8)) = A[broadcast(3, 8)].where(" in text


@pytest.mark.parametrize("extent", [1, 3, 64, 65, 100, 1000])
def test_any_extent_gives_the_same_results(make, agree, extent: int) -> None:
    a, c = make.buffer("A", extent), make.buffer("C", extent)
    function = ir.Function(
        "f",
        (a, c),
        (c,),
        (),
        make.loop(make.y, extent, make.store(c, make.y, make.load(a, make.y) * 2.0), kind="vectorize"),
    )

    text = vectorized(function, agree)

    assert ("for" in text) == (extent > 64)


def test_symbolic_and_outer_vector_loops_become_serial(make, agree) -> None:
    n = e.SizeVar("n", "int64")
    c = make.buffer("C", n, 4)
    inner = make.loop(make.y, 4, make.store(c, make.x, make.y, 1.0), kind="vectorize")
    function = ir.Function("f", (c,), (c,), (n,), make.loop(make.x, n, inner, kind="vectorize"))

    assert vectorized(function, agree, {n: 3}) == (
        "for x in range(0, n):\n    C[x, ramp(0, 1, 4)] = broadcast(1.0, 4)"
    )


def test_a_function_without_vectorized_loops_is_the_same_object(make) -> None:
    c = make.buffer("C", 8)
    guarded = ir.If(make.x < 5, make.store(c, make.x, 1.0), make.store(c, 0, 1.0))
    function = ir.Function("f", (c,), (c,), (), make.loop(make.x, 8, guarded))

    assert vectorize(function) is function
