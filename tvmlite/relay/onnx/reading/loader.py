"""Reads an ONNX file without trusting it: every size, offset and path is checked before it is used."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from tvmlite.core import dtype as dtypes
from tvmlite.core import mapped
from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.onnx.reading.foreign import how_to_export
from tvmlite.relay.onnx.reading.tensor_data import EMBEDDED, TensorData, without_large_tensors

OLDEST_OPSET = 1
LARGEST_FILE = 2**31
LARGEST_TENSOR = 2**36
"""The most bytes of one tensor; a graph that needs more is rejected."""

LARGEST_RANK = 32
DEEPEST_GRAPH = 32
"""The most nested graphs, which is also protobuf's limit."""

DTYPES = {
    onnx.TensorProto.FLOAT: "float32",
    onnx.TensorProto.DOUBLE: "float64",
    onnx.TensorProto.FLOAT16: "float16",
    onnx.TensorProto.BFLOAT16: "bfloat16",
    onnx.TensorProto.INT8: "int8",
    onnx.TensorProto.INT16: "int16",
    onnx.TensorProto.INT32: "int32",
    onnx.TensorProto.INT64: "int64",
    onnx.TensorProto.UINT8: "uint8",
    onnx.TensorProto.UINT16: "uint16",
    onnx.TensorProto.UINT32: "uint32",
    onnx.TensorProto.UINT64: "uint64",
    onnx.TensorProto.BOOL: "bool",
}
_NEWER_TYPES = {
    "FLOAT8E4M3FN": "float8_e4m3fn",
    "FLOAT8E4M3FNUZ": "float8_e4m3fnuz",
    "FLOAT8E5M2": "float8_e5m2",
    "FLOAT8E5M2FNUZ": "float8_e5m2fnuz",
    "FLOAT8E8M0": "float8_e8m0fnu",
    "FLOAT6E2M3": "float6_e2m3fn",
    "FLOAT6E3M2": "float6_e3m2fn",
    "FLOAT4E2M1": "float4_e2m1fn",
    "INT4": "int4",
    "UINT4": "uint4",
    "INT2": "int2",
    "UINT2": "uint2",
}
"""Element types that older onnx packages do not have."""

DTYPES |= {
    onnx.TensorProto.DataType.Value(kind): name
    for kind, name in _NEWER_TYPES.items()
    if kind in dict(onnx.TensorProto.DataType.items())
}

_PACKED = {
    "int4": 4,
    "uint4": 4,
    "int2": 2,
    "uint2": 2,
    "float4_e2m1fn": 4,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
}
"""The bits of an element in a file, for types that are packed there; in memory each takes a byte."""


def load(model: str | os.PathLike[str] | bytes | onnx.ModelProto) -> tuple[onnx.ModelProto, TensorData, str]:
    """Return the model, the location of tensor data that is not in it, and its name for errors.

    Raises ModelError for a file that is missing, truncated, foreign or empty.
    """
    if isinstance(model, str | os.PathLike):
        path = Path(model)
        name = str(path)
        data = TensorData(path.parent, _map_file(path))
        proto = _parse(data.serialized, f"model file {name!r}", how_to_export(name))
    elif isinstance(model, bytes | bytearray | memoryview):
        name = "model"
        data = TensorData(serialized=np.frombuffer(bytes(model), np.uint8))
        proto = _parse(data.serialized, name)
        name = proto.graph.name or name
    elif isinstance(model, onnx.ModelProto):
        data, proto = TensorData(), model
        name = proto.graph.name or "model"
    else:
        raise ModelError(
            f"a model is a path, bytes or an onnx.ModelProto, not a {type(model).__name__}", Span.of_caller()
        )
    _check_whole(proto, name)
    return proto, data, name


