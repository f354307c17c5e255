"""``tvm.tir``: nodes with TVM's constructors, functions, visitors, builders, and absent names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.tvm import te, tir
from tvmlite.tvm.tir.axis import Range


@pytest.mark.parametrize(
    "name", ["Add", "Sub", "Mul", "Div", "Min", "Max", "LT", "LE", "EQ", "NE", "FloorDiv", "FloorMod", "Mod"]
)
def test_binary_nodes_are_made_and_checked(name: str) -> None:
    a, b = te.var("a"), te.var("b")
    node = getattr(tir, name)(a, b)

    assert isinstance(node, getattr(tir, name))
    assert (node.a, node.b) == (a, b)
    assert not isinstance(a, getattr(tir, name))
    with pytest.raises(TensorExpressionError, match=f"tir.{name}: missing a required argument: 'b'"):
        getattr(tir, name)(a)
    with pytest.raises(TensorExpressionError, match=f"tir.{name}: b: a list given, expected a scalar"):
        getattr(tir, name)(a, [])


def test_gt_and_ge_are_the_comparison_operators() -> None:
    a, b = te.var("a"), te.var("b")

    assert (str(tir.GT(a, b)), str(tir.GE(a, b))) == (str(a > b), str(a >= b))


def test_expression_nodes_are_made() -> None:
    x = te.var("x", "float32")

    assert (tir.Cast("int32", x).dtype, tir.Broadcast(x, 4).lanes, tir.Ramp(0, 1, 8).lanes) == ("int32", 4, 8)
    select = tir.Select(x > 0, x, 0.0)
    assert isinstance(select, tir.Select)
    assert (select.true_value, select.false_value.value) == (x, 0)
    assert isinstance(tir.Not(x > 0), tir.Not)
    assert isinstance(tir.And(x > 0, x < 1), tir.And)
    assert str(tir.Call("float32", "tir.exp", [x])) == "@tir.exp(x: float32, dtype=float32)"
    assert tir.Call("float32", "tir.call_extern", [tir.StringImm("sinf"), x]).name == "sinf"
    a = te.placeholder((4,), name="a")
    load = tir.ProducerLoad(a, [2])
    assert isinstance(load, tir.ProducerLoad)
    assert load.producer is a
    with pytest.raises(UnsupportedError, match="Call: the operator 'atomic_add' is not supported"):
        tir.Call("int32", "tir.atomic_add", [])


def test_immediates_are_int_imms_or_float_imms() -> None:
    assert isinstance(tir.IntImm("int64", 2), tir.IntImm)
    assert isinstance(tir.FloatImm("float32", 1), tir.FloatImm)
    assert not isinstance(tir.const(1.0), tir.IntImm)
    with pytest.raises(TensorExpressionError, match="FloatImm: dtype 'int32' is not a float's"):
        tir.FloatImm("int32", 1.0)
    with pytest.raises(TensorExpressionError, match="IntImm: dtype 'float32' is not an int's"):
        tir.IntImm("float32", 1)


def test_statements_are_made_and_visited() -> None:
    buffer = tir.decl_buffer((8,), "float32", name="out")
    i = tir.Var("i", "int64")
    store = tir.BufferStore(buffer, i * 2, [i])
    body = tir.IfThenElse(i < 4, store, tir.Evaluate(0))
    loop = tir.For(i, 0, 8, tir.ForKind.UNROLLED, tir.SeqStmt([body, tir.LetStmt(i, 1, store)]))
    met: list[Any] = []
    tir.stmt_functor.post_order_visit(loop, met.append)

    assert (loop.loop_var, loop.kind, loop.body.size) == (i, tir.ForKind.UNROLLED, 2)
    assert isinstance(loop.body[0], tir.IfThenElse)
    assert (body.then_case, isinstance(body.else_case, tir.Evaluate)) == (store, True)
    assert met[-1] is loop
    assert sum(isinstance(one, tir.BufferStore) for one in met) == 1
    longer = tir.stmt_functor.ir_transform(
        loop, None, lambda node: tir.Evaluate(7) if isinstance(node, tir.Evaluate) else None, ["tir.Evaluate"]
    )
    assert ("7" in str(longer), "7" in str(loop)) == (True, False)
    seen: list[Any] = []
    emptied = tir.stmt_functor.ir_transform(
        loop, lambda node: tir.Evaluate(0) if isinstance(node, tir.SeqStmt) else None, seen.append
    )
    assert isinstance(emptied.body, tir.Evaluate)
    assert not any(isinstance(one, tir.BufferStore) for one in seen)
    with pytest.raises(TensorExpressionError, match=r"tir\.For: body: 3 given, expected a statement"):
        tir.For(i, 0, 8, tir.ForKind.SERIAL, 3)
    with pytest.raises(UnsupportedError, match="For: kind 'thread_binding' is not supported"):
        tir.For(i, 0, 8, tir.ForKind.THREAD_BINDING, store)


def test_variables_are_substituted() -> None:
    n, m = te.var("n"), te.var("m")

    assert str(tir.stmt_functor.substitute(n * m, {n: 3})) == "(3*m: int32)"
    assert tvm.arith.Analyzer().simplify(tir.stmt_functor.substitute(n + 2, {n: 3})).value == 5
    assert tvm.arith.Analyzer().can_prove(n + 1 > n)
    assert tvm.arith.Analyzer().can_prove_equal(n * 2, n + n)
    assert not tvm.arith.Analyzer().can_prove_equal(n, m)
    with pytest.raises(UnsupportedError, match=r"tvm\.arith\.detect_iter_map is not in tvmlite"):
        tvm.arith.detect_iter_map(n)


def test_a_function_made_by_hand_is_built() -> None:
    x, y = tir.decl_buffer((8,), "float32", name="x"), tir.decl_buffer((8,), "float32", name="y")
    i = tir.Var("i", "int64")
    body = tir.For(i, 0, 8, tir.ForKind.SERIAL, tir.BufferStore(y, tir.BufferLoad(x, [i]) * 2.0, [i]))
    function: Any = tir.PrimFunc([x, y], body).with_attr({"global_symbol": "twice", "tir.noalias": True})
    given = np.arange(8, dtype="f4")

    assert isinstance(function, tir.PrimFunc)
    assert (function.attrs["tir.noalias"].value, function.attrs.get("other")) == (True, None)
    np.testing.assert_array_equal(tvm.build(function, target="llvm")["twice"](given), given * 2)


def test_math_functions_match_numpy() -> None:
    a, b = te.placeholder((9,), name="a"), te.placeholder((9,), name="b")
    x, y = (np.random.default_rng(1).random((2, 9)) + 0.1).astype("f4")
    for ours, reference in (
        (lambda i: tir.hypot(a[i], b[i]), np.hypot(x, y)),
        (lambda i: tir.nextafter(a[i], b[i]), np.nextafter(x, y)),
        (lambda i: tir.log1p(a[i]), np.log1p(x)),
        (lambda i: tir.exp10(a[i]), 10.0**x),
        (lambda i: tir.ldexp(a[i], tir.const(3)), x * 8),
        (lambda i: tir.atan2(a[i], b[i]), np.arctan2(x, y)),
    ):
        c = te.compute((9,), ours, name="c")
        np.testing.assert_allclose(tvm.build(te.create_schedule(c.op), [a, b, c])(x, y), reference, rtol=2e-6)
    with pytest.raises(TensorExpressionError, match=r"hypot: missing a required argument: .x2."):
        tir.hypot(1.0)
    with pytest.raises(TensorExpressionError, match="log1p takes floats, given int32"):
        tir.log1p(te.var("n"))


def test_integer_functions_are_computed_and_checked() -> None:
    a = te.placeholder((4,), dtype="int64", name="a")
    b = te.compute((4,), lambda i: tir.clz(a[i]), name="b")
    x = np.array([1, 2, 255, 1 << 40])

    assert b.dtype == "int32"
    assert tvm.build(te.create_schedule(b.op), [a, b])(x).tolist() == [63, 62, 56, 23]
    assert tir.ceildiv(7, 2).value == 4
    fixed = te.placeholder((3,), dtype="int32", name="fixed")
    scaled = te.compute((3,), lambda i: tir.q_multiply_shift(fixed[i], tir.const(1 << 30), 31, 1))
    given = np.array([5, -7, 100], "i4")
    np.testing.assert_array_equal(tvm.build(te.create_schedule(scaled.op), [fixed, scaled])(given), given)
    for name in ("div", "floordiv", "floormod", "truncdiv", "truncmod", "indexdiv", "indexmod"):
        with pytest.raises(TensorExpressionError, match=f"{name}: division by zero"):
            getattr(tir, name)(tir.const(5), tir.const(0))
    with pytest.raises(TensorExpressionError, match="if_then_else: a condition is int32, expected bool"):
        tir.if_then_else(te.var("n"), 1, 2)
    for name in ("all", "any"):
        with pytest.raises(
            TensorExpressionError, match=f"{name}: no conditions given, expected at least one"
        ):
            getattr(tir, name)()


def test_a_loop_nest_is_written_with_a_builder() -> None:
    a = te.placeholder((10,), name="a")

    def halves(ins: Any, outs: Any) -> Any:
        builder = tir.ir_builder.create()
        source, target = builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0])
        with builder.for_range(0, 10, name="i", for_type="parallel") as i:
            builder.scope_attr(i, "pragma_note", 1)
            with builder.if_scope(builder.likely(i < 5)):
                target[i] = source[i] / 2
            with builder.else_scope():
                target[i] = source[i]
        return builder.get()

    b = te.extern((10,), [a], halves, name="b")
    x = np.arange(10, dtype="f4")

    made = tvm.build(te.create_schedule(b.op), [a, b])(x)
    np.testing.assert_array_equal(made, np.where(x < 5, x / 2, x))
    builder = tir.ir_builder.create()
    with pytest.raises(UnsupportedError, match="scope_attr: 'coproc_scope' is not supported"):
        builder.scope_attr(None, "coproc_scope", 4)
    with pytest.raises(UnsupportedError, match="allocate: axis_separators are not supported"):
        builder.allocate("float32", (4,), axis_separators=[1])


def test_a_function_with_a_pointer_takes_arrays_of_any_extent() -> None:
    builder = tir.ir_builder.create()
    n = te.size_var("n")
    values = builder.pointer("float32", name="values")
    with (
        builder.for_range(0, n, name="i") as i,
        builder.if_scope(tir.truncmod(i, 2) == 0),
    ):
        values[i] = values[i] + 1
    module = tvm.IRModule.from_expr(tir.PrimFunc([values, n], builder.get()).with_attr("global_symbol", "f"))
    given = tvm.nd.array(np.zeros(5, "f4"))

    tvm.build(module, target="llvm")(given, 4)

    np.testing.assert_array_equal(given.numpy(), [1, 0, 1, 0, 0])


def test_loops_over_int32_variables_are_compiled() -> None:
    n, i = te.size_var("n"), te.var("i")
    buffer = tir.decl_buffer((n,), "int64")
    step = tir.BufferStore(buffer, tir.BufferLoad(buffer, [i]) + 1, [i + 1])
    loop = tir.For(i, 0, n - 1, tir.ForKind.SERIAL, step)
    given = tvm.nd.array(np.zeros(6, "int64"))

    tvm.build(tvm.IRModule.from_expr(tir.PrimFunc([buffer], loop)), target="llvm")(given)

    np.testing.assert_array_equal(given.numpy(), np.arange(6))


def test_constants_are_folded_and_convert_to_numbers() -> None:
    three = tir.const(3, "int32")

    assert (int(three), float(three), bool(three < 4), bool(three >= 4)) == (3, 3.0, True, False)
    assert ((three & 6).value, (8 | three).value, (three ^ 1).value) == (2, 11, 2)
    assert str(1 << te.var("x")) == str(tir.const(1) << te.var("x"))
    x, yes, no = te.var("x", "uint1"), tir.const(1, "uint1"), tir.const(0, "uint1")
    assert (tir.all(x, no) is no, tir.any(yes, x) is yes, tir.all(x, yes) is x) == (True,) * 3
    found = tir.stmt_functor.substitute(te.var("y").astype("int64"), {})
    assert isinstance(found, tir.Cast)
    for shift in (-1, 32):
        with pytest.raises(
            TensorExpressionError, match=f"shift_left of int32 by {shift}: other must be 0 to 31"
        ):
            te.var("x") << shift
    with pytest.raises(TensorExpressionError, match="bitwise_not of float32 values, expected ints"):
        ~te.var("x", "float32")
    with pytest.raises(TensorExpressionError, match="Can't cast a handle to other types: the string"):
        tir.StringImm("a").astype("int32")


def test_a_variable_can_be_an_address() -> None:
    kind = tvm.ir.PointerType(tvm.ir.PrimType("float32"), "global")
    made = tir.Var("data", kind)

    assert (made.dtype, made.type_annotation, kind.element_type.dtype) == ("handle", kind, "float32")
    assert tvm.ir.Range(2, 5).extent.value == 3


def test_absent_nodes_are_errors() -> None:
    assert not isinstance(ir.Seq(()), tir.AttrStmt)
    for name, instead in (("call_tir", "te.extern"), ("atomic_add", "CPUs only")):
        with pytest.raises(UnsupportedError, match=rf"tir\.{name} is not in tvmlite(?s:.*){instead}"):
            tir.call_intrin("float32", f"tir.{name}", 1)
    with pytest.raises(UnsupportedError, match="variables of type"):
        tir.Var("x", object())
    with pytest.raises(AttributeError, match=r"tvm\.tir has no 'Nothing'"):
        tir.Nothing  # noqa: B018


def test_names_may_be_imported_from_submodules() -> None:
    from tvmlite.tvm.tir.expr import IntImm
    from tvmlite.tvm.tir.stmt import IfThenElse

    assert (IntImm, IfThenElse) == (tir.IntImm, tir.IfThenElse)
    with pytest.raises(AttributeError, match=r"tvm\.tir has no 'Nothing'"):
        tir.expr.Nothing  # noqa: B018


def test_ranges_are_made() -> None:
    made: Any = Range(2, 8)

    assert (made.min.value, made.extent.value, isinstance(made, Range)) == (2, 6, True)
    first: Any = Range(4)
    assert (first.extent.value, str(Range.from_min_extent(1, 3).extent)) == (4, "3")


def test_axes_are_made_with_their_type() -> None:
    axis = tir.IterVar((0, 8), "k", tir.IterVar.CommReduce)

    assert (axis.kind, axis.iter_type, axis.dom.extent.value) == ("reduce", 2, 8)
    assert tir.IterVar((0, 4), e.Var("t"), 1, "threadIdx.x").thread_tag == "threadIdx.x"
    with pytest.raises(UnsupportedError, match="IterVar: iter_type 5 is not supported"):
        tir.IterVar((0, 8), "k", 5)


def test_a_function_returns_a_number() -> None:
    a, b = tir.Var("a", "float32"), tir.Var("b", "float32")

    def built(body: Any) -> Any:
        return tvm.build(tvm.IRModule({"main": tir.PrimFunc([a, b], body)}))

    assert built(tir.Evaluate(tir.ret(a * b + 1)))(2.0, 3.0) == 7
    chosen = tir.IfThenElse(a < b, tir.Evaluate(tir.ret(a)), tir.Evaluate(tir.ret(b)))
    assert [built(chosen)(x, 4.0) for x in (3.0, 5.0)] == [3, 4]
    with pytest.raises(UnsupportedError, match=r"tir\.ret: a function returns at its end only"):
        built(tir.SeqStmt([tir.Evaluate(tir.ret(a)), tir.Evaluate(tir.ret(b))]))


def test_a_reduction_is_made_from_a_reducer() -> None:
    axis = te.reduce_axis((0, 4), "k")
    a = te.placeholder((4,), name="a")
    reducer = te.compute((1,), lambda i: te.sum(a[axis], axis=axis)).op.body[0].combiner

    assert isinstance(tir.Reduce(reducer, [a[axis]], [axis], True, 0), tir.Reduce)
    alone = tir.Reduce(None, [1], [axis], None, 0)
    assert (isinstance(alone, tir.Reduce), alone.combiner, alone.value_index) == (True, None, 0)
    with pytest.raises(UnsupportedError, match="Reduce without a combiner cannot be compiled"):
        te.compute((1,), lambda i: alone)


def test_tir_op_has_the_functions_of_tir() -> None:
    assert tvm.tir.op.exp is tvm.tir.exp
    assert tvm.tir.op.if_then_else is tvm.tir.if_then_else
    with pytest.raises(AttributeError, match=r"tvm\.tir\.op has no 'expp'"):
        _ = tvm.tir.op.expp


def test_llvm_intrinsics_are_overloaded_by_the_counted_arguments() -> None:
    a, b = te.placeholder((16,), name="a"), te.placeholder((16,), name="b", dtype="int32")
    x, y = np.linspace(0, 4, 16, dtype="f4"), np.arange(16, dtype="i4")
    one, two, three = (tir.const(n, "uint32") for n in (1, 2, 3))

    for given, value, make, expected in (
        (a, x, lambda i: tir.call_llvm_pure_intrin("float32", "llvm.sqrt", one, a[i]), np.sqrt(x)),
        (a, x, lambda i: tir.call_llvm_intrin("float32", "llvm.sqrt.f32", one, a[i]), np.sqrt(x)),
        (a, x, lambda i: tir.call_llvm_intrin("float32", "llvm.sqrt.f32", a[i]), np.sqrt(x)),
        (a, x, lambda i: tir.op.call_llvm_intrin("float32", "llvm.fma", three, a[i], 2.0, a[i]), x * 3),
        (
            b,
            y,
            lambda i: tir.call_llvm_pure_intrin("int32", "llvm.ctpop", one, b[i]),
            [*map(int.bit_count, range(16))],
        ),
        (
            b,
            y,
            lambda i: tir.call_llvm_intrin("int32", "llvm.ctlz", two, b[i], tir.const(0, "int1")),
            [32 - n.bit_length() for n in range(16)],
        ),
    ):
        c = te.compute((16,), make, name="c")
        found = tvm.build(te.create_schedule(c.op), [given, c])(value)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    wide = tir.call_llvm_pure_intrin("int32x8", "llvm.ctpop", one, tir.Broadcast(te.var("v"), 8))
    assert (wide.name, wide.lanes) == ("llvm.ctpop.v8i32", 8)
    named = tir.call_llvm_pure_intrin("int32", "llvm.x86.sse42.crc32.32.32", tir.const(0, "uint32"), 1, 2)
    assert (named.name, len(named.args)) == ("llvm.x86.sse42.crc32.32.32", 2)


def test_statements_are_sequenced_and_visited() -> None:
    v = te.var("v")
    first, second = tir.Evaluate(v), tir.Evaluate(v + 1)
    whole = tir.stmt_seq(first, tir.stmt_seq(second, v * 2))
    seen: list[object] = []

    assert [type(one) for one in tir.stmt_list(whole)] == [type(first)] * 3
    assert (tir.stmt_seq(first) is first, tir.stmt_list(first)) == (True, [first])
    tir.stmt_functor.pre_order_visit(whole, lambda node: seen.append(node) or node is not second)
    assert seen[:3] == [whole, first, v]
    assert second in seen
    assert second.value not in seen


def test_builders_take_parameters_by_tvms_names() -> None:
    a = te.placeholder((4,), name="a")

    def loops(source: Any, target: Any) -> Any:
        ib = tir.ir_builder.create()
        read, write = ib.buffer_ptr(buf=source), ib.buffer_ptr(buf=target)
        with ib.for_range(0, 4, name="i") as i:
            value = ib.let(var_name="value", value=read[i] * 2)
            with ib.if_scope(cond=ib.likely(expr=i > 1)):
                write[i] = value
            with ib.else_scope():
                write[i] = -value
        return ib.get()

    c = te.extern((4,), [a], lambda ins, outs: loops(ins[0], outs[0]), name="c")
    x = np.arange(1, 5, dtype="f4")

    found = tvm.build(te.create_schedule(c.op), [a, c])(x)
    np.testing.assert_array_equal(found, x * 2 * np.array([-1, -1, 1, 1]))


def test_comm_reducers_and_size_vars_are_made() -> None:
    n = tir.SizeVar("n", "int32")
    x, y = te.var("x", "float32"), te.var("y", "float32")
    product = tir.CommReducer([x], [y], [x * y], [tir.const(1.0)])
    a, k = te.placeholder((3, 4), name="a"), te.reduce_axis((0, 4), "k")
    c = te.compute((3,), lambda i: tir.Reduce(product, [a[i, k]], [k], None, 0), name="c")
    values = np.random.default_rng(0).random((3, 4), "f4") + 1

    found = tvm.build(te.create_schedule(c.op), [a, c])(values)
    np.testing.assert_allclose(found, values.prod(1), rtol=1e-6)
    assert (str(n + 1), isinstance(n, tir.SizeVar), isinstance(x, tir.SizeVar)) == (
        "(n: int32 + 1)",
        True,
        False,
    )
    assert isinstance(product, tir.CommReducer)
    with pytest.raises(TensorExpressionError, match=r"tir\.CommReducer: its lists differ in length"):
        tir.CommReducer([x], [y], [], [])


def test_the_dtype_of_a_vector_has_its_lanes() -> None:
    vector = te.var("v", "int8x4")

    assert (str(vector.dtype), f"{vector.dtype}", vector.dtype) == ("int8x4", "int8x4", "int8x4")
    assert str(tir.isnan(vector).dtype) == "uint1x4"


def test_operators_of_calls_are_found_by_name() -> None:
    exp, extern = tvm.ir.Op.get("tir.exp"), tvm.ir.Op.get("tir.call_extern")
    called = tir.call_extern("int32", "f", te.var("v"))

    assert te.exp(te.var("x", "float32")).op.same_as(exp)
    assert called.op.same_as(extern)
    assert not called.op.same_as(exp)
    assert called.op == extern
    with pytest.raises(UnsupportedError, match=r"tir\.no_such is not in tvmlite"):
        tvm.ir.Op.get("tir.no_such")


def test_extern_calls_are_visited_and_rebuilt() -> None:
    v = te.var("v")
    inner = tir.call_extern("int32", "f", v * 3)
    outer = tir.Evaluate(tir.call_extern("int32", "g", inner, 7))
    seen: list[Any] = []

    def renamed(call: Any) -> Any:
        is_f = call.args[0].value == "f"
        return tir.call_extern("int32", "h", call.args[1] + 1) if is_f else None

    tir.stmt_functor.post_order_visit(outer, seen.append)
    made = tir.stmt_functor.ir_transform(outer, None, renamed, ["tir.Call"])
    kept = tir.stmt_functor.ir_transform(outer, None, lambda node: None)

    assert [one.args[0].value for one in seen if isinstance(one, tir.Call)] == ["f", "g"]
    name, changed, seven = made.value.args
    assert (name.value, changed.args[0].value, seven.value) == ("g", "h", 7)
    assert str(changed.args[1]) == "((v: int32*3) + 1)"
    assert kept.value is outer.value
