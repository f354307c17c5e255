"""Operators that consist of others: a model's own functions, and those ONNX defines by a function body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import onnx

from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.relay.ir.nodes import Expr, Tuple
from tvmlite.relay.onnx.reading import loader, refusals, registry, schemas
from tvmlite.te.expr import Expr as ScalarExpr

if TYPE_CHECKING:
    from tvmlite.relay.onnx.graph.node import OnnxNode
    from tvmlite.relay.onnx.importer import Importer

DEEPEST_FUNCTION = 16


def label(proto: onnx.NodeProto, index: int | None = None) -> str:
    """Return the name of a node in errors: its own, or that of its first output, or its index."""
    if proto.name:
        return f'node "{proto.name}" ({proto.op_type})'
    named = next((name for name in proto.output if name), None)
    return f'node of output "{named}" ({proto.op_type})' if named else f"node {index} ({proto.op_type})"


def check_operators(importer: Importer, graph: onnx.GraphProto) -> None:
    """Raise one UnsupportedError with all operators that have no converter, and their nodes."""
    missing: dict[tuple[str, str], list[str]] = {}
    for proto in loader.nodes_of(graph):
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        if not proto.op_type:
            raise ModelError(f"{importer.source}: {label(proto)} has no operator")
        local = (proto.domain, proto.op_type) in importer.local_functions
        if domain not in importer.opsets and not local:
            raise ModelError(
                f"{importer.source}: {label(proto)} is of the operator set {domain or 'ai.onnx'!r}, "
                f"which the model does not import"
            )
        if not local and not is_known(domain, proto.op_type, importer.opsets.get(domain, 0)):
            nodes = missing.setdefault((domain, proto.op_type), [])
            nodes.append(proto.name or next(iter(proto.output), "?"))
    if missing:
        raise UnsupportedError(refusals.missing_operators(importer.source, missing))


def is_known(domain: str, op_type: str, opset: int, depth: int = 0) -> bool:
    """Return whether an operator has a converter, or is defined by operators that have one."""
    if registry.find(domain, op_type, opset) is not None:
        return True
    return _is_defined(domain, op_type, opset, depth, registry.count())


@lru_cache(maxsize=4096)
def _is_defined(domain: str, op_type: str, opset: int, depth: int, converters: int) -> bool:
    """Whether an operator is defined by known ones; the number of ``converters`` is part of the cache key."""
    schema = schemas.find(domain, op_type, opset)
    if schema is None or depth > DEEPEST_FUNCTION:
        return False
    body = _plain_body(schema, opset)
    if body is None:
        return schema.has_context_dependent_function
    versions = {o.domain: o.version for o in body.opset_import}
    return all(
        is_known(n.domain, n.op_type, versions.get(n.domain, opset), depth + 1) for n in loader.nodes_of(body)
    )


@lru_cache(maxsize=4096)
def _plain_body(schema: Any, opset: int) -> onnx.FunctionProto | None:
    """The function body that depends only on the opset, if there is one."""
    if not schema.has_function:
        return None
    versions = [v for v in schema.function_opset_versions if v <= opset]
    data = schema.get_function_with_opset_version(max(versions)) if versions else b""
    return onnx.FunctionProto.FromString(data) if data else None


def expand(importer: Importer, node: OnnxNode, inputs: Sequence[Expr | None]) -> list[Expr | None]:
    """Return the outputs of a node whose operator is a function, by importing its body in a new scope."""
    body = importer.local_functions.get((node.proto.domain, node.op_type)) or _body(node, inputs)
    if importer.depth >= DEEPEST_FUNCTION:
        node.bad("functions call each other too deeply, or themselves")
    scope = importer.new_scope()
    for name, value in zip(body.input, inputs, strict=False):
        if value is not None:
            scope.values[name] = value
    given = {a.name: a for a in node.proto.attribute}
    defaults = {a.name: a for a in body.attribute_proto}
    opsets = {"" if o.domain == "ai.onnx" else o.domain: o.version for o in body.opset_import}
    absent = {name for name in body.input if name not in scope.values}
    nodes = [_bind_body_node(n, {**defaults, **node.defaults, **given}, absent) for n in body.node]
    importer.depth += 1
    wanted = dict.fromkeys(body.output)
    importer.nodes(nodes, scope, {**importer.opsets, **opsets}, wanted, inside=node.label)
    importer.depth -= 1
    what = f"output of function {node.op_type!r}"
    return [
        importer.value(scope, name, what) if node.has_output(i) else None
        for i, name in enumerate(list(body.output)[: node.num_outputs])
    ]


def _body(node: OnnxNode, inputs: Sequence[Expr | None]) -> onnx.FunctionProto:
    schema = schemas.find(node.domain, node.op_type, node.opset)
    if schema is None:
        node.unsupported(f"no converter for opset {node.opset}")
    plain = _plain_body(schema, node.opset)
    if plain is not None:
        return plain
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= node.opset]
    if any(isinstance(value, Tuple) for value in inputs):
        node.unsupported("of a sequence")
    types = [_type_bytes(node, value) for value in inputs]
    for version in sorted(versions, reverse=True):
        try:
            data = schema.get_context_dependent_function_with_opset_version(
                version, node.proto.SerializeToString(), types
            )
        except (
            UnicodeDecodeError,
            RuntimeError,
        ) as error:  # onnx pastes the attributes into a text that it parses
            node.bad(f"onnx cannot make its function body of these attributes ({error})")
        if data:
            return onnx.FunctionProto.FromString(data)
    return node.unsupported("has no function body for these inputs and attributes")


def _type_bytes(node: OnnxNode, value: Expr | None) -> bytes:
    if value is None:
        return onnx.TypeProto().SerializeToString()
    made = node.type(value)
    elem = next(k for k, name in loader.DTYPES.items() if name == made.dtype)
    shape = [str(d) if isinstance(d, ScalarExpr) else d for d in made.shape]
    return onnx.helper.make_tensor_type_proto(elem, shape).SerializeToString()


def _bind_body_node(
    proto: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], absent: set[str]
) -> onnx.NodeProto:
    """A copy of a body's node, with the function's attributes substituted, and omitted inputs empty."""
    made = onnx.NodeProto()
    made.CopyFrom(proto)
    _bind_node(made, attributes, absent)
    return made


def _bind_node(node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], absent: set[str]) -> None:
    for i, name in enumerate(node.input):
        if name in absent:
            node.input[i] = ""
    kept: list[onnx.AttributeProto] = []
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name not in attributes:
                continue
            made = onnx.AttributeProto()
            made.CopyFrom(attributes[attribute.ref_attr_name])
            made.name = attribute.name
            attribute = made
        for inner in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
            for one in inner.node:
                _bind_node(one, attributes, absent)
        kept.append(attribute)
    copies = [onnx.AttributeProto.FromString(a.SerializeToString()) for a in kept]
    del node.attribute[:]
    node.attribute.extend(copies)
