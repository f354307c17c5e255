"""Keys of kernels name all that makes their code."""

from __future__ import annotations

import pytest

from tvmlite import relay
from tvmlite.core.techniques import CODE_TABLES, code_functions
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.entry.kernels import KernelTask, kernel_tasks
from tvmlite.te.templates.table import GENERATORS, TEMPLATES
from tvmlite.techniques.common.dot import DOT_INSTRUCTIONS, DotInstructions

TARGET = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")


def task() -> KernelTask:
    module = relay.parse("def @main(%x: Tensor[(4, 8), float32]) { nn.softmax(%x) }")
    ((one,), _) = kernel_tasks(passes.pipeline(3, TARGET).run(module), TARGET)
    return one


def test_every_table_that_makes_code_is_in_the_key() -> None:
    assert all(
        any(one is table for one in CODE_TABLES) for table in (TEMPLATES, GENERATORS, DOT_INSTRUCTIONS)
    )
    assert {"conv2d", "sketch", "narrow_products"} <= {key for key, _ in code_functions()}


@pytest.mark.parametrize(("table", "name"), [(DOT_INSTRUCTIONS, "narrow_products"), (GENERATORS, "sketch")])
def test_a_technique_that_is_removed_changes_the_key(monkeypatch, table: dict, name: str) -> None:
    before = task().key
    assert task().key == before

    monkeypatch.delitem(table, name)

    assert task().key != before


def test_kernels_are_not_cached_beside_code_from_outside_of_the_package(monkeypatch) -> None:
    assert task().cacheable

    monkeypatch.setitem(DOT_INSTRUCTIONS, "mine", DotInstructions(lambda target: 0, lambda *given: None))

    assert not task().cacheable
