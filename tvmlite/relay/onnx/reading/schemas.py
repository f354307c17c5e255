"""The onnx package's schemas of operators' inputs and attributes, which nodes must conform to."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import onnx

from tvmlite.relay.ir.nodes import Expr, Tuple
from tvmlite.relay.onnx.reading import loader, registry

if TYPE_CHECKING:
    from tvmlite.relay.onnx.graph.node import OnnxNode

_TYPE_NAMES = {
    dtype: f"tensor({onnx.TensorProto.DataType.Name(kind).lower()})" for kind, dtype in loader.DTYPES.items()
}
"""The schemas' names of our element types."""


NEWEST = onnx.defs.onnx_opset_version()


@lru_cache(maxsize=4096)
def find(domain: str, op_type: str, opset: int) -> Any:  # an OpSchema: its stub lacks the functions
    """Return the schema of an operator of ``opset``, or None."""
    try:
        return onnx.defs.get_schema(op_type, opset, domain)
    except onnx.defs.SchemaError:
        return None


def find_or_newest(domain: str, op_type: str, opset: int) -> Any:
    """Return ``find``; for ONNX's own operator, newer than ``opset`` but converted, the newest schema."""
    schema = find(domain, op_type, opset)
    return schema if schema or domain else find(domain, op_type, NEWEST)


@lru_cache(maxsize=4096)
def defaults(domain: str, op_type: str, opset: int) -> Mapping[str, onnx.AttributeProto]:
    """Return the default attributes of an operator.

    Attributes that exist only in newer operator sets have their defaults there, as in the older operator.
    """
    schemas = (find_or_newest(domain, op_type, version) for version in (NEWEST, opset))
    rows = [one.attributes for one in schemas if one is not None]
    every = {name: attribute for each in rows for name, attribute in each.items()}
    return {name: one.default_value for name, one in every.items() if one.default_value.name}


def check_node(node: OnnxNode, inputs: Sequence[Expr | None]) -> None:
    """Check a node against its operator: the model's own function, ONNX's schema, or else our converter."""
    _check_attribute_names(node)
    function = node.importer.local_functions.get((node.proto.domain, node.op_type))
    schema = find_or_newest(node.domain, node.op_type, node.opset)
    if function is not None:
        _check_counts(node, 0, len(function.input), len(function.output))
    elif schema is not None:
        _check_counts(node, schema.min_input, schema.max_input, schema.max_output)
        _check_types(node, schema, inputs)
        _check_attributes(node, schema)
    else:
        _check_inputs(node, registry.find(node.domain, node.op_type, node.opset), inputs)


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
    """Check a node without a schema against the inputs of its converter."""
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
    """Check that required attributes are present, and that there are no unknown ones or wrong types."""
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
    """Check the inputs' element types against the schema, and that they are equal where it requires that."""
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
