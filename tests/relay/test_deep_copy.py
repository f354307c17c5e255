"""Deep copies of modules: graphs of any depth, and sharing is kept."""

from __future__ import annotations

import copy

import numpy as np

import tvmlite
from tvmlite import relay
from tvmlite.core.alike import alike


def _deep(calls: int) -> relay.IRModule:
    x = relay.var("x", (2, 3))
    body = x
    for _ in range(calls):
        body = relay.add(body, relay.nn.relu(body))
    return relay.IRModule.from_expr(relay.Function((x,), body))


def test_a_deep_graph_can_be_deep_copied() -> None:
    module = _deep(20_000)
    assert alike(copy.deepcopy(module), module)


def test_a_deep_copy_is_a_separate_module_with_equal_results() -> None:
    module = _deep(3)
    copied = copy.deepcopy(module)
    assert copied is not module
    assert copied.functions is not module.functions
    assert str(copied) == str(module)
    given = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
    np.testing.assert_array_equal(tvmlite.compile(copied)(given), tvmlite.compile(module)(given))


def test_variables_are_shared_by_deep_copies() -> None:
    """Thus a copied part fits the graph that it was taken from."""
    x = relay.var("x", (2,))
    body = copy.deepcopy(relay.nn.relu(x))
    assert body.args == (x,)
