"""Public functions called with wrong arguments: each must return or raise a TvmliteError at the call's line.

A namespace is enumerated by introspection, so new functions are tested automatically. Examples have valid
arguments by parameter. One or two of them are then mangled: replaced by an unrelated value, or changed
slightly (an element added, removed or replaced). ``faults`` makes thousands of such calls and reports what
went wrong.
"""

from __future__ import annotations

import inspect
import itertools
import re
import signal
import traceback
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite.core.errors import TvmliteError
from tvmlite.core.span import Span

SECONDS = 10.0
"""The time limit of a call."""


@dataclass(frozen=True)
class Subject:
    """A function, and valid arguments by parameter name."""

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    words: tuple[str, ...] = ()
    """Other names that errors may use for the function."""
    places: tuple[str, ...] = (r".*:\d+:\d+: ",)
    """Patterns of messages that name a place in an argument."""
    fixed: tuple[str, ...] = ()
    """Parameters that are not mangled."""
    callbacks: tuple[str, ...] = ()
    """Parameters that take functions: only functions in ``wrong`` are passed, others may raise any error."""
    wrong: tuple[Any, ...] = ()
    """Further wrong arguments."""
    after: Callable[[Any], object] | None = None
    """The check of the result, if not the one for all subjects."""
    renew: Callable[[], Subject] | None = None
    """Creates the subject anew for each call, for functions that modify their object."""

    def parameters(self) -> list[inspect.Parameter]:
        """Return the parameters that may be mangled; the argument of ``*args`` is a tuple."""
        every = inspect.signature(self.function).parameters.values()
        return [p for p in every if p.kind is not p.VAR_KEYWORD]


@dataclass(frozen=True)
class Case:
    """A call to be made."""

    subject: Subject
    positional: tuple[Any, ...]
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        given = [*map(shown, self.positional), *(f"{k}={shown(v)}" for k, v in self.keywords.items())]
        return f"{self.subject.name}({', '.join(given)})"


