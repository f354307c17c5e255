"""The results of a debug executor: the nodes with their times and values, written to files and as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tvmlite.tvm.absent import refusing
from tvmlite.tvm.runtime_params import save_param_dict

GRAPH_FILE = "_tvmdbg_graph_dump.json"
TRACE_FILE = "_tvmdbg_execution_trace.json"
TENSORS_FILE = "output_tensors.params"

_HEADER = ["Node Name", "Ops", "Time(us)", "Time(%)", "Shape", "Inputs", "Outputs", "Measurements(us)"]


class DebugResult:
    """The nodes of ``graph``, a parsed graph in TVM's JSON format, with their measured times; files are in
    the folder ``dump_path``."""

    def __init__(self, graph: dict[str, Any], dump_path: Path) -> None:
        self.graph, self._dump_path = graph, dump_path
        self._rows = graph["node_row_ptr"]
        self._shapes = graph["attrs"]["shape"][1]
        self._dtypes = graph["attrs"]["dltype"][1]
        self._nodes = [self._shown(number) for number in range(len(graph["nodes"]))]
        self._seconds: list[Sequence[float]] = [()] * len(self._nodes)
        text = json.dumps({**graph, "nodes": self._nodes}, indent=4, sort_keys=False)
        (dump_path / GRAPH_FILE).write_text(text, encoding="utf-8")

    def get_graph_nodes(self) -> list[dict[str, Any]]:
        """Return the nodes in order; ``op`` is the function that a node calls, or ``param``."""
        return self._nodes

    def get_graph_node_shapes(self) -> list[Any]:
        """Return the shapes of all values."""
        return self._shapes

    def get_graph_node_output_num(self, node: dict[str, Any]) -> int:
        """Return the number of outputs of a node."""
        return int(node.get("attrs", {}).get("num_outputs", 1))

    def take(self, seconds: Sequence[Sequence[float]], values: dict[str, Any]) -> None:
        """Store the seconds of each node, one per run, and write the trace and the ``values`` by name."""
        self._seconds = list(seconds)
        events: list[dict[str, Any]] = []
        now = 0.0
        for node, times in zip(self._nodes, seconds, strict=True):
            for phase in ("B", "E"):
                events.append({"ts": now * 1e6, "ph": phase, "pid": 1, "tid": 1, "name": node["name"]})
                now += (times[0] if times else 0.0) if phase == "B" else 0.0
        trace = {"displayTimeUnit": "ns", "traceEvents": events}
        (self._dump_path / TRACE_FILE).write_text(json.dumps(trace), encoding="utf-8")
        (self._dump_path / TENSORS_FILE).write_bytes(bytes(save_param_dict(values)))

    def get_debug_result(self, sort_by_time: bool = True) -> str:
        """Return a table of the nodes that are not parameters, the slowest first if ``sort_by_time``."""
        means = [sum(times) / len(times) if times else 0.0 for times in self._seconds]
        total = sum(means)
        shown = [number for number, node in enumerate(self._nodes) if node["op"] != "param"]
        if sort_by_time:
            shown.sort(key=lambda number: -means[number])
        rows = [self._row(number, means[number], total) for number in shown]
        rows.append(["Total_time", "-", f"{total * 1e6:.3f}", *["-"] * (len(_HEADER) - 3)])
        lines = [_HEADER, ["-" * len(word) for word in _HEADER], *rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADER))]
        return "\n".join(
            "".join(word.ljust(width + 2) for word, width in zip(line, widths, strict=True)) for line in lines
        )

    def _row(self, number: int, mean: float, total: float) -> list[str]:
        node, start = self._nodes[number], self._rows[number]
        share = f"{100 * mean / total:.3f}" if total else "-"
        measured = "[" + ", ".join(f"{one * 1e6:.3f}" for one in self._seconds[number]) + "]"
        counts = str(len(node["inputs"])), str(self._rows[number + 1] - start)
        return [
            node["name"],
            node["op"],
            f"{mean * 1e6:.3f}",
            share,
            str(tuple(self._shapes[start])),
            *counts,
            measured,
        ]

    def _shown(self, number: int) -> dict[str, Any]:
        node, start = self.graph["nodes"][number], self._rows[number]
        names = [self.graph["nodes"][source]["name"] for source, *_ in node["inputs"]]
        function = node.get("attrs", {}).get("func_name")
        return {
            **node,
            "op": function or "param",
            "inputs": names,
            "attrs": {**node.get("attrs", {}), "T": f"type: {self._dtypes[start]}"},
            "shape": self._shapes[start],
        }


__getattr__ = refusing(__name__)
