"""Calls of LLVM intrinsics, C functions and Python functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.core.errors import ExecutionError, TargetError, TensorExpressionError, UnsupportedError
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.tensor import registry


@pytest.fixture(autouse=True)
def _own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_functions", dict(registry._functions))
    monkeypatch.setattr(registry, "_references", {})


def everywhere(s: te.Schedule, args: list[Any], x: np.ndarray, shape: tuple[int, ...]) -> list[np.ndarray]:
    """The results of the interpreter and of both code generators."""
    result = np.zeros(shape, "float32")
    interpret(te.lower(s, args), [x, result])
    return [result, *(tvmlite.build(s, args, target=t, name="calls")(x) for t in ("native", "c"))]


def test_a_python_function_is_called_by_name() -> None:
    @te.register_func("tests.scaled")
    def scaled(x: np.ndarray, factor: float, out: np.ndarray) -> None:
        out[:] = x * factor

    n = te.var("n")
    A = te.placeholder((n, 3), name="A")
    B = te.extern((n, 3), [A], lambda i, o: te.call_packed("tests.scaled", i[0], 2.5, o[0]), name="B")
    s = te.create_schedule(B.op)
    x = np.random.rand(4, 3).astype("f4")
    for result in everywhere(s, [A, B], x, (4, 3)):
        np.testing.assert_allclose(result, x * 2.5, rtol=1e-6)


def test_an_exception_in_a_python_function_fails_the_compiled_one(capsys: Any) -> None:
    @te.register_func("tests.fails")
    def fails(x: np.ndarray) -> None:
        raise ValueError("never on Sundays")

    A = te.placeholder((3,), name="A")
    B = te.extern((3,), [A], lambda i, o: te.call_packed("tests.fails", i[0]), name="B")
    s = te.create_schedule(B.op)
    for target in ("native", "c"):
        with pytest.raises(ExecutionError, match=r"the function 'tests\.fails', called by name, failed"):
            tvmlite.build(s, [A, B], target=target, name="calls")(np.zeros(3, "f4"))
    with pytest.raises(ExecutionError, match=r"tests\.fails"):
        interpret(te.lower(s, [A, B]), [np.zeros(3, "f4"), np.zeros(3, "f4")])
    assert capsys.readouterr().err.count("ValueError: never on Sundays") == 3


def test_a_function_may_be_registered_after_the_code_that_calls_it_is_built() -> None:
    A = te.placeholder((3,), name="A")
    B = te.extern((3,), [A], lambda i, o: te.call_packed("tests.later", i[0], o[0]), name="B")
    function = tvmlite.build(te.create_schedule(B.op), [A, B])
    te.register_func("tests.later", lambda a, b: np.add(a, 1, out=b))
    np.testing.assert_array_equal(function(np.arange(3, dtype="f4")), [1, 2, 3])


def test_a_python_function_receives_string_arguments() -> None:
    seen: list[tuple[Any, ...]] = []
    te.register_func("tests.texts", lambda *given: seen.append((given[0], *given[2:])))
    A = te.placeholder((1,), name="A")
    texts = "sum, of: ü", ""
    B = te.extern((1,), [A], lambda i, o: te.call_packed("tests.texts", texts[0], i[0], 3, texts[1]))
    everywhere(te.create_schedule(B.op), [A, B], np.ones(1, "f4"), (1,))
    assert seen == [(texts[0], 3, texts[1])] * 3


def test_calling_an_unregistered_function_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    A = te.placeholder((3,), name="A")
    B = te.extern((3,), [A], lambda i, o: te.call_packed("tests.nowhere", i[0]), name="B")
    s = te.create_schedule(B.op)
    function = tvmlite.build(s, [A, B])
    with pytest.raises(
        ExecutionError, match=r"'tests\.nowhere', called by name, failed or is not registered"
    ):
        function(np.zeros(3, "f4"))
    assert "no function is registered as 'tests.nowhere'" in capsys.readouterr().err
    with pytest.raises(UnsupportedError, match=r"no function is registered as 'tests\.nowhere'"):
        interpret(te.lower(s, [A, B]), [np.zeros(3, "f4"), np.zeros(3, "f4")])
    te.register_func("tests.once", print)
    with pytest.raises(TensorExpressionError, match=r"there is a function 'tests\.once' already"):
        te.register_func("tests.once", print)
    te.register_func("tests.once", len, override=True)
    assert te.get_global_func("tests.once") is len


def test_a_c_function_is_called_lane_by_lane() -> None:
    te.register_reference("cbrtf", np.cbrt)
    A = te.placeholder((12,), name="A")
    B = te.compute((12,), lambda i: te.call_pure_extern("float32", "cbrtf", A[i] * 2), name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[0], factor=4)[1])
    x = np.random.rand(12).astype("f4")
    for result in everywhere(s, [A, B], x, (12,)):
        np.testing.assert_allclose(result, np.cbrt(x * 2), rtol=1e-6)


def test_a_c_function_missing_in_this_process_may_be_linked_later() -> None:
    A = te.placeholder((3,), name="A")
    B = te.compute((3,), lambda i: te.call_pure_extern("float32", "nowhere_at_all", A[i]), name="B")
    for target in ("native", "c"):
        function = tvmlite.build(te.create_schedule(B.op), [A, B], target=target, name="calls")
        assert "nowhere_at_all" in function.source("c")
        with pytest.raises(TargetError, match=r"it calls nowhere_at_all, which this process does not have"):
            function(np.zeros(3, "f4"))


def test_a_c_function_takes_addresses() -> None:
    te.register_reference(
        "memcpy", lambda to, of, n: to.view("u1").__setitem__(slice(n), of.view("u1")[:n]) or 0
    )
    A = te.placeholder((5,), name="A")

    def copy(ins: Any, outs: Any) -> Any:
        to, of, size = outs[0].access_ptr("w"), ins[0].access_ptr("r", offset=1), te.const(16, "uint64")
        return te.call_extern("int64", "memcpy", to, of, size)

    B = te.extern((4,), [A], copy, name="B")
    x = np.random.rand(5).astype("f4")
    result = np.zeros(4, "f4")
    interpret(te.lower(te.create_schedule(B.op), [A, B]), [x, result])
    np.testing.assert_array_equal(result, x[1:])
    np.testing.assert_array_equal(tvmlite.build(te.create_schedule(B.op), [A, B])(x), x[1:])


def test_an_llvm_intrinsic_on_vectors(capsys: Any) -> None:
    te.register_reference("llvm.maxnum.v8f32", np.fmax)
    A = te.placeholder((16,), name="A")

    def emit(ins: Any, outs: Any) -> Any:
        ib = te.ir_builder.create()
        with ib.for_range(0, 2) as i:
            vector = ins[0].vload(i * 8, "float32x8")
            high = te.call_llvm_intrin(
                "float32x8", "llvm.maxnum.v8f32", vector, te.const(0.5).astype("float32x8")
            )
            ib.emit(outs[0].vstore(i * 8, high))
        return ib.get()

    B = te.extern((16,), [A], emit, name="B")
    s = te.create_schedule(B.op)
    x = np.random.rand(16).astype("f4")
    result = np.zeros(16, "f4")
    interpret(te.lower(s, [A, B]), [x, result])
    np.testing.assert_array_equal(result, np.maximum(x, 0.5))
    np.testing.assert_array_equal(tvmlite.build(s, [A, B])(x), np.maximum(x, 0.5))
    with pytest.raises(UnsupportedError, match=r"'llvm\.maxnum\.v8f32' has no form in C"):
        tvmlite.build(s, [A, B], target="c", name="calls")


def test_reinterpret_changes_the_number_of_lanes(run: Callable[..., Any]) -> None:
    A = te.placeholder((8,), "uint8", name="A")

    def emit(ins: Any, outs: Any) -> Any:
        ib = te.ir_builder.create()
        word = te.call_intrin("int32", "tir.reinterpret", ins[0].vload(4, "uint8x4"))
        ib.emit(outs[0].vstore(0, te.reinterpret("int8x16", word.astype("int32x4"))))
        return ib.get()

    B = te.extern((16,), [A], emit, name="B", dtype="int8")
    s = te.create_schedule(B.op)
    x = np.arange(250, 258).astype("u1")
    want = np.tile(x[4:].view("i1"), 4)
    np.testing.assert_array_equal(run(s, [A, B], [x], [(16,)])[0], want)
    np.testing.assert_array_equal(tvmlite.build(s, [A, B])(x), want)


@pytest.mark.parametrize("dtype", ["float32", "int8", "int64"])
def test_a_traced_value_is_reported_and_may_be_changed(dtype: str, capsys: Any) -> None:
    def report(i: int, value: Any) -> Any:
        seen.append((i, value))
        if value == 3:
            raise ValueError("three")
        return value * 2 if i % 2 else None

    te.register_func(f"tests.report.{dtype}", report)
    A = te.placeholder((4,), dtype, name="A")
    B = te.compute((4,), lambda i: te.trace([i, A[i]], f"tests.report.{dtype}") + 1, name="B")
    s = te.create_schedule(B.op)
    x, want = np.array([1, 2, 4, 3], dtype), np.array([2, 5, 5, 4], dtype)
    got = np.zeros(4, dtype)
    seen: list[Any] = []
    interpret(te.lower(s, [A, B]), [x, got])
    for one in (got, *(tvmlite.build(s, [A, B], target=t, name="traced")(x) for t in ("native", "c"))):
        np.testing.assert_array_equal(one, want)
    assert seen == [(0, 1), (1, 2), (2, 4), (3, 3)] * 3
    assert capsys.readouterr().err.count("ValueError: three") == 3


def test_traced_values_are_printed_by_default(capfd: Any) -> None:
    A = te.placeholder((2,), name="A")
    B = te.compute((2,), lambda i: te.trace([i, A[i]]), name="B")

    tvmlite.build(te.create_schedule(B.op), [A, B])(np.array([0.5, 2], "f4"))
    assert capfd.readouterr().out == "[0, 0.5]\n[1, 2.0]\n"
    with pytest.raises(TensorExpressionError, match="trace: args is empty"):
        te.trace([])


def test_the_interpreter_names_functions_it_does_not_know(run: Callable[..., Any]) -> None:
    A = te.placeholder((3,), name="A")
    B = te.compute((3,), lambda i: te.call_extern("float32", "cbrtf", A[i]), name="B")
    with pytest.raises(UnsupportedError, match="does not know what 'cbrtf' computes"):
        run(te.create_schedule(B.op), [A, B], [np.zeros(3, "f4")], [(3,)])


def test_invalid_calls_are_refused() -> None:
    x = te.var("x", "float32")
    with pytest.raises(TensorExpressionError, match=r"'vpdpbusd' is no LLVM intrinsic"):
        te.call_llvm_intrin("int32", "vpdpbusd", x)
    with pytest.raises(TensorExpressionError, match=r"LLVM has no intrinsic 'llvm\.cbrt\.f32'"):
        te.call_llvm_intrin("float32", "llvm.cbrt.f32", x)
    with pytest.raises(TensorExpressionError, match="'f' was given vectors"):
        te.call_extern("float32x4", "f", x)
    with pytest.raises(TensorExpressionError, match="float32 is not as wide as int8x8"):
        te.reinterpret("int8x8", x)
    with pytest.raises(TensorExpressionError, match="exp of these arguments is float32, not float64"):
        te.call_intrin("float64", "tir.exp", x)
    with pytest.raises(TensorExpressionError, match="holds float32, it cannot be read as int8x4"):
        te.decl_buffer((4,), name="b").vload(0, "int8x4")
