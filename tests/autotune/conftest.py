"""A small template that the tests of the tuner share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tvmlite import autotune, te


def small_matmul(n: int, m: int, k: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """A matrix product with a knob for each loop."""
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="r")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    s = te.create_schedule(c.op)
    cfg = autotune.get_config()
    y, x = s[c].op.axis
    cfg.define_split("y", y, num_outputs=2)
    cfg.define_split("x", x, num_outputs=2)
    cfg.define_knob("vectorize", [False, True])
    yo, yi = cfg["y"].apply(s, c, y)
    xo, xi = cfg["x"].apply(s, c, x)
    s[c].reorder(yo, xo, s[c].op.reduce_axis[0], yi, xi)
    if cfg["vectorize"].val:
        s[c].vectorize(xi)
    return s, [a, b, c]


@pytest.fixture
def matmul() -> Callable[[int, int, int], tuple[te.Schedule, list[te.Tensor]]]:
    """The template, to be called."""
    return autotune.template("tests.matmul", small_matmul)


@pytest.fixture
def task(matmul: object) -> autotune.Task:
    """Of 50 configurations."""
    return autotune.create("tests.matmul", (16, 16, 16))
