"""``tvm.lower`` and ``tvm.build``: their arguments, and the modules they return."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError, TargetError, TensorExpressionError, UnsupportedError
from tvmlite.tvm import te
from tvmlite.tvm.contrib import cc, clang

NEEDS_LINKER = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a linker")


def doubling(name: str = "b") -> tuple[Any, Any, Any]:
    a = te.placeholder((8,), name="a")
    b = te.compute((8,), lambda i: a[i] * 2, name=name)
    return a, b, te.create_schedule(b.op)


def test_lowering_gives_a_module_of_functions() -> None:
    a, b, s = doubling()
    module = tvm.lower(s, [a, b], "twice", simple_mode=True)

    assert list(module) == ["twice"]
    assert isinstance(module["twice"], tvm.tir.PrimFunc)
    assert isinstance(module.body, tvm.tir.For)
    assert module.body.loop_var.name == "i"
    assert module.script() == module.astext() == str(module) == str(module["twice"])
    assert tvm.lower(module) is module
    with pytest.raises(InputError, match="the module has no function 'main'; there are: twice"):
        module["main"]


def test_functions_of_several_schedules_are_one_module() -> None:
    a, b, s = doubling()
    c, d, t = doubling("d")
    module = tvm.build([tvm.lower(t, [c, d], "two"), tvm.lower(s, [a, b], "one")], target="llvm")
    x = np.arange(8, dtype="f4")

    for name in ("one", "two"):
        np.testing.assert_array_equal(module[name](x), 2 * x)
        assert module.implements_function(name)
    assert not module.implements_function("three")
    source = module.get_source("c")
    assert source.index("one(") < source.index("two(")
    with pytest.raises(InputError, match="the module has several functions, call one by its name: two, one"):
        module(x)
    with pytest.raises(InputError, match="no function 'three'; there are: two, one"):
        module["three"]
    with pytest.raises(InputError, match="two functions are called 'one'"):
        tvm.build([tvm.lower(s, [a, b], "one"), tvm.lower(t, [c, d], "one")])
    with pytest.raises(UnsupportedError, match=r"save: LLVM.s bitcode is not written(?s:.*)hint: LLVM IR"):
        module.save("both.bc")
    with pytest.raises(UnsupportedError, match="save: a module of 2 functions is not written"):
        module.save("both.o")


def test_a_module_shows_its_source_and_is_timed() -> None:
    a, b, s = doubling()
    module = tvm.build(s, [a, b], "llvm", name="twice")
    x, y = tvm.nd.array(np.arange(8, dtype="f4")), tvm.nd.empty((8,))

    assert module.entry_func is module["twice"] is module[module.entry_name]
    assert (module.type_key, module.format, module.imported_modules) == ("llvm", "o", [])
    assert "define" in module.get_source()
    assert ".globl" in module.get_source("asm")
    result = module.time_evaluator("twice", tvm.cpu(0), number=2, repeat=3)(x, y)
    assert len(result.results) == 3
    assert result.min <= result.median <= result.max
    assert result.mean > 0
    assert result.std >= 0
    with pytest.raises(InputError, match="no function 'other'; there are: twice"):
        module.time_evaluator("other", tvm.cpu(0))
    with pytest.raises(TargetError, match=r"device cuda\(0\) is not there"):
        module.time_evaluator("twice", tvm.cuda(0))
    with pytest.raises(UnsupportedError, match=r"f_preproc .cache_flush_cpu_non_first_arg. is not"):
        module.time_evaluator("twice", tvm.cpu(0), f_preproc="cache_flush_cpu_non_first_arg")
    with pytest.raises(InputError, match="get_source: fmt: 3 given"):
        module.get_source(3)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="Module has no attribute 'is_runnable' in tvmlite"):
        module.is_runnable  # noqa: B018


@NEEDS_LINKER
def test_a_module_is_written_and_loaded(tmp_path: Path) -> None:
    a, b, s = doubling()
    module = tvm.build(s, [a, b], "llvm", name="twice")
    for name in ("twice.o", "twice.ll", "twice.s", "library.so"):
        module.save(str(tmp_path / name)) if name != "library.so" else module.export_library(
            str(tmp_path / name)
        )
    cc.create_shared(str(tmp_path / "linked.so"), str(tmp_path / "twice.o"))
    x = np.arange(8, dtype="f4")

    assert "define" in (tmp_path / "twice.ll").read_text()
    for name in ("library.so", "linked.so"):
        loaded = tvm.runtime.load_module(str(tmp_path / name))
        np.testing.assert_array_equal(loaded["twice"](x), 2 * x)
        assert loaded.type_key == "library"
    with pytest.raises(UnsupportedError, match="get_source: twice was loaded, its code is not kept"):
        loaded.get_source()


def test_c_is_a_target_as_well() -> None:
    a, b, s = doubling()
    module = tvm.build(s, [a, b], target="c", name="twice")

    assert module.type_key == "c"
    assert "float" in module.get_source()


def test_build_uses_the_target_of_the_scope() -> None:
    a, b, s = doubling()
    with tvm.target.Target("c"):
        assert tvm.build(s, [a, b]).type_key == "c"
        assert tvm.build(s, [a, b], "llvm").type_key == "llvm"
    assert tvm.build(s, [a, b]).type_key == "llvm"
    assert tvm.build({"c": tvm.lower(s, [a, b])}).type_key == "c"


def test_dense_buffers_may_be_bound() -> None:
    a, b, s = doubling()
    declared = tvm.tir.decl_buffer(a.shape, a.dtype, elem_offset=te.size_var("offset"), offset_factor=8)
    x = np.arange(8, dtype="f4")

    np.testing.assert_array_equal(tvm.build(s, [a, b], binds={a: declared})(x), 2 * x)
    strided = tvm.tir.decl_buffer(a.shape, a.dtype, strides=[te.var("step")])
    with pytest.raises(UnsupportedError, match="binds gives a a buffer with strides: arguments are dense"):
        tvm.lower(s, [a, b], binds={a: strided})
    with pytest.raises(
        TensorExpressionError, match=r'decl_buffer: buffer_type: .*, expected "" or "auto_bro'
    ):
        tvm.tir.decl_buffer(a.shape, buffer_type="strided")


def test_arguments_of_extent_one_are_broadcast() -> None:
    rows, columns, n, m = (te.var(name) for name in ("rows", "columns", "n", "m"))
    a, b = te.placeholder((rows, columns), name="a"), te.placeholder((m,), name="b")
    c = te.compute((n, m), lambda i, j: a[i, j] + b[j], name="c")
    wide = tvm.tir.decl_buffer(a.shape, a.dtype, buffer_type="auto_broadcast")
    add = tvm.build(te.create_schedule(c.op), [a, b, c], binds={a: wide})
    random = np.random.default_rng(0)
    y = random.random(4, "f4")

    for shape in ((3, 4), (1, 4), (3, 1), (1, 1)):
        x, z = random.random(shape, "f4"), tvm.nd.empty((3, 4))
        add(tvm.nd.array(x), tvm.nd.array(y), z)
        np.testing.assert_array_equal(z.numpy(), np.broadcast_to(x + y, (3, 4)))
    text = str(tvm.lower(te.create_schedule(c.op), [a, b, c]))
    assert "select" in text
    assert "b[j]" in text.replace(" ", "")


def test_invalid_arguments_of_build_are_errors() -> None:
    a, b, s = doubling()
    with pytest.raises(InputError, match="lower: args must be given"):
        tvm.lower(s)
    with pytest.raises(InputError, match="build: args must be given"):
        tvm.build(s)
    with pytest.raises(InputError, match="lower: inp: 3 given, expected a schedule"):
        tvm.lower(3, [])
    with pytest.raises(InputError, match="build: inputs: 3 given, expected a schedule, or what"):
        tvm.build(3)
    with pytest.raises(InputError, match="build: no functions given"):
        tvm.build([])
    with pytest.raises(UnsupportedError, match="build: 2 targets in one module, expected one"):
        tvm.build({"llvm": tvm.lower(s, [a, b]), "c": tvm.lower(s, [a, b])})
    with pytest.raises(UnsupportedError, match="build: runtime= is not supported"):
        tvm.build(s, [a, b], runtime="crt")
    with pytest.raises(TargetError, match="cuda"):
        tvm.build(s, [a, b], "llvm", "cuda")


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_the_imported_function_of_the_innermost_loop_is_used() -> None:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: tvm.tir.call_extern("float32", "scaled", a[i]), name="b")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], factor=2)
    code = 'extern "C" float scaled(float x) { return x * %d; }'
    s[b].pragma(outer, "import_llvm", clang.create_llvm(code % 2))
    s[b].pragma(inner, "import_llvm", clang.create_llvm(code % 3))
    x = np.arange(4, dtype="f4")

    np.testing.assert_array_equal(tvm.build(s, [a, b], "llvm")(x), 3 * x)
    with pytest.raises(UnsupportedError, match="pragma import_llvm: the target c has no LLVM"):
        tvm.build(s, [a, b], "c")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "pragma import_llvm: a int given, expected LLVM IR or a path"),
        ("missing.ll", "pragma import_llvm: there is no file 'missing.ll'"),
        ("no\ncode", "pragma import_llvm: LLVM cannot read it"),
    ],
)
def test_invalid_llvm_ir_is_refused(given: Any, message: str) -> None:
    a, b, s = doubling()
    s[b].pragma(b.op.axis[0], "import_llvm", given)
    with pytest.raises(InputError, match=message):
        tvm.build(s, [a, b], "llvm")
