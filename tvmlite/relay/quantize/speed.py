"""The interface for measuring which layers are faster in few bits, and its result.

Kernels are timed where modules are compiled, in a room that may import this one. There, the spans of
operators say what a kernel computes; so each layer, and each rounding of an operand, gets a distinct span.
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
"""The name under which a ``Measure`` is registered (``core.provided``)."""

CONVERSION = "conversion"
"""The source of the spans of operators that exist only for quantization."""


@dataclass(frozen=True)
class Plan:
    """A model in which each of ``layers`` may be in ``dtype`` or in float32.

    ``exact`` is the model in float32; ``narrow(kept)`` returns the model with all layers but those in
    ``kept`` in ``dtype``, and the options to compile it with. Both have the spans of ``with_spans``.
    ``decided_with`` maps the name of a layer to those that are decided with it. ``inputs`` are those of a
    run, None if there is no data. ``original`` is the original float model if ``exact`` is an adjusted one.
    ``key`` is equal for models with equal operators and types that are quantized in the same way.
    """

    exact: Module
    layers: tuple[str, ...]
    dtype: str
    key: str
    narrow: Callable[[frozenset[str]], tuple[Module, Mapping[str, Any]]]
    inputs: Mapping[str, np.ndarray] | None = None
    original: Module | None = None
    decided_with: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class LayerTime:
    """Seconds of a layer in a run, ``exact`` in float32 and ``narrow`` in few bits, including the conversions
    that it needs; if a kernel computes several layers, of all of them together."""

    exact: float
    narrow: float


@dataclass(frozen=True)
class Speed:
    """The result of a measurement: ``kept`` maps each layer that stays in float32 to the reason, ``remarks``
    other layers to remarks; ``times`` are of layers, ``latency`` is that of a run in float32 and as decided.

    ``not_measured`` is the reason why nothing was measured, or empty. ``records`` hold the decisions; passing
    them again gives the same decisions.
    """

    kept: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, LayerTime] = field(default_factory=dict)
    latency: tuple[float, float] | None = None
    not_measured: str = ""
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
        """The decisions in ``records``, a file or the records themselves; if there are none, they are
        measured and appended to the file. ``options`` are those of ``compile``. If something cannot be
        measured and it is ``required``, an InputError is raised."""
        ...


def with_spans(module: Module) -> Module:
    """``module`` with spans whose node is the name of each call (``names_of``)."""
    names = names_of(module.main.body)

    def named(node: Expr, made: Expr) -> Expr:
        if not (isinstance(made, Call) and node in names):
            return made
        return dataclasses.replace(made, span=Span("model", 0, f'node "{names[node]}" (layer)'))

    return module.with_main(dataclasses.replace(module.main, body=rebuild(module.main.body, named)))


def with_conversion_spans(module: Module) -> Module:
    """``module`` with a span for each mark whose node is the name of the mark's layer."""

    def named(node: Expr) -> Expr:
        if not (isinstance(node, Call) and node.op == MARK):
            return node
        return dataclasses.replace(node, span=Span(CONVERSION, 0, node["layer"]))

    return module.with_main(dataclasses.replace(module.main, body=rewrite(module.main.body, named)))


def key_of(module: Module, *settings: object) -> str:
    """A hash of the operators, types and marks of ``module``, but not of its weights, and of ``settings``."""
    text = printer.astext(module, show_meta_data=False)
    return hashlib.sha256("\n".join([text, *map(str, settings)]).encode()).hexdigest()[:8]
