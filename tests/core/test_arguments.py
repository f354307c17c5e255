"""Argument checks return valid values; errors name the parameter, its value and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tvmlite.core import arguments
from tvmlite.core.errors import InputError


def test_valid_arguments_are_returned() -> None:
    assert arguments.number("f: x", 3) == 3.0
    assert arguments.path("f: x", "a.so") == Path("a.so") == arguments.path("f: x", Path("a.so"))
    assert arguments.extents("f: x", [2, np.int64(3)]) == (2, 3)
    assert arguments.extents("f: x", 4) == (4,)
    assert arguments.instance("f: x", 2.5, (int, float), "a number") == 2.5
    assert arguments.all_instances("f: x", ["a", 1], (str, int), "a word or a number") == ("a", 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: arguments.number("f: x", 0, e), "f: x: 0 given, expected a number more than 0"),
        (lambda e: arguments.number("f: x", True, e), "f: x: True given, expected a number more than 0"),
        (lambda e: arguments.number("f: x", float("nan"), e), "f: x: nan given, expected a number more"),
        (lambda e: arguments.number("f: x", np.ones(2), e), "f: x: a ndarray given, expected a number more"),
        (lambda e: arguments.path("f: x", 3, e), "f: x: 3 given, expected a path"),
        (lambda e: arguments.path("f: x", "a\0b", e), r"f: x: 'a\x00b' given, expected a path"),
        (lambda e: arguments.path("f: x", "a" * 300, e), f"f: x: '{'a' * 56}... given, expected a path"),
        (lambda e: arguments.extents("f: x", (2, -1), e), "f: x: -1 given, expected an int of at least 0"),
        (lambda e: arguments.extents("f: x", "ab", e), "f: x: 'ab' given, expected an int of at least 0"),
        (lambda e: arguments.instance("f: x", "a", (int, float), "a number", e), "f: x: 'a' given, expected"),
    ],
)
def test_invalid_arguments_are_named(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        call(InputError)

    assert str(raised.value).startswith(message)
    assert "test_arguments.py" in str(raised.value)
