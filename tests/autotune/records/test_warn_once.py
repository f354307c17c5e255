"""Warnings of records: each message once, at the user's line."""

from __future__ import annotations

import pytest

from tvmlite.autotune.records.warn_once import WarnOnce


def report(messages: tuple[str, ...]) -> None:
    note = WarnOnce()
    for message in messages:
        note(message)


def report_twice() -> None:
    report(("one",))
    report(("one",))


def test_each_message_is_reported_once_at_the_users_line() -> None:
    with pytest.warns(UserWarning, match="one|two") as warned:
        report(("one", "two", "one"))

    assert [str(one.message) for one in warned] == ["one", "two"]
    assert {(one.filename, one.lineno) for one in warned} == {(__file__, report.__code__.co_firstlineno + 3)}


def test_another_run_reports_again() -> None:
    with pytest.warns(UserWarning, match="one") as warned:
        report_twice()

    assert len(warned) == 2
