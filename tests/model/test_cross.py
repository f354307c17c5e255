"""Libraries for other machines, linked here and run under emulators."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, runtime
from tvmlite.core.errors import InputError, LibraryError
from tvmlite.machine.triple import Triple
from tvmlite.relay.ir.nodes import Module
from tvmlite.runtime.library import link

HAS_ZIG = importlib.util.find_spec("ziglang") is not None
needs_zig = pytest.mark.skipif(not HAS_ZIG, reason="no ziglang, which links for other machines")

MACHINES = [
    ("llvm -mtriple=x86_64-linux-musl", "", {}),
    ("llvm -mtriple=aarch64-linux-musl", "qemu-aarch64-static", {}),
    ("llvm -mtriple=armv7-linux-musleabihf -mattr=+neon", "qemu-arm-static", {}),
    ("llvm -mtriple=riscv64-linux-musl", "qemu-riscv64-static", {}),
    (
        "llvm -mtriple=riscv64-linux-musl -mattr=+v",
        "qemu-riscv64-static",
        {"QEMU_CPU": "rv64,v=true,vext_spec=v1.0,vlen=128"},
    ),
]

MAIN = """
#include <stdio.h>
#include <string.h>
#include "net.h"
static float x[7 * 40], y[7 * 10], z[7 * 10];
static _Alignas(64) char workspace[1 << 16];
int main(void) {
    for (int i = 0; i < 7 * 40; i++) x[i] = (float)(i % 13) / 8 - 0.5f;
    if (net(x, y, workspace, 1, 0) != 0) return 1;
    DLTensor in = {x, {1, 0}, 2, {2, 32, 1}, (int64_t[]){7, 40}, NULL, 0};
    DLTensor out = {z, {1, 0}, 2, {2, 32, 1}, (int64_t[]){7, 10}, NULL, 0};
    int32_t code = net_run_tensors((const DLTensor *[]){&in}, 1, (DLTensor *[]){&out}, 1);
    if (code != 0 || memcmp(y, z, sizeof y) != 0) {
        fputs(net_last_error(), stderr);
        return 2;
    }
    for (int i = 0; i < 7 * 10; i++) printf("%.9g\\n", y[i]);
    return 0;
}
"""


RNG = np.random.default_rng(0)
FIRST, SECOND = (RNG.standard_normal(shape).astype("float32") / 4 for shape in ((33, 40), (10, 33)))


def network() -> Module:
    x = relay.var("x", shape=(7, 40), dtype="float32")
    scores = relay.nn.dense(relay.tanh(relay.nn.dense(x, relay.const(FIRST))), relay.const(SECOND))
    return relay.IRModule.from_expr(relay.Function((x,), relay.nn.softmax(scores)))


@needs_zig
@pytest.mark.slow
@pytest.mark.exhaustive  # group_weights' test of instructions of ARM links for another machine, too
@pytest.mark.parametrize("ending", [".a", ".o"])
@pytest.mark.parametrize(("target", "emulator", "environment"), MACHINES)
def test_a_cross_compiled_program_runs_under_emulation(
    target: str, emulator: str, environment: dict[str, str], ending: str, tmp_path: Path
) -> None:
    if emulator and shutil.which(emulator) is None:
        pytest.skip(f"no {emulator} (apt install qemu-user-static)")
    lib = tvmlite.compile(network(), target=target, name="net")
    assert lib.signature.workspace is not None
    assert lib.signature.workspace <= 1 << 16
    lib.export(tmp_path / f"net{ending}")
    lib.export(tmp_path / "net.h")
    (tmp_path / "main.c").write_text(MAIN)
    triple = re.search(r"-mtriple=(\S+)", target)[1].replace("armv7", "arm")  # type: ignore[index]
    build = [sys.executable, "-m", "ziglang", "cc", "-target", triple, "-std=c11", "-O1", "-static", "main.c"]
    subprocess.run([*build, f"net{ending}", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    run = [*([emulator] if emulator else []), str(tmp_path / "main")]
    done = subprocess.run(run, capture_output=True, text=True, env=os.environ | environment, check=True)
    made = np.array(done.stdout.split(), np.float32).reshape(7, 10)

    x = ((np.arange(280) % 13) / 8 - 0.5).astype("float32").reshape(7, 40)
    scores = np.tanh(x.astype(np.float64) @ FIRST.T) @ SECOND.T
    powers = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(made, powers / powers.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)


@needs_zig
@pytest.mark.parametrize(
    "triple",
    [
        "aarch64-linux-gnu",
        pytest.param("armv7-linux-gnueabihf", marks=pytest.mark.exhaustive),
        pytest.param("riscv64-linux-gnu", marks=pytest.mark.exhaustive),
    ],
)
def test_a_shared_library_for_another_machine_names_its_target(triple: str, tmp_path: Path) -> None:
    lib = tvmlite.compile(network(), target=f"llvm -mtriple={triple}", name="net")
    lib.export(tmp_path / "net.so")

    assert runtime.read_metadata(tmp_path / "net.so")["target"].startswith(f"llvm -mtriple={triple}")
    with pytest.raises(LibraryError, match=r"for another processor|64-bit"):
        runtime.load(tmp_path / "net.so")


def test_error_without_a_cross_linker_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "has_zig", lambda: False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for target, ending in (("llvm -mtriple=aarch64-linux-gnu", ".so"), ("wasm", ".wasm")):
        lib = tvmlite.compile(network(), target=target, name="net")
        with pytest.raises(LibraryError, match="pip install ziglang"):
            lib.export(tmp_path / f"net{ending}")


def exports_of_dll(data: bytes) -> tuple[int, set[str]]:
    """The machine of a PE file, and the names in its export table."""
    (head,) = struct.unpack_from("<I", data, 0x3C)
    machine, sections, optional = struct.unpack_from("<4xHH12xH", data, head)
    tables = [struct.unpack_from("<8x4I", data, head + 24 + optional + 40 * k) for k in range(sections)]

    def place(address: int) -> int:
        return next(raw + address - at for size, at, _, raw in tables if at <= address < at + size)

    (directory,) = struct.unpack_from("<I", data, head + 24 + 112)
    count, _, names = struct.unpack_from("<24x3I", data, place(directory))
    addresses = struct.unpack_from(f"<{count}I", data, place(names))
    return machine, {data[place(one) :].split(b"\0", 1)[0].decode() for one in addresses}


def exports_of_dylib(data: bytes) -> tuple[int, set[str]]:
    """The processor of a Mach-O library, and the external symbols that it defines."""
    magic, processor, kind, commands = struct.unpack_from("<II4xII", data)
    assert (magic, kind) == (0xFEEDFACF, 6)
    at, names = 32, set[str]()
    for _ in range(commands):
        command, size, symbols, count, strings = struct.unpack_from("<5I", data, at)
        at += size
        for k in range(count if command == 2 else 0):
            name, flags = struct.unpack_from("<IB", data, symbols + 16 * k)
            if flags & 0x0F == 0x0F:
                names.add(data[strings + name :].split(b"\0", 1)[0].decode().removeprefix("_"))
    return processor, names


@needs_zig
@pytest.mark.slow
@pytest.mark.parametrize(
    ("triple", "ending", "read", "processor"),
    [
        pytest.param(
            "x86_64-windows-gnu", ".dll", exports_of_dll, 0x8664, marks=pytest.mark.exhaustive
        ),  # the first builds a C library, for minutes
        ("aarch64-macos", ".dylib", exports_of_dylib, 0x100000C),
    ],
)
def test_a_library_for_another_system_exports_what_its_header_declares(
    triple: str, ending: str, read: Callable[[bytes], tuple[int, set[str]]], processor: int, tmp_path: Path
) -> None:
    lib = tvmlite.compile(network(), target=f"llvm -mtriple={triple}", name="net")

    lib.export(tmp_path / f"net{ending}")
    lib.export(tmp_path / "net.h")

    found, names = read((tmp_path / f"net{ending}").read_bytes())
    declared = set(re.findall(r"\b(net\w*)\(", (tmp_path / "net.h").read_text()))
    assert found == processor
    assert {"net", "net_run_tensors", "net_last_error"} <= declared <= names


@pytest.mark.parametrize(
    ("triple", "system", "ending"),
    [
        ("aarch64-apple-macosx14", "macOS", ".dylib"),
        ("x86_64-windows-gnu", "Windows", ".dll"),
        ("x86_64-w64-mingw32", "Windows", ".dll"),
    ],
)
def test_libraries_for_windows_and_macos_need_their_endings(
    triple: str, system: str, ending: str, tmp_path: Path
) -> None:
    if Triple.parse(triple).is_native:
        pytest.skip("this is such a system")
    lib = tvmlite.compile(network(), target=f"llvm -mtriple={triple}", name="net")
    for other in (".so", ".a", ".tar"):
        with pytest.raises(
            InputError, match=rf"(?s)code for {system} can only be linked to \{ending}.*hint: .*net\.c"
        ):
            lib.export(tmp_path / f"net{other}")
    other = ".dll" if ending == ".dylib" else ".dylib"
    with pytest.raises(
        InputError, match=r"(?s)the code is for llvm.*, such a library is for (Windows|macOS)"
    ):
        lib.export(tmp_path / f"net{other}")
    lib.export(tmp_path / "net.c")
