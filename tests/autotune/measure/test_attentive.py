"""Thinking beside a thread that talks to the machine: turns are short meanwhile, and as before after."""

from __future__ import annotations

import sys

from tvmlite.autotune.measure.attentive import PATIENCE, attentive


def test_turns_are_short_inside_and_as_before_outside() -> None:
    before = sys.getswitchinterval()
    with attentive():
        assert sys.getswitchinterval() <= PATIENCE * 1.01
        with attentive():
            pass
        assert sys.getswitchinterval() <= PATIENCE * 1.01
    assert sys.getswitchinterval() == before
