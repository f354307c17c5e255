"""Programs from TVM's tutorials in which only the imports are changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
import tvmlite.tvm.testing
from tvmlite.core.errors import InputError, ScheduleError, TargetError, UnsupportedError
from tvmlite.machine.target import Target
from tvmlite.te.tensor import registry
from tvmlite.tvm import te
from tvmlite.tvm.contrib import cblas, cc, utils


@pytest.fixture(autouse=True)
def _own_names() -> Iterator[None]:
    kept = dict(registry._functions), dict(registry._rules)
    yield
    registry._functions, registry._rules = kept


def vector_add(n: Any) -> Any:
    A = te.placeholder((n,), name="A")
    B = te.placeholder((n,), name="B")
    C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
    return A, B, C, te.create_schedule(C.op)


def test_get_started_with_arrays_devices_and_timing() -> None:
    tgt = tvm.target.Target(target="llvm", host="llvm")
    A, B, C, s = vector_add(te.var("n"))
    fadd = tvm.build(s, [A, B, C], tgt, name="myadd")
    dev = tvm.device(tgt.kind.name, 0)
    n = 1024
    a = tvm.nd.array(np.random.uniform(size=n).astype(A.dtype), dev)
    b = tvm.nd.array(np.random.uniform(size=n).astype(B.dtype), dev)
    c = tvm.nd.array(np.zeros(n, dtype=C.dtype), dev)
    fadd(a, b, c)
    tvm.testing.assert_allclose(c.numpy(), a.numpy() + b.numpy())
    evaluator = fadd.time_evaluator(fadd.entry_name, dev, number=10)
    assert 0 < evaluator(a, b, c).mean < 1
    s[C].parallel(C.op.axis[0])
    print(tvm.lower(s, [A, B, C], simple_mode=True))
    assert "define" in fadd.get_source()


def test_get_started_with_a_function_saved_and_loaded() -> None:
    A, B, C, s = vector_add(te.var("n"))
    outer, inner = s[C].split(C.op.axis[0], factor=4)
    s[C].parallel(outer)
    s[C].vectorize(inner)
    fadd = tvm.build(s, [A, B, C], "llvm", name="myadd")
    temp = utils.tempdir()
    fadd.save(temp.relpath("myadd.o"))
    cc.create_shared(temp.relpath("myadd.so"), [temp.relpath("myadd.o")])
    fadd.export_library(temp.relpath("myadd_pack.so"))
    assert temp.listdir() == ["myadd.o", "myadd.so", "myadd_pack.so"]
    a, b = (tvm.nd.array(np.random.uniform(size=100).astype("float32"), tvm.cpu(0)) for _ in range(2))
    for name in ("myadd.so", "myadd_pack.so"):
        fadd1 = tvm.runtime.load_module(temp.relpath(name))
        c = tvm.nd.empty((100,), "float32", tvm.cpu())
        fadd1(a, b, c)
        tvm.testing.assert_allclose(c.numpy(), a.numpy() + b.numpy())


def test_gemm_on_cpu_with_packing() -> None:
    M = K = N = 64
    bn, kfactor, dtype, target = 32, 4, "float32", "llvm"
    dev = tvm.device(target, 0)
    k = te.reduce_axis((0, K), "k")
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, N), name="B")
    packedB = te.compute((N / bn, K, bn), lambda bigN, k, littleN: B[k, bigN * bn + littleN], name="packedB")
    C = te.compute(
        (M, N),
        lambda m, n: te.sum(A[m, k] * packedB[n // bn, k, tvm.tir.indexmod(n, bn)], axis=k),
        name="C",
    )
    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "global")
    mo, no, _, _ = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    s[CC].compute_at(s[C], no)
    mc, nc = s[CC].op.axis
    (kaxis,) = s[CC].op.reduce_axis
    ko, ki = s[CC].split(kaxis, factor=kfactor)
    s[CC].reorder(ko, mc, ki, nc)
    s[CC].vectorize(nc)
    s[CC].unroll(ki)
    s[C].parallel(mo)
    bigN, _, littleN = s[packedB].op.axis
    s[packedB].vectorize(littleN)
    s[packedB].parallel(bigN)
    func = tvm.build(s, [A, B, C], target=target, name="mmult")
    assert func
    a = tvm.nd.array(np.random.rand(M, K).astype(dtype), dev)
    b = tvm.nd.array(np.random.rand(K, N).astype(dtype), dev)
    c = tvm.nd.array(np.zeros((M, N), dtype=dtype), dev)
    func(a, b, c)
    tvm.testing.assert_allclose(c.numpy(), np.dot(a.numpy(), b.numpy()), rtol=1e-5)
    assert func.time_evaluator(func.entry_name, dev, number=1)(a, b, c).mean > 0


def test_external_operators_by_blas_and_by_python() -> None:
    n, l, m = 16, 8, 12  # noqa: E741
    bias = te.var("bias", dtype="float32")
    A = te.placeholder((n, l), name="A")
    B = te.placeholder((l, m), name="B")
    C = te.extern(
        (n, m),
        [A, B],
        lambda ins, outs: tvm.tir.call_packed(
            "tvm.contrib.cblas.matmul", ins[0], ins[1], outs[0], False, False
        ),
        name="C",
    )
    D = te.compute(C.shape, lambda i, j: C[i, j] + bias, name="D")
    s = te.create_schedule(D.op)
    f = tvm.build(s, [A, B, D, bias], "llvm")
    dev = tvm.cpu(0)
    a = tvm.nd.array(np.random.uniform(size=(n, l)).astype(A.dtype), dev)
    b = tvm.nd.array(np.random.uniform(size=(l, m)).astype(B.dtype), dev)
    d = tvm.nd.array(np.zeros((n, m), dtype=D.dtype), dev)
    f(a, b, d, 10.0)
    tvm.testing.assert_allclose(d.numpy(), np.dot(a.numpy(), b.numpy()) + 10, rtol=1e-5)
    E = te.compute((m, n), lambda i, j: cblas.matmul(A, B)(j, i), name="E")
    made = tvm.build(te.create_schedule(E.op), [A, B, E])(a, b)
    tvm.testing.assert_allclose(made, np.dot(a, b).T, rtol=1e-5)

    @tvm.register_func("tvm.contrib.my_tvm_addone")
    def my_tvm_addone(x: Any, y: Any) -> None:
        tvm.nd.array(x.numpy() + 1).copyto(y)

    X = te.placeholder((n,), name="X")
    Y = te.extern(
        X.shape,
        [X],
        lambda ins, outs: tvm.tir.call_packed("tvm.contrib.my_tvm_addone", ins[0], outs[0]),
        name="Y",
    )
    f = tvm.build(te.create_schedule(Y.op), [X, Y], "llvm")
    x, y = tvm.nd.array(np.random.rand(n).astype("float32")), tvm.nd.array(np.zeros(n, "float32"))
    f(x, y)
    tvm.testing.assert_allclose(y.numpy(), x.numpy() + 1)


def test_a_reduction_of_tuples_with_names_of_tir() -> None:
    def fcombine(x: Any, y: Any) -> Any:
        lhs = tvm.tir.Select((x[1] >= y[1]), x[0], y[0])
        rhs = tvm.tir.Select((x[1] >= y[1]), x[1], y[1])
        return lhs, rhs

    def fidentity(t0: Any, t1: Any) -> Any:
        return tvm.tir.const(-1, t0), tvm.te.min_value(t1)

    argmax = te.comm_reducer(fcombine, fidentity, name="argmax")
    m, n = te.var("m"), te.var("n")
    idx = te.placeholder((m, n), name="idx", dtype="int32")
    val = te.placeholder((m, n), name="val", dtype="int32")
    k = te.reduce_axis((0, n), "k")
    T0, T1 = te.compute((m,), lambda i: argmax((idx[i, k], val[i, k]), axis=k), name="T")
    s = te.create_schedule(T0.op)
    values = np.random.permutation(40).reshape(5, 8).astype("int32")
    places = np.tile(np.arange(8, dtype="int32"), (5, 1))
    where, best = tvm.build(s, [idx, val, T0, T1])(places, values)
    np.testing.assert_array_equal(where, values.argmax(1))
    np.testing.assert_array_equal(best, values.max(1))


def test_math_intrinsics_are_lowered_by_a_registered_rule() -> None:
    def my_rule(op: Any) -> Any:
        assert isinstance(op, tvm.tir.Call)
        name = op.op.name
        assert name.startswith("tir.")
        return tvm.tir.call_pure_extern("float32", f"{name[4:]}f", op.args[0])

    tvm.ir.register_op_attr("tir.log1p", "TCallEffectKind", tvm.tir.CallEffectKind.Pure)
    tvm.ir.register_intrin_lowering("tir.log1p", target="llvm", f=my_rule, level=99)
    A = te.placeholder((te.var("n"),), name="A")
    B = te.compute(A.shape, lambda i: tvm.tir.call_intrin(A.dtype, "tir.log1p", A[i]), name="B")
    a = np.random.rand(20).astype("float32")
    made = tvm.build(te.create_schedule(B.op), [A, B], "llvm", name="mylog")(a)
    tvm.testing.assert_allclose(made, np.log1p(a), rtol=1e-6)


def test_features_for_gpus_are_errors() -> None:
    A, B, C, s = vector_add(64)
    assert not tvm.device("cuda", 0).exist
    assert (str(tvm.cuda(1)), tvm.cuda(1).device_type) == ("cuda(1)", 2)
    with pytest.raises(TargetError, match=r"(?s)device cuda\(0\) is not there.*test_names.py:\d+"):
        tvm.nd.array(np.zeros(3), tvm.cuda(0))
    with pytest.raises(ScheduleError, match=r"bind: thread_ivar: 'tx' given, expected a te.thread_axis"):
        s[C].bind(C.op.axis[0], "tx")
    s[C].bind(C.op.axis[0], te.thread_axis("threadIdx.x"))
    assert "bind='threadIdx.x'" in str(tvm.lower(s, [A, B, C]))
    with pytest.raises(TargetError, match=r"loop i is bound to threadIdx.x, and there is code for CPUs only"):
        tvm.build(s, [A, B, C], "llvm")
    with pytest.raises(TargetError, match="cuda"):
        tvm.build(s, [A, B, C], "cuda")


def test_copies_between_arrays_check_shapes() -> None:
    a = tvm.nd.array([[1, 2], [3, 4]])
    assert (a.dtype, type(a.asnumpy())) == (np.int64, np.ndarray)
    assert a.copyto(tvm.cpu(0)).copyfrom(a + 1).numpy().tolist() == [[2, 3], [4, 5]]
    assert (a.handle, str(tvm.cpu(0)), tvm.cpu(0).device_type) == (a.ctypes.data, "cpu(0)", 1)
    tvm.cpu(0).sync()
    with pytest.raises(InputError, match=r"copyto: \(3,\) given, expected an array of \(2, 2\)"):
        a.copyto(np.zeros(3))
    with pytest.raises(InputError, match=r"copyfrom: \(3,\) given, expected \(2, 2\)"):
        a.copyfrom(np.zeros(3))


def test_a_target_may_be_a_dict() -> None:
    target = tvm.target.Target({"kind": "llvm", "mcpu": "haswell"})
    assert (str(target), target.kind.name) == (str(Target.parse("llvm -mcpu=haswell")), "llvm")
    with pytest.raises(TargetError, match="has no kind"):
        tvm.target.Target({"mcpu": "haswell"})


def test_assert_allclose_fails_for_different_values_or_shapes() -> None:
    with pytest.raises(AssertionError):
        tvmlite.tvm.testing.assert_allclose(np.ones(3), np.zeros(3))
    with pytest.raises(AssertionError):
        tvmlite.tvm.testing.assert_allclose(np.ones(3), np.ones((1, 3)))


def test_absent_names_of_tvm_can_be_imported_but_not_used() -> None:
    from tvmlite.tvm.runtime import ObjectTypes
    from tvmlite.tvm.tir import IndexMap

    with pytest.raises(UnsupportedError, match=r"tvm.tir.IndexMap is not in tvmlite(?s:.*)create_sch"):
        IndexMap.from_func(lambda i: i)
    with pytest.raises(UnsupportedError, match=r"tvm.runtime.ObjectTypes is not in tvmlite"):
        ObjectTypes()
    assert not isinstance(3, IndexMap)
    assert tvm.tir.analysis.expr_deep_equal(tvm.te.var("x") * 0, 0)
    with pytest.raises(UnsupportedError, match=r"tvm.tir.analysis.verify_memory is not in tvmlite"):
        tvm.tir.analysis.verify_memory()


def test_functions_strings_and_tuples_are_those_of_python() -> None:
    packed, container = tvm.runtime.PackedFunc, tvm.runtime.container
    assert [isinstance(one, packed) for one in (len, tvm.runtime.convert(print), 3, int)] == [
        True,
        True,
        False,
        False,
    ]
    text = tvm.runtime.String("abc")
    assert (text + "d", text.value, isinstance(text, str), tvm.runtime.convert("abc") == text) == (
        "abcd",
        "abc",
        True,
        True,
    )
    both = container.ADT(3, ["a", "b"])
    assert (both.tag, list(both), container.tuple_object([1, 2]).tag) == (3, ["a", "b"], 0)
    assert tuple(container.ShapeTuple((2, 3))) == (2, 3)


def test_errors_of_missing_names_have_the_classes_of_tvm() -> None:
    with pytest.raises(ValueError, match=r"no function is registered as 'no\.function'"):
        tvm.get_global_func("no.function")
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i], name="b")
    with pytest.raises(AttributeError, match="the module has no function 'other'; there are: f"):
        tvm.build(te.create_schedule(b.op), [a, b], name="f")["other"]
    with pytest.raises(RuntimeError, match="bitwise_not of float32"):
        _ = ~tvm.tir.const(1.5)
