"""Case ``index`` of seed ``seed``: a quantized graph of random layers, and the batches it is run with."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tvmlite.fuzz.quantized import elements, layers
from tvmlite.fuzz.quantized.graph import BATCH, Graph
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple
from tvmlite.relay.ir.types import Binding, Dim

MAKERS: dict[str, tuple[int, Callable[[Graph, Expr], Expr | None]]] = {
    "convolution": (6, layers.convolution),
    "transposed_convolution": (1, layers.transposed_convolution),
    "dense": (3, layers.dense),
    "product_of_two": (2, layers.product_of_two),
    "pooling": (2, layers.pooling),
    "resized": (1, layers.resized),
    "function": (4, elements.function),
    "scaled": (2, elements.scaled),
    "joined": (3, elements.joined),
    "concatenated": (2, elements.concatenated),
    "part": (1, elements.part),
    "padded": (1, elements.padded),
    "masked": (1, elements.masked),
    "rearranged": (3, elements.rearranged),
    "reduced": (1, elements.reduced),
}
"""The parts of a graph by name: the weight, and the function that makes one."""

MOST_ELEMENTS = 40_000


@dataclass(frozen=True)
class Case:
    """A module, the values of its dimensions in each run, and the kinds of operators in it."""

    module: Module
    runs: tuple[Binding, ...]
    kinds: tuple[str, ...]


def make(seed: int, index: int) -> Case:
    """Return the case, which is the same for the same numbers."""
    rnd = random.Random(f"quantized/{seed}/{index}")
    graph = Graph(rnd, np.random.default_rng(rnd.randrange(1 << 32)))
    is_open = rnd.random() < 0.25
    shape = _shape(rnd, BATCH if is_open else rnd.choice((1, 1, 2)))
    graph.values.append(_input(graph, shape))
    kinds: set[str] = set()
    for _ in range(rnd.randint(1, 6)):
        kinds |= _add_operators(graph)
    body = _results(graph)
    runs = ({BATCH: 1}, {BATCH: 3}) if is_open else ({},)
    return Case(Module({"main": Function(tuple(graph.params), body)}), runs, tuple(sorted(kinds)))


def _shape(rnd: random.Random, batch: Dim) -> tuple[Dim, ...]:
    """Return a shape of rows, of a sequence, or of an image with one to three axes."""
    kind = rnd.choice(("rows", "sequence", "image", "image", "image", "image"))
    if kind == "rows":
        return batch, rnd.choice((5, 8, 16, 33, 64))
    if kind == "sequence":
        return batch, rnd.choice((3, 5, 8)), rnd.choice((4, 15, 16, 32))
    rank = rnd.choice((1, 2, 2, 2, 3))
    channels = rnd.choice((1, 3, 4, 6, 8, 12, 16, 24, 32) if rank < 3 else (1, 4, 6, 16))
    most = {1: 17, 2: 9, 3: 5}[rank]
    return batch, channels, *(rnd.randint(2, most) for _ in range(rank))


def _input(graph: Graph, shape: tuple[Dim, ...]) -> Expr:
    """Return a float parameter that is quantized, or a parameter of quantized integers."""
    if graph.rnd.random() < 0.5:
        return graph.quantized(graph.param(shape))
    dtype = graph.rnd.choice(("uint8", "int8"))
    like = graph.param(shape)
    scale, zero = graph.scale_and_zero(like, dtype)
    graph.params.remove(like)
    return graph.call("qnn.dequantize", graph.param(shape, dtype), scale, zero)


def _add_operators(graph: Graph) -> set[str]:
    """Add some operators, the last of which is mostly quantized; return their names."""
    rnd = graph.rnd
    if rnd.random() < 0.12:
        source = graph.params[0].type.shape  # type: ignore[union-attr]
        graph.values.append(_input(graph, source))
    value = graph.values[-1] if rnd.random() < 0.75 else rnd.choice(graph.values)
    kinds = set()
    for _ in range(rnd.choice((1, 1, 1, 2, 2, 3))):
        name = rnd.choices(list(MAKERS), [weight for weight, _ in MAKERS.values()])[0]
        made = MAKERS[name][1](graph, value)
        if made is None or not 0 < graph.sample(made).size <= MOST_ELEMENTS:
            continue
        value = made
        kinds.add(name)
    graph.values.append(graph.quantized(value) if rnd.random() < 0.85 else value)
    return kinds


def _results(graph: Graph) -> Expr:
    """Return the last value, as floats or as integers, and sometimes another one."""
    rnd = graph.rnd
    chosen = [graph.values[-1]]
    if rnd.random() < 0.3:
        chosen.append(rnd.choice(graph.values))
    made = [
        one.args[0] if isinstance(one, Call) and one.op == "qnn.dequantize" and rnd.random() < 0.6 else one
        for one in chosen
    ]
    return made[0] if len(made) == 1 else Tuple(tuple(made))
