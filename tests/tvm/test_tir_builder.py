"""``tvm.tir.ir_builder`` and nodes by hand: thread scopes, hints, bindings, and errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TargetError, TensorExpressionError, UnsupportedError
from tvmlite.tvm import te, tir


def by_threads(ins: Any, outs: Any) -> Any:
    builder = tir.ir_builder.create()
    block, thread = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")
    source, target = builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0])
    with builder.new_scope():
        builder.scope_attr(block, "thread_extent", 3)
        builder.scope_attr(thread, "thread_extent", 4)
        target[block.var * 4 + thread.var] = source[block.var * 4 + thread.var] * 2
    target[0] = 1.0
    return builder.get()


def test_thread_extents_are_shown_as_loops_but_not_built() -> None:
    a = te.placeholder((12,), name="a")
    b = te.extern((12,), [a], by_threads, name="b")
    schedule = te.create_schedule(b.op)

    shown = str(tvm.lower(schedule, [a, b])["main"].body)
    assert shown.splitlines()[:2] == [
        "for blockIdx.x in range(0, 3, bind='blockIdx.x'):",
        "    for threadIdx.x in range(0, 4, bind='threadIdx.x'):",
    ]
    assert shown.splitlines()[-1].startswith("b[0] = 1")
    with pytest.raises(
        TargetError, match=r"is bound to (blockIdx|threadIdx)\.x, and there is code for CPUs only"
    ):
        tvm.build(schedule, [a, b])


def test_missing_methods_of_a_builder_are_errors() -> None:
    builder = tir.ir_builder.create()

    assert not hasattr(builder, "extern_call")
    with pytest.raises(UnsupportedError, match=r"IRBuilder\.extern_call is not in tvmlite"):
        _ = builder.extern_call
    with pytest.raises(UnsupportedError, match="IntImm has no attribute 'handle'"):
        _ = tvm.runtime.convert(3).handle
    with pytest.raises(
        TensorExpressionError, match=r"scope_attr: node: 'threadIdx\.x' given, expected a te\.thread"
    ):
        builder.scope_attr("threadIdx.x", "thread_extent", 3)


def test_a_prefetch_takes_llvms_arguments() -> None:
    builder = tir.ir_builder.create()
    a, b = (tir.decl_buffer((4,), name=name) for name in "ab")
    place = tir.call_intrin("handle", "tir.address_of", a[3])
    builder.emit(tir.Call("int32", "tir.prefetch", [place, 0, 3, 1]))
    builder.emit(tir.call_intrin("int32", "tir.prefetch", place, 0, 2, 1))
    builder.buffer_ptr(b)[0] = 1.0
    body = builder.get()

    assert str(body).splitlines()[:2] == ["prefetch(a[3])", "prefetch_l2(a[3])"]
    x, y = tvm.nd.array(np.zeros(4, "float32")), tvm.nd.array(np.zeros(4, "float32"))
    tvm.build(tir.PrimFunc([a, b], body))(x, y)
    assert y.numpy().tolist() == [1, 0, 0, 0]
    with pytest.raises(UnsupportedError, match=r"rw, locality and cache_type are \(1, 3, 1\)"):
        tir.Call("int32", "tir.prefetch", [place, 1, 3, 1])


@pytest.mark.parametrize(
    "make", [lambda var, value: tir.Let(var, value, var), lambda *two: tir.LetStmt(*two, tir.Evaluate(0))]
)
def test_a_bound_value_has_the_dtype_of_its_variable(make: Any) -> None:
    x = te.var("x", "float32")

    assert make(x, 1).value.dtype == "float32"
    with pytest.raises(TensorExpressionError, match="the value of x is float64, x is float32"):
        make(x, te.var("y", "float64"))


def test_verify_ssa_finds_variables_bound_twice() -> None:
    x, y = te.var("x"), te.var("y")
    one, same, other = tir.Let(x, 1, x + 1), tir.Let(x, 1, x + 2), tir.Let(x, 2, x + 2)
    loop = tir.For(x, 0, 4, tir.ForKind.SERIAL, tir.Evaluate(x + y))

    def holds(body: Any, *params: Any) -> bool:
        return tir.analysis.verify_ssa(tir.PrimFunc(list(params), body))

    assert holds(tir.Evaluate(x + y), x, y)
    assert holds(loop, y)
    assert not holds(loop, x, y)
    assert not holds(tir.SeqStmt([loop, tir.For(x, 0, 2, tir.ForKind.SERIAL, tir.Evaluate(x))]), y)
    assert holds(tir.Evaluate(one + same))
    assert not holds(tir.Evaluate(one * other))


def test_a_buffer_has_a_scope() -> None:
    shared = tir.decl_buffer((4,), scope="shared")

    assert (shared.scope(), tir.decl_buffer((4,)).scope()) == ("shared", "global")
    assert copy.copy(shared.scope)() == pickle.loads(pickle.dumps(shared.scope))() == "shared"
