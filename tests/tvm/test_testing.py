"""``tvm.testing`` marks and parametrizes tests; absent modules of TVM are errors when used."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import UnsupportedError
from tvmlite.machine.target import Target
from tvmlite.tvm.testing import plugin

width = tvm.testing.parameter(2, 3)
low, high = tvm.testing.parameters((1, 2), (3, 4))


@tvm.testing.parametrize_targets("llvm", "cuda")
def test_only_cpu_targets_run(target: str, dev: object) -> None:
    assert (target, str(dev)) == ("llvm", "cpu(0)")


@pytest.fixture
def length(target: str) -> int:
    return len(target)


@tvm.testing.parametrize_targets("llvm")
def test_a_fixture_may_take_the_target_instead_of_the_test(length: int) -> None:
    assert length == len("llvm")


def test_parameters_take_each_value(width: int, low: int, high: int) -> None:
    assert width in (2, 3)
    assert high == low + 1


class TestOfClass:
    """Fixtures defined in the class of the tests that use them."""

    depth = tvm.testing.parameter(5, 6)
    first, second = tvm.testing.parameters((1, 2), (3, 4), ids=["small", "large"])

    def test_parameters_of_a_class_take_each_value(self, depth: int, first: int, second: int) -> None:
        assert depth in (5, 6)
        assert second == first + 1


@tvm.testing.requires_llvm
@tvm.testing.uses_gpu
def test_a_test_runs_if_its_requirements_are_met() -> None:
    assert tvm.testing.device_enabled("llvm -mcpu=haswell")


@tvm.testing.requires_cuda
def test_a_test_that_requires_cuda_is_skipped() -> None:
    raise AssertionError("it ran")


@pytest.mark.parametrize(
    ("feature", "has"), [("x86", "sse2"), ("cascadelake", "avx512vnni"), ("arm_dot", "dotprod")]
)
def test_requires_marks_check_the_machines_instructions(feature: str, has: str) -> None:
    mark = getattr(tvm.testing, f"requires_{feature}")()[0]

    assert mark.args == (not Target.parse("native").has(has),)


@tvm.testing.requires_package("no_such_package")
def test_without_a_package_a_test_is_skipped() -> None:
    raise AssertionError("it ran")


class Metafunc:
    """A test as plugins see it: the fixtures it takes, and the parameters of its own marks."""

    def __init__(self, fixturenames: list[str], given: str = "") -> None:
        self.fixturenames, self.given, self.rows = fixturenames, given, []  # type: ignore[var-annotated]
        self.definition = self

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [pytest.mark.parametrize(self.given, []).mark] if self.given and name == "parametrize" else []

    def parametrize(self, names: tuple[str, ...], values: list[tuple[object, ...]], ids: list[str]) -> None:
        self.rows.append((names, values, ids))


def test_the_plugin_parametrizes_targets() -> None:
    both, one, other, own = (
        Metafunc(["target", "dev"]),
        Metafunc(["dev", "x"]),
        Metafunc(["x"]),
        Metafunc(["dev"], "dev, y"),
    )
    for metafunc in (both, one, other, own):
        plugin.pytest_generate_tests(metafunc)

    assert both.rows == [(("target", "dev"), [("llvm", tvm.cpu(0))], ["llvm"])]
    assert one.rows == [(("dev",), [(tvm.cpu(0),)], ["llvm"])]
    assert other.rows == own.rows == []


def test_assert_allclose_finds_differences() -> None:
    tvm.testing.assert_allclose(np.ones(3), [1, 1, 1 + 1e-8])
    with pytest.raises(AssertionError):
        tvm.testing.assert_allclose(np.ones(3), np.zeros(3))
    with pytest.raises(AttributeError, match=r"tvm\.testing has no 'nothing'"):
        tvm.testing.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("rpc.server", "an exported library can be copied"),
        ("micro", "compiles to C for microcontrollers"),
        ("meta_schedule", "search schedules"),
        ("contrib.tedd", "draws the stages and loops"),
        ("contrib.nvcc", "CPUs only"),
        ("tir.transform", r"tvm\.lower applies"),
    ],
)
def test_an_absent_module_is_an_error_when_it_is_used(name: str, hint: str) -> None:
    module = importlib.import_module(f"tvmlite.tvm.{name}")
    with pytest.raises(UnsupportedError, match=rf"(?s)tvm\.{name}\.anything is not in tvmlite.*{hint}"):
        module.anything()


def test_a_program_may_mention_tvmscript() -> None:
    from tvmlite.tvm.script import tir as T

    @T.prim_func
    def function(a: T.handle, b: T.Buffer[(16,), float32]) -> None:  # type: ignore[valid-type,name-defined]  # noqa: F821
        T.func_attr({"global_symbol": "f"})

    with pytest.raises(UnsupportedError, match="function: TVMScript is not in tvmlite"):
        function.body  # noqa: B018
    with pytest.raises(UnsupportedError, match="TVMScript is not in tvmlite"):
        function(1, 2)
