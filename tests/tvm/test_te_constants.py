"""Constants and dtypes of ``tvm.te`` expressions, and attributes that objects do not have."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TensorExpressionError
from tvmlite.tvm import te, tir
from tvmlite.tvm.absent import MissingName


def test_arithmetic_of_constants_is_folded() -> None:
    for symbol in (operator.add, operator.sub, operator.mul, operator.truediv):
        for dtype in ("float32", "float64"):
            made = symbol(tir.const(0.1, dtype), tir.const(0.3, dtype))
            number = np.dtype(dtype).type
            assert isinstance(made, tir.FloatImm)
            assert made.value == symbol(number(0.1), number(0.3))
    assert not isinstance(tir.const(1, "float16") + tir.const(1, "float16"), tir.FloatImm)
    assert not isinstance(tir.const(1.0) / tir.const(0.0), tir.FloatImm)
    assert tir.const(1) == tir.const(True)
    assert tir.const(1) != tir.const(2)


def test_constants_are_rounded_and_cast() -> None:
    half = tir.const(2.5)
    found = [getattr(te, name)(half).value for name in ("floor", "ceil", "round", "nearbyint", "trunc")]
    assert found == [2, 3, 2, 2, 2]
    assert te.floor(half).astype("int").value == 2
    assert tir.ceil(tir.const(True)).value is True or tir.ceil(tir.const(True)).value == 1
    n = te.var("n")
    assert te.floor(n) is n


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        ("uint32", "int32", "uint32"),
        ("int8", "uint8", "uint8"),
        ("uint8", "int32", "int32"),
        ("uint32", "int8", "uint32"),
        ("bool", "int32", "int32"),
        ("int64", "float16", "float16"),
    ],
)
def test_mixed_dtypes_are_promoted_as_in_tvm(left: str, right: str, wanted: str) -> None:
    a, b = te.var("a", left), te.var("b", right)
    assert {(a + b).dtype, (b + a).dtype, tir.if_then_else(te.var("c", "bool"), a, b).dtype} == {wanted}


def test_error_of_a_missing_attribute_lists_the_known_ones() -> None:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1, name="b")
    s = te.create_schedule(b.op)
    loop = tvm.lower(s, [a, b])["main"].body

    assert not hasattr(loop, "node")
    with pytest.raises(MissingName, match=r"For has no attribute 'node' in tvmlite(?s:.*)it has: .*loop_var"):
        _ = loop.node
    with pytest.raises(MissingName, match=r"Stage has no attribute 'inline_all'(?s:.*)it has: .*, split"):
        s[b].inline_all()
    with pytest.raises(MissingName, match="IfThenElse has no attribute 'orelse'"):
        _ = tir.IfThenElse(te.var("n") > 1, tir.Evaluate(0)).orelse
    assert isinstance(MissingName("x"), RuntimeError)


def test_a_buffer_has_an_address_and_offsets() -> None:
    m, n = te.size_var("m"), te.size_var("n")
    address = te.var("address", tvm.ir.PointerType(tvm.ir.PrimType("float32")))
    buffer = tir.decl_buffer((m, n), "float32", data=address)

    assert tuple(buffer.shape) == (m, n)
    assert buffer.data is address
    assert tvm.ir.structural_equal(buffer.offset_of([2, 3])[0], n * 2 + 3)
    row = tir.decl_buffer((m, n), "float32", strides=[n + 1, 1])
    assert tvm.arith.Analyzer().can_prove_equal(row.offset_of([m, 3])[0], m * (n + 1) + 3)
    with pytest.raises(tvm.TVMError, match=r"offset_of: buffer 'buffer' has 2 axes, given 1 indices"):
        buffer.offset_of([1])
    with pytest.raises(tvm.TVMError, match=r'access_ptr: access_mask: .*, expected "r", "w" or "rw"'):
        buffer.access_ptr("x")


def test_constants_in_objects_are_comparable_with_numbers() -> None:
    a, k = te.placeholder((4, 8), name="a"), te.reduce_axis((0, 8), "k")
    c = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="c")
    d = te.compute((4,), lambda i: c[i] + 1, name="d")
    s = te.create_schedule(d.op)
    outer, _ = s[d].split(d.op.axis[0], 2)
    module = tvm.lower(s, [a, d])
    x = te.var("x")

    for found, number in (
        (c.op.axis[0].dom.extent, 4),
        (c.op.reduce_axis[0].dom.extent, 8),
        (k.dom.min, 0),
        (d.op.body[0].b, 1),
        (tvm.ir.Range.from_min_extent(3, 10).extent, 10),
        (te.thread_axis((0, 4), "threadIdx.x").dom.extent, 4),
        (tvm.te.schedule.InferBound(s)[outer].extent, 2),
        (next(iter(module["main"].buffer_map)).shape[1], 8),
        (tir.call_extern("int32", "f", 3).args[1], 3),
        (tir.if_then_else(x > 1, 3, 4).args[1], 3),
        (tir.stmt_functor.substitute(x, {x: 2}), 2),
        (-tir.const(3), -3),
        (tir.const(7) % 4, 3),
        (tir.const(7) // 2, 3),
        (tir.const(3) << 2, 12),
        (tir.const(-9) >> 1, -5),
        (tir.const(3).astype("float32"), 3.0),
        (te.floordiv(7, 2), 3),
        (te.max(3, 4), 4),
    ):
        assert bool(found == number), found
        assert not bool(found != number), found


def test_functions_take_parameters_by_tvms_names() -> None:
    x, f = te.var("x"), te.var("f", "float32")
    k = te.reduce_axis((0, 4), "k")
    a = te.placeholder((4,), name="a")

    for one, text in (
        (te.atan2(x1=f, x2=1.0), "@tir.atan2(f: float32, 1f32, dtype=float32)"),
        (te.if_then_else(cond=x > 1, t=3, f=4), "@tir.if_then_else((x: int32 > 1), 3, 4, dtype=int32)"),
        (te.add(lhs=x, rhs=2, span=None), "(x: int32 + 2)"),
        (te.power(x=f, y=2.0), "@tir.pow(f: float32, 2f32, dtype=float32)"),
        (tir.abs(f), "@tir.fabs(f: float32, dtype=float32)"),
        (tir.reinterpret(dtype="int32", value=f), "@tir.reinterpret(f: float32, dtype=int32)"),
        (te.max(x, 2, 3), "max(max(x: int32, 2), 3)"),
    ):
        assert (str(one), one.span) == (text, None)
    for reducer in (te.sum, te.max, te.min):
        made = reducer(expr=a[k], axis=k, where=k > 1)
        assert isinstance(made, tir.Reduce)
        assert isinstance(reducer(a[k], [k], None, a[0] if reducer is te.sum else None), tir.Reduce)
    assert tir.max(*range(9)).value == 8
    for wrong, text in (
        (lambda: te.atan2(f), "atan2: missing a required argument: 'x2'"),
        (lambda: te.power(f, y=1.0, z=2), "power: got an unexpected keyword argument 'z'"),
        (lambda: te.sum(a, axis=0), "sum: .* expected a scalar expression|sum: axis: 0 given"),
        (lambda: te.sum(a[k], k, None, None, 3), "sum: 1 arguments too many"),
    ):
        with pytest.raises(TensorExpressionError, match=text):
            wrong()
