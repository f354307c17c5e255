"""Knobs and tuning spaces: the seam between schedules and the search for the best of them."""

from tvmlite.te.space.choices import AnnotateChoice, Choice, OptionChoice, ReorderChoice, SplitChoice
from tvmlite.te.space.config import (
    Config,
    ConfigEntity,
    ConfigSpace,
    FallbackConfig,
    VirtualAxis,
    get_config,
    using,
)

__all__ = [
    "AnnotateChoice",
    "Choice",
    "Config",
    "ConfigEntity",
    "ConfigSpace",
    "FallbackConfig",
    "OptionChoice",
    "ReorderChoice",
    "SplitChoice",
    "VirtualAxis",
    "get_config",
    "using",
]
