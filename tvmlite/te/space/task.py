"""Tuning tasks: a schedule function with its arguments and a target, and the space of its knobs."""

from __future__ import annotations

import functools
import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.space.choices import Choice, OptionChoice
from tvmlite.te.space.config import MOST, Config, ConfigEntity, ConfigSpace, FallbackConfig
from tvmlite.te.space.rules import RULE, RuleSpace
from tvmlite.te.tensor.declare import placeholder
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.te.tensor.work import operations

ScheduleFunction: TypeAlias = Callable[..., tuple[Schedule, Sequence[Any]]]
"""Takes a task's arguments, returns a schedule and the arguments of the function to build."""

Rules: TypeAlias = Callable[..., Sequence[str]]
"""Returns the names of the rules that can schedule a task with these arguments, the default first."""

Cold: TypeAlias = Callable[..., Sequence[int]]
"""Returns the positions of the buffers that are not in cache when a task with these arguments is called."""


@dataclass(frozen=True)
class Template:
    """A schedule function from which tasks are created."""

    function: ScheduleFunction
    rules: Rules | None
    cold: Cold | None

    def run(self, args: Sequence[Any], target: Target, config: Config) -> Any:
        """Call the function with ``args``, and with ``config`` and ``target`` if it takes them."""
        given = {"config": config, "target": target}
        return self.function(*args, **{name: given[name] for name in keywords(self.function)})


_TEMPLATES: dict[str, Template] = {}


def keywords(function: Callable[..., Any]) -> list[str]:
    """Which of ``config`` and ``target`` the function takes as keyword-only parameters."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in ("config", "target")]


def template(
    name: str, function: ScheduleFunction | None = None, rules: Rules | None = None, cold: Cold | None = None
) -> Any:
    """Register a schedule function under ``name``: as a decorator, or passed as ``function`` and returned.

    ::

        @template("matmul")
        def matmul(n, m, k, *, config):
            ...                            # te.compute, te.create_schedule
            config.define_split("tile_y", y, num_outputs=2)
            ...                            # config["tile_y"].apply(s, C, y)
            return s, [A, B, C]

    A name can be registered again, as happens when a notebook cell is rerun: the last function counts.

    ``rules`` names several ways to schedule the task, each with its own knobs: the function calls ``rule_of``
    on its configuration for the rule to use; None means the first. ``cold`` says which buffers are read from
    memory when the kernel is called in practice, such as a model's weights; measurements reproduce this.
    """
    if function is None:
        return functools.partial(template, name, rules=rules, cold=cold)
    if not arguments.text("template: name", name, ScheduleError):
        raise ScheduleError(f"template: name {name!r} given, expected a word", Span.of_caller())
    arguments.function("template: function", function, ScheduleError)
    if rules is not None:
        arguments.function("template: rules", rules, ScheduleError)

    _TEMPLATES[name] = Template(function, rules, cold)
    return function


@dataclass(frozen=True)
class Task:
    """A schedule function ``name`` with ``args``, to be tuned for ``target``.

    ``config_space`` holds all configurations, ``flop`` is the number of arithmetic operations of one call,
    ``moved`` the bytes of its arrays, each of which is moved at least once. The buffers at the positions
    ``cold`` are not in cache when it is called. ``label`` is the name to display, if there is one.
    """

    name: str
    args: tuple[Any, ...]
    target: Target
    config_space: ConfigSpace
    flop: float
    moved: int = 0
    cold: tuple[int, ...] = ()
    label: str = ""

    def __post_init__(self) -> None:
        arguments.text("Task: name", self.name, ScheduleError)
        arguments.text("Task: label", self.label, ScheduleError)
        arguments.instance("Task: args", self.args, tuple, "a tuple", ScheduleError)
        arguments.instance("Task: target", self.target, Target, "a target", ScheduleError)
        arguments.instance(
            "Task: config_space", self.config_space, ConfigSpace, "a ConfigSpace", ScheduleError
        )
        arguments.instance("Task: flop", self.flop, (int, float), "a number", ScheduleError)
        arguments.whole("Task: moved", self.moved, ScheduleError, least=0)
        for place in arguments.listed("Task: cold", self.cold, "places of buffers", ScheduleError):
            arguments.whole("Task: cold", place, ScheduleError, least=0)

    def instantiate(self, config: Config) -> tuple[Schedule, list[Any]]:
        """The schedule with its knobs set by ``config``, and the function's arguments."""
        arguments.instance("instantiate: config", config, Config, "a configuration", ScheduleError)
        return _run(self.name, self.args, self.target, config)

    @cached_property
    def default(self) -> ConfigEntity:
        """The configuration used without records: the default of the first rule."""
        return self.defaults[0]

    @cached_property
    def defaults(self) -> tuple[ConfigEntity, ...]:
        """The default configuration of each rule, in order."""
        rules = self.config_space.space_map[RULE] if isinstance(self.config_space, RuleSpace) else ()
        return tuple(self._default_of({RULE: rule}) for rule in rules) or (self._default_of({}),)

    def _default_of(self, rule: Mapping[str, Choice]) -> ConfigEntity:
        fallback = FallbackConfig()
        fallback.settings.update(rule)
        self.instantiate(fallback)
        return ConfigEntity(dict(fallback.settings))

    @property
    def key(self) -> str:
        """A key that identifies the task on a machine: its name and arguments, as JSON."""
        return json.dumps([self.name, encode_args(self.args)])

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.args))
        return f"{self.name}({shown}) for {self.target}: {self.config_space}"


