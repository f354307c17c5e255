"""Attributes the times of kernels to layers, by the spans of the operators they compute
(``relay.quantize.speed``).

Kernels combine operators differently in different forms of a model. *Groups* are the finest sets of named
operators such that every kernel, in all forms compared, computes operators of one set only. A group's time is
that of its kernels, so that all groups together have the time of the whole model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tvmlite.core.node import postorder
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir.blocks import order, runs_of
from tvmlite.relay.ir.nodes import Call, Expr, Function
from tvmlite.relay.passes.graph_pass import readers_of
from tvmlite.relay.quantize.layers import names_of, outer_nodes
from tvmlite.relay.quantize.speed import CONVERSION, Plan
from tvmlite.runtime.library.profile import Profile

CAST = "cast"
"""The operator that converts a result for its reader, so that its span is not that of the kernel's layer."""


@dataclass(frozen=True)
class Parts:
    """What a kernel computes: operators by name, and conversions by the layers that they are for."""

    operators: tuple[str, ...] = ()
    conversions: tuple[str, ...] = ()


def parts_of(lib: CompiledModule) -> list[Parts]:
    """Return the parts of each kernel call, in the order of calls.

    One without any, such as the rounding of a model's input, is a conversion for the first operator that
    reads it.
    """
    main = lib.module.main
    calls = [run.call for run in runs_of(order(main)) if isinstance(run.call.op, Function)]
    found = {call: _parts(call) for call in calls}
    readers = readers_of(main.body)
    for call in reversed(calls):
        if found[call] == Parts():
            found[call] = Parts((), _first_reader(call, readers, found))
    return [found[call] for call in calls]


def _parts(call: Call) -> Parts:
    assert isinstance(call.op, Function)
    calls = [one for one in postorder(call.op.body) if isinstance(one, Call) and one.span is not None]
    spans = [(one.op, one.span) for one in calls if one.span is not None]
    operators = dict.fromkeys(span.node for op, span in spans if span.node and op != CAST)
    conversions = dict.fromkeys(span.note for _, span in spans if span.source == CONVERSION)
    if not operators:
        conversions |= dict.fromkeys(span.node for _, span in spans if span.node)
    return Parts(tuple(operators), tuple(conversions))


def _first_reader(
    value: Expr, readers: Mapping[Expr, Sequence[Expr | None]], parts: Mapping[Call, Parts]
) -> tuple[str, ...]:
    """The operator that reads ``value`` in a kernel, through views; none if it is not read."""
    stack = [value]
    while stack:
        for reader in readers.get(stack.pop(), ()):
            if isinstance(reader, Call) and reader in parts:
                found = parts[reader].operators or parts[reader].conversions
                return found[:1]
            if reader is not None:
                stack.append(reader)
    return ()


@dataclass(frozen=True)
class Groups:
    """The groups of a model with ``layers``, each named after one of its operators. ``kernels`` has the parts
    of the kernels of each form, ``body`` is the graph in float32."""

    layers: tuple[str, ...]
    kernels: tuple[tuple[Parts, ...], ...]
    body: Expr

    @staticmethod
    def of(plan: Plan, libs: Iterable[CompiledModule]) -> Groups:
        """Return the groups for ``libs``, forms of one model."""
        return Groups(plan.layers, tuple(tuple(parts_of(lib)) for lib in libs), plan.exact.main.body)

    @cached_property
    def of_operator(self) -> Mapping[str, str]:
        """The group of each operator."""
        parents: dict[str, str] = {name: name for name in self.layers}

        def root(name: str) -> str:
            parents.setdefault(name, name)
            while parents[name] != name:
                parents[name] = parents[parents[name]]
                name = parents[name]
            return name

        for parts in (one for kernels in self.kernels for one in kernels):
            for name in parts.operators:
                parents[root(name)] = root(parts.operators[0])
        return {name: root(name) for name in parents}

    @cached_property
    def layers_of(self) -> Mapping[str, tuple[str, ...]]:
        """The layers of each group that has any, in the order of the model."""
        found: dict[str, list[str]] = {}
        for name in self.layers:
            found.setdefault(self.of_operator[name], []).append(name)
        return {group: tuple(names) for group, names in found.items()}

    @cached_property
    def owners(self) -> Mapping[str, str]:
        """For each group without layers, the group whose precision affects its time: a normalization whose
        result a dense layer reads in bytes belongs to that layer. Without a conversion, it is the first
        neighbour with layers."""
        found: dict[str, str] = {}
        for parts in (one for kernels in self.kernels for one in kernels):
            if parts.operators and parts.conversions:
                group = self.of_operator[parts.operators[0]]
                if group not in self.layers_of:
                    found.setdefault(group, self.of_operator[parts.conversions[0]])
        for group, others in self.neighbours.items():
            near = [one for one in self.layers_of if one in others]
            if near and group not in self.layers_of:
                found.setdefault(group, near[0])
        return found

    def group_of(self, parts: Parts) -> str:
        """Return the group of a kernel; empty if it has none. A kernel that only converts belongs to the
        layer it converts for."""
        for name in (*parts.operators, *parts.conversions):
            if name in self.of_operator:
                return self.of_operator[name]
        return ""

    def seconds(self, form: int, profiles: Sequence[Profile]) -> dict[str, list[float]]:
        """Return the seconds of each group's kernels in each run of a form; ``profiles`` are its runs."""
        places: dict[str, list[int]] = {}
        for place, parts in enumerate(self.kernels[form]):
            places.setdefault(self.group_of(parts), []).append(place)
        return {
            group: [sum(one.kernels[place][1] for place in own) * 1e-9 for one in profiles]
            for group, own in places.items()
        }

    @cached_property
    def neighbours(self) -> Mapping[str, set[str]]:
        """The groups that read a group's results or compute its operands; operators without a kernel, such as
        views, are skipped."""
        names = names_of(self.body)
        found: dict[str, set[str]] = {group: set() for group in self.of_operator.values()}
        sources: dict[Expr, frozenset[str]] = {}
        for node in outer_nodes(self.body):
            children = [one for one in node.children() if isinstance(one, Expr)]
            read = frozenset[str]().union(*(sources.get(one, frozenset()) for one in children))
            own = self.of_operator.get(names.get(node, ""), "")
            for other in read - {own} if own else ():
                found[own].add(other)
                found[other].add(own)
            sources[node] = frozenset((own,)) if own else read
        return found
