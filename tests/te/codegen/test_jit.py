"""Compiling LLVM IR text to object code and loading it."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.core.errors import LibraryError, UnsupportedError
from tvmlite.machine.target import Target
from tvmlite.te.codegen import child, jit

TWICE = "define i32 @twice(i32 %x) {\n  %y = add i32 %x, %x\n  ret i32 %y\n}\n"
ASKS = """@data = external constant i32
declare i32 @twice(i32)
define i32 @asks() {
  %x = load i32, ptr @data
  %y = call i32 @twice(i32 %x)
  ret i32 %y
}
"""


def function(loaded: jit.Loaded, name: str, arguments: int = 0) -> object:
    return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int32] * arguments)(loaded.address(name))


def test_objects_call_each_other_and_read_given_symbols(native: Target) -> None:
    data = ctypes.c_int32(21)
    objects = [jit.compile_object(text, native) for text in (TWICE, ASKS)]
    loaded = jit.load(objects, {"data": ctypes.addressof(data)})

    assert function(loaded, "asks")() == 42  # type: ignore[operator]
    data.value = 5
    assert function(loaded, "asks")() == 10  # type: ignore[operator]


def test_symbols_of_the_c_library_are_resolved(native: Target) -> None:
    text = "declare double @cbrt(double)\ndefine double @root(double %x) {\n"
    text += "  %y = call double @cbrt(double %x)\n  ret double %y\n}\n"
    loaded = jit.load([jit.compile_object(text, native)], {})

    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.address("root"))(27.0) == pytest.approx(
        3.0
    )


def test_a_missing_symbol_is_an_error(native: Target, capfd: pytest.CaptureFixture[str]) -> None:
    code = jit.compile_object(ASKS, native)

    with pytest.raises(LibraryError, match="asks"):
        jit.load([code], {}).address("asks")
    told = capfd.readouterr().err
    assert "data" in told, "LLVM says which"
    assert "twice" in told


def test_a_missing_function_is_named_in_the_error(native: Target) -> None:
    with pytest.raises(LibraryError, match="thrice"):
        jit.load([jit.compile_object(TWICE, native)], {}).address("thrice")


def test_objects_with_the_same_name_can_be_loaded_many_times(native: Target) -> None:
    code = jit.compile_object(TWICE, native)
    many = [jit.load([code], {}) for _ in range(5)]

    assert len({one.address("twice") for one in many}) == 5
    del many[1:4]
    assert [function(one, "twice", 1)(4) for one in many] == [8, 8]  # type: ignore[operator]


def test_another_process_compiles_the_same_bytes(native: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVMLITE_CACHE", "off")
    request = {"kind": "object", "triple": native.triple, "cpu": native.cpu, "features": ""}
    other = child.ask("tvmlite.te.codegen.jit", request, TWICE.encode())

    assert jit.compile_object(TWICE, native) == other or native.features


def test_compiled_code_is_cached_on_disk(
    native: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TVMLITE_CACHE", str(tmp_path / "kept"))
    first = jit.compile_object(TWICE, native)
    assert len(list((tmp_path / "kept").glob("??/*"))) == 1

    monkeypatch.setattr(jit, "_compile", None)  # so that a second compilation would fail

    assert jit.compile_object(TWICE, native) == first


def test_another_processor_has_another_cache_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVMLITE_CACHE", str(tmp_path))
    for text in ("llvm -mtriple=x86_64-linux-gnu", "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell"):
        jit.compile_object(TWICE, Target.parse(text))

    assert len(list(tmp_path.glob("??/*"))) == 2


def test_without_a_cache_nothing_is_written(
    native: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TVMLITE_CACHE", "off")

    jit.compile_object(TWICE, native)

    assert not list(tmp_path.iterdir())


def test_assembly_and_optimized_ir_can_be_read() -> None:
    target = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell")

    assert "twice:" in jit.assembly(TWICE, target)
    assert "shl nsw i32" in jit.optimized_ir(TWICE.replace("add i32", "add nsw i32"), target)


def test_only_scalar_code_is_vectorized_by_llvm() -> None:
    target = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell")
    lines = []
    for n in range(4):
        lines += [f"%p{n} = getelementptr float, ptr %a, i64 {n}", f"%x{n} = load float, ptr %p{n}"]
        lines += [f"%y{n} = fadd float %x{n}, %x{n}", f"store float %y{n}, ptr %p{n}"]
    explicit = "store <4 x float> zeroinitializer, ptr %b"
    text = "define void @f(ptr noalias %a, ptr noalias %b) {{\n{}\nret void\n}}\n"

    assert "fadd <4 x float>" in jit.optimized_ir(text.format("\n".join(lines)), target)
    assert "fadd float" in jit.optimized_ir(text.format("\n".join([*lines, explicit])), target)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("triple", "machine"),
    [("aarch64-linux-gnu", 183), ("riscv64-linux-gnu", 243), ("armv7-linux-gnueabihf", 40)],
)
def test_code_for_other_machines_is_generated(triple: str, machine: int) -> None:
    code = jit.compile_object(TWICE, Target.parse(f"llvm -mtriple={triple}"))

    assert code[:4] == b"\x7fELF"
    assert int.from_bytes(code[18:20], "little") == machine


def test_a_failing_back_end_does_not_end_this_process() -> None:
    text = "declare i32 @llvm.x86.sse42.crc32.32.32(i32, i32)\ndefine i32 @f(i32 %x) {\n"
    text += "  %y = call i32 @llvm.x86.sse42.crc32.32.32(i32 %x, i32 %x)\n  ret i32 %y\n}\n"

    with pytest.raises(UnsupportedError, match="cannot generate code for llvm -mtriple=aarch64-linux-gnu"):
        jit.compile_object(text, Target.parse("llvm -mtriple=aarch64-linux-gnu"))


def test_compilation_works_after_a_child_process_was_lost() -> None:
    target = Target.parse("llvm -mtriple=aarch64-linux-gnu")
    with pytest.raises(UnsupportedError):
        jit.assembly("not a module", target)

    assert "twice:" in jit.assembly(TWICE, target)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_its_own_child_process() -> None:
    target = Target.parse("llvm -mtriple=aarch64-linux-gnu")
    expected = jit.assembly(TWICE, target)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if jit.assembly(TWICE, target) == expected else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert jit.assembly(TWICE, target) == expected


def test_threads_may_compile_and_load_concurrently(native: Target) -> None:
    results: list[int] = []

    def work(number: int) -> None:
        text = f"define i32 @number() {{\n  ret i32 {number}\n}}\n"
        loaded = jit.load([jit.compile_object(text, native)], {})
        results.append(function(loaded, "number")())  # type: ignore[operator]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(results) == list(range(12))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_signedness_is_kept_in_vectorized_statements(dtype: str) -> None:
    """LLVM 22's SLP turns ``uitofp i64 (sext i32)`` into ``uitofp i32``."""
    a = te.placeholder((6,), dtype, name="A")
    b = te.compute((6,), lambda i: a[i].astype("uint64").astype("float32") * 2.0 + 1.0, name="B")
    x = np.array([-1, -100, 5, -7, 3, -120], dtype)
    got = tvmlite.build(te.create_schedule(b.op), [a, b], name="without_signs")(x)
    np.testing.assert_allclose(got, x.astype("uint64").astype("float64") * 2 + 1, rtol=1e-6)