def _map_file(path: Path) -> np.ndarray:
    """The bytes of a file that may be a model."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:  # a ValueError for a zero byte in the name
        missing = isinstance(error, FileNotFoundError)
        what = "does not exist" if missing else f"cannot be read: {getattr(error, 'strerror', error)}"
        raise ModelError(f"model file {str(path)!r} {what}") from error
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise ModelError(f"model file {str(path)!r} is {what}")
    size = status.st_size
    if size >= LARGEST_FILE:
        raise ModelError(
            f"model file {str(path)!r} has {size} bytes, protobuf reads less than {LARGEST_FILE}",
            hint="save it with external data: onnx.save(model, path, save_as_external_data=True)",
        )
    if size == 0:
        return np.empty(0, np.uint8)
    try:
        return mapped.map_file(path)
    except OSError as error:
        raise ModelError(f"model file {str(path)!r} cannot be read: {error.strerror}") from error


def _parse(serialized: np.ndarray | None, what: str, hint: str | None = None) -> onnx.ModelProto:
    if serialized is None or not serialized.size:
        raise ModelError(f"{what}: the file is empty, expected an ONNX model", hint=hint)
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(without_large_tensors(serialized))
    except Exception as error:  # protobuf's implementations share no public exception class
        if type(error).__name__ not in ("DecodeError", "RuntimeError", "ValueError"):
            raise
        raise ModelError(f"{what}: not an ONNX model, or a truncated one ({error})", hint=hint) from error
    finally:
        mapped.release_pages(serialized)
    return proto


def _check_whole(proto: onnx.ModelProto, name: str) -> None:
    if not proto.HasField("graph") or proto.ir_version <= 0:
        raise ModelError(
            f"{name}: not an ONNX model: it has no graph or no ir_version", hint=how_to_export(name)
        )
    if proto.ir_version > onnx.IR_VERSION:
        raise UnsupportedError(
            f"{name}: the model is of ir_version {proto.ir_version}, supported are 1 to {onnx.IR_VERSION}",
            hint="install a newer onnx package, or save the model with an older one",
        )
    if not proto.graph.output:
        raise ModelError(f"{name}: the graph has no outputs")
    for graph in (proto.graph, *proto.functions):
        _check_depth(graph, name)
    _check_texts(proto, name)
    opset_versions(proto.opset_import, name)
    _check_functions(proto, name)


def _check_depth(graph: onnx.GraphProto | onnx.FunctionProto, name: str) -> None:
    """Check that graphs are not nested deeper than they can be converted."""
    inside: list[Any] = [graph]
    for _ in range(DEEPEST_GRAPH):
        inside = [one for outer in inside for node in outer.node for one in subgraphs(node)]
    if inside:
        raise ModelError(f"{name}: graphs are nested more than {DEEPEST_GRAPH} deep")


def _check_functions(proto: onnx.ModelProto, name: str) -> None:
    """Check that each function is defined once, with known operator sets."""
    seen: set[tuple[str, str]] = set()
    for function in proto.functions:
        if (function.domain, function.name) in seen:
            raise ModelError(f"{name}: the function {function.domain}.{function.name} is defined twice")
        seen.add((function.domain, function.name))
        if function.opset_import:
            opset_versions(function.opset_import, f"{name}: function {function.name!r}")


def _check_texts(proto: onnx.ModelProto, name: str) -> None:
    """Check that names are text: protobuf returns bytes if they are not UTF-8."""
    graph = proto.graph
    texts: list[Any] = [o.domain for o in proto.opset_import]
    texts += [i.name for rows in (graph.initializer, graph.input, graph.output) for i in rows]
    for source in (graph, *proto.functions):
        for node in nodes_of(source):
            texts += [node.name, node.op_type, node.domain, *node.input, *node.output]
            texts += [a.name for a in node.attribute]
    for text in texts:
        if not isinstance(text, str):
            raise ModelError(f"{name}: the name {text!r} is not valid text")


def opset_versions(imports: Iterable[onnx.OperatorSetIdProto], name: str) -> dict[str, int]:
    """Return the opset version by domain ("" for ONNX's own), which the onnx package must know.

    A domain has one version, which may be given more than once, as by some exporters.
    """
    versions: dict[str, int] = {}
    for one in imports:
        domain, shown = _domain(one.domain), repr(_domain(one.domain) or "ai.onnx")
        if versions.get(domain, one.version) != one.version:
            both = f"{versions[domain]} and {one.version}"
            raise ModelError(f"{name}: the operator set {shown} is imported twice, as versions {both}")
        if one.version < 1 and domain:
            raise ModelError(f"{name}: the operator set {shown} is imported as version {one.version}")
        versions[domain] = one.version
    newest = onnx.defs.onnx_opset_version()
    if "" not in versions:
        if versions:
            return versions
        raise ModelError(f"{name}: the model imports no operator set")
    if not OLDEST_OPSET <= versions[""] <= newest:
        raise UnsupportedError(
            f"{name}: the model is of opset {versions['']}, supported are {OLDEST_OPSET} to {newest}",
            hint="convert it with onnx.version_converter, or install a newer onnx package",
        )
    return versions


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def nodes_of(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """Yield every node of ``graph`` and of the graphs inside its nodes."""
    stack: list[Any] = [graph]
    while stack:
        for node in stack.pop().node:
            yield node
            stack.extend(subgraphs(node))


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Yield the graphs in the attributes of ``node``."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def dtype_of(elem_type: int, what: str, span: Span | None = None) -> str:
    """Return our name of an ONNX element type; UnsupportedError for strings and complex numbers."""
    if elem_type not in DTYPES:
        try:
            kind = onnx.TensorProto.DataType.Name(elem_type)
        except ValueError:
            raise ModelError(f"{what}: unknown element type {elem_type}", span) from None
        raise UnsupportedError(
            f"{what}: element type {kind} is not supported; supported are {', '.join(DTYPES.values())}",
            span,
            "prepare the text before the model, as numbers" if kind == "STRING" else None,
        )
    return next(name for kind, name in DTYPES.items() if kind == elem_type)


def array_of(tensor: onnx.TensorProto, data: TensorData, what: str, span: Span | None = None) -> np.ndarray:
    """Return the array of a TensorProto, after checking its dimensions, data length and external file."""
    dtype = dtype_of(tensor.data_type, what, span)
    shape = tuple(tensor.dims)
    size = checked_bytes(shape, dtype, what, span)
    size = -(-size * _PACKED.get(dtype, 8) // 8)
    if len(shape) > LARGEST_RANK:
        raise ModelError(f"{what}: has {len(shape)} dimensions, at most {LARGEST_RANK} are supported", span)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raw = _external(tensor, data, size, what, span)
        if dtype in _PACKED:
            tensor = onnx.TensorProto(dims=shape, data_type=tensor.data_type, raw_data=bytes(raw))
            return np.ascontiguousarray(numpy_helper.to_array(tensor)).reshape(shape)
        return raw.view(dtypes.numpy_of(dtype).newbyteorder("<")).reshape(shape)
    if tensor.HasField("raw_data"):
        _check_length(tensor, len(tensor.raw_data), size, what, span)
    try:
        return np.ascontiguousarray(numpy_helper.to_array(tensor)).reshape(shape)
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelError(f"{what}: its data does not fit shape {shape} of {dtype} ({error})", span) from error


def checked_bytes(shape: tuple[int, ...], dtype: str, what: str, span: Span | None = None) -> int:
    """Return the bytes of an array; ModelError for a negative dimension or more than ``LARGEST_TENSOR``."""
    if any(d < 0 for d in shape):
        raise ModelError(f"{what}: negative dimension in shape {shape}", span)
    size = math.prod(shape) * dtypes.bytes_of(dtype)
    if size > LARGEST_TENSOR:
        raise ModelError(
            f"{what}: shape {shape} of {dtype} needs {size} bytes, at most {LARGEST_TENSOR} are supported",
            span,
        )
    return size


def _check_length(tensor: onnx.TensorProto, have: int, size: int, what: str, span: Span | None) -> None:
    """Raise a ModelError unless the bytes that ``tensor`` has in the model, ``have``, are ``size``."""
    if have != size:
        kind = dtype_of(tensor.data_type, what, span)
        raise ModelError(
            f"{what}: shape {tuple(tensor.dims)} of {kind} needs {size} bytes, the file holds {have}", span
        )


def _external(
    tensor: onnx.TensorProto, data: TensorData, size: int, what: str, span: Span | None
) -> np.ndarray:
    """The bytes of a tensor that are not in its TensorProto, uint8: a view, so that those of files are in
    memory only while they are read."""
    entries = {e.key: e.value for e in tensor.external_data}
    location = entries.get("location", "")
    offset = _parse_count(entries.get("offset", "0"), "offset", what, span)
    length = _parse_count(entries.get("length", str(size)), "length", what, span)
    if location == EMBEDDED and data.serialized is not None and offset + length <= data.serialized.size:
        _check_length(tensor, length, size, what, span)
        return data.serialized[offset : offset + length]
    if data.folder is None:
        raise ModelError(f"{what}: its data is in the file {location!r}; give the model's path", span)
    path = _resolve_inside(data.folder, location, what, span)
    if length != size:
        raise ModelError(f"{what}: its shape needs {size} bytes, the external data has {length}", span)
    have = path.stat().st_size
    if offset + length > have:
        raise ModelError(
            f"{what}: bytes {offset} to {offset + length} of {location!r}, which has only {have}", span
        )
    if size == 0:
        return np.empty(0, np.uint8)
    try:
        return data.file(path)[offset : offset + length]
    except OSError as error:
        raise ModelError(
            f"{what}: external data file {str(path)!r} cannot be read: {error.strerror}", span
        ) from error


def _resolve_inside(folder: Path, location: str, what: str, span: Span | None) -> Path:
    """The file ``location``, which must be inside ``folder`` after following links."""
    parts = location.replace("\\", "/").split("/")
    if not location:
        raise ModelError(f"{what}: its data is external, and no location is given", span)
    if "\0" in location or Path(location).is_absolute() or parts[0] == "" or ".." in parts:
        raise ModelError(f"{what}: external data at {location!r} leaves the model's folder", span)
    try:
        path = (folder / location).resolve(strict=True)
    except FileNotFoundError:
        raise ModelError(
            f"{what}: external data file {str(folder / location)!r} does not exist", span
        ) from None
    except (OSError, RuntimeError) as error:  # a RuntimeError for a cycle of links
        raise ModelError(f"{what}: external data file {location!r} cannot be read ({error})", span) from error
    if not path.is_relative_to(folder.resolve()):
        raise ModelError(f"{what}: external data at {location!r} leads out of the model's folder", span)
    if not path.is_file():
        raise ModelError(f"{what}: external data {str(folder / location)!r} is not a regular file", span)
    return path


def _parse_count(text: str, key: str, what: str, span: Span | None) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 100):
        raise ModelError(f"{what}: external data {key} is {text!r}, expected a whole number", span)
    return int(text)
