"""Exported models run without the compiler, from a C program, and as C source; damaged files are errors."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, runtime
from tvmlite.core.errors import InputError, LibraryError
from tvmlite.model import export
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir.deferred import DeferredConstant
from tvmlite.runtime.library import link, segment

GUIDE = Path(__file__).parents[2] / "docs" / "c_program.md"

WEIGHTS = np.random.default_rng(7).standard_normal((5, 8)).astype(np.float32)


def _compiled(rows: int | str, target: str = "native") -> CompiledModule:
    """A dense layer and a softmax over ``rows`` rows."""
    x = relay.var("x", shape=(relay.dim(rows) if isinstance(rows, str) else rows, 8), dtype="float32")
    body = relay.nn.softmax(relay.nn.relu(relay.nn.dense(x, relay.const(WEIGHTS))))
    return tvmlite.compile(relay.IRModule.from_expr(relay.Function((x,), body)), target, name="net")


def _expected(x: np.ndarray) -> np.ndarray:
    hidden = np.maximum(x.astype(np.float64) @ WEIGHTS.T, 0)
    powers = np.exp(hidden - hidden.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _input(rows: int) -> np.ndarray:
    return np.random.default_rng(rows).standard_normal((rows, 8)).astype(np.float32)


FRESH = """
import sys
import numpy as np
from tvmlite import runtime
lib = runtime.load(sys.argv[1])
for path in sys.argv[2:]:
    np.save(path + ".out.npy", lib(np.load(path)))
    assert lib.profile(np.load(path)).nanoseconds > 0
    assert lib.time(np.load(path), budget=0.01).median > 0
compilers = {"llvmlite", "onnx", "xgboost", "ml_dtypes", "tvmlite.te", "tvmlite.relay"} & set(sys.modules)
assert not compilers, compilers
"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", "c"])
@pytest.mark.parametrize("rows", [4, "n"])
def test_a_library_runs_in_a_process_without_the_compiler(
    rows: int | str, target: str, tmp_path: Path
) -> None:
    _compiled(rows, target).export(tmp_path / "net.so")
    sizes = [rows] if isinstance(rows, int) else [1, 3, 50]
    files = [str(tmp_path / f"{size}.npy") for size in sizes]
    for size, file in zip(sizes, files, strict=True):
        np.save(file, _input(size))

    done = _run([sys.executable, "-c", FRESH, str(tmp_path / "net.so"), *files])

    assert done.returncode == 0, done.stderr
    for size, file in zip(sizes, files, strict=True):
        np.testing.assert_allclose(np.load(f"{file}.out.npy"), _expected(_input(size)), rtol=1e-5, atol=1e-6)


def test_a_loaded_library_has_its_names_and_profiles_its_kernels(tmp_path: Path) -> None:
    made = _compiled("n")
    made.export(tmp_path / "net.so")
    lib = runtime.load(tmp_path / "net.so")

    profile = lib.profile(_input(3))

    assert (lib.input_names, lib.output_names) == (made.input_names, made.output_names)
    assert lib.signature == made.signature
    assert [name for name, _ in profile.kernels] == list(made.signature.kernels)
    np.testing.assert_allclose(profile.result, _expected(_input(3)), rtol=1e-5, atol=1e-6)


