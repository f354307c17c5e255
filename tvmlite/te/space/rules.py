"""A space of several rules, which combines handwritten templates with generated schedules.

A rule is a way to schedule a computation, with its own knobs. The candidates of a task are those of all its
rules, one after another; a setting named ``"rule"`` identifies the rule of a candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.te.space.choices import Choice, OptionChoice
from tvmlite.te.space.config import Config, ConfigEntity, ConfigSpace

RULE = "rule"
"""The name of the setting that identifies the rule of a configuration."""


def rule_of(config: Config) -> str | None:
    """The rule that ``config`` names; None if it names none, because the task has only one."""
    if RULE not in config or not isinstance(choice := config[RULE], OptionChoice):
        return None
    return None if choice.val is None else str(choice.val)


class RuleSpace(ConfigSpace):
    """The configurations of ``rules``, by name: all of the first rule, then all of the second, and so on.

    ::

        space = RuleSpace({"hand": of_template, "sketch": of_sketch})
        space.get(len(of_template))        # the first of the sketch's: rule sketch; ...

    Seen as knobs, the space has a knob ``rule`` and the knobs of each rule (``"sketch.tile"``); for a
    configuration, the knobs of other rules have no meaning.
    """

    def __init__(self, rules: Mapping[str, ConfigSpace]) -> None:
        super().__init__()
        if not rules:
            raise ScheduleError("RuleSpace: no rule is given", Span.of_caller())
        for name, space in rules.items():
            if RULE in space.space_map:
                raise ScheduleError(
                    f"RuleSpace: rule {name!r} has a knob {RULE!r}, which distinguishes rules",
                    Span.of_caller(),
                )
        self.rules = dict(rules)
        self.flop = max(space.flop for space in rules.values())
        self.space_map = {RULE: [OptionChoice(name) for name in rules]}
        for name, space in rules.items():
            self.space_map |= {f"{name}.{knob}": choices for knob, choices in space.space_map.items()}
        self._starts = np.cumsum([0, *(space.range_length for space in rules.values())]).astype(np.int64)
        widths = [len(space.space_map) for space in rules.values()]
        self._columns = np.cumsum([1, *widths]).tolist()

    def _define(self, name: str, settings: object) -> None:
        raise ScheduleError(f"knob {name!r}: a space of rules has the knobs of its rules", Span.of_caller())

    @property
    def range_length(self) -> int:
        """See ``ConfigSpace``: the total of all rules."""
        return sum(space.range_length for space in self.rules.values())

    def _mask(self) -> np.ndarray | None:
        """The numbers that pass the filters, including those of the rules' own spaces."""
        masks = [(space, space._mask()) for space in self.rules.values()]
        own = super()._mask()
        if own is None and all(mask is None for _, mask in masks):
            return None
        of_rules = [np.ones(space.range_length, bool) if mask is None else mask for space, mask in masks]
        return np.concatenate(of_rules) & (True if own is None else own)

    def _at(self, index: int) -> ConfigEntity:
        """The combination with number ``index``, including its rule."""
        place = int(np.searchsorted(self._starts, index, side="right")) - 1
        name, space = list(self.rules.items())[place]
        chosen = space._at(int(index) - int(self._starts[place])).settings
        return ConfigEntity({RULE: OptionChoice(name), **chosen}, int(index))

    def index_of(self, settings: Mapping[str, Choice]) -> int | None:
        """The number of a combination; None if it is not in the space."""
        others = dict(settings)
        rule = others.pop(RULE, None)
        for start, (name, space) in zip(self._starts.tolist(), self.rules.items(), strict=False):
            if rule == OptionChoice(name):
                found = space.index_of(others)
                return None if found is None else start + found
        return None

    def knobs_of(self, config: Config) -> Mapping[str, Sequence[Choice]]:
        """See ``ConfigSpace``; empty if there is no such rule."""
        rule = rule_of(config)
        if rule not in self.rules:
            return {}
        return {RULE: self.space_map[RULE], **self.rules[rule].space_map}

    def positions(self, indices: np.ndarray) -> np.ndarray:
        """See ``ConfigSpace``; knobs of other rules have their first setting."""
        numbers = np.asarray(indices, np.int64)
        found = np.zeros((len(numbers), len(self.space_map)), np.int64)
        found[:, 0] = np.searchsorted(self._starts, numbers, side="right") - 1
        for rule, space in enumerate(self.rules.values()):
            of_rule = found[:, 0] == rule
            columns = slice(self._columns[rule], self._columns[rule + 1])
            found[of_rule, columns] = space.positions(numbers[of_rule] - self._starts[rule])
        return found

    def numbers(self, places: np.ndarray) -> np.ndarray:
        """The inverse of ``positions``; the knobs of other rules are ignored."""
        places = np.asarray(places, np.int64)
        found = np.zeros(len(places), np.int64)
        for rule, space in enumerate(self.rules.values()):
            of_rule = places[:, 0] == rule
            columns = slice(self._columns[rule], self._columns[rule + 1])
            found[of_rule] = self._starts[rule] + space.numbers(places[of_rule, columns])
        return found

    def sample(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """Random numbers; all rules are equally likely, whatever their numbers of configurations."""
        if self._mask() is not None:
            return super().sample(count, generator)
        rules = generator.integers(0, len(self.rules), count)
        sizes = np.diff(self._starts)
        return self._starts[rules] + generator.integers(0, sizes[rules])

    def __str__(self) -> str:
        parts = [f"rule {name}: {space}" for name, space in self.rules.items()]
        return "\n".join([f"{len(self)} combinations of {len(self.rules)} rules", *parts])
