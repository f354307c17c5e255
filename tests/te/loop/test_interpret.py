"""The interpreter against plain numpy, and the errors it detects."""

import numpy as np
import pytest

from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.interpret import interpret


def index(value: int) -> e.Const:
    return e.const(value, "int64")


def param(name: str, *shape: e.Expr | int, dtype: str = "float32") -> ir.Buffer:
    return ir.Buffer(name, dtype, tuple(e.convert(n, "int64") for n in shape), "param")


def loop(var: e.Var, extent: e.Expr | int, body: ir.Stmt, kind: str = ir.SERIAL) -> ir.For:
    return ir.For(var, index(0), e.convert(extent, "int64"), body, kind)


M, N, K = (e.SizeVar(x, "int64") for x in "mnk")
X, Y, Z = (e.Var(x, "int64") for x in "xyz")


def matmul(flat: bool) -> ir.Function:
    a, b, c = param("A", M, K), param("B", K, N), param("C", M, N)
    t = ir.Buffer("T", "float32", (index(1),))

    def at(row: e.Expr, column: e.Expr, width: e.Expr) -> tuple[e.Expr, ...]:
        return (row * width + column,) if flat else (row, column)

    product = ir.Load(a, at(X, Z, K)) * ir.Load(b, at(Z, Y, N))
    body = ir.sequence(
        ir.Store(t, (index(0),), e.const(0.0)),
        loop(Z, K, ir.Store(t, (index(0),), ir.Load(t, (index(0),)) + product)),
        ir.Store(c, at(X, Y, N), ir.Load(t, (index(0),))),
    )
    nest = loop(X, M, loop(Y, N, ir.Allocate(t, body)), ir.PARALLEL)
    return ir.Function("matmul", (a, b, c), (c,), (M, N, K), nest)


@pytest.mark.parametrize("flat", [False, True])
def test_flat_and_multidimensional_forms_run_with_sizes_taken_from_shapes(flat: bool) -> None:
    random = np.random.default_rng(0)
    a = random.random((3, 5), np.float32)
    b = random.random((5, 4), np.float32)
    c = np.zeros((3, 4), np.float32)

    interpret(matmul(flat), [a, b.T.copy().T, c])

    wanted = np.zeros((3, 4), np.float32)
    for k in range(5):
        wanted += a[:, k : k + 1] * b[k]
    assert np.array_equal(c, wanted)


def one_loop(store: ir.Store, *params: ir.Buffer, out: ir.Buffer) -> ir.Function:
    return ir.Function("f", (*params, out), (out,), (), store)


def test_vectors_masks_and_selects() -> None:
    a, c = param("A", 6), param("C", 8)
    ramp = e.Ramp(index(0), index(1), 8)
    mask = e.Less(ramp, e.broadcast(index(6), 8))
    value = ir.Load(a, (ramp,), mask)
    half = e.Less(ramp, e.broadcast(index(3), 8))
    chosen = e.Select(half, value * e.broadcast(e.const(2.0), 8), value)
    keep = e.NotEqual(ramp, e.broadcast(index(1), 8))
    c0 = np.full(8, 9, np.float32)

    interpret(one_loop(ir.Store(c, (ramp,), chosen, keep), a, out=c), [np.arange(6, dtype="float32"), c0])

    assert c0.tolist() == [0, 9, 4, 3, 4, 5, 0, 0]


def test_if_then_else_evaluates_one_branch() -> None:
    a, c = param("A", 4), param("C", 6)
    padded = e.Call("if_then_else", (X < 4, ir.Load(a, (X,)), e.const(-1.0)), "float32")
    out = np.zeros(6, np.float32)

    interpret(
        ir.Function("f", (a, c), (c,), (), loop(X, 6, ir.Store(c, (X,), padded))),
        [np.ones(4, np.float32), out],
    )

    assert out.tolist() == [1, 1, 1, 1, -1, -1]


