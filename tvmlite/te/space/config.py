"""Tuning spaces: the knobs that a schedule function defines, and one setting of them.

A schedule function defines its knobs and uses them as it runs::

    cfg = autotune.get_config()
    y, x = s[C].op.axis
    cfg.define_split("tile_y", y, num_outputs=2)
    yo, yi = cfg["tile_y"].apply(s, C, y)

Run with a ``ConfigSpace``, it collects its knobs; with a ``ConfigEntity``, it gets one setting of them; with
a ``FallbackConfig``, it gets a default setting that was not measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.te.expr import Const
from tvmlite.te.space import knobs
from tvmlite.te.space.choices import (
    ANNOTATIONS,
    AnnotateChoice,
    Choice,
    OptionChoice,
    ReorderChoice,
    SplitChoice,
)
from tvmlite.te.space.joint_filters import JointFilters
from tvmlite.te.tensor.tensor import IterVar

MOST = (1 << 63) - 1
"""The most combinations that can be numbered, including those of several rules one after another."""


@dataclass(frozen=True)
class VirtualAxis:
    """Represents a loop where only its extent matters."""

    length: int


class Config:
    """The configuration that a schedule function runs with: it defines knobs and reads their settings.

    ``cfg[name]`` is the setting of a knob. Knobs are defined as the function executes; their order must not
    depend on their settings.
    """

    is_fallback = False

    def __init__(self) -> None:
        self.flop = 0

    def define_split(
        self,
        name: str,
        axis: IterVar | VirtualAxis | int,
        num_outputs: int = 2,
        policy: str = "factors",
        filter: Callable[[SplitChoice], bool] | None = None,
        max_factor: int | None = None,
        candidate: Sequence[Sequence[int]] | None = None,
        no_tail: bool = False,
    ) -> list[VirtualAxis]:
        """Define a knob that splits a loop into ``num_outputs`` (policies: ``knobs.split_choices``).

        ``axis`` is a loop, or its extent. Returns placeholders for the resulting loops.
        """
        length = _length(name, axis)
        self._define(
            name,
            lambda: knobs.split_choices(length, num_outputs, policy, filter, max_factor, candidate, no_tail),
        )
        return [VirtualAxis(length)] * num_outputs

    def define_reorder(
        self,
        name: str,
        axes: Sequence[Any],
        policy: str,
        candidate: Sequence[Sequence[int]] | None = None,
        interval: tuple[int, int] | None = None,
        groups: Sequence[Sequence[int]] | None = None,
    ) -> list[Any]:
        """Define a knob for the order of ``axes`` (policies: ``knobs.reorder_choices``)."""
        if interval is not None:
            groups = [interval]
        _check_axes("define_reorder", axes)
        self._define(name, lambda: knobs.reorder_choices(len(axes), policy, candidate, groups))
        return list(axes)

    def define_annotate(
        self, name: str, axes: Sequence[Any], policy: str, candidate: Sequence[Sequence[str]] | None = None
    ) -> list[Any]:
        """Define a knob that annotates ``axes``, outermost first (policies: ``knobs.annotate_choices``)."""
        _check_axes("define_annotate", axes)
        self._define(name, lambda: knobs.annotate_choices(len(axes), policy, candidate))
        return list(axes)

    def define_knob(self, name: str, candidate: Sequence[Any]) -> None:
        """Define a knob with the values ``candidate``; ``cfg[name].val`` is the chosen one."""
        self._define(name, lambda: knobs.option_choices(candidate))

    def suggest(self, name: str, choice: Choice) -> None:
        """Suggest a default for the knob ``name``, which a ``FallbackConfig`` uses; others ignore it."""

    def add_flop(self, flop: float) -> None:
        """Count ``flop`` arithmetic operations; if never called, they are counted from the computation."""
        is_number = isinstance(flop, (int, float)) and not isinstance(flop, bool)
        if not is_number or not 0 <= flop < math.inf:
            raise arguments.refused("add_flop: flop", flop, "a number of at least 0", ScheduleError)
        self.flop += flop

    @staticmethod
    def axis(length: int | IterVar) -> VirtualAxis:
        """A placeholder for a loop of ``length`` iterations."""
        return VirtualAxis(_length("axis", length))

    reduce_axis = axis

    def __getitem__(self, name: str) -> Any:
        """The setting of the knob ``name``."""
        choices = self._settings()
        if not isinstance(name, str) or name not in choices:
            known = ", ".join(choices) or "none so far"
            given = arguments.shown(name)
            raise ScheduleError(f"there is no knob {given}; there are {known}", Span.of_caller())
        return choices[name]

    def __contains__(self, name: str) -> bool:
        return name in self._settings()

    def _define(self, name: str, settings: Callable[[], list[Any]]) -> None:
        raise NotImplementedError

    def _settings(self) -> Mapping[str, Choice]:
        raise NotImplementedError


class ConfigSpace(Config):
    """All combinations of the settings of its knobs, numbered from 0; the first knob varies fastest."""

    def __init__(self) -> None:
        super().__init__()
        self.space_map: dict[str, list[Choice]] = {}
        self._filters = JointFilters()

    def _define(self, name: str, settings: Callable[[], list[Any]]) -> None:
        if arguments.text("a knob's name", name, ScheduleError) not in self.space_map:
            self.space_map[name] = settings()
            self._filters.forget()

    def multi_filter(self, filter: Callable[[ConfigEntity], bool]) -> None:
        """Keep only the combinations for which ``filter(combination)`` is true, which may involve several
        knobs. Numbers do not change, but those of other combinations become invalid.

        All combinations are tested: a space with more than ``MOST_FILTERED`` is a ScheduleError.
        """
        self._filters.add(filter)

    @property
    def range_length(self) -> int:
        """The number of all combinations, including those that ``multi_filter`` excludes."""
        return math.prod(self.dims)

    def is_index_valid(self, index: int) -> bool:
        """Whether ``index`` is the number of a combination that ``multi_filter`` keeps."""
        valid = self._mask()
        return 0 <= index < self.range_length and (valid is None or bool(valid[index]))

    def indices(self) -> Sequence[int]:
        """The numbers of all valid configurations, ascending."""
        valid = self._mask()
        return range(self.range_length) if valid is None else np.flatnonzero(valid).tolist()

    def _mask(self) -> np.ndarray | None:
        """For each number, whether the configuration is valid; None if all are."""
        return self._filters.valid(self.range_length, self._at) if self._filters else None

    def _settings(self) -> Mapping[str, Choice]:
        return {name: choices[0] for name, choices in self.space_map.items()}

    @property
    def dims(self) -> list[int]:
        """The number of settings of each knob."""
        return [len(choices) for choices in self.space_map.values()]

    def __len__(self) -> int:
        valid = self._mask()
        return self.range_length if valid is None else int(valid.sum())

    def get(self, index: int) -> ConfigEntity:
        """The combination with number ``index``."""
        index = arguments.whole("get: index", index, ScheduleError)
        if not 0 <= index < self.range_length:
            raise ScheduleError(f"config {index} of a space of {self.range_length}", Span.of_caller())
        if not self.is_index_valid(index):
            raise ScheduleError(f"config {index} is left out by multi_filter", Span.of_caller())
        return self._at(index)

    def _at(self, index: int) -> ConfigEntity:
        """The combination with number ``index``, filtered or not."""
        chosen: dict[str, Choice] = {}
        left = int(index)
        for name, choices in self.space_map.items():
            left, place = divmod(left, len(choices))
            chosen[name] = choices[place]
        return ConfigEntity(chosen, int(index))

    def knobs_of(self, config: Config) -> Mapping[str, Sequence[Choice]]:
        """The settings of each knob that configurations like ``config`` have."""
        return self.space_map

    def index_of(self, settings: Mapping[str, Choice]) -> int | None:
        """The number of a combination; None if it is not in the space."""
        if settings.keys() != self.space_map.keys():
            return None
        index, weight = 0, 1
        for name, choices in self.space_map.items():
            if settings[name] not in choices:
                return None
            index += weight * choices.index(settings[name])
            weight *= len(choices)
        return index if self.is_index_valid(index) else None

    def own(self, config: ConfigEntity) -> ConfigEntity | None:
        """``config`` with this space's own setting objects; None if it is not in the space. Settings read
        from a file may be 4.0 or true for 4 or 1, which are equal, but a schedule cannot split by 4.0."""
        number = self.index_of(config.settings)
        return None if number is None else ConfigEntity(self.get(number).settings)

    def thin(self, most: int, kept: Mapping[str, Choice]) -> None:
        """Remove settings of the knobs that have the most, until there are at most ``most`` combinations.

        The settings in ``kept`` stay. Of the remaining settings of a knob, half are its first ones, which are
        the best where settings are ranked, and half are spread evenly over the others.
        """
        sizes = self.dims
        while math.prod(sizes) > most:
            largest = max(reversed(range(len(sizes))), key=sizes.__getitem__)
            sizes[largest] -= max(1, sizes[largest] // 8)
        for (name, choices), size in zip(self.space_map.items(), sizes, strict=True):
            first = size // 2
            rest, left = choices[first:], size - first
            thinned = choices[:first] + [rest[n * len(rest) // left] for n in range(left)]
            if kept.get(name) in choices and kept[name] not in thinned:
                thinned[-1] = kept[name]
            self.space_map[name] = thinned

    def positions(self, indices: np.ndarray) -> np.ndarray:
        """The position of each knob's setting, ``(len(indices), len(dims))``, for many numbers at once."""
        left = np.asarray(indices, np.int64)
        columns = []
        for size in self.dims:
            columns.append(left % size)
            left = left // size
        return np.stack(columns, axis=1) if columns else np.zeros((len(left), 0), np.int64)

    def numbers(self, places: np.ndarray) -> np.ndarray:
        """The inverse of ``positions``."""
        weights = np.cumprod([1, *self.dims[:-1]]).astype(np.int64) if self.dims else np.zeros(0, np.int64)
        return np.asarray(places, np.int64) @ weights

    def sample(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """``count`` random numbers of valid configurations."""
        valid = self._mask()
        if valid is None:
            return generator.integers(0, self.range_length, count)
        return generator.choice(np.flatnonzero(valid), count)

    def __str__(self) -> str:
        lines = [f"{len(self)} combinations"]
        for name, choices in self.space_map.items():
            shown = ", ".join(map(str, choices[:6])) + (", ..." if len(choices) > 6 else "")
            lines.append(f"  {name}: {len(choices)} ({shown})")
        return "\n".join(lines)


class ConfigEntity(Config):
    """One setting of every knob. ``index`` is its number in its space, or None if it came from elsewhere."""

    def __init__(self, settings: Mapping[str, Choice], index: int | None = None) -> None:
        super().__init__()
        where, kinds = "ConfigEntity: settings", get_args(Choice)
        self.settings = arguments.mapping(where, settings, ScheduleError)
        arguments.all_instances(where, self.settings, str, "the name of a knob", ScheduleError)
        arguments.all_instances(where, self.settings.values(), kinds, "a choice of a knob", ScheduleError)
        self.index = (
            None if index is None else arguments.whole("ConfigEntity: index", index, ScheduleError, least=0)
        )

    def _define(self, name: str, settings: Callable[[], list[Any]]) -> None:
        if name not in self.settings:
            raise ScheduleError(
                f"the schedule asks for a knob {name!r} that its configuration does not set",
                Span.of_caller(),
                hint="the configuration was made by another version of the template",
            )

    def _settings(self) -> Mapping[str, Choice]:
        return self.settings

    def to_json_dict(self) -> dict[str, Any]:
        """The settings as JSON types, for ``from_json_dict``."""
        return {name: _encode(choice) for name, choice in self.settings.items()}

    @staticmethod
    def from_json_dict(fields: Any) -> ConfigEntity:
        """The settings that ``to_json_dict`` wrote; a ScheduleError if ``fields`` have another form."""
        if not isinstance(fields, dict) or not all(isinstance(name, str) for name in fields):
            raise arguments.refused("knobs", fields, "names and settings", ScheduleError)
        return ConfigEntity({name: _decode(name, value) for name, value in fields.items()})

    def __str__(self) -> str:
        text = "; ".join(f"{name} {choice}" for name, choice in self.settings.items())
        return text if self.index is None else f"{self.index}: {text}"


class FallbackConfig(Config):
    """Settings that were not measured: the first of each knob, unless the template suggests another.

    A template that knows good defaults sets them: ``cfg.fallback_split("tile", [-1, 64])`` if
    ``cfg.is_fallback``, or ``cfg["tile"] = SplitChoice((-1, 64))``.
    """

    is_fallback = True

    def __init__(self) -> None:
        super().__init__()
        self.space_map: dict[str, list[Choice]] = {}
        self.settings: dict[str, Choice] = {}

    def _define(self, name: str, settings: Callable[[], list[Any]]) -> None:
        if name not in self.space_map:
            self.space_map[name] = settings()
            self.settings.setdefault(name, self.space_map[name][0])

    def _settings(self) -> Mapping[str, Choice]:
        return self.settings

    def __setitem__(self, name: str, choice: Choice) -> None:
        self.settings[name] = choice

    def suggest(self, name: str, choice: Choice) -> None:
        """Set the knob to the suggestion; see ``Config``."""
        self.settings[name] = choice

    def fallback_split(self, name: str, constraints: Sequence[int]) -> None:
        """Set the split ``name`` to the largest extents not above ``constraints`` (-1: no bound).

        Extents are chosen from the innermost outwards, as AutoTVM does.
        """
        fitting = [c for c in self.space_map.get(name, []) if _fits(c, constraints)]
        if not fitting:
            raise ScheduleError(
                f"fallback_split: knob {name!r} has no split within {list(constraints)}", Span.of_caller()
            )
        self.settings[name] = max(fitting, key=lambda c: c.size[::-1])  # type: ignore[union-attr]


def _fits(choice: Choice, constraints: Sequence[int]) -> bool:
    if not isinstance(choice, SplitChoice) or len(choice.size) != len(constraints):
        return False
    pairs = zip(choice.size, constraints, strict=True)
    return all(bound == -1 or 1 <= length <= bound for length, bound in pairs)


def _check_axes(where: str, axes: Any) -> None:
    """Raise a ScheduleError if ``axes``, loops or placeholders for them, are not a sequence."""
    arguments.instance(f"{where}: axes", axes, Sequence, "a list of axes", ScheduleError)


def _length(name: str, axis: IterVar | VirtualAxis | int) -> int:
    extent = axis
    if isinstance(axis, VirtualAxis):
        extent = axis.length
    elif isinstance(axis, IterVar):
        extent = None if axis.dom is None else axis.dom.extent
    if isinstance(extent, Const):
        extent = int(extent.value)
    if not isinstance(extent, int) or isinstance(extent, bool) or extent < 1:
        raise ScheduleError(
            f"knob {name!r}: the axis has no length that is known and positive", Span.of_caller()
        )
    return extent


def _encode(choice: Choice) -> list[Any]:
    match choice:
        case SplitChoice(size):
            return ["sp", list(size)]
        case ReorderChoice(permutation):
            return ["re", list(permutation)]
        case AnnotateChoice(annotations):
            return ["an", list(annotations)]
        case OptionChoice(val):
            return ["ot", val]


def _decode(name: Any, value: Any) -> Choice:
    match value:
        case ["sp", [first, *inner]] if _whole(first) and all(_whole(one) and one >= 1 for one in inner):
            return SplitChoice((first, *inner))
        case ["re", [*order]] if all(map(_whole, order)) and sorted(order) == list(range(len(order))):
            return ReorderChoice(tuple(order))
        case ["an", [*words]] if all(word in ANNOTATIONS for word in words):
            return AnnotateChoice(tuple(words))
        case ["ot", (None | bool() | int() | float() | str()) as val]:
            return OptionChoice(val)
        case _:
            raise ScheduleError(
                f"knob {name!r}: {arguments.shown(value)} is no setting of a knob", Span.of_caller()
            )


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -1 <= value < 1 << 62
