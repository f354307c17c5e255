"""Converts an ONNX model to a Relay module: names become expressions, nodes are converted in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.relay.ir import infer
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, LetDims, Loop, Module, Tuple, Var
from tvmlite.relay.ir.types import TensorType, dim, dims_of
from tvmlite.relay.onnx import converters  # noqa: F401  (registers them)
from tvmlite.relay.onnx.control import sequence, tail_duplication
from tvmlite.relay.onnx.graph import conditions, interface, shapes
from tvmlite.relay.onnx.graph.graph_inputs import GraphInputs, ShapeOverride, identifier
from tvmlite.relay.onnx.graph.node import NOTHING, OnnxNode
from tvmlite.relay.onnx.graph.shared_names import fixed_shapes
from tvmlite.relay.onnx.reading import functions, loader, node_order, registry, schemas
from tvmlite.relay.onnx.reading.tensor_data import TensorData
from tvmlite.relay.passes.specialise import checked_size, specialise
from tvmlite.te import expr as te


def from_onnx(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto,
    shape: ShapeOverride | None = None,
    constants: Mapping[str, Any] | None = None,
) -> Module:
    """Return a Relay module that computes ``model`` (a path, a file's bytes, a ModelProto).

    ``shape`` gives inputs other shapes than the model declares: ints, or names of dynamic dimensions; a
    sequence takes a list of shapes, an optional None to omit it. Dimensions that the model names stay dynamic
    under that name; unnamed ones are called ``input_dim0``, ... ``shape`` may also contain dimensions:
    ``{"batch": 1}`` pins one, ``{"batch": [1, 8, 32]}`` adds graphs for these sizes beside the general one
    (``relay.passes.specialise``). ``constants`` fixes inputs to arrays: they are then no inputs of the
    module, and those that determine shapes (``axes``, ``k``, ``repeats``, ...) are known at import.

    Large weights stay in the file that ``model`` names, and are read when a library is made. The file may be
    removed or replaced; one that was written to is then a ModelError.

    Raises ModelError for a file that is damaged, inconsistent or unsafe, and UnsupportedError, with all
    missing operators at once, for a legal model that tvmlite does not support.
    """
    proto, data, source = loader.load(model)
    inputs = {one.name for one in proto.graph.input}
    shapes = {name: given for name, given in (shape or {}).items() if name in inputs}
    sizes: dict[str, Any] = {name: given for name, given in (shape or {}).items() if name not in inputs}
    pinned = {n: checked_size(n, size) for n, size in sizes.items() if isinstance(size, int | np.integer)}
    importer = Importer(proto, data, source, pinned)
    module = importer.run(shapes, constants or {})
    if fixed := {n: s for n, s in fixed_shapes(module.main).items() if n in inputs and n not in shapes}:
        declared = {n: [e.name if isinstance(e, te.SizeVar) else e for e in s] for n, s in fixed.items()}
        importer = Importer(proto, data, source, pinned)
        module = importer.run({**shapes, **declared}, constants or {})
    known = [*(size.name for size in dims_of([p.type for p in module.main.params])), *importer.inputs.met]
    for name in sizes:
        if name not in known:
            given = _quoted_list(p.name for p in module.main.params)
            raise ModelError(
                f"{source}: shape is given for {name!r}; the inputs are {given}, "
                f"the open dimensions {_quoted_list(known)}"
            )
    return specialise(module, {name: given for name, given in sizes.items() if name not in pinned})


def _quoted_list(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


class Scope:
    """The names visible in a graph, including those of the graphs around it."""

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent = parent
        self.values: dict[str, Expr] = {}

    def copy(self) -> Scope:
        """Return a scope with the same values, to which others may be added."""
        made = Scope(self.parent)
        made.values = dict(self.values)
        return made

    def find(self, name: str) -> Expr | None:
        """Return the value of ``name`` in this graph or the nearest one around it; None if there is none."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.parent
        return None


class Importer:
    """One import: the model, its operator sets, and what is known of its small tensors."""

    def __init__(
        self,
        proto: onnx.ModelProto,
        data: TensorData,
        source: str,
        pinned: Mapping[str, int] | None = None,
    ) -> None:
        """``data`` has the tensors not in ``proto``; ``pinned`` has the fixed sizes of open dimensions."""
        self.proto = proto
        self.data = data
        self.source = source
        self.opsets = loader.opset_versions(proto.opset_import, source)
        self.known: dict[Expr, np.ndarray] = {}
        self.inputs = GraphInputs(source, pinned or {})
        self.facts: list[conditions.Fact] = []
        self.wanted: tail_duplication.Wanted = {}
        self.lists: dict[Expr, Expr] = {}
        self.squeezed: dict[str, tuple[int, ...]] = {}
        self.depth = 0
        self.uncomputed: dict[str, str] = {}
        self.bound: set[te.SizeVar] = set()
        self.signed: set[te.SizeVar] = set()
        self.required: set[te.SizeVar] = set()
        self._taken: set[str] = set()
        self._lets: list[list[tuple[tuple[te.SizeVar, ...], Expr, Span]]] = [[]]
        self.local_functions = {(f.domain, f.name): f for f in proto.functions}

    def run(self, shape: ShapeOverride, constants: Mapping[str, Any]) -> Module:
        """Return the module of the whole model."""
        graph = self.proto.graph
        functions.check_operators(self, graph)
        scope = Scope()
        self.initializers(graph, scope)
        self.inputs.bind_constants(graph, scope.values, constants)
        inputs = self.inputs.params(graph, scope.values, shape)
        self._taken = {
            d.name for _, value in inputs for p in interface.flat(value) for d in dims_of(infer.type_of(p))
        }
        self.wanted = interface.ranks(graph.output)
        self.nodes(graph.node, scope, self.opsets, self.wanted)
        outputs = [(output.name, self._output(output, scope)) for output in graph.output]
        names = [name for name, _ in outputs]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ModelError(f"{self.source}: graph output {twice[0]!r} is named twice")
        params = tuple(p for _, value in inputs for p in interface.flat(value) if isinstance(p, Var))
        results = tuple(r for _, value in outputs for r in interface.flat(value))
        body = self._bind_dims_around(results[0] if len(results) == 1 else Tuple(results))
        main = Function(params, body)
        flat_names = tuple(one for name, value in outputs for one in interface.flat_names(name, value))
        attrs = interface.attributes(inputs, outputs, flat_names, self.squeezed)
        return Module({"main": main}, flat_names, attrs, self._exprs_by_name(graph, scope))

    def _exprs_by_name(self, graph: onnx.GraphProto, scope: Scope) -> dict[str, Expr]:
        """The expressions of inputs, nodes and outputs by name; a tuple for a node of several outputs."""
        held = {tensor.name for tensor in graph.initializer}
        named: dict[str, Expr] = {}
        for proto in graph.node:
            outputs = tuple(scope.values[name] for name in proto.output if name in scope.values)
            if proto.name and outputs and all(isinstance(one, Expr) for one in outputs):
                named.setdefault(proto.name, outputs[0] if len(outputs) == 1 else Tuple(outputs))
        known = {name: value for name, value in scope.values.items() if value is not NOTHING}
        return named | {name: value for name, value in known.items() if name not in held}

    # Data-dependent dimensions

    def bind(self, value: Expr, names: Sequence[str], span: Span) -> list[te.SizeVar]:
        """Return new dimensions for the elements of ``value``, an int64 vector; their scope is the block."""
        found = []
        for wanted in names:
            name, count = identifier(wanted), 0
            while name in self._taken:
                count += 1
                name = f"{identifier(wanted)}_{count}"
            self._taken.add(name)
            found.append(dim(name))
        self._lets[-1].append((tuple(found), value, span))
        self.bound.update(found)
        return found

    def block(self, make: Callable[[], Sequence[Expr]], as_tuple: bool = False) -> Expr:
        """Return the results of ``make``, several as a tuple, inside the bindings of its dimensions."""
        known, facts = dict(self.known), list(self.facts)
        self._lets.append([])
        try:
            results = tuple(make())
            return self._bind_dims_around(
                results[0] if len(results) == 1 and not as_tuple else Tuple(results)
            )
        finally:
            self._lets.pop()
            self.known, self.facts = known, facts

    def _bind_dims_around(self, body: Expr) -> Expr:
        """``body`` inside the bindings of dimensions that it uses, or that must be checked."""
        mentioned = _dims_in(body) | self.required
        for names, value, span in reversed(self._lets[-1]):
            if not mentioned.isdisjoint(names):
                body = LetDims(names, value, body, span)
                mentioned |= _dims_in(value)
        return body

    def value(self, scope: Scope, name: str, what: str) -> Expr:
        """Return the value of ``name``; the error for an unknown one says that ``what`` needs it."""
        found = scope.find(name)
        if found is None and name in self.uncomputed:
            raise UnsupportedError(
                f"{self.source}: {what} {name!r}: {self.uncomputed[name]} does not compute it"
            )
        if found is None:
            raise ModelError(f"{self.source}: {what} {name!r} is not the name of any value computed before")
        if found in self.lists:
            raise UnsupportedError(
                f"{self.source}: {what} {name!r} is a list whose length is known only at run time"
            )
        return found

    def _output(self, declared: onnx.ValueInfoProto, scope: Scope) -> Expr:
        """The value of a graph's output, which must have its declared element type."""
        found = self.value(scope, declared.name, "graph output")
        if found is NOTHING:
            raise UnsupportedError(f"{self.source}: graph output {declared.name!r} is an empty optional")
        made, kind = infer.type_of(found), declared.type.tensor_type.elem_type
        if kind and isinstance(made, TensorType):
            what = f"{self.source}: graph output {declared.name!r}"
            dtype = loader.dtype_of(kind, what)
            if made.dtype != dtype:
                raise ModelError(f"{what} is declared {dtype}, its nodes compute {made.dtype}")
        return found

    def initializers(self, graph: onnx.GraphProto, scope: Scope) -> None:
        """Add the constants of ``graph`` to ``scope``."""
        if graph.sparse_initializer:
            name = graph.sparse_initializer[0].values.name
            raise UnsupportedError(f"{self.source}: initializer {name!r} is sparse")
        declared = {one.name: one for one in graph.input}
        for tensor in graph.initializer:
            what = f"{self.source}: initializer {tensor.name!r}"
            if not tensor.name:
                raise ModelError(f"{self.source}: an initializer has no name")
            if tensor.name in scope.values:
                raise ModelError(f"{what} is given twice")
            array = loader.array_of(tensor, self.data, what)
            if tensor.name in declared:
                self.inputs.check_default(declared[tensor.name], array, what)
            span = Span(self.source, note=f'initializer "{tensor.name}"')
            scope.values[tensor.name] = Constant(array, span)

    # Nodes

    def new_scope(self, parent: Scope | None = None) -> Scope:
        """Return a scope for a subgraph (inside ``parent``) or for a function's body (without one)."""
        return Scope(parent)

    def nodes(
        self,
        nodes: Sequence[onnx.NodeProto],
        scope: Scope,
        opsets: Mapping[str, int],
        wanted: tail_duplication.Wanted,
        inside: str = "",
    ) -> None:
        """Convert ``nodes``, each after those it depends on; their outputs are added to ``scope``.

        ``inside`` is the label of the node that they are the function body of: errors use that label.
        """
        labelled = []
        for index in node_order.conversion_order(nodes, self.source, scope.values):
            label = f"{inside}: {nodes[index].op_type}" if inside else functions.label(nodes[index], index)
            labelled.append((label, nodes[index]))
        self.convert(labelled, scope, opsets, wanted)

    def convert(
        self,
        labelled: Sequence[tail_duplication.Labelled],
        scope: Scope,
        opsets: Mapping[str, int],
        wanted: tail_duplication.Wanted,
    ) -> None:
        """Convert nodes that are in order; those outputs that are ``wanted`` are added to ``scope``."""
        rest, done = list(labelled), 0
        while done < len(rest):
            label, proto = rest[done]
            try:
                self.convert_node(proto, scope, opsets, label)
                done += 1
            except conditions.Undecided as branch:
                rest = tail_duplication.duplicate_tail(self, branch, rest[done:], scope, opsets, wanted)
                done = 0

    def convert_node(
        self, proto: onnx.NodeProto, scope: Scope, opsets: Mapping[str, int], label: str
    ) -> None:
        """Convert one node, whose inputs are in ``scope``, and add its outputs."""
        node = OnnxNode(proto, opsets, self, scope, label)
        inputs = self._arguments(node, proto, scope)
        schemas.check_node(node, inputs)
        outputs = self._known_outputs(node, inputs) or self._converted(node, inputs)
        outputs += [None] * (len(proto.output) - len(outputs))
        for name, value in zip(proto.output, outputs, strict=False):
            if value is None:
                self.uncomputed[name] = node.label
            if name and value is not None:
                if name in scope.values:
                    node.bad(f"its output {name!r} is the name of another value")
                self._check_size(node, value)
                scope.values[name] = interface.unpack_sequence(value)

    def _arguments(self, node: OnnxNode, proto: onnx.NodeProto, scope: Scope) -> list[Expr | None]:
        inputs: list[Expr | None] = []
        for name in proto.input:
            found = scope.find(name) if name else None
            if name and found is None:
                if name in self.uncomputed:
                    node.unsupported(
                        f"its input {name!r} is an output that {self.uncomputed[name]} leaves out"
                    )
                if any(name in other.output for other in loader.nodes_of(self.proto.graph)):
                    node.bad(f"its input {name!r} is a value inside another graph, which is not seen here")
                node.bad(f"its input {name!r} is the name of nothing in the graph")
            if found in self.lists and node.op_type not in sequence.OF_OPEN_LISTS:
                node.unsupported(f"its input {name!r} is a list whose length is known only at run time")
            inputs.append(None if found is NOTHING else found)
        return inputs

    def _known_outputs(self, node: OnnxNode, inputs: Sequence[Expr | None]) -> list[Expr | None] | None:
        """The outputs, if all their elements are known at import."""
        if any(isinstance(value, Tuple) for value in inputs):
            return None
        followed = shapes.infer_elements(node, inputs)
        if followed is None:
            return None
        outputs: list[Expr | None] = []
        dtype = shapes.result_dtype(node, inputs)
        for elements in followed:
            value = shapes.materialise(node, elements, dtype)
            if not isinstance(value, Constant):
                self.known[value] = elements
            outputs.append(value)
        return outputs

    def _converted(self, node: OnnxNode, inputs: list[Expr | None]) -> list[Expr | None]:
        function = registry.find(node.domain, node.op_type, node.opset)
        while inputs and inputs[-1] is None:
            inputs.pop()
        if function is None:
            return functions.expand(self, node, inputs)
        made = function(node, *inputs)
        return list(made) if isinstance(made, list | tuple) else [made]

    def _check_size(self, node: OnnxNode, value: Expr) -> None:
        made = infer.type_of(value)
        if isinstance(made, TensorType):
            known = tuple(d for d in made.shape if isinstance(d, int))
            loader.checked_bytes(known, made.dtype, node.op_type, node.span)


def _dims_in(value: Expr) -> set[te.SizeVar]:
    """The dimensions in attributes and trip counts in and below ``value``."""
    found: set[te.SizeVar] = set()
    for node in postorder(value):
        if isinstance(node, Call):
            found.update(dims_of([attribute for _, attribute in node.attrs]))
        elif isinstance(node, Loop):
            found.update(dims_of(node.trip_count))
    return found
