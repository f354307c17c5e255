"""``tvm.runtime.load_module`` loads functions and models from libraries, archives and objects."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvmlite
import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError, LibraryError, UnsupportedError
from tvmlite.tvm import relay, rpc, te
from tvmlite.tvm.contrib import cc, graph_executor

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a linker")

X = np.linspace(-1, 1, 8, dtype=np.float32)


def doubled() -> Any:
    a = te.placeholder((8,), name="a")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="b")
    return tvm.build(te.create_schedule(b.op), [a, b], "llvm", name="twice")


def plus(number: int) -> Any:
    a = te.placeholder((8,), name="a")
    b = te.compute((8,), lambda i: a[i] + float(number), name="b")
    s = te.create_schedule(b.op)
    s[b].parallel(b.op.axis[0])
    return tvm.build(s, [a, b], "llvm", name=f"plus{number}")


def model() -> Any:
    x = relay.var("x", shape=(8,))
    return relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))), "llvm")


@pytest.mark.parametrize("ending", ["so", "tar", "o"])
def test_a_function_is_loaded_by_its_name(tmp_path: Path, ending: str) -> None:
    path, out = tmp_path / f"twice.{ending}", np.zeros(8, np.float32)
    doubled().save(path) if ending == "o" else doubled().export_library(path)

    loaded = tvm.runtime.load_module(path)

    loaded(X, out)
    np.testing.assert_array_equal(out, 2 * X)
    loaded["twice"](2 * X, out)
    np.testing.assert_array_equal(out, 4 * X)
    assert loaded.implements_function("twice")
    assert not loaded.implements_function("default")
    assert len(loaded.time_evaluator(loaded.entry_name, tvm.cpu(), number=1, repeat=3)(X, out).results) == 3


def test_objects_of_several_functions_are_linked_to_one_library(tmp_path: Path) -> None:
    for number in (1, 2):
        plus(number).save(tmp_path / f"{number}.o")
    cc.create_shared(str(tmp_path / "both.so"), [str(tmp_path / "1.o"), str(tmp_path / "2.o")])

    loaded = tvm.runtime.load_module(tmp_path / "both.so")

    for number in (1, 2):
        out = np.zeros(8, np.float32)
        loaded[f"plus{number}"](X, out)
        np.testing.assert_array_equal(out, X + number)
    assert tvmlite.runtime.load(tmp_path / "both.so").signature.name == "plus1"
    with pytest.raises(InputError, match="no function 'plus3'; there are: plus1, plus2"):
        loaded["plus3"]


@pytest.mark.parametrize("ending", ["so", "tar"])
def test_a_model_is_loaded_as_default(tmp_path: Path, ending: str) -> None:
    model().export_library(tmp_path / f"model.{ending}")

    loaded = tvm.runtime.load_module(str(tmp_path / f"model.{ending}"))
    module = graph_executor.GraphModule(loaded["default"](tvm.cpu(0)))

    module.run(x=X)
    np.testing.assert_array_equal(module.get_output(0).numpy(), np.maximum(X, 0))
    times = module.module.time_evaluator("run", tvm.cpu(), number=2, repeat=3)()
    assert len(times.results) == 3
    assert loaded.implements_function("default")
    assert loaded.type_key == "library"
    with pytest.raises(InputError, match="no function 'twice'; there are: default, "):
        loaded["twice"]
    with pytest.raises(UnsupportedError, match="its code is not kept"):
        loaded.get_source()


def test_fmt_overrides_the_ending_of_a_file(tmp_path: Path) -> None:
    out = np.zeros(8, np.float32)
    doubled().export_library(tmp_path / "twice.so")
    (tmp_path / "twice.so").rename(tmp_path / "twice.bin")

    tvm.runtime.load_module(tmp_path / "twice.bin", "so")(X, out)

    np.testing.assert_array_equal(out, 2 * X)
    with pytest.raises(InputError, match=r"twice\.bin is expected to end in \.so"):
        tvm.runtime.load_module(tmp_path / "twice.bin")


def test_an_archive_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    function = doubled()
    for name in ("a.tar", "b.tar"):
        function.export_library(tmp_path / name)

    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    with tarfile.open(tmp_path / "a.tar") as archive:
        assert archive.getnames() == ["lib0.o"]


def test_damaged_archives_are_errors(tmp_path: Path) -> None:
    (tmp_path / "text.tar").write_text("no archive")
    with tarfile.open(tmp_path / "empty.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("readme"), io.BytesIO())

    with pytest.raises(LibraryError, match=r"text\.tar"):
        tvm.runtime.load_module(tmp_path / "text.tar")
    with pytest.raises(LibraryError, match=r"empty\.tar"):
        tvm.runtime.load_module(tmp_path / "empty.tar")
    with pytest.raises(LibraryError, match=r"there is no file .*gone\.so"):
        tvm.runtime.load_module(tmp_path / "gone.so")


def test_a_local_session_uploads_downloads_and_loads_files(tmp_path: Path) -> None:
    path, out = tmp_path / "twice.tar", np.zeros(8, np.float32)
    doubled().export_library(path)
    session = rpc.LocalSession()

    session.upload(path)
    session.load_module("twice.tar")(tvm.nd.array(X, session.cpu()), out)

    np.testing.assert_array_equal(out, 2 * X)
    session.upload(b"abc", "data")
    assert session.download("data") == b"abc"
    session.remove("data")
    with pytest.raises(InputError, match=r"a name without folders, not '\.\./data'"):
        session.upload(b"abc", "../data")
    with pytest.raises(InputError, match="the session has no file 'data'"):
        session.download("data")
    with pytest.raises(InputError, match="upload: there is no file 'gone'"):
        session.upload("gone")
    with pytest.raises(InputError, match="the name for the bytes, must be given"):
        session.upload(b"abc")
    with pytest.raises(UnsupportedError, match=r"rpc\.connect is not in tvmlite"):
        rpc.connect("host", 9090)


@pytest.mark.parametrize("ending", ["so", "tar"])
def test_a_module_is_exported_with_its_imported_modules(tmp_path: Path, ending: str) -> None:
    outer, inner, innermost = plus(1), plus(2), doubled()
    inner.import_module(innermost)
    outer.import_module(inner)
    given, found = tvm.nd.array(X), tvm.nd.empty((8,))
    path = tmp_path / f"lib.{ending}"

    outer.get_function("twice", query_imports=True)(given, found)
    np.testing.assert_array_equal(found.numpy(), X * 2)
    assert not outer.implements_function("twice")
    assert outer.implements_function("plus2", query_imports=True)
    outer.export_library(path)
    loaded = tvm.runtime.load_module(path)
    for name, expected in (("plus1", X + 1), ("plus2", X + 2), ("twice", X * 2)):
        loaded[name](given, found)
        np.testing.assert_array_equal(found.numpy(), expected)


def test_conflicting_imports_and_exports_are_errors(tmp_path: Path) -> None:
    module = plus(1)

    with pytest.raises(InputError, match="import_module: both modules have functions plus1"):
        module.import_module(plus(1))
    with pytest.raises(InputError, match="import_module: module: 'x' given, expected a module"):
        module.import_module("x")
    module.import_module(plus(2))
    with pytest.raises(UnsupportedError, match=r"2 functions of a module for 'llvm' do not go into both\.a"):
        module.export_library(tmp_path / "both.a")
    with pytest.raises(AttributeError, match=r"no function 'plus2'; there are: plus1"):
        module.get_function("plus2")


def test_get_graph_params_of_a_loaded_model_is_empty(tmp_path: Path) -> None:
    lib = model()
    lib.export_library(tmp_path / "model.so")
    loaded = tvm.runtime.load_module(tmp_path / "model.so")

    executor = graph_executor.GraphModule(loaded["default"](tvm.cpu()))
    executor.set_input("x", X, **loaded["get_graph_params"]())
    executor.run()

    again = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    again.run(x=X)
    np.testing.assert_array_equal(executor.get_output(0), again.get_output(0))
