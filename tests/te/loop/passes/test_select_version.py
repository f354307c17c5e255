"""A choice becomes one of its statements, by the target."""

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
def test_the_special_form_needs_all_its_instructions(target: str, value: int) -> None:
    before = function(ir.Choice(("avx512f", "avx512vnni"), store(1), store(2)))
    after = select_version(before, Target.parse(target))
    assert str(after) == str(function(store(value)))


def test_without_a_choice_the_function_stays_as_it_is() -> None:
    before = function(store(1))
    assert select_version(before, Target.parse("c")) is before


def test_both_forms_are_shown() -> None:
    text = str(function(ir.Choice(("avx512f", "avx512vnni"), store(1), store(2))))
    assert text.split("\n", 1)[1] == (
        "    if target has avx512f and avx512vnni:\n        out[0] = 1\n    else:\n        out[0] = 2"
    )


def test_for_c_the_compiler_chooses_among_instructions_that_c_can_call() -> None:
    for name, stays in (("llvm.x86.avx512.vpdpbusd.512", True), ("llvm.x86.avx512.unheard.of", False)):
        called = e.Foreign("llvm", name, (), "int32", 16)
        before = function(ir.Choice(("avx512vnni",), ir.Evaluate(called), store(2)))
        after = select_version(before, Target.parse("c"))
        assert str(after) == str(before if stays else function(store(2)))