@pytest.mark.parametrize(
    ("store", "message"),
    [
        (lambda a, c: ir.Store(c, (index(4),), e.const(0.0)), r"store of C\[4\] in function 'f' is outside"),
        (lambda a, c: ir.Store(c, (index(0),), ir.Load(a, (index(0), index(3)))), r"load of A\[0, 3\]"),
        (lambda a, c: ir.Store(c, (index(0),), ir.Load(a, (index(-1), index(0)))), r"load of A\[-1, 0\]"),
        (
            lambda a, c: ir.Store(c, (e.Ramp(index(1), index(1), 4),), e.const(0.0, "float32", 4)),
            r"store of C\[\[1 2 3 4\]\]",
        ),
        (lambda a, c: ir.Assert(e.const(False), "n is odd"), "n is odd"),
    ],
)
def test_invalid_stores_are_errors(store: object, message: str) -> None:
    a, c = param("A", 2, 3), param("C", 4)
    function = ir.Function("f", (a, c), (c,), (), store(a, c))  # type: ignore[operator]

    with pytest.raises(ExecutionError, match=message):
        interpret(function, [np.zeros((2, 3), np.float32), np.zeros(4, np.float32)])


def test_arguments_must_fit() -> None:
    function = matmul(False)

    with pytest.raises(InputError, match="takes 3 arguments, 1 given"):
        interpret(function, [np.zeros(1)])
    with pytest.raises(InputError, match=r"argument 'B' is float32 \(2, 4\), expected float32 \(3, 4\)"):
        interpret(function, [np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32), np.zeros((2, 4))])


def test_each_thread_has_its_own_part_of_the_workspace() -> None:
    c = param("C", 7, dtype="int32")
    v = ir.Buffer("V", "int32", (index(1),), "view")
    body = ir.sequence(
        ir.Store(v, (index(0),), ir.Load(v, (index(0),)) + 1),
        ir.Store(c, (X,), ir.Load(v, (index(0),))),
    )
    nest = loop(X, 7, ir.View(v, ir.THREAD * 64, body), ir.PARALLEL)
    out = np.zeros(7, np.int32)

    interpret(ir.Function("f", (c,), (c,), (), nest, ir.THREADS * 64), [out])

    assert out.tolist() == [0, 0, 0, 1, 1, 1, 2]


def test_a_view_outside_the_workspace_is_an_error() -> None:
    v = ir.Buffer("V", "int32", (index(17),), "view")
    function = ir.Function("f", (), (), (), ir.View(v, index(0), ir.Seq(())), index(64))

    with pytest.raises(ExecutionError, match="view 'V' is bytes 0 to 68 of a workspace of 64"):
        interpret(function, [])


def test_entries_call_kernels_and_read_constants() -> None:
    n = e.SizeVar("n", "int64")
    a, c = param("A", n), param("C", n)
    w = ir.Buffer("weights", "float32", (index(1),), "constant")
    add = ir.Function(
        "add", (a, c), (c,), (n,), loop(X, n, ir.Store(c, (X,), ir.Load(a, (X,)) + ir.Load(w, (index(0),))))
    )
    p, q = param("P", 3), param("Q", 3)
    call = ir.CallKernel("add", (p, q), (index(3),))
    out = np.zeros(3, np.float32)

    interpret(
        ir.Function("main", (p, q), (q,), (), call),
        [np.arange(3, dtype="float32"), out],
        kernels={"add": add},
        constants={"weights": np.array([10], np.float32)},
    )

    assert out.tolist() == [10, 11, 12]


def test_whiles_lets_and_scalars() -> None:
    n = e.Var("n", "int32")
    c = param("C", 2, dtype="int32")
    here = (index(0),)
    doubled = ir.Let(
        twice := e.Var("t", "int32"), ir.Load(c, here) * 2, ir.Store(c, here, twice + e.const(1))
    )
    body = ir.sequence(ir.Store(c, here, e.const(1)), ir.While(ir.Load(c, here) < n, doubled))
    out = np.zeros(2, np.int32)

    interpret(ir.Function("f", (n, c), (c,), (), body), [20, out])

    assert out.tolist() == [31, 0]


def test_fresh_memory_is_poisoned_and_long_sums_are_evaluated() -> None:
    c = param("C", 2)
    t = ir.Buffer("T", "float32", (index(1),))
    total: e.Expr = ir.Load(c, (index(1),))
    for _ in range(3000):
        total = e.Add(total, e.const(1.0))
    body = ir.Allocate(
        t, ir.sequence(ir.Store(c, (index(0),), ir.Load(t, (index(0),))), ir.Store(c, (index(1),), total))
    )
    out = np.zeros(2, np.float32)

    interpret(ir.Function("f", (c,), (c,), (), body), [out])

    assert np.isnan(out[0])
    assert out[1] == 3000
