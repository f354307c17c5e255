"""A fixture for tests of passes that checks that two modules compute the same."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Module


def make_arguments(module: Module, seed: int = 0, **dims: int) -> list[np.ndarray]:
    """Seeded arguments for ``main``; ``dims`` gives named dimensions their values."""
    rng = np.random.default_rng(seed)
    shapes = [[d if isinstance(d, int) else dims[d.name] for d in p.type.shape] for p in module.main.params]
    return [
        (rng.standard_normal(shape) * 2).astype(p.type.dtype)
        for shape, p in zip(shapes, module.main.params, strict=True)
    ]


def _flat(value):
    return [x for v in value for x in _flat(v)] if isinstance(value, tuple) else [value]


@pytest.fixture
def assert_same_meaning():
    """Checks that two modules compute the same on seeded inputs."""

    def check(before: Module, after: Module, rtol: float = 1e-5, **dims: int) -> None:
        args = make_arguments(before, **dims)
        wanted, got = _flat(interpret(before, args)), _flat(interpret(after, args))
        assert len(wanted) == len(got)
        for a, b in zip(wanted, got, strict=True):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            np.testing.assert_allclose(b, a, rtol=rtol, atol=rtol * max(1.0, float(np.abs(a).max(initial=0))))

    return check
