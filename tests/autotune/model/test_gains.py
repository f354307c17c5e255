"""The model of gains: it survives its file, says where it counts, and what is none is refused."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from made_up_gains import gains_by, worth

from tvmlite.autotune.model import gains
from tvmlite.autotune.model.gains import Gains
from tvmlite.autotune.model.loop_features import NAMES, WIDTH
from tvmlite.core.errors import ParseError
from tvmlite.machine.target import Target

MODEL = gains_by("beside the default: cycles", 1.0, pool=worth(), conv2d=worth(doubt=1.25))


def test_what_counts_is_the_difference_from_the_default() -> None:
    default = np.full(WIDTH, 3, np.float32)
    rows = np.stack([default, default])
    rows[1, NAMES.index("cycles")] += 1

    assert MODEL(default, rows).tolist() == [-1, 1]


def test_a_model_survives_json() -> None:
    again = Gains.from_json(MODEL.to_json())

    assert again.to_json() == MODEL.to_json()
    assert again.kinds == MODEL.kinds
    assert again.target == MODEL.target


@pytest.mark.parametrize(
    ("target", "is_known"),
    [
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5", True),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids -mattr=+prefer-256-bit -vector-bits=512", True),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", False),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", False),
        ("c -vector-bits=512", False),
    ],
)
def test_it_counts_on_processors_like_the_one_that_was_measured(target: str, is_known: bool) -> None:
    model = Gains(MODEL.trees, {}, Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"))

    assert model.knows(Target.parse(target)) is is_known


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kinds": None}, "it does not say what it is worth, and where"),
        ({"target": 5}, "it does not say what it is worth, and where"),
        ({"kinds": {"pool": {"doubt": 1}}}, "of 'pool' it tells {'doubt': 1}, expected tasks, doubt"),
        ({"features": ["of", "old"]}, "trained on other features than there are now"),
    ],
)
def test_what_is_no_model_is_refused(change: dict[str, object], told: str) -> None:
    text = json.dumps(json.loads(MODEL.to_json()) | change)

    with pytest.raises(ParseError, match=re.escape(told)):
        Gains.from_json(text)


def test_numbers_that_are_none_are_refused() -> None:
    text = MODEL.to_json().replace("1.25", "NaN")

    with pytest.raises(ParseError, match="of 'conv2d' some numbers are none"):
        Gains.from_json(text)


def test_the_model_of_the_package_says_for_some_kinds_what_it_is_worth() -> None:
    model = gains.shipped()

    assert model is not None
    assert any(trust.gaining for trust in model.kinds.values())
    assert all(trust.doubt >= 0 and trust.tasks > 0 for trust in model.kinds.values())
