"""The kernel calls of a compiled model as JSON, in the format of TVM's graph executor."""

from __future__ import annotations

import json
from typing import Any

from tvmlite.core.node import postorder
from tvmlite.relay.entry import labels
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.types import TensorType, TupleType


def graph_json(module: nodes.Module) -> str:
    """The JSON text: a list of nodes with operator, name and inputs, operands first, and the dtypes and
    shapes of their results. The parameters come first; a constant comes before its first reader."""
    table: list[dict[str, Any]] = []
    places: dict[nodes.Expr, list[list[int]]] = {}
    dtypes: list[str] = []
    shapes: list[list[Any]] = []
    used: dict[str, int] = {}

    def enter(node: nodes.Expr, op: str, name: str, inputs: list[list[int]], attrs: dict[str, str]) -> None:
        results = _tensors(type_of(node))
        row = {"op": op, "name": _unique(name, used), "inputs": inputs}
        table.append({**row, "attrs": {**attrs, "num_outputs": str(len(results))}} if attrs else row)
        places[node] = [[len(table) - 1, index, 0] for index in range(len(results))]
        dtypes.extend(one.dtype for one in results)
        shapes.extend(
            [extent if isinstance(extent, int) else str(extent) for extent in one.shape] for one in results
        )

    for node in [*module.main.params, *postorder(module.main.body)]:
        if node in places:
            continue
        match node:
            case nodes.Var(name=name):
                enter(node, "null", name, [], {})
            case nodes.Constant():
                enter(node, "null", "p", [], {})
            case nodes.Tuple(fields=fields):
                places[node] = [place for field in fields for place in places[field]]
            case nodes.TupleGetItem(value=value, index=index):
                places[node] = [places[value][index]]
            case nodes.Call(op=op, args=args):
                name = (
                    labels.operators([str(one.op) for one in _calls(op)])
                    if isinstance(op, nodes.Function)
                    else op
                )
                inputs = [place for arg in args for place in places[arg]]
                name = "tvmgen_default_fused_" + name.replace("+", "_").replace(" ", "_")
                enter(
                    node,
                    "tvm_op",
                    name,
                    inputs,
                    {"func_name": name, "num_inputs": str(len(inputs)), "flatten_data": "0"},
                )
            case nodes.Expr():
                enter(node, "control", type(node).__name__.lower(), [], {})
    made = {
        "nodes": table,
        "arg_nodes": [index for index, row in enumerate(table) if row["op"] == "null"],
        "heads": places[module.main.body],
        "attrs": {"dltype": ["list_str", dtypes], "shape": ["list_shape", shapes]},
        "node_row_ptr": _rows(table),
    }
    return json.dumps(made, indent=2)


def _calls(group: nodes.Function) -> list[nodes.Call]:
    return [node for node in postorder(group.body) if isinstance(node, nodes.Call)]


def _tensors(type_: Any) -> list[TensorType]:
    if isinstance(type_, TupleType):
        return [one for field in type_.fields for one in _tensors(field)]
    return [type_] if isinstance(type_, TensorType) else []


def _unique(name: str, used: dict[str, int]) -> str:
    count = used[name] = used.get(name, -1) + 1
    return name if count == 0 else f"{name}_{count}"


def _rows(table: list[dict[str, Any]]) -> list[int]:
    rows = [0]
    for row in table:
        rows.append(rows[-1] + int(row.get("attrs", {}).get("num_outputs", 1)))
    return rows