def public(namespace: Any, prefix: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions and classes of ``namespace`` by name, without its modules."""
    for name in sorted(getattr(namespace, "__all__", None) or dir(namespace)):
        value = getattr(namespace, name)
        if name.startswith("_") or isinstance(value, types.ModuleType) or not callable(value):
            continue
        try:
            inspect.signature(value)
        except (TypeError, ValueError):  # a type of the typing module
            continue
        yield prefix + name, value


def subjects(
    functions: Iterable[tuple[str, Callable[..., Any]]],
    examples: Mapping[str, Sequence[Mapping[str, Any]]],
    by_parameter: Mapping[str, Any],
    words: Mapping[str, tuple[str, ...]] | None = None,
    **more: Any,
) -> list[Subject]:
    """Return ``functions`` with each of their ``examples``, or with valid arguments from ``by_parameter``.

    ``words`` are other names that errors may use for a function; ``more`` are other fields of the subjects.
    """
    found, words = [], words or {}
    for name, function in functions:
        plain = {
            key: by_parameter[key] for key in inspect.signature(function).parameters if key in by_parameter
        }
        found += [
            Subject(name, function, given, words.get(name, ()), **more)
            for given in examples.get(name, [plain])
        ]
    return found


# --- wrong arguments --------------------------------------------------------------------------------


class Foreign:
    """An object of an unknown class."""

    def __repr__(self) -> str:
        return "<foreign>"


def _cyclic() -> list[Any]:
    loop: list[Any] = [1]
    loop.append(loop)
    return loop


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = (value,)
    return value


ANYTHING: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, -1, -7, 1000, 2**31, 2**63, 2**70, -(2**70), 0.0, 1.5, -2.0, float("nan"),
    float("inf"), 1e300, 1j, "", "x", "nonsense", "float32", "int7", "float16", "int64", "NHWC", "NCHW4c",
    "\0", "%", "é", b"bytes", (), [], {}, (1,), (0,), (-1,), (1, 1), [2, 2], (1, 2, 3), (2, "n"),
    ("a", "b"), (1.5, 2.5), (None, None), ((1, 1), (1, 1)), [[0, 0]], ((0, 0), (1, 1), (2, 2)),
    (1, 1, 1, 1), (2**62, 2**62), (1, (2, (3,))), {"a": 1}, {1, 2}, range(3), iter([1, 2]), Foreign(),
    Foreign, int, len, Ellipsis, slice(0, 2), NotImplemented, np.float32(1.5), np.int64(2), np.int8(-3),
    np.bool_(True), np.float64("nan"), np.str_("x"), np.array([1, 2]), np.zeros((0,), np.float32),
    np.ones((2, 3), np.float32), np.array("text"), np.array([Foreign()]), np.array([1 + 2j]),
    np.dtype("float32"), np.float16, np.datetime64("2020-01-01"), _cyclic(), (_cyclic(),), _nested(40),
    _nested(3000), [1] * 100, "x" * 5000,
)  # fmt: skip
"""Values of all kinds: valid for some parameters, wrong for most."""


def _changed(value: Any, random: Random, others: Sequence[Any]) -> Any:
    """Return the sequence ``value`` with an element replaced, added, removed or changed."""
    items = list(value)
    at = random.randrange(len(items) + 1)
    what = random.choice(("more", "less", "other", "deeper", "last"))
    if what == "more" or not items:
        items.insert(at, random.choice(others))
    elif what == "less":
        items.pop(at - 1)
    elif what == "deeper" and isinstance(items[at - 1], (tuple, list)):
        items[at - 1] = _changed(items[at - 1], random, others)
    else:
        items[at - 1] = random.choice(_near(items[at - 1], others))
    return tuple(items) if isinstance(value, tuple) else items


def _changed_dict(value: dict[Any, Any], random: Random, others: Sequence[Any]) -> dict[Any, Any]:
    """Return ``value`` with a key or a value replaced."""
    changed = dict(value)
    key = random.choice(list(changed))
    if random.random() < 0.5:
        changed[key] = random.choice(_near(changed[key], others))
    else:
        changed[random.choice([one for one in others if _is_hashable(one)])] = changed.pop(key)
    return changed


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except (TypeError, RecursionError):
        return False
    return True


LONG = 20
"""Texts of at least this length are garbled instead of replaced."""


def _garbled(text: Any, random: Random) -> Any:
    """Return a text or bytes with one to three pieces dropped, doubled or moved."""
    for _ in range(random.randint(1, 3)):
        start, to = random.randrange(len(text) + 1), random.randrange(len(text) + 1)
        end = start + random.choice((1, 1, 2, 5, 20))
        piece = text[start:end]
        match random.choice(("drop", "double", "move")):
            case "drop":
                text = text[:start] + text[end:]
            case "double":
                text = text[:end] + piece + text[end:]
            case _:
                text = text[:to] + piece + text[to:]
    return text


def _near(value: Any, many: Sequence[Any]) -> Sequence[Any]:
    """Return the elements of ``many`` of the class of ``value`` or a related one, or all if there is none."""
    bases = [base for base in type(value).__mro__ if base is not object]
    near = tuple(bases[: max(1, len(bases) - 2)])
    return [one for one in many if isinstance(one, near)] or many


def case_of(subject: Subject, random: Random, wrong: Sequence[Any]) -> Case:
    """Return a call of ``subject`` with one or two arguments mangled, from ``wrong`` and ``ANYTHING``."""
    everything = (*subject.wrong, *wrong, *ANYTHING)
    no_functions = (*subject.wrong, *(one for one in everything if not callable(one)))
    parameters = subject.parameters()
    changing = [one for one in parameters if one.name not in subject.fixed]
    given = dict(subject.arguments)
    for parameter in random.sample(changing, min(len(changing), random.choice((1, 1, 2)))):
        others = no_functions if parameter.name in subject.callbacks else everything
        default = () if parameter.kind is parameter.VAR_POSITIONAL else parameter.default
        value = given.get(parameter.name, default)
        if subject.wrong and random.random() < 0.3:
            given[parameter.name] = random.choice(subject.wrong)
        elif random.random() < 0.3:
            given[parameter.name] = random.choice(others)
        elif isinstance(value, (tuple, list)) and random.random() < 0.7:
            given[parameter.name] = _changed(value, random, others)
        elif isinstance(value, dict) and value and random.random() < 0.7:
            given[parameter.name] = _changed_dict(value, random, others)
        elif isinstance(value, (str, bytes)) and len(value) > LONG:
            given[parameter.name] = _garbled(value, random)
        else:
            given[parameter.name] = random.choice(_near(value, others))
    if given and random.random() < 0.03:
        given.pop(random.choice(sorted(given)))
    positional, keywords = _placed(parameters, given, by_position=random.random() < 0.5)
    if random.random() < 0.03:
        keywords["unknown"] = random.choice(everything)
    if random.random() < 0.03:
        positional.append(random.choice(everything))
    return Case(subject, tuple(positional), keywords)


def as_given(subject: Subject) -> Case:
    """Return the call of ``subject`` with its valid arguments."""
    positional, keywords = _placed(subject.parameters(), subject.arguments, by_position=True)
    return Case(subject, tuple(positional), keywords)


def _placed(
    parameters: Sequence[inspect.Parameter], given: Mapping[str, Any], by_position: bool
) -> tuple[list[Any], dict[str, Any]]:
    """Return ``given`` as positional and keyword arguments; those before ``*args`` must be positional."""
    positional: list[Any] = []
    keywords = dict(given)
    by_position = by_position or any(p.kind is p.VAR_POSITIONAL and p.name in given for p in parameters)
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            several = keywords.pop(parameter.name, ())
            positional += several if isinstance(several, (tuple, list)) else [several]
            break
        may = parameter.kind is not parameter.KEYWORD_ONLY and parameter.name in keywords
        if not may or not (by_position or parameter.kind is parameter.POSITIONAL_ONLY):
            break
        positional.append(keywords.pop(parameter.name))
    return positional, keywords


# --- results of calls -------------------------------------------------------------------------------


class TookTooLong(BaseException):
    """A call took longer than ``SECONDS``."""


@contextmanager
def limited() -> Iterator[None]:
    """Raise TookTooLong in the block after ``SECONDS``."""

    def stop(*_: Any) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fault_of(case: Case, after: Callable[[Any], object]) -> str | None:
    """Return the fault in how ``case`` ends, in words that are the same for one cause, or None.

    It may return a result, which is passed to ``after``; raise a TvmliteError that names the function or a
    parameter and points at a line of the tests; or raise Python's TypeError for arguments that do not fit.
    """
    try:
        with limited():
            (case.subject.after or after)(case.subject.function(*case.positional, **case.keywords))
    except TvmliteError as error:
        return _fault_of_error(case, error)
    except TypeError as error:
        return where_of(error) if _frames_of_ours(error) else None
    except (Exception, TookTooLong) as error:
        return where_of(error)
    return None


def _fault_of_error(case: Case, error: TvmliteError) -> str | None:
    raised = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{raised.filename.rpartition('tvmlite/')[2]}:{raised.lineno}"
    if _ends_in_what_was_given(case, error):
        return None
    if not any(name in error.message.lower() for name in _names(case)):
        return f"{type(error).__name__} at {place} names nothing: {error.message[:150]}"
    if Path(__file__).parent.parent not in Path(getattr(error.span, "source", "")).parents:
        return f"{type(error).__name__} at {place} ends at {error.span}: {error.message[:150]}"
    return None


def _names(case: Case) -> list[str]:
    """Return what a message may name: the function, a parameter, or a text or name that was an argument."""
    names = [case.subject.name.rpartition(".")[2].strip("()")]
    names += [p.name for p in case.subject.parameters() if len(p.name) > 1]
    for value in (*case.positional, *case.keywords.values(), *case.subject.arguments.values()):
        for one in itertools.islice(value, 8) if isinstance(value, (tuple, list, dict)) else (value,):
            name = one if isinstance(one, str) else getattr(getattr(one, "tensor", one), "name", None)
            names += [name, repr(name)[1:-1]] if isinstance(name, str) else []
    return [*(name.lower() for name in names), *case.subject.words]


def _ends_in_what_was_given(case: Case, error: TvmliteError) -> bool:
    """Return whether ``error`` points at a line of a text, or a part of a model, that was an argument."""
    if any(re.match(place, error.message) for place in case.subject.places):
        return True
    given = (*case.positional, *case.keywords.values(), "<relay text>")
    span = error.span
    return isinstance(span, Span) and (
        span.note.startswith("node") or span.source in [v for v in given if isinstance(v, str)]
    )


def _frames_of_ours(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of the package in the traceback of ``error``."""
    package = str(Path(tvmlite.__file__).parent)
    return [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(package)]


def where_of(error: BaseException) -> str:
    """Return ``error`` and where in the package it was raised."""
    inside = _frames_of_ours(error) or traceback.extract_tb(error.__traceback__)
    places = [f"{f.filename.rpartition('tvmlite/')[2]}:{f.lineno}" for f in inside[-2:]]
    return f"{type(error).__name__} at {' < '.join(reversed(places))}: {str(error)[:150]}"


def faults(
    many: Sequence[Subject],
    wrong: Sequence[Any],
    after: Callable[[Any], object],
    count: int,
    seed: int = 0,
) -> dict[str, str]:
    """Make ``count`` calls, of all of ``many`` in turn; return each fault with the first call that has it.

    The calls are the same for the same ``seed``.
    """
    found: dict[str, str] = {}
    order = list(many)
    Random(seed).shuffle(order)
    for number in range(count):
        subject = order[number % len(order)]
        subject = subject if subject.renew is None else subject.renew()
        case = case_of(subject, Random(f"{seed} {number}"), wrong)
        fault = fault_of(case, after)
        if fault is not None:
            found.setdefault(fault, str(case))
    return found


def faults_as_asked(
    request: pytest.FixtureRequest,
    many: Sequence[Subject],
    wrong: Sequence[Any],
    after: Callable[[Any], object],
) -> str:
    """Return the ``faults`` of as many calls as pytest's options say, as text."""
    count, seed = (int(str(request.config.getoption(f"--constructor-{what}"))) for what in ("calls", "seed"))
    found = faults(many, wrong, after, count, seed)
    return "\n".join(f"{fault}\n    {case}" for fault, case in sorted(found.items()))


def shown(value: Any, depth: int = 3) -> str:
    """Return a short text for any value, including cyclic ones."""
    if isinstance(value, (tuple, list)):
        if depth == 0:
            return "..."
        items = ", ".join(shown(v, depth - 1) for v in itertools.islice(value, 8))
        return f"({items})" if isinstance(value, tuple) else f"[{items}]"
    if isinstance(value, np.ndarray):
        return f"<{value.dtype}{value.shape}>"
    try:
        text = str(value) if isinstance(value, type) else repr(value)
    except Exception:  # the shown value may be broken
        text = f"<{type(value).__name__}>"
    return text if len(text) < 60 else f"<{type(value).__name__}: {text[:50]}...>"


__all__ = [
    "ANYTHING",
    "Case",
    "Subject",
    "as_given",
    "case_of",
    "fault_of",
    "faults",
    "faults_as_asked",
    "limited",
    "public",
    "subjects",
    "where_of",
]
