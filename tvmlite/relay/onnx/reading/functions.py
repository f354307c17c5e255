"""Operators that are made of others: a model's own functions, and those ONNX defines by a function body."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import onnx

from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.relay.ir.nodes import Expr, Tuple
from tvmlite.relay.onnx.reading import loader, refusals, registry
from tvmlite.te.expr import Expr as ScalarExpr

if TYPE_CHECKING:
    from tvmlite.relay.onnx.graph.node import OnnxNode
    from tvmlite.relay.onnx.importer import Importer

DEEPEST_FUNCTION = 16

_TYPE_NAMES = {
    dtype: f"tensor({onnx.TensorProto.DataType.Name(kind).lower()})" for kind, dtype in loader.DTYPES.items()
}
"""How schemas name our element types."""


def label(proto: onnx.NodeProto, index: int | None = None) -> str:
    """How errors name a node: by its name, else by its first output, else by its place."""
    if proto.name:
        return f'node "{proto.name}" ({proto.op_type})'
    named = next((name for name in proto.output if name), None)
    return f'node of output "{named}" ({proto.op_type})' if named else f"node {index} ({proto.op_type})"


def check_operators(importer: Importer, graph: onnx.GraphProto) -> None:
    """Raise one UnsupportedError with every operator that has no converter, and its nodes."""
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
    """Whether an operator has a converter, or is defined by others that have."""
    if registry.find(domain, op_type, opset) is not None:
        return True
    return _is_defined(domain, op_type, opset, depth, registry.count())


@lru_cache(maxsize=4096)
def _is_defined(domain: str, op_type: str, opset: int, depth: int, converters: int) -> bool:
    """Whether an operator is defined by others that are known now that there are so many ``converters``."""
    schema = _schema(domain, op_type, opset)
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
def _schema(domain: str, op_type: str, opset: int) -> Any:  # an OpSchema: its stub lacks the functions
    try:
        return onnx.defs.get_schema(op_type, opset, domain)
    except onnx.defs.SchemaError:
        return None


@lru_cache(maxsize=4096)
def _plain_body(schema: Any, opset: int) -> onnx.FunctionProto | None:
    """The function body that depends on nothing but the opset, if there is one."""
    if not schema.has_function:
        return None
    versions = [v for v in schema.function_opset_versions if v <= opset]
    data = schema.get_function_with_opset_version(max(versions)) if versions else b""
    return onnx.FunctionProto.FromString(data) if data else None


def check_node(node: OnnxNode, domain: str, inputs: Sequence[Expr | None]) -> None:
    """Hold a node to its operator: the model's own function, ONNX's schema, else our converter."""
    _check_attribute_names(node)
    function = node.importer.local_functions.get((node.proto.domain, node.op_type))
    schema = _schema(domain, node.op_type, node.opset)
    if schema is None and not domain:  # newer than the model's operator set, and converted all the same
        schema = _schema(domain, node.op_type, onnx.defs.onnx_opset_version())
    if function is not None:
        _check_counts(node, 0, len(function.input), len(function.output))
    elif schema is not None:
        _check_counts(node, schema.min_input, schema.max_input, schema.max_output)
        _check_types(node, schema, inputs)
        _check_attributes(node, schema)
    else:
        _check_inputs(node, registry.find(domain, node.op_type, node.opset), inputs)


def _check_attribute_names(node: OnnxNode) -> None:
    names = [attribute.name for attribute in node.proto.attribute]
    for attribute in node.proto.attribute:
        if names.count(attribute.name) > 1:
            node.bad(f"attribute {attribute.name!r} is given twice")
        if attribute.ref_attr_name:
            node.bad(
                f"attribute {attribute.name!r} stands for {attribute.ref_attr_name!r} of a function, "
                "and the node is in none"
            )


def _check_inputs(node: OnnxNode, function: registry.Converter | None, inputs: Sequence[Expr | None]) -> None:
    """Hold a node without a schema to the inputs that its converter takes."""
    if function is None:
        return
    kinds = inspect.Parameter
    takes = list(inspect.signature(function).parameters.values())[1:]
    places = [one for one in takes if one.kind == kinds.POSITIONAL_OR_KEYWORD]
    needed = sum(one.default is kinds.empty for one in places)
    given = len(inputs) - next((k for k, one in enumerate(reversed(inputs)) if one is not None), len(inputs))
    if given < needed:
        node.bad(f"has {given} input{'s' * (given != 1)}, expected {needed} or more")
    if given > len(places) == len(takes):
        node.unsupported(f"has {given} inputs, at most {len(places)} are supported")


def _check_counts(node: OnnxNode, least: int, most: int, outputs: int) -> None:
    given = len(node.proto.input)
    if not least <= given <= most:
        to = "" if least == most else " or more" if most > 1000 else f" to {most}"
        node.bad(f"has {given} input{'s' * (given != 1)}, expected {least}{to}")
    if node.num_outputs > outputs:
        node.bad(f"has {node.num_outputs} outputs, at most {outputs} are defined")


def _check_attributes(node: OnnxNode, schema: Any) -> None:
    """Those that must be there, and no others, each of its kind."""
    for name, attribute in schema.attributes.items():
        if attribute.required and not node.has(name):
            node.bad(f"attribute {name!r} is missing")
    for given in node.proto.attribute:
        known = schema.attributes.get(given.name)
        if known is None:
            node.bad(f"has no attribute {given.name!r}")
        if known.type.value != given.type:
            kinds = onnx.AttributeProto.AttributeType
            expected, got = kinds.Name(known.type.value), kinds.Name(given.type)
            node.bad(f"attribute {given.name!r} is of kind {got}, expected {expected}")


def _check_types(node: OnnxNode, schema: Any, inputs: Sequence[Expr | None]) -> None:
    """Hold the inputs to the element types the schema allows, and to one type where it wants one."""
    formals = list(schema.inputs)
    formals += formals[-1:] * (len(inputs) - len(formals))
    kinds = onnx.defs.OpSchema.FormalParameterOption
    seen: dict[str, tuple[str, str]] = {}
    for formal, value in zip(formals, inputs, strict=False):
        if value is None:
            may_be_empty = any(kind.startswith("optional(") for kind in formal.types)
            if formal.option != kinds.Optional and not may_be_empty:
                node.bad(f"input {formal.name!r} is missing")
            continue
        if isinstance(value, Tuple):
            if not any("seq(" in kind for kind in formal.types):
                node.bad(f"input {formal.name!r} is a sequence, expected a tensor")
            continue
        dtype = node.dtype(value)
        if not any(kind in (_TYPE_NAMES[dtype], f"optional({_TYPE_NAMES[dtype]})") for kind in formal.types):
            allowed = ", ".join(d for d, name in _TYPE_NAMES.items() if name in formal.types) or "no tensor"
            node.bad(f"input {formal.name!r} is {dtype}, expected {allowed}")
        if formal.option == kinds.Variadic and not formal.is_homogeneous:
            continue
        other, first = seen.setdefault(formal.type_str, (formal.name, dtype))
        if first != dtype:
            node.bad(f"inputs {other!r} and {formal.name!r} are {first} and {dtype}, expected one type")


def expand(importer: Importer, node: OnnxNode, inputs: Sequence[Expr | None]) -> list[Expr | None]:
    """The outputs of a node whose operator is a function, by importing its body in a scope of its own."""
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
    nodes = [_bound(n, {**defaults, **_schema_defaults(node), **given}, absent) for n in body.node]
    importer.depth += 1
    wanted = dict.fromkeys(body.output)
    importer.nodes(nodes, scope, {**importer.opsets, **opsets}, wanted, inside=node.label)
    importer.depth -= 1
    what = f"output of function {node.op_type!r}"
    return [
        importer.value(scope, name, what) if node.wants(i) else None
        for i, name in enumerate(list(body.output)[: node.num_outputs])
    ]


def _schema_defaults(node: OnnxNode) -> dict[str, onnx.AttributeProto]:
    schema = _schema("" if node.proto.domain == "ai.onnx" else node.proto.domain, node.op_type, node.opset)
    rows = {} if schema is None else schema.attributes
    return {name: a.default_value for name, a in rows.items() if a.default_value.name}


def _body(node: OnnxNode, inputs: Sequence[Expr | None]) -> onnx.FunctionProto:
    domain = "" if node.proto.domain == "ai.onnx" else node.proto.domain
    schema = _schema(domain, node.op_type, node.opset)
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
        ) as error:  # onnx pastes the attributes into a text it parses
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


def _bound(
    proto: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], absent: set[str]
) -> onnx.NodeProto:
    """A copy of a body's node: references to the function's attributes replaced, left-out inputs emptied."""
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