def create(
    name: str,
    args: Sequence[Any],
    target: str | Target = "native",
    collected: ConfigSpace | None = None,
) -> Task:
    """Create the task of the template ``name`` with ``args`` (numbers, strings, tensors, and lists of them).

    Its knobs are collected into ``collected``, if given: a template with a single rule may need a space of
    its own class.

    An unknown name is a ScheduleError, as is a wrong number of arguments. A space with more combinations than
    can be numbered is reduced (``ConfigSpace.thin``).
    """
    arguments.text("create: name", name, ScheduleError)
    args = arguments.listed("create: args", args, "numbers, words and tensors", ScheduleError)
    parsed = Target.parse(target)
    _require_arguments(name, args)
    found = _TEMPLATES[name]
    rules = () if found.rules is None else tuple(found.rules(*args))
    if len(rules) > 1:
        spaces = {rule: _OfRule(rule) for rule in rules}
        made = [_collect(name, args, parsed, one, MOST // len(rules), rule) for rule, one in spaces.items()]
        (schedule, taken), space = made[0], RuleSpace(spaces)
    else:
        space = ConfigSpace() if collected is None else collected
        schedule, taken = _collect(name, args, parsed, space, MOST)
    flop = float(space.flop or operations(schedule.origins, {}))
    cold = () if found.cold is None else tuple(found.cold(*args))
    return Task(name, args, parsed, space, flop, _bytes_of(taken), cold)


def _collect(
    name: str, args: tuple[Any, ...], target: Target, space: ConfigSpace, most: int, rule: str | None = None
) -> tuple[Schedule, list[Any]]:
    """Run a schedule function, by ``rule``, to collect its knobs in ``space``; return its result. Spaces with
    more than ``most`` combinations are reduced, keeping the default."""
    made = _run(name, args, target, space)
    if math.prod(space.dims) > most:
        fallback = FallbackConfig()
        if rule is not None:
            fallback.settings[RULE] = OptionChoice(rule)
        _run(name, args, target, fallback)
        space.thin(most, fallback.settings)
    return made


class _OfRule(ConfigSpace):
    """Collects the knobs of one rule, which the schedule function sees as the setting ``rule``."""

    def __init__(self, rule: str) -> None:
        super().__init__()
        self._rule = OptionChoice(rule)

    def _settings(self) -> Mapping[str, Choice]:
        return {RULE: self._rule, **super()._settings()}


def encode_args(args: Sequence[Any]) -> list[Any]:
    """A task's arguments as JSON types, for ``decode_args``; tensors become placeholders there."""
    return [_encode(one) for one in args]


def decode_args(fields: Sequence[Any]) -> list[Any]:
    """The arguments that ``encode_args`` wrote."""
    return [_decode(one) for one in fields]


def _require_arguments(name: str, args: tuple[Any, ...]) -> None:
    """Raise a ScheduleError if there is no template ``name``, or ``args`` do not fit its parameters."""
    if name not in _TEMPLATES:
        known = ", ".join(sorted(_TEMPLATES)) or "none"
        raise ScheduleError(
            f"there is no template {name!r}; there are {known}",
            Span.of_caller(),
            hint=f"@autotune.template({name!r}) above a schedule function registers it",
        )
    function = _TEMPLATES[name].function
    whole = inspect.signature(function)
    given = keywords(function)
    expected = whole.replace(parameters=[p for p in whole.parameters.values() if p.name not in given])
    try:
        expected.bind(*args)
    except TypeError as error:
        raise ScheduleError(
            f"template {name!r}: {len(args)} arguments given, expected {expected}: {error}", Span.of_caller()
        ) from None


def _run(name: str, args: tuple[Any, ...], target: Target, config: Config) -> tuple[Schedule, list[Any]]:
    made = _TEMPLATES[name].run(args, target, config)
    if not (isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], Schedule)):
        raise ScheduleError(
            f"template {name!r} gave a {type(made).__name__}, expected (schedule, [tensors])",
            Span.of_caller(),
        )
    return made[0], list(made[1])


def _bytes_of(taken: Sequence[Any]) -> int:
    """The total bytes of the tensors among ``taken``; tensors with open extents are not counted."""
    total = 0
    for one in taken:
        if isinstance(one, Tensor) and all(isinstance(extent, int) for extent in one.shape):
            total += math.prod(map(int, one.shape)) * dtypes.numpy_of(one.dtype).itemsize  # type: ignore[arg-type]
    return total


def _encode(value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Tensor():
            return ["TENSOR", [int(extent) for extent in value.shape], value.dtype]  # type: ignore[arg-type]
        case list() | tuple():
            return [_encode(one) for one in value]
        case _:
            raise ScheduleError(
                f"a task's argument is a {type(value).__name__}, expected a number, a word or a tensor",
                Span.of_caller(),
            )


def _decode(value: Any) -> Any:
    match value:
        case ["TENSOR", [*shape], str() as dtype]:
            return placeholder(tuple(shape), dtype)
        case list():
            return tuple(_decode(one) for one in value)
        case _:
            return value
