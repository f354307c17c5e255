"""Expected texts of loop IR."""

from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.printer import show, show_expr
from tvmlite.te.tensor import declare, reducers


def index(value: int) -> e.Const:
    return e.const(value, "int64")


def test_parentheses_are_minimal_and_keep_the_structure() -> None:
    x, y, z = (e.Var(n) for n in "xyz")

    assert show_expr((x + y) * z - x // (y * z) % 4) == "(x + y) * z - x // (y * z) % 4"
    assert show_expr(e.Add(x, e.Add(y, z))) == "x + (y + z)"
    assert show_expr(e.Sub(x, e.Sub(y, z))) == "x - (y - z)"
    assert show_expr(x - 1) == "x - 1"
    assert show_expr(x + -1) == "x - 1"
    assert show_expr(x * -1) == "x * -1"
    assert show_expr(e.And(e.Or(x < y, y < z), e.Not(x == z))) == "(x < y or y < z) and not x == z"
    assert show_expr(e.Not(e.And(x < y, y < z))) == "not (x < y and y < z)"


def test_calls_casts_and_vectors_are_written_as_calls() -> None:
    x = e.Var("x")

    assert show_expr(e.Min(x, e.TruncDiv(x, e.const(3)))) == "min(x, truncdiv(x, 3))"
    assert show_expr(e.Ramp(x * 16, e.const(1), 16)) == "ramp(x * 16, 1, 16)"
    assert show_expr(e.broadcast(e.const(0.5), 8)) == "broadcast(0.5, 8)"
    assert show_expr(e.Broadcast(x, 4)) == "broadcast(x, 4)"
    assert show_expr(e.cast("float32", x)) == "float32(x)"
    assert show_expr(e.const(3, "uint8")) == "uint8(3)"
    assert show_expr(e.Call("exp", (e.Var("f", "float32"),), "float32")) == "exp(f)"
    assert show_expr(e.const(True)) == "True"


def test_variables_of_one_name_are_distinguished() -> None:
    assert show_expr(e.Var("i") + e.Var("i")) == "i + i_1"


def test_reductions_are_written_with_their_axes() -> None:
    a = declare.placeholder((4, 5), name="A")
    k = declare.reduce_axis((0, 5), "k")
    c = declare.compute((4,), lambda i: reducers.sum(a[i, k], k), name="C")

    assert show_expr(c.op.body[0]) == "sum(A[i, k], axis=[k])"


def test_a_function_reads_like_python() -> None:
    n = e.SizeVar("n", "int64")
    a = ir.Buffer("A", "float32", (n, index(16)), "param")
    c = ir.Buffer("C", "float32", (n, index(16)), "param")
    t = ir.Buffer("T", "float32", (index(16),), alignment=64)
    i, j, k = (e.Var(x, "int64") for x in "ijk")
    body = ir.For(
        i,
        index(0),
        n,
        ir.Allocate(
            t,
            ir.sequence(
                ir.For(j, index(0), index(16), ir.Store(t, (j,), ir.Load(a, (i, j))), ir.VECTORIZE),
                ir.If(
                    i < 8,
                    ir.For(
                        k, index(2), index(3), ir.Store(c, (i, k), ir.Load(t, (k,))), annotations=(("p", 1),)
                    ),
                    ir.Seq(()),
                ),
                ir.Assert(n > 0, "n must be positive"),
            ),
        ),
        ir.PARALLEL,
    )

    function = ir.Function("main", (a, c), (c,), (n,), body)

    assert (
        show(function)
        == """\
def main(A: float32[n, 16], C: out float32[n, 16]; n):
    for i in parallel(0, n):
        allocate T[16] float32 aligned 64:
            for j in vectorize(0, 16):
                T[j] = A[i, j]
            if i < 8:
                for k in range(2, 5, p=1):
                    C[i, k] = T[k]
            else:
                pass
            assert 0 < n, 'n must be positive'"""
    )


def test_legal_forms_are_printed_with_predicates_views_and_calls() -> None:
    c = ir.Buffer("C", "float32", (index(100),), "param")
    v = ir.Buffer("V", "float32", (index(16),), "view")
    ramp = e.Ramp(index(0), index(1), 4)
    mask = e.Less(ramp, e.broadcast(index(3), 4))
    store = ir.Store(v, (ramp,), ir.Load(c, (ramp,)), mask)
    call = ir.CallKernel("f", (c, v), (index(7),), index(64), profile_slot=2)
    x = e.Var("x", "int64")
    body = ir.View(v, index(128), ir.Let(x, index(5), ir.sequence(store, call)))

    assert (
        show(body)
        == """\
view V[16] float32 at 128:
    x = 5
    V[ramp(0, 1, 4)].where(ramp(0, 1, 4) < broadcast(3, 4)) = C[ramp(0, 1, 4)]
    call f(C, V, 7, workspace=64, profile=2)"""
    )


def test_long_chains_are_printed_without_recursion() -> None:
    body: ir.Stmt = ir.Seq(())
    total: e.Expr = e.Var("x")
    for k in range(3000):
        body = ir.Let(e.Var(f"v{k}"), e.const(k), body)
        total = e.Add(total, e.Var("y"))

    assert show(body).count("\n") == 3000
    assert show(total).startswith("x + y + y_1")
