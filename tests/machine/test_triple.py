"""Parsing of target triples in all common spellings."""

from __future__ import annotations

import platform
import sys

import pytest

from tvmlite.machine.triple import Triple


@pytest.mark.parametrize(
    ("text", "architecture", "system", "environment", "object_format"),
    [
        ("x86_64-unknown-linux-gnu", "x86_64", "linux", "gnu", "elf"),
        ("x86_64-linux-gnu", "x86_64", "linux", "gnu", "elf"),
        ("AMD64-pc-windows-msvc", "x86_64", "windows", "msvc", "coff"),
        ("x86_64-w64-mingw32", "x86_64", "windows", "gnu", "coff"),
        ("arm64-apple-darwin23.1.0", "aarch64", "macos", "", "macho"),
        ("aarch64-macos", "aarch64", "macos", "", "macho"),
        ("arm64-apple-ios17", "aarch64", "ios", "", "macho"),
        ("aarch64-none-linux-gnu", "aarch64", "linux", "gnu", "elf"),
        ("aarch64-linux-android34", "aarch64", "linux", "android34", "elf"),
        ("armv7-linux-musleabihf", "armv7", "linux", "musleabihf", "elf"),
        ("arm-none-eabi", "arm", "", "eabi", "elf"),
        ("riscv64-unknown-freebsd14", "riscv64", "freebsd", "", "elf"),
        ("wasm32-unknown-unknown", "wasm32", "", "", "wasm"),
        ("wasm32-wasi", "wasm32", "wasi", "", "wasm"),
        ("sparc-sun-solaris", "sparc", "", "solaris", "elf"),
        ("riscv64", "riscv64", "", "", "elf"),
    ],
)
def test_a_triple_is_split_into_parts(
    text: str, architecture: str, system: str, environment: str, object_format: str
) -> None:
    found = Triple.parse(text)

    assert (found.architecture, found.system, found.environment) == (architecture, system, environment)
    assert found.object_format == object_format


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"),
        ("armv7-linux-musleabihf", "armv7-unknown-linux-musleabihf"),
        ("aarch64-none-linux-gnu", "aarch64-none-linux-gnu"),
        ("x86_64-w64-mingw32", "x86_64-w64-windows-gnu"),
        ("x86_64-windows", "x86_64-unknown-windows"),
        ("aarch64-macos14", "aarch64-apple-macos14"),
        ("arm-none-eabi", "arm-unknown-none-eabi"),
        ("wasm32-unknown-unknown", "wasm32-unknown-unknown"),
        ("wasm32-wasi", "wasm32-unknown-wasi"),
        ("riscv64", "riscv64"),
    ],
)
def test_a_triple_is_normalized_to_four_parts_for_llvm(text: str, normalized: str) -> None:
    assert Triple.parse(text).normalized == normalized


def test_an_empty_triple_is_the_host() -> None:
    here = Triple.parse("")

    assert here.is_native
    assert here.system == {"linux": "linux", "darwin": "macos", "win32": "windows"}[sys.platform]
    assert platform.machine().lower() in (
        here.architecture,
        {"x86_64": "amd64", "aarch64": "arm64"}.get(here.architecture),
    )


def test_another_architecture_or_system_is_not_native() -> None:
    here = Triple.parse("")
    other = "windows-gnu" if here.system == "linux" else "linux-gnu"

    assert not Triple.parse(f"{here.architecture}-{other}").is_native
    assert not Triple.parse("sparc64-linux-gnu").is_native
