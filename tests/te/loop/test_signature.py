"""Functions and their calling convention, and the generated function that computes their shapes."""

import numpy as np

from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.loop.printer import show
from tvmlite.te.loop.shapes import shapes_function
from tvmlite.te.loop.signature import signature_of


def index(value: int) -> e.Const:
    return e.const(value, "int64")


def function_of(shape: tuple[e.Expr, ...], **more: object) -> ir.Function:
    a = ir.Buffer("A", "float32", (index(4),), "param")
    c = ir.Buffer("C", "int8", shape, "param")
    return ir.Function("f", (a, c), (c,), body=ir.Seq(()), **{"sizes": (), **more})  # type: ignore[arg-type]


def test_a_static_function_needs_no_shapes_function() -> None:
    function = function_of((index(2), index(3)))

    signature = signature_of(function)

    assert signature.c_prototype() == "int32_t f(const float *A, int8_t *C)"
    assert signature.is_static
    assert signature.workspace == 0
    assert shapes_function(function) is None


def test_sizes_and_workspace_follow_the_params() -> None:
    n = e.SizeVar("n", "int64")
    function = function_of((n, n + 1), sizes=(n,), workspace=n * ir.THREADS, kernels=("k",))

    signature = signature_of(function)

    assert [p.kind for p in signature.parameters] == [
        "input",
        "output",
        "size",
        "workspace",
        "threads",
        "profile",
    ]
    assert signature.parameters[1].shape == ("n", None)
    assert signature.workspace is None


def test_parameter_names_are_made_unique() -> None:
    x = e.Var("A", "int32")
    a = ir.Buffer("A", "float32", (e.Cast("int64", x),), "param")

    signature = signature_of(ir.Function("f", (a, x), (), (), ir.Seq(())))

    assert [p.name for p in signature.parameters] == ["A", "A_1"]
    assert signature.parameters[0].shape == ("A_1",)


def test_the_shapes_function_stores_every_extent_and_the_workspace() -> None:
    n, m = e.SizeVar("n", "int64"), e.Var("m", "int32")
    a = ir.Buffer("A", "float32", (n, e.cast("int64", m)), "param")
    c = ir.Buffer("C", "float32", (n * 2,), "param")
    function = ir.Function("f", (a, m, c), (c,), (n,), ir.Seq(()), workspace=ir.THREADS * 64)

    shapes = shapes_function(function)

    assert shapes is not None
    out = np.zeros(4, np.int64)
    interpret(shapes, [out], dict(zip(shapes.sizes, (2, 5, 3), strict=True)))
    assert show(shapes).startswith("def f_shapes(out: out int64[4]; threads, m, n):\n    out[0] = n\n")
    assert out.tolist() == [3, 5, 6, 128]
