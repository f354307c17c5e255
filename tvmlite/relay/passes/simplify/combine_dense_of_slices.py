"""Apply a dense layer that is applied to several slices of an array to the whole array once."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from tvmlite.core.node import postorder
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.passes.graph_pass import graph_pass, rebuild

MIN_COVERAGE = 0.5
"""The least share of the array's rows that must be in slices: otherwise too many results would be unused."""


class _Layer(NamedTuple):
    """A dense layer with ``weight`` and ``attrs`` that is applied to slices of ``data`` along ``axis``."""

    data: Expr
    weight: Expr
    attrs: tuple
    axis: int


@graph_pass
def combine_dense_of_slices(body: Expr) -> Expr:
    """Rewrite ``dense(x[0], w)``, ``dense(x[1], w)``, ... to ``dense(x, w)[0]``, ``dense(x, w)[1]``, ...

    Recurrent layers that exporters write step by step multiply each step's input by the same weights: this
    way the weights are read once, not once per step. Slices are ``take`` of one constant index and
    ``strided_slice``, along one axis that is not the last and has a constant extent.
    """
    layers: dict[Expr, _Layer] = {}
    rows: defaultdict[_Layer, dict[Call, int]] = defaultdict(dict)
    for node in postorder(body):
        if isinstance(node, Call) and node.op == "nn.dense" and (found := _slice(node.args[0])):
            piece, axis, count = found
            layer = _Layer(piece.args[0], node.args[1], node.attrs, axis)
            layers[node], rows[layer][piece] = layer, count
    profitable = {layer for layer, pieces in rows.items() if _is_profitable(layer, pieces)}
    return _combined(body, {node: layer for node, layer in layers.items() if layer in profitable})


def _combined(body: Expr, layers: Mapping[Expr, _Layer]) -> Expr:
    """``body`` with the calls in ``layers`` replaced by slices of one call per layer on the whole array."""
    wholes: dict[_Layer, Call] = {}

    def combined(node: Expr, made: Expr) -> Expr:
        if node not in layers:
            return made
        assert isinstance(made, Call)
        piece, weight = made.args
        assert isinstance(piece, Call)
        whole = wholes.setdefault(layers[node], dataclasses.replace(made, args=(piece.args[0], weight)))
        return dataclasses.replace(piece, args=(whole, *piece.args[1:]))

    return rebuild(body, combined) if layers else body


def _slice(value: Expr) -> tuple[Call, int, int] | None:
    """The slice ``value``, its axis and its extent there; None if it is no slice, or one of the last axis."""
    match value:
        case Call(op="take", args=(data, Constant(index))) if index.ndim == 0 and value["axis"] is not None:
            axis, count = value["axis"] % tensor_type_of(data).ndim, 1
        case Call(op="strided_slice", args=(data,)) if value["axes"] is not None and len(value["axes"]) == 1:
            axis = value["axes"][0] % tensor_type_of(data).ndim
            count = tensor_type_of(value).shape[axis]
        case _:
            return None
    if axis == tensor_type_of(data).ndim - 1 or not isinstance(count, int):
        return None
    return value, axis, count


def _is_profitable(layer: _Layer, pieces: dict[Call, int]) -> bool:
    """Whether there are several ``pieces`` and they cover most of their array."""
    extent = tensor_type_of(layer.data).shape[layer.axis]
    return len(pieces) > 1 and isinstance(extent, int) and sum(pieces.values()) >= MIN_COVERAGE * extent
