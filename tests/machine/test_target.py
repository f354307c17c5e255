"""Target strings, and the properties of the machines that they name."""

from __future__ import annotations

import pytest

from tvmlite.core.errors import TargetError
from tvmlite.machine import processor, target_string
from tvmlite.machine.cores import processors
from tvmlite.machine.target import Target


@pytest.fixture(autouse=True)
def _no_override(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TVMLITE_TARGET", raising=False)


@pytest.mark.parametrize(
    "text",
    [
        "native",
        "llvm",
        "llvm -mcpu=haswell",
        "llvm -mcpu=znver4 -mattr=-avx512f",
        "llvm -mcpu=znver4 -vector-bits=256",
        "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72",
        "c",
        "c -vector-bits=512",
        "llvm -mcpu=znver4 -num-cores=32",
        "c -vector-bits=256 -num-cores=1",
        "c -mcpu=cortex-m4",
        "c -system=none",
        "c -system=none -vector-bits=512",
    ],
)
def test_the_string_of_a_target_parses_to_the_same_target(text: str) -> None:
    target = Target.parse(text)

    assert Target.parse(str(target)) == target


def test_parsing_a_target_returns_it_unchanged() -> None:
    target = Target.parse("c")

    assert Target.parse(target) is target


@pytest.mark.parametrize(
    ("text", "bits", "registers"),
    [
        ("llvm -mtriple=x86_64-linux-gnu", 128, 16),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", 256, 16),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512", 512, 32),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4", 512, 32),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4 -mattr=-avx512f", 256, 16),
        ("llvm -mtriple=aarch64-linux-gnu", 128, 32),
        ("llvm -mtriple=armv7-linux-gnueabihf", 128, 16),
        ("c", 128, 16),
        ("c -vector-bits=512", 512, 32),
        ("c -mcpu=cortex-m4", 32, 16),
        ("c -system=none", 32, 16),
        ("c -system=none -vector-bits=512", 512, 32),
    ],
)
def test_vector_width_and_registers_follow_from_the_instruction_sets(
    text: str, bits: int, registers: int
) -> None:
    target = Target.parse(text)

    assert (target.vector_bits, target.vector_registers) == (bits, registers)


def test_a_target_has_the_instruction_sets_of_its_processor() -> None:
    zen4 = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")
    haswell = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell")
    v1 = Target.parse("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1")

    assert zen4.has("avx512vnni")
    assert not zen4.has("amx-int8")
    assert haswell.has("fma")
    assert not haswell.has("avx512f")
    assert v1.has("sve")
    assert Target.parse("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -mattr=+dotprod").has("dotprod")


def test_native_is_the_host() -> None:
    target = Target.parse("native")

    assert (target.triple, target.cpu, target.features) == processor.host()
    assert Target.parse("llvm") == target


def test_lanes_of_a_vector_depend_on_the_dtype() -> None:
    target = Target.parse("c -vector-bits=256")

    assert [target.lanes(d) for d in ("float32", "float64", "int8", "bool", "bfloat16")] == [8, 4, 32, 32, 16]


def test_the_environment_variable_replaces_native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVMLITE_TARGET", "c -vector-bits=256")

    assert str(Target.parse("native")) == "c -vector-bits=256"


def test_the_cores_of_a_target_are_the_given_number() -> None:
    target = Target.parse("llvm -mcpu=znver4 -num-cores=3000")

    assert target.machine.cores == target.num_cores == 3000
    assert str(target).endswith(" -num-cores=3000")


def test_cores_default_to_the_processors_available_to_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    own = processors()

    assert Target.parse("native").machine.cores == Target.parse("c").machine.cores == own
    assert Target.parse(f"c -num-cores={own}") == Target.parse("c")
    assert str(Target.parse("c")) == "c"
    assert Target.parse("c").with_cores == f"c -num-cores={own}"

    monkeypatch.setattr(target_string, "processors", lambda: own + 1)  # as in a process with other processors
    assert Target.parse("c").machine.cores == own + 1
    assert str(Target("c", num_cores=own)) == f"c -num-cores={own}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("cuda", "unknown kind 'cuda'"),
        ("llvm -mcpu=\ud800", "expected plain letters"),
        ("llvm -mtriple=a\0b", "expected plain letters"),
        ("llvm -mcpu=" + "x" * 200_000, "expected plain letters, 10,000 at most"),
        ("", "unknown kind ''"),
        ("llvm -device=arm", "cannot use '-device=arm'"),
        ("llvm -mcpu", "cannot use '-mcpu'"),
        ("llvm -mcpu=haswell -mcpu=haswell", "cannot use '-mcpu=haswell'"),
        ("c -mcpu=haswell", "-mcpu is 'haswell'; processors without a system are cortex-m0, "),
        ("c -system=linux", "-system is 'linux', expected none"),
        ("llvm -system=none", "cannot use '-system=none'"),
        ("c -vector-bits=100", "-vector-bits is '100'"),
        ("c -num-cores=0", "-num-cores is '0', expected a whole number from 1 to 4096"),
        ("llvm -num-cores=many", "-num-cores is 'many'"),
        ("llvm -num-cores=-2", "-num-cores is '-2'"),
        ("c -num-cores=99999999999999999999", "-num-cores is '99999999999999999999'"),
        ("c -num-cores=1 -num-cores=2", "cannot use '-num-cores=2'"),
        ("llvm -mattr=avx2", "feature 'avx2'"),
        ("llvm -mcpu=pentagon", "'pentagon' is not a recognized processor"),
        ("llvm -mattr=+warp", r"'\+warp' is not a recognized feature"),
        ("llvm -mtriple=nowhere", "triple 'nowhere'"),
    ],
)
def test_an_invalid_target_is_an_error_that_names_the_word(text: str, complaint: str) -> None:
    with pytest.raises(TargetError, match=complaint):
        Target.parse(text)
