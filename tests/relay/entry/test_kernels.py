"""Keys of kernels cover everything that determines their code."""

from __future__ import annotations

import pytest

from tvmlite import relay
from tvmlite.core.techniques import CODE_TABLES, code_functions
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.entry.kernels import KernelTask, kernel_tasks
from tvmlite.relay.ir import op
from tvmlite.relay.ir.nodes import Module
from tvmlite.relay.ops.register import elemwise
from tvmlite.te.templates.table import GENERATORS, TEMPLATES
from tvmlite.techniques.common.dot import DOT_INSTRUCTIONS, DotInstructions

TARGET = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")


SOFTMAX = "def @main(%x: Tensor[(4, 8), float32]) { nn.softmax(%x) }"


def task(module: Module | None = None) -> KernelTask:
    module = module or relay.parse(SOFTMAX)
    ((one,), _) = kernel_tasks(passes.pipeline(3, TARGET).run(module), TARGET)
    return one


def test_key_covers_every_table_that_generates_code() -> None:
    assert all(
        any(one is table for one in CODE_TABLES) for table in (TEMPLATES, GENERATORS, DOT_INSTRUCTIONS)
    )
    assert {"conv2d", "sketch", "narrow_products"} <= {key for key, _ in code_functions()}


@pytest.mark.parametrize(("table", "name"), [(DOT_INSTRUCTIONS, "narrow_products"), (GENERATORS, "sketch")])
def test_removing_a_technique_changes_the_key(monkeypatch, table: dict, name: str) -> None:
    before = task().key
    assert task().key == before

    monkeypatch.delitem(table, name)

    assert task().key != before


def test_kernels_are_not_cached_when_code_outside_the_package_takes_part(monkeypatch) -> None:
    assert task().cacheable

    monkeypatch.setitem(DOT_INSTRUCTIONS, "mine", DotInstructions(lambda target: 0, lambda *given: None))

    assert not task().cacheable


def test_an_operator_defined_outside_the_package_is_not_cached(monkeypatch) -> None:
    """This includes a formula for one element, whose wrapper is defined in the package."""
    monkeypatch.setattr(op, "OPERATORS", dict(op.OPERATORS))
    elemwise("test.twice", infer=lambda call, x: x, reference=lambda call, x: 2 * x)(
        lambda call, i, x: 2 * x[i]
    )
    x = relay.var("x", shape=(4,))

    assert not task(Module.from_expr(relay.Function([x], relay.make("test.twice", x)))).cacheable
