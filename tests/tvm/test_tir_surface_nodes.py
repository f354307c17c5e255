"""Nodes of TVM that the compiler does not have, and calls with TVM's arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import UnsupportedError
from tvmlite.tvm import te, tir

V, NOP = te.var("v"), tir.Evaluate(0)
FLOATS = tvm.ir.PointerType(tvm.ir.PrimType("float32"))


def test_nodes_keep_their_fields() -> None:
    pointer = tir.Var("data", FLOATS)
    buffer = tir.decl_buffer((16,), "float32", data=pointer)
    note = tir.AttrStmt(V, "stride", 10, NOP)
    memory = tir.Allocate(pointer, "float32", [10], tir.const(1, "uint1"), NOP, {"key": "value"})
    realized = tir.BufferRealize(buffer, [tvm.ir.Range(0, 4)], True, NOP)
    chosen = tir.Shuffle([V], [0])
    axis = tir.IterVar((0, 16), "vi", 0)
    block = tir.Block([axis], [], [tir.BufferRegion(buffer, [tvm.ir.Range(0, 16)])], "block", NOP)
    known = tir.AssertStmt(V > 0, "positive", NOP)

    assert (note.node is V, note.attr_key, note.value.value, note.body is NOP) == (True, "stride", 10, True)
    assert (memory.buffer_var is pointer, memory.extents[0].value, memory.annotations) == (
        True,
        10,
        {"key": "value"},
    )
    assert (realized.bounds[0].extent.value, isinstance(realized, tir.BufferRealize)) == (4, True)
    assert (chosen.vectors[0] is V, chosen.indices[0].value) == (True, 0)
    assert (block.writes[0].buffer is buffer, block.name_hint) == (True, "block")
    assert (known.body is NOP, known.message, isinstance(known, tir.AssertStmt)) == (True, "positive", True)
    met: list[Any] = []
    tir.stmt_functor.post_order_visit(tir.SeqStmt([note, known]), met.append)
    assert {type(one).__name__ for one in met} >= {"AttrStmt", "AssertStmt", "GT"}


def test_a_node_without_code_generation_is_a_build_error() -> None:
    for stmt, name in (
        (tir.AttrStmt(V, "stride", 10, NOP), "AttrStmt"),
        (tir.Evaluate(tir.undef()), "undef"),
    ):
        function = tir.PrimFunc([V], stmt)
        with pytest.raises(UnsupportedError, match=rf"tir\.{name} cannot be compiled(?s:.*)hint: "):
            tvm.build(function)


def test_a_let_and_an_assertion_are_compiled() -> None:
    a, b = te.placeholder((4,), name="a"), te.var("b")
    c = te.compute((4,), lambda i: a[i] * tir.Let(V, b + 1, V * V), name="c")
    given = np.arange(4, dtype="f4")
    np.testing.assert_array_equal(tvm.build(te.create_schedule(c.op), [a, b, c])(given, 2), given * 9)
    out = tir.decl_buffer((1,), "int32", name="out")
    function = tir.PrimFunc(
        [V, out], tir.AssertStmt(V > 0, "v is positive", tir.BufferStore(out, V * 2, [0]))
    )
    made = tvm.build(function)
    assert made(4)[0] == 8
    with pytest.raises(tvm.TVMError, match="v is positive"):
        made(-1)


def test_calls_have_the_arguments_of_tvms() -> None:
    m, n = te.size_var("m"), te.size_var("n")
    buffer = tir.decl_buffer((m, n), "float32", name="buffer")
    whole, part = buffer.access_ptr("rw"), buffer.access_ptr("w", offset=100, extent=7)
    called = tir.call_extern("int32", "f", whole, V + 1)
    packed = tir.call_packed("g", buffer, 3)

    assert (whole.op.name, whole.args[0].dtype, whole.args[4].value) == ("tir.tvm_access_ptr", "float32", 3)
    assert tvm.ir.structural_equal(whole.args[3], m * n)
    assert (part.args[2].value, part.args[3].value, part.args[4].value) == (100, 7, 2)
    assert (called.op.name, called.args[0].value, called.args[1] is whole) == ("tir.call_extern", "f", True)
    assert (str(packed.args[0]), packed.args[1] is buffer, packed.args[2].value) == ('"g"', True, 3)
    assert tir.Call("float32", "tir.call_extern", [tir.StringImm("h"), V]).args[1] is V


def test_a_lowered_packed_call_has_pointers_to_its_arrays() -> None:
    x = te.placeholder((8,), name="x")
    y = te.extern((8,), [x], lambda ins, outs: tir.call_packed("copy", ins[0], outs[0], 5), name="y")
    call = tvm.lower(te.create_schedule(y.op), [x, y])["main"].body.value

    assert [str(one) for one in call.args] == ['"copy"', "x: Pointer(float32)", "y: Pointer(float32)", "5"]


def test_call_nodes_of_operators_are_made() -> None:
    assert tir.tvm_tuple(V, 1, 2).op.name == "tir.tvm_tuple"
    assert tir.tvm_struct_get(tir.Var("x", "handle"), 1, 2, dtype="int32").dtype == "int32"
    assert (tir.lookup_param("p0").args[0].value, tir.assume(cond=V).op.name) == ("p0", "tir.assume")
    assert tir.likely(cond=V > 1).op.name == "tir.likely"
    assert str(tir.bitwise_xor(V, 3)) == "@tir.bitwise_xor(v: int32, 3, dtype=int32)"
    with pytest.raises(tvm.TVMError, match=r"tir\.tvm_struct_get takes \(arr, index, field, dtype\)"):
        tir.tvm_struct_get(V)


def test_a_prim_func_keeps_its_buffer_map() -> None:
    x = te.var("x")
    buffer = tir.decl_buffer((x,), "float32")
    function = tir.PrimFunc([x, V, buffer], tir.LetStmt(x, 10, tir.Evaluate(x + 1)))
    named = function.with_attr({"calling_conv": 1, "tir.noalias": True})

    assert (len(function.buffer_map), function.buffer_map[function.params[2]] is buffer) == (1, True)
    assert (function.attrs, named.attrs["calling_conv"].value) == (None, 1)


def test_a_buffer_is_indexed_and_flattened() -> None:
    buffer = tir.decl_buffer((4, 8), "float32")
    flat = buffer.get_flattened_buffer()

    assert [one.value for one in buffer[1, 2].indices] == [1, 2]
    assert (flat.shape[0].value, flat.data is buffer.data) == (32, True)
    assert flat.get_flattened_buffer() is flat
    with pytest.raises(tvm.TVMError, match="has 2 axes, indexed with 3"):
        _ = buffer[3]
