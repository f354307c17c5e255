"""Which nodes of a model can be imported, and why others cannot, without stopping at the first."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import onnx

from tvmlite.core.errors import UnsupportedError
from tvmlite.relay.onnx.graph import conditions, interface
from tvmlite.relay.onnx.graph.graph_inputs import ShapeOverride
from tvmlite.relay.onnx.importer import Importer, Scope
from tvmlite.relay.onnx.reading import functions, loader, registry
from tvmlite.relay.onnx.reading.node_order import names_read
from tvmlite.relay.onnx.reading.refusals import advice

Status = Literal["native", "function", "missing", "refused", "unchecked"]
"""``native``: has a converter; ``function``: expands to other operators; ``missing``: neither; ``refused``:
an unsupported case of the operator; ``unchecked``: its inputs depend on an unsupported node."""

SUPPORTED: tuple[Status, ...] = ("native", "function")


@dataclass(frozen=True)
class NodeCoverage:
    """The coverage of one node of the main graph; ``reason`` explains why it is not supported."""

    label: str
    operator: str
    status: Status
    reason: str = ""

    @property
    def supported(self) -> bool:
        """Whether the node can be imported, by a converter or as a function."""
        return self.status in SUPPORTED


def coverage(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto, shape: ShapeOverride | None = None
) -> list[NodeCoverage]:
    """Return the coverage of every node, in the graph's order; subgraphs count with the node they are in.

    Raises ModelError for a damaged model, and UnsupportedError if no node can be checked: for an unknown
    opset, or for inputs that are not tensors.
    """
    proto, data, source = loader.load(model)
    importer = _CoverageImporter(proto, data, source)
    importer.run_coverage(shape or {})
    return importer.rows


class _CoverageImporter(Importer):
    """An import that records the nodes it cannot convert and continues."""

    def run_coverage(self, shape: ShapeOverride) -> None:
        """Fill ``rows``."""
        self.rows: list[NodeCoverage] = []
        self.unknown: set[str] = set()
        self.top = Scope()
        self.initializers(self.proto.graph, self.top)
        self.inputs.params(self.proto.graph, self.top.values, shape)
        graph = self.proto.graph
        self.nodes(graph.node, self.top, self.opsets, interface.ranks(graph.output))

    def convert_node(
        self, proto: onnx.NodeProto, scope: Scope, opsets: Mapping[str, int], label: str
    ) -> None:
        if scope is not self.top:
            return super().convert_node(proto, scope, opsets, label)
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        name = f"{domain}.{proto.op_type}" if domain else proto.op_type
        status, reason = self._status(proto, domain, opsets.get(domain, 0)), ""
        lacking = sorted(set(names_read(proto)) & self.unknown)
        if status == "missing":
            reason = f"no converter in opset {opsets.get(domain, 0)}; {advice(domain, proto.op_type)}"
        elif lacking:
            status, reason = "unchecked", f"needs {lacking[0]!r}"
        else:
            try:
                super().convert_node(proto, scope, opsets, label)
            except conditions.Undecided as branch:  # the nodes after it are checked with one branch
                self.facts.append(branch.fact(True))
                return self.convert_node(proto, scope, opsets, label)
            except UnsupportedError as error:
                inside = error.span.note if error.span is not None else label
                status, reason = "refused", error.message + (f" (in its {inside})" if inside != label else "")
        if status not in SUPPORTED:
            self.unknown.update(name for name in proto.output if name not in scope.values)
        self.rows.append(NodeCoverage(label, name, status, reason))
        return None

    def _status(self, proto: onnx.NodeProto, domain: str, opset: int) -> Status:
        if (proto.domain, proto.op_type) in self.local_functions:
            return "function"
        if registry.find(domain, proto.op_type, opset) is not None:
            return "native"
        return "function" if functions.is_known(domain, proto.op_type, opset) else "missing"
