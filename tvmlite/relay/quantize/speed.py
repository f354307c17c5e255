"""Which layers are faster in few bits: what measures it is given, and what it finds.

Kernels are timed where modules are compiled, to the right of this room. What a kernel computes is known there
by the spans of its operators; so each layer, and each rounding of what a layer reads, gets a span of its own.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tvmlite.core.node import rewrite
from tvmlite.core.span import Span
from tvmlite.relay.ir.nodes import Call, Expr, Module
from tvmlite.relay.passes.graph_pass import rebuild
from tvmlite.relay.quantize.annotate import MARK
from tvmlite.relay.quantize.layers import names_of
from tvmlite.relay.text import printer

FASTER_LAYERS = "faster_layers"
"""What a ``Measure`` is provided as (``core.provided``)."""

CONVERSION = "conversion"
"""The source of the spans of what only quantization computes."""


@dataclass(frozen=True)
class Plan:
    """A model of which each of ``layers`` is in ``dtype`` or in float32.

    ``exact`` is the model in float32, ``narrow(kept)`` that with all layers but those of ``kept`` in
    ``dtype``, and the options that it is compiled with; both have spans of ``with_spans``. ``together`` has
    by the name of a layer those that are decided with it. ``inputs`` are those of a run, None if there are no
    data. ``given`` is the float model as it was, where ``exact`` is an adjusted one. ``key`` is the same for
    models of equal operators and types that are made narrow in the same way.
    """

    exact: Module
    layers: tuple[str, ...]
    dtype: str
    key: str
    narrow: Callable[[frozenset[str]], tuple[Module, Mapping[str, Any]]]
    inputs: Mapping[str, np.ndarray] | None = None
    given: Module | None = None
    together: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class LayerTime:
    """Seconds of a layer in a run, ``exact`` in float32 and ``narrow`` in few bits, with the conversions that
    are there for its sake; of all layers together that a kernel computes."""

    exact: float
    narrow: float


@dataclass(frozen=True)
class Speed:
    """The result of a measurement: ``kept`` says by the name of each layer in float32 why it is, ``remarks``
    what there is to say of others; ``times`` are of layers, ``latency`` of a run in float32 and as it is to
    be.

    ``unknown`` says why nothing was measured, else it is empty. ``records`` hold the decisions, and give the
    same ones again.
    """

    kept: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, LayerTime] = field(default_factory=dict)
    latency: tuple[float, float] | None = None
    unknown: str = ""
    records: tuple[Any, ...] = ()


class Measure(Protocol):
    """Finds the layers of a plan that are faster in float32."""

    def __call__(
        self,
        plan: Plan,
        records: Any,
        options: Mapping[str, Any],
        progress: Callable[[str, int, int], object],
        required: bool,
    ) -> Speed:
        """The decisions in ``records``, a file or the records themselves, or measured ones, which are
        appended to that file. ``options`` are of ``compile``. What cannot be measured is an InputError if it
        is ``required``."""
        ...


def with_spans(module: Module) -> Module:
    """``module`` with a span for each call that its name, as ``names_of`` has it, is the node of."""
    names = names_of(module.main.body)

    def named(node: Expr, made: Expr) -> Expr:
        if not (isinstance(made, Call) and node in names):
            return made
        return dataclasses.replace(made, span=Span("model", 0, f'node "{names[node]}" (layer)'))

    return module.with_main(dataclasses.replace(module.main, body=rebuild(module.main.body, named)))


def with_conversion_spans(module: Module) -> Module:
    """``module`` with spans of the marks that say for which layer they are."""

    def named(node: Expr) -> Expr:
        if not (isinstance(node, Call) and node.op == MARK):
            return node
        return dataclasses.replace(node, span=Span(CONVERSION, 0, node["layer"]))

    return module.with_main(dataclasses.replace(module.main, body=rewrite(module.main.body, named)))


def key_of(module: Module, *settings: object) -> str:
    """A hash of the operators, types and marks of ``module``, not of its weights, and of ``settings``."""
    text = printer.astext(module, show_meta_data=False)
    return hashlib.sha256("\n".join([text, *map(str, settings)]).encode()).hexdigest()[:8]
