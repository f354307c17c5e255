"""Knobs and tuning spaces: the interface between schedules and the search for the best ones."""

from tvmlite.te.space.choices import AnnotateChoice, Choice, OptionChoice, ReorderChoice, SplitChoice
from tvmlite.te.space.config import (
    Config,
    ConfigEntity,
    ConfigSpace,
    FallbackConfig,
    VirtualAxis,
)
from tvmlite.te.space.rules import RULE, RuleSpace, rule_of
from tvmlite.te.space.task import (
    Task,
    create,
    decode_args,
    encode_args,
    template,
)

__all__ = [
    "RULE",
    "AnnotateChoice",
    "Choice",
    "Config",
    "ConfigEntity",
    "ConfigSpace",
    "FallbackConfig",
    "OptionChoice",
    "ReorderChoice",
    "RuleSpace",
    "SplitChoice",
    "Task",
    "VirtualAxis",
    "create",
    "decode_args",
    "encode_args",
    "rule_of",
    "template",
]
