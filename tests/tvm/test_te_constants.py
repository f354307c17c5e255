"""Constants and dtypes of ``tvm.te`` expressions, and attributes that objects do not have."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.tvm import te, tir
from tvmlite.tvm.absent import MissingName


def test_arithmetic_of_constants_is_a_constant() -> None:
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
def test_two_dtypes_have_the_common_one_of_tvm(left: str, right: str, wanted: str) -> None:
    a, b = te.var("a", left), te.var("b", right)
    assert {(a + b).dtype, (b + a).dtype, tir.if_then_else(te.var("c", "bool"), a, b).dtype} == {wanted}


def test_what_an_object_does_not_have_is_named() -> None:
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


def test_a_buffer_tells_its_address_and_offsets() -> None:
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
