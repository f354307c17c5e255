"""Graphs and texts of any depth give a result or a clear error, never a RecursionError."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.alike import alike
from tvmlite.core.errors import ParseError

DEEP = 2 * sys.getrecursionlimit()
x = relay.var("x", shape=(4,))
flag = relay.var("flag", shape=(), dtype="bool")


def chain() -> Any:
    value = x
    for _ in range(DEEP):
        value = value + 1.0
    return value


def nested_tuples() -> Any:
    value = x
    for _ in range(DEEP):
        value = relay.Tuple((value,))
    return value


def lets() -> Any:
    value: Any = x
    for number in range(DEEP):
        value = relay.Let(relay.var(f"v{number}", shape=(4,)), x, value)
    return value


def branches() -> Any:
    value: Any = x
    for _ in range(DEEP):
        value = relay.If(flag, value, x)
    return value


def calls_of_functions() -> Any:
    value: Any = x
    for _ in range(DEEP):
        inner = relay.var("inner", shape=(4,))
        value = relay.Function((inner,), inner)(value)
    return value


@pytest.mark.parametrize("make", [chain, nested_tuples, lets, branches, calls_of_functions])
def test_a_deep_graph_can_be_typed_and_printed(make: Any) -> None:
    value = make()

    relay.type_of(value)
    assert str(value)
    assert repr(value)


@pytest.mark.parametrize("make", [chain, lets])
def test_the_text_of_a_deep_graph_is_parsed(make: Any) -> None:
    module = relay.Module.from_expr(make())

    assert alike(relay.parse(module.astext()), module)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "add(" * 100_000 + "%x" + ", 1f)" * 100_000,
        "(" * 100_000,
        "(" * 100_000 + "%x" + ",)" * 100_000,
        "reshape(%x, newshape=" + "[" * 100_000 + "]" * 100_000 + ")",
        "if (%flag) { " * 10_000 + "%x" + " } else { %x }" * 10_000,
        "zeros(shape=[" + "(" * 100_000 + "n" + ")" * 100_000 + "])",
    ],
)
def test_a_too_deeply_nested_text_is_refused_with_a_short_error(text: str) -> None:
    head = "free_var %x: Tensor[(4,), float32];\nfree_var %flag: Tensor[(), bool];\n"

    with pytest.raises(ParseError, match=r"nested deeper than \d+") as caught:
        relay.parse_expr(head + text)

    assert len(str(caught.value)) < 1000


def test_a_chain_of_thousands_of_operators_is_compiled() -> None:
    made = tvmlite.compile(relay.Module.from_expr(chain()))(np.zeros(4, np.float32))

    assert made.tolist() == [DEEP] * 4


def test_a_pass_accepts_deeply_nested_tuples() -> None:
    module = relay.Module.from_expr(nested_tuples())

    assert relay.transform.AlterOpLayout()(module) is not None
