"""Errors end with the user's line that caused them, where there is one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.cli import main
from tvmlite.core.errors import InputError, TvmliteError

SCHEDULE: Any = 3


def copied() -> Any:
    a = te.placeholder((3,), name="A")
    b = te.compute((3,), lambda i: a[i], name="B")
    return te.create_schedule(b.op), [a, b]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: te.placeholder((3,), "flot32"), "dtype 'flot32' is not supported"),
        (lambda: te.var("n", "int33"), "dtype 'int33' is not supported"),
        (lambda: te.const(1, "word"), "dtype 'word' is not supported"),
        (lambda: te.compute((3,), lambda i: i.astype("flot")), "dtype 'flot' is not supported"),
        (lambda: tvmlite.lower(SCHEDULE, []), "lower: 3 is not a schedule"),
        (lambda: tvmlite.build(*copied(), target="nativ"), "target 'nativ' is of unknown kind 'nativ'"),
        (lambda: InputError("x is wrong"), "x is wrong"),
    ],
)
def test_an_error_about_a_call_shows_its_line(call: Callable[[], Any], message: str) -> None:
    try:
        told = str(call())
    except TvmliteError as error:
        told = str(error)
    assert re.search(rf"(?s){re.escape(message)}.*\n  at .*test_errors.py:\d+: \(lambda: ", told)


@pytest.mark.parametrize("target", ["native", "c"])
def test_an_error_about_arguments_shows_the_line_of_the_call(target: str) -> None:
    function = tvmlite.build(*copied(), target=target, name="copied")
    x = np.zeros(3, "f4")
    for call in (
        lambda: function(),
        lambda: function(x.astype("f8")),
        lambda: function(x[:2], x),
        lambda: function(x, C=x),
        lambda: function.time(x, x, x),
    ):
        with pytest.raises(InputError, match=r"(?s)copied: .*\n  at .*test_errors.py:\d+: lambda: function"):
            call()


def test_an_error_of_the_command_shows_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--n", "0"]) == 1
    assert capsys.readouterr().err == "tvmlite: InputError: --n is 0, expected at least 1\n"


def test_frames_of_the_standard_library_are_not_shown_as_the_users_line() -> None:
    module = tvmlite.relay.parse("def @main(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }")

    with pytest.raises(
        InputError, match=r"(?s)dimension 'n'.*\n  at .*test_errors.py:\d+: tvmlite.tune\("
    ) as caught:
        tvmlite.tune(module, trials=1)
    assert caught.value.hint == "give arrays with inputs=, or sizes with shape={'n': N}"
