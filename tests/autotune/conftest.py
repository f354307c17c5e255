"""A small template that the tests of the tuner share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from made_up_tuning import small_matmul

from tvmlite import autotune, te


@pytest.fixture
def matmul() -> Callable[[int, int, int], tuple[te.Schedule, list[te.Tensor]]]:
    """The template, to be called."""
    return autotune.template("tests.matmul", small_matmul)


@pytest.fixture
def task(matmul: object) -> autotune.Task:
    """A task with 50 configurations."""
    return autotune.create("tests.matmul", (16, 16, 16))


@pytest.fixture
def other_task(matmul: object) -> autotune.Task:
    """A task with other extents."""
    return autotune.create("tests.matmul", (8, 32, 16))
