"""Decisions of the graph: points where a pass has legal alternatives to the choice of its rule.

A pass that has alternatives takes a ``Decisions`` and asks it for the one to take (``decide``): the default,
unless another was chosen (``tuning.graph_search``). So passes hold rules, and results of measurements are
kept outside of them. Without a ``Decisions``, every pass takes its defaults.
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
"""The kind of the layout decisions, which depend on each other and so are made together."""

MOST_NAMED = 5
"""The maximum number of operators in a decision's name; its hash depends on all of them."""


@dataclass(frozen=True)
class Decision:
    """A decision at ``places`` equal points of a graph: which of the ``alternatives`` was ``taken``.

    ``spans`` are the user's source locations there; ``kind`` is the argument of ``decide``.
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
    """The alternatives chosen, by the names of decisions, and the decisions that passes asked for.

    ``notes`` lists choices that are not among the alternatives; the default is taken instead. ``cost``
    returns the seconds that a group's kernel takes, infinity if unknown. Passes that can minimize it over
    many decisions propose the result (``layout_program``).
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
        """The alternative to take for the decision ``name``: the chosen one, ``proposed``, or the default."""
        known = self.asked.get(name)
        if known is not None:
            self.asked[name] = replace(known, places=known.places + 1, spans=known.spans | spans)
            return known.taken
        taken = self.chosen.get(name, proposed or default)
        if taken not in alternatives:
            available = _listed(alternatives)
            self.notes.append(f"{taken!r} is chosen for the decision {name!r}, where there are {available}")
            taken = default
        self.asked[name] = Decision(name, tuple(alternatives), default, taken, 1, spans, kind)
        return taken

    def require(self, names: Mapping[str, str]) -> None:
        """Raise an InputError if no pass asked for one of ``names``, or if its alternative does not exist."""
        for name, alternative in names.items():
            if name not in self.asked:
                near = difflib.get_close_matches(name, self.asked, 3, 0.0) or ["none"]
                raise InputError(
                    f"decisions: no pass asked for {name!r}", hint=f"the nearest there are: {_listed(near)}"
                )
            if alternative not in (available := self.asked[name].alternatives):
                raise InputError(f"decisions: {name!r} is {alternative!r}, expected {_listed(available)}")


def decide(
    decisions: Decisions | None,
    kind: str,
    calls: Callable[[], Sequence[Sequence[Call]]],
    alternatives: Sequence[str],
    default: str,
    proposed: str | None = None,
) -> str:
    """The one of ``alternatives`` to take; ``proposed`` is the one with the lowest cost, if the pass knows
    it.

    ``calls`` returns the calls that the decision is about, in parts. It is only called with ``decisions``;
    without, the result is ``default``. Points with equal operators, attributes and types are one decision.
    """
    if decisions is None:
        return default
    parts = calls()
    name = f"{kind} {' | '.join(map(_described, parts))}"
    spans = frozenset(call.span for part in parts for call in part if call.span is not None)
    return decisions.take(name, alternatives, default, spans, proposed, kind)


def _described(calls: Sequence[Call]) -> str:
    """A name for ``calls``: the operators, the last result's shape, and a hash of everything that determines
    what is computed."""
    names = [str(one.op) for one in calls]
    short = " ".join(names if len(names) <= MOST_NAMED else [*names[: MOST_NAMED - 1], "...", names[-1]])
    type_ = type_of(calls[-1])
    shape = f", {show_shape(type_.shape)}" if isinstance(type_, TensorType) else ""
    text = "\n".join(map(_standalone_text, calls))
    return f"{short}{shape} #{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _standalone_text(call: Call) -> str:
    """``call`` as text, with parameters as its arguments."""
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