def test_a_library_contains_weights_larger_than_a_page(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((700, 900)).astype(np.float32)
    x = relay.var("x", shape=(2, 900), dtype="float32")
    body = relay.nn.dense(x, relay.const(weights))
    lib = tvmlite.compile(relay.IRModule.from_expr(relay.Function((x,), body)))
    lib.export(tmp_path / "net.so")
    given = np.random.default_rng(1).standard_normal((2, 900)).astype(np.float32)

    made = runtime.load(tmp_path / "net.so")(given)

    np.testing.assert_allclose(made, given.astype(np.float64) @ weights.T, rtol=1e-4, atol=1e-4)


def test_exporting_again_gives_the_same_bytes(tmp_path: Path) -> None:
    _compiled("n").export(tmp_path / "one.so")
    _compiled("n").export(tmp_path / "two.so")

    assert (tmp_path / "one.so").read_bytes() == (tmp_path / "two.so").read_bytes()


# The C program of the docs.


def _fences(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the guide's C program and the files its Python program writes: library and C source."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("guide")
    python, c = _fences("python"), _fences("c")
    c = [text for text in c if "int main(" in text]  # without the fragments
    assert (len(python), len(c)) == (1, 1)
    (folder / "main.c").write_text(c[0], encoding="utf-8")
    program = python[0] + 'lib.export("net.c")\nx = np.arange(24, dtype="float32").reshape(3, 8) / 10\n'
    program += 'np.save("expected.npy", relay.interpret.interpret(module, [x]))\n'
    done = _run([sys.executable, "-c", program], folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("which", [0, 1], ids=["library", "source"])
def test_the_c_program_of_the_docs_builds_and_is_right(guide: Path, which: int) -> None:
    commands = _fences("sh")[which]

    done = _run(["sh", "-ec", commands], guide)

    assert done.returncode == 0, done.stderr
    made = np.array([line.split() for line in done.stdout.splitlines()], np.float64)
    np.testing.assert_allclose(made, np.load(guide / "expected.npy"), atol=2e-6)


def test_the_header_compiles_as_c99_and_as_cpp(guide: Path) -> None:
    for language, standard in (("c", "c99"), ("c++", "c++11")):
        for compiler in filter(shutil.which, ("cc", "clang")):
            flags = "-pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -fsyntax-only"
            command = [compiler, "-x", language, f"-std={standard}", *flags.split()]
            done = _run([*command, "net.h"], guide)
            assert done.returncode == 0, done.stderr


def test_two_headers_and_dlpack_h_can_be_included_together(guide: Path) -> None:
    """The header declares the structures of ``dlpack.h`` under the same include guard."""
    dlpack = """#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#include <stdint.h>
typedef struct { int32_t device_type, device_id; } DLDevice;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
typedef struct { void *data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t *shape, *strides;
    uint64_t byte_offset; } DLTensor;
#endif
"""
    (guide / "dlpack.h").write_text(dlpack)
    (guide / "other.h").write_text(
        (guide / "net.h").read_text().replace("net", "other").replace("_NET_", "_OTHER_")
    )
    for first in ("dlpack.h", "net.h"):
        (guide / "two.c").write_text(f'#include "{first}"\n#include "net.h"\n#include "other.h"\n')
        done = _run(["cc", "-std=c99", "-Wall", "-Werror", "-fsyntax-only", "two.c"], guide)
        assert done.returncode == 0, done.stderr


# What cannot be exported or loaded.


def test_error_without_a_linker_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lib = _compiled(4)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(link.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(LibraryError, match=r"(?s)no linker.*hint: install a C compiler.*pip install ziglang"):
        lib.export(tmp_path / "net.so")
    assert list(tmp_path.iterdir()) == []


def test_target_c_without_a_compiler_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(link.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(LibraryError, match=r"(?s)needs a C compiler.*pip install ziglang"):
        _compiled(4, "c")


@pytest.mark.parametrize("name", ["net", "net.lib", "net.exe"])
def test_an_unknown_ending_is_an_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=rf"cannot export to .*{name}: expected an ending of \.so, \.dll, \.dylib, \.wasm, \.a, \.o",
    ):
        _compiled(4).export(tmp_path / name)


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match=r"cannot write .*missing/net\.so: No such file"):
        _compiled(4).export(tmp_path / "missing" / "net.so")


def _behind_three_gigabytes() -> relay.IRModule:
    """Rows of a 3 GiB table, of which only three are not zero, times weights stored after it."""
    rows = 3 << 20

    def fill(out: np.ndarray) -> None:
        for place in (0, 1_500_000, rows - 1):
            out[place] = place % 100 + 1

    table = DeferredConstant((rows, 1024), np.dtype("uint8"), fill)
    x = relay.var("x", shape=(4,), dtype="int64")
    taken = relay.cast(relay.take(table, x, axis=0), dtype="float32")
    body = relay.nn.dense(taken, relay.const(np.full((16, 1024), 0.5, "float32")))
    return relay.IRModule.from_expr(relay.Function((x,), body))


@pytest.mark.parametrize(
    "target", ["native", pytest.param("c", marks=[pytest.mark.slow, pytest.mark.exhaustive])]
)
def test_weights_at_offsets_beyond_32_bits_are_found(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages of zeros take no memory, and are holes in the file."""
    monkeypatch.setattr(segment, "_write", _without_zeros)
    lib = tvmlite.compile(_behind_three_gigabytes(), target)
    assert lib.constants.size > 3 << 30
    lib.export(tmp_path / "net.so")
    loaded = runtime.load(tmp_path / "net.so")
    given = np.array([0, 7, 1_500_000, (3 << 20) - 1])
    expected = np.array([1, 0, 1, 3_145_727 % 100 + 1]) * 512
    for one in (lib, loaded):
        np.testing.assert_array_equal(one(given), np.repeat(expected[:, None], 16, 1))


def _without_zeros(file: BinaryIO, array: np.ndarray) -> None:
    """``segment._write`` of nonzero parts only: the first rows, some in the middle, and the last."""
    begin = file.tell()
    for start, end in (
        (0, 4096),
        (1_500_000 << 10, 1_500_004 << 10),
        (array.nbytes - (1 << 20), array.nbytes),
    ):
        file.seek(begin + start)
        file.write(array[start:end].data)


def test_too_many_weights_for_c_source_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "MOST_IN_C", 100)
    with pytest.raises(InputError, match=r"(?s)the model has 0\.0 GB of weights, C source.*hint: .*net\.so$"):
        _compiled(4).export(tmp_path / "net.c")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["net.so", "net.c", "net.h"])
def test_error_of_a_full_disk_says_so(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    lib = _compiled(4)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(LibraryError) as caught:
        lib.export(tmp_path / name)
    assert "No space left on device" in str(caught.value)
    assert "compiler" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def _truncated(whole: bytes) -> bytes:
    return whole[: len(whole) // 2]


def _short(whole: bytes) -> bytes:
    return whole[:40]


def _text(whole: bytes) -> bytes:
    return b"not a library"


def _nothing(whole: bytes) -> bytes:
    return b""


def _of_another_processor(whole: bytes) -> bytes:
    return whole[:18] + b"\xf3\x00" + whole[20:]


@pytest.mark.parametrize("spoil", [_truncated, _short, _text, _nothing, _of_another_processor])
def test_a_damaged_library_is_an_error(spoil: Callable[[bytes], bytes], tmp_path: Path) -> None:
    _compiled(4).export(tmp_path / "good.so")
    (tmp_path / "bad.so").write_bytes(spoil((tmp_path / "good.so").read_bytes()))

    with pytest.raises(LibraryError, match=r"bad\.so"):
        runtime.load(tmp_path / "bad.so")


def test_another_programs_library_is_an_error(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    (tmp_path / "other.c").write_text("int answer(void) { return 42; }\n")
    _run(["cc", "-shared", "-fPIC", "other.c", "-o", "other.so"], tmp_path)

    with pytest.raises(LibraryError, match=r"other\.so does not end as a tvmlite library does"):
        runtime.load(tmp_path / "other.so")


def test_a_missing_library_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match=r"there is no file .*absent\.so"):
        runtime.load(tmp_path / "absent.so")


def _run(command: list[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, env={**os.environ}
    )
