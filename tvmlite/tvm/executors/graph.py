"""The executor of a graph in TVM's JSON format, whose nodes call functions of ``tvm.build`` by name."""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import InputError
from tvmlite.runtime.ndarray import empty
from tvmlite.tvm.executors.base import Executor, Tensor

MOST_BYTES = 1 << 32
"""The maximum size of all values of a graph together."""

NOP = "__nop"
"""The function name of a node that only reshapes its input."""


class GraphExecutor(Executor):
    """Calls the functions that the nodes of ``graph_json`` name, in order: ``functions[name](*inputs,
    *outputs)``. Each value has separate memory, even if the graph states that values share it."""

    def __init__(self, graph_json: str, functions: Any) -> None:
        super().__init__()
        self.graph = parsed(graph_json)
        self.nodes = self.graph["nodes"]
        self._functions = functions
        self._rows = self.graph["node_row_ptr"]
        kinds = self.graph["attrs"]
        shapes, types = kinds["shape"][1], kinds["dltype"][1]
        self.entries = [Tensor("", tuple(shape), dtype) for shape, dtype in zip(shapes, types, strict=True)]
        self.inputs = [
            Tensor(
                self.nodes[n]["name"], self.entries[self._rows[n]].shape, self.entries[self._rows[n]].dtype
            )
            for n in self.graph["arg_nodes"]
        ]
        self.outputs = len(self.graph["heads"])
        self.values: list[Any] = [None] * len(self.entries)
        self.seconds = [0.0] * len(self.nodes)

    def compute(self, arrays: Sequence[np.ndarray]) -> Sequence[Any]:
        """See ``Executor``."""
        self.take(arrays)
        for number in range(len(self.nodes)):
            self.run_node(number)
        return [self.values[self._rows[node] + place] for node, place, *_ in self.graph["heads"]]

    def take(self, arrays: Sequence[np.ndarray]) -> None:
        """Set the values of the inputs to ``arrays``."""
        for node, value in zip(self.graph["arg_nodes"], arrays, strict=True):
            self.values[self._rows[node]] = value

    def run_node(self, number: int) -> float:
        """Call the function of a node and return the seconds that it took, 0 for an input."""
        node = self.nodes[number]
        if node["op"] == "null":
            return 0.0
        attrs = node["attrs"]
        inputs = [self.values[self._rows[source] + place] for source, place, *_ in node["inputs"]]
        if any(one is None for one in inputs):
            raise InputError(f"node {node['name']!r} needs what was not computed yet")
        places = range(self._rows[number], self._rows[number + 1])
        made = [empty(self.entries[place].shape, self.entries[place].dtype) for place in places]
        start = time.perf_counter()
        if attrs["func_name"] == NOP:
            made = [np.asarray(inputs[0]).reshape([one or 0 for one in self.entries[places[0]].shape])]
        else:
            flat = str(attrs.get("flatten_data", "0")) == "1"
            taken = [np.asarray(one).reshape(-1) if flat else one for one in (*inputs, *made)]
            _function(self._functions, attrs["func_name"])(*taken)
        self.seconds[number] = time.perf_counter() - start
        for place, value in zip(places, made, strict=True):
            self.values[place] = value
        return self.seconds[number]

    def node_outputs(self, number: int) -> list[Any]:
        """Return the values of a node after a run."""
        return self.values[self._rows[number] : self._rows[number + 1]]


def _function(functions: Any, name: str) -> Any:
    if getattr(functions, "entry_name", getattr(functions, "name", None)) == name and callable(functions):
        return functions
    try:
        return functions[name]
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"the graph calls {name!r}, which the library does not have") from None


def parsed(graph_json: str) -> dict[str, Any]:
    """Parse and check ``graph_json``, which is untrusted; an InputError says what is wrong with it."""
    try:
        graph = json.loads(graph_json)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the graph is no JSON: {str(error)[:80]}") from None
    match graph:
        case {
            "nodes": [*nodes],
            "arg_nodes": [*args],
            "heads": [*heads],
            "node_row_ptr": [*rows],
            "attrs": {"shape": [_, [*shapes]], "dltype": [_, [*types]]},
        } if len(rows) == len(nodes) + 1 and len(shapes) == len(types):
            pass
        case _:
            raise InputError(
                "the graph lacks nodes, arg_nodes, heads, node_row_ptr or attrs, or they are malformed"
            )
    ascending = all(_whole(row) for row in rows) and rows[0] == 0 and rows[-1] == len(shapes)
    if not ascending or any(after < before for before, after in itertools.pairwise(rows)):
        raise InputError("the graph's node_row_ptr does not number the results of its nodes")
    for number, node in enumerate(nodes):
        _check_node(number, node, nodes, rows)
    if not all(_whole(one) and one < len(nodes) and nodes[one]["op"] == "null" for one in args):
        raise InputError("the graph's arg_nodes are not its inputs")
    if not all(_is_entry(head, len(nodes), rows) for head in heads):
        raise InputError("the graph's heads are not results of its nodes")
    _check_sizes(shapes, types)
    return graph


def _check_node(number: int, node: Any, nodes: Sequence[Any], rows: Sequence[int]) -> None:
    match node:
        case {"op": "null", "name": str(), "inputs": []}:
            return
        case {"op": "tvm_op", "name": str(), "inputs": [*inputs], "attrs": {"func_name": str()}}:
            if all(_is_entry(one, number, rows) for one in inputs):
                return
    raise InputError(f"node {number} of the graph is {str(node)[:80]}, expected an input or a tvm_op")


def _is_entry(given: Any, nodes: int, rows: Sequence[int]) -> bool:
    """Whether ``given`` is an output of one of the first ``nodes`` nodes."""
    match given:
        case [int() as node, int() as place, *_] if 0 <= node < nodes:
            return 0 <= place < rows[node + 1] - rows[node]
    return False


def _check_sizes(shapes: Sequence[Any], types: Sequence[Any]) -> None:
    total = 0
    for shape, dtype in zip(shapes, types, strict=True):
        if not isinstance(shape, list) or not all(map(_whole, shape)) or not isinstance(dtype, str):
            raise InputError(f"the graph has a value of {str(dtype)[:20]}{str(shape)[:60]}")
        total += math.prod(shape) * dtypes.numpy_of(dtype).itemsize
    if total > MOST_BYTES:
        raise InputError(f"the graph's values take {total} bytes, expected at most {MOST_BYTES}")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
