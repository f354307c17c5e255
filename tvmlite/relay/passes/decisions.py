"""Decisions of the graph: places where a pass could go another way than its rule does.

A pass that has alternatives takes a table of them, ``Decisions``, and asks it which to take (``decide``): the
default, unless the table has chosen another (``tuning.graph_search``). So passes hold rules, and what was
measured is kept outside of them. Without a table, every pass takes its defaults.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tvmlite.core.errors import InputError
from tvmlite.core.span import Span
from tvmlite.relay.ir.dims import show_shape
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Tuple, Var
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.text import printer

LAYOUT = "layout"
"""The kind of decisions that depend on each other, so that they are made together."""

MOST_NAMED = 5
"""Operators that stand in the name of a place; its hash depends on all of them."""


@dataclass(frozen=True)
class Decision:
    """A place of a graph, or ``places`` equal ones, where ``taken`` of several ``alternatives`` was taken.

    ``spans`` are what the user wrote there, ``kind`` is that of ``decide``.
    """

    name: str
    alternatives: tuple[str, ...]
    default: str
    taken: str
    places: int = 1
    spans: frozenset[Span] = frozenset()
    kind: str = ""


@dataclass
class Decisions:
    """The alternatives chosen, by the names of decisions, and what the passes asked for.

    ``notes`` say which choices are none of the alternatives there are; the default is taken instead. ``cost``
    gives the seconds of the kernel of a group, infinity where they are unknown: passes that can find the best
    of many decisions by it propose that (``layout_program``).
    """

    chosen: Mapping[str, str] = field(default_factory=dict)
    cost: Callable[[Function], float] | None = None
    asked: dict[str, Decision] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def take(
        self,
        name: str,
        alternatives: Sequence[str],
        default: str,
        spans: frozenset[Span] = frozenset(),
        proposed: str | None = None,
        kind: str = "",
    ) -> str:
        """The alternative to take at a place called ``name``: as chosen, or ``proposed``, or the default."""
        known = self.asked.get(name)
        if known is not None:
            self.asked[name] = replace(known, places=known.places + 1, spans=known.spans | spans)
            return known.taken
        taken = self.chosen.get(name, proposed or default)
        if taken not in alternatives:
            there = _listed(alternatives)
            self.notes.append(f"{taken!r} is chosen for the decision {name!r}, where there are {there}")
            taken = default
        self.asked[name] = Decision(name, tuple(alternatives), default, taken, 1, spans, kind)
        return taken

    def require(self, names: Mapping[str, str]) -> None:
        """An InputError if one of ``names`` was never asked for, or is chosen to be what it cannot be."""
        for name, alternative in names.items():
            if name not in self.asked:
                near = difflib.get_close_matches(name, self.asked, 3, 0.0) or ["none"]
                raise InputError(
                    f"decisions: no pass asked for {name!r}", hint=f"the nearest there are: {_listed(near)}"
                )
            if alternative not in (there := self.asked[name].alternatives):
                raise InputError(f"decisions: {name!r} is {alternative!r}, expected {_listed(there)}")


def decide(
    decisions: Decisions | None,
    kind: str,
    place: Callable[[], Sequence[Sequence[Call]]],
    alternatives: Sequence[str],
    default: str,
    proposed: str | None = None,
) -> str:
    """Which of ``alternatives`` to take at a place; ``proposed`` is what the pass would take by costs.

    ``place`` gives the calls there, in the parts that the decision is about; it is only called where there
    are ``decisions``: without, it is the ``default``. Places of equal operators, attributes and types are one
    decision.
    """
    if decisions is None:
        return default
    parts = place()
    name = f"{kind} {' | '.join(map(_described, parts))}"
    spans = frozenset(call.span for part in parts for call in part if call.span is not None)
    return decisions.take(name, alternatives, default, spans, proposed, kind)


def _described(calls: Sequence[Call]) -> str:
    """``calls`` in short: the operators, the last result's shape, and a hash of all that decides what is
    computed."""
    names = [str(one.op) for one in calls]
    short = " ".join(names if len(names) <= MOST_NAMED else [*names[: MOST_NAMED - 1], "...", names[-1]])
    type_ = type_of(calls[-1])
    shape = f", {show_shape(type_.shape)}" if isinstance(type_, TensorType) else ""
    text = "\n".join(map(_alone, calls))
    return f"{short}{shape} #{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _alone(call: Call) -> str:
    """``call`` as text, of arguments that are parameters."""
    params: dict[Expr, Var] = {}

    def param(value: Expr) -> Expr:
        if isinstance(value, Tuple):
            return value.map_children(param)
        if isinstance(value, Constant) and value.size == 1:
            return value
        return params.setdefault(value, Var(f"p{len(params)}", type_of(value)))

    alone = call.map_children(param)
    return printer.show(Function(tuple(params.values()), alone))


def _listed(words: Sequence[str]) -> str:
    return ", ".join(map(repr, words))
