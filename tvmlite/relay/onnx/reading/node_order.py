"""The order in which nodes are converted: each after those whose values it reads."""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterator, Sequence
from typing import Any

import onnx

from tvmlite.core.errors import ModelError
from tvmlite.relay.onnx.reading import functions, loader

MAX_NAMED = 8
"""The most nodes of a cycle in its error."""


def conversion_order(nodes: Sequence[onnx.NodeProto], source: str, given: Container[str] = ()) -> list[int]:
    """Return the indices of ``nodes`` ordered so that each follows its dependencies and its subgraphs'.

    If several may come next, the first in the file does: nodes in order stay in order. A ModelError names the
    nodes of a cycle. Names that are ``given``, and those that no node here computes, are no dependencies.
    """
    needs = _dependencies(nodes, given)
    if all(before < index for index, one in enumerate(needs) for before in one):
        return list(range(len(nodes)))
    waiting = [len(one) for one in needs]
    needed_by: list[list[int]] = [[] for _ in nodes]
    for index, one in enumerate(needs):
        for before in one:
            needed_by[before].append(index)
    ready = [index for index, count in enumerate(waiting) if not count]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for after in needed_by[order[-1]]:
            waiting[after] -= 1
            if not waiting[after]:
                heapq.heappush(ready, after)
    if len(order) < len(nodes):
        _raise_cycle(nodes, needs, {index for index, count in enumerate(waiting) if count}, source)
    return order


def _dependencies(nodes: Sequence[onnx.NodeProto], given: Container[str]) -> list[dict[int, str]]:
    """The nodes that each node depends on, with the name of a value that it reads."""
    makers: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in node.output:
            if name and name not in given:
                makers.setdefault(name, index)
    return [{makers[name]: name for name in names_read(node) if name in makers} for node in nodes]


def names_read(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the names of values that ``node`` and its subgraphs read from the graph it is in."""
    stack: list[tuple[Any, frozenset[str]]] = [(node, frozenset())]
    while stack:
        one, inner = stack.pop()
        yield from (name for name in one.input if name and name not in inner)
        for graph in loader.subgraphs(one):
            own = {value.name for value in (*graph.input, *graph.initializer)}
            own.update(name for child in graph.node for name in child.output)
            hidden = inner | own
            yield from (value.name for value in graph.output if value.name not in hidden)
            stack.extend((child, hidden) for child in graph.node)


def _raise_cycle(
    nodes: Sequence[onnx.NodeProto], needs: Sequence[dict[int, str]], left: set[int], source: str
) -> None:
    """Raise the error that names a cycle: each of ``left`` depends on another of them."""
    path, place = [min(left)], {min(left): 0}
    while True:
        before = min(one for one in needs[path[-1]] if one in left)
        if before in place:
            break
        place[before] = len(path)
        path.append(before)
    cycle = path[place[before] :]
    links = []
    for one, following in zip(cycle[:MAX_NAMED], [*cycle[1:], cycle[0]], strict=False):
        maker = functions.label(nodes[following], following)
        links.append(f"{functions.label(nodes[one], one)} takes {needs[one][following]!r} from {maker}")
    more = f", and so on through {len(cycle)} nodes" if len(cycle) > MAX_NAMED else ""
    raise ModelError(f"{source}: the nodes are in a cycle: {', '.join(links)}{more}")
