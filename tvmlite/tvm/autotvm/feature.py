"""AutoTVM's features of loops, which are not computed here."""

from __future__ import annotations

from typing import Any, NoReturn

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span


def _refuse(name: str) -> NoReturn:
    raise UnsupportedError(
        f"autotvm.feature.{name}: features of loop variables and buffer touches are not computed; the "
        "cost model "
        "here looks at statements",
        Span.of_caller(),
        hint="tvmlite.autotune.model.loop_features.loop_features gives what it sees",
    )


def get_itervar_feature(sch: Any, args: Any, take_log: bool = False) -> NoReturn:
    """An UnsupportedError."""
    _refuse("get_itervar_feature")


def get_itervar_feature_flatten(sch: Any, args: Any, take_log: bool = True) -> NoReturn:
    """An UnsupportedError."""
    _refuse("get_itervar_feature_flatten")


def get_buffer_curve_sample_flatten(sch: Any, args: Any, sample_n: int = 30) -> NoReturn:
    """An UnsupportedError."""
    _refuse("get_buffer_curve_sample_flatten")


def flatten_itervar_feature(fea: Any) -> NoReturn:
    """An UnsupportedError."""
    _refuse("flatten_itervar_feature")
