"""Local buffers stay on the stack or become views of the workspace."""

import pytest

from tvmlite.core.errors import ScheduleError
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.storage import storage
from tvmlite.te.loop.verify import verify

N = e.SizeVar("n", "int64")


def use(make, c: ir.Buffer, t: ir.Buffer, at: e.Expr) -> ir.Stmt:
    return ir.Allocate(t, ir.sequence(make.store(t, 0, 1.0), make.store(c, at, make.load(t, 0))))


def test_small_buffers_stay_on_the_stack(make) -> None:
    c = make.buffer("C", 8)
    small = make.buffer("T", 4096, scope="local")
    own = make.buffer("U", 16384, scope="local")
    nest = ir.sequence(
        use(make, c, small, make.index(0)),
        make.loop(make.x, 8, use(make, c, own, make.x), kind=ir.PARALLEL),
    )
    function = ir.Function("f", (c,), (c,), (), nest)

    assert storage(function) is function


def test_other_buffers_are_views_of_the_workspace_one_per_thread(make, agree) -> None:
    c = make.buffer("C", 8)
    large = make.buffer("T", 4097, scope="local")
    own = make.buffer("U", N, scope="local")
    nest = ir.sequence(
        use(make, c, large, make.index(0)),
        make.loop(make.x, 8, use(make, c, own, make.x), kind=ir.PARALLEL),
    )
    function = ir.Function("f", (c,), (c,), (N,), nest)

    after = storage(function)

    verify(after)
    agree(function, after, {N: 5})
    assert str(after.workspace) == "(n + 15) // 16 * threads * 64 + 16448"
    assert "view T[4097] float32 at 0:" in str(after)
    assert "view U[n] float32 at (n + 15) // 16 * thread * 64 + 16448:" in str(after)


def test_an_existing_workspace_is_kept(make) -> None:
    c = make.buffer("C", 8)
    large = make.buffer("T", 5000, scope="local")
    function = ir.Function("f", (c,), (c,), (), use(make, c, large, make.index(0)), make.index(100))

    after = storage(function)

    assert str(after.workspace) == "20160"
    assert "at 128:" in str(after)


def test_a_function_that_uses_the_number_of_threads_gets_a_workspace(make) -> None:
    c = make.buffer("C", 8)
    pieces = ir.For(make.x, make.index(0), e.Min(ir.THREADS, make.index(8)), make.store(c, make.x, 1.0))
    function = ir.Function("f", (c,), (c,), (), pieces)

    made = storage(function)

    assert function.workspace is None
    assert e.is_const(made.workspace, 0)
    assert made.body is function.body


def test_a_size_that_depends_on_a_loop_variable_is_bounded(make, agree) -> None:
    c = make.buffer("C", N)
    own = ir.Buffer("T", "float32", (make.x * 2 + 1,))
    function = ir.Function("f", (c,), (c,), (N,), make.loop(make.x, N, use(make, c, own, make.x)))

    after = storage(function)

    agree(function, after, {N: 5})
    assert str(after.workspace) == "(n + 7) // 8 * 64"


def test_a_size_without_a_bound_is_an_error(make) -> None:
    c = make.buffer("C", 8, dtype="int64")
    own = ir.Buffer("T", "float32", (make.z,))
    let = ir.Let(make.z, make.load(c, 0), ir.Allocate(own, make.store(own, 0, 1.0)))

    with pytest.raises(
        ScheduleError, match="function 'f': the size of buffer 'T', z \\* 4 bytes, has no bound"
    ):
        storage(ir.Function("f", (c,), (), (), let))
