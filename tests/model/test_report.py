"""The report says how each kernel was scheduled."""

from __future__ import annotations

import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.errors import ScheduleError
from tvmlite.relay.entry import lower
from tvmlite.te.templates import anchors
from tvmlite.te.templates.table import GENERATORS, TEMPLATES

SOFTMAX = "def @main(%x: Tensor[(4, 8), float32]) { nn.softmax(%x) }"


def schedules(text: str = SOFTMAX, target: str = "native") -> list[str]:
    return [row.schedule for row in tvmlite.compile(relay.parse(text), target).report.rows]


def test_a_template_is_reported_by_the_kind_of_its_anchor() -> None:
    assert schedules() == ["default softmax"]
    assert schedules() == ["default softmax"], "from the cache, too"
    assert schedules(target="c") == ["default softmax"]


def test_a_generated_schedule_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TEMPLATES, anchors.SOFTMAX, [])

    assert schedules() == ["default sketch (generated)"]
    assert schedules() == ["default sketch (generated)"], "from the cache, too"


def test_plain_loops_are_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TEMPLATES, anchors.SOFTMAX, [])
    monkeypatch.delitem(GENERATORS, "sketch")

    assert schedules() == ["default plain loops"]


def test_plain_loops_replace_a_schedule_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise ScheduleError("unroll: too long")

    monkeypatch.setattr(lower.schedules, "schedule_and_template", refuse)

    with pytest.warns(UserWarning, match="the default schedule does not fit its extents") as caught:
        assert schedules(target="c") == ["default plain loops"]
    assert caught[0].filename == __file__
