"""A choice is replaced by one of its statements, depending on the target."""

from __future__ import annotations

import pytest

from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.select_version import select_version

OUT = ir.Buffer("out", "int32", (e.const(1, "int64"),), "param")


def store(value: int) -> ir.Stmt:
    return ir.Store(OUT, (e.const(0, "int64"),), e.const(value))


def function(body: ir.Stmt) -> ir.Function:
    return ir.Function("chosen", (OUT,), (OUT,), (), body)


@pytest.mark.parametrize(
    ("target", "value"),
    [
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server", 1),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64", 2),
        ("c", 2),
    ],
)
def test_the_special_version_needs_all_its_instruction_sets(target: str, value: int) -> None:
    before = function(ir.Choice(("avx512f", "avx512vnni"), store(1), store(2)))
    after = select_version(before, Target.parse(target))
    assert str(after) == str(function(store(value)))


def test_a_function_without_a_choice_is_unchanged() -> None:
    before = function(store(1))
    assert select_version(before, Target.parse("c")) is before


def test_both_versions_are_printed() -> None:
    text = str(function(ir.Choice(("avx512f", "avx512vnni"), store(1), store(2))))
    assert text.split("\n", 1)[1] == (
        "    if target has avx512f and avx512vnni:\n        out[0] = 1\n    else:\n        out[0] = 2"
    )


def test_for_c_a_choice_stays_if_c_can_call_its_instructions() -> None:
    for name, stays in (("llvm.x86.avx512.vpdpbusd.512", True), ("llvm.x86.avx512.unheard.of", False)):
        called = e.Foreign("llvm", name, (), "int32", 16)
        before = function(ir.Choice(("avx512vnni",), ir.Evaluate(called), store(2)))
        after = select_version(before, Target.parse("c"))
        assert str(after) == str(before if stays else function(store(2)))
