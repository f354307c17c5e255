"""Tensor expressions and schedules as JSON, with one row for each object: its class and its fields."""

from __future__ import annotations

import base64
import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tvmlite.core.errors import InputError
from tvmlite.runtime.ndarray import NDArray
from tvmlite.te.schedule.schedule import Schedule, Trace
from tvmlite.te.tensor.tensor import Operation, Tensor
from tvmlite.tvm import nd
from tvmlite.tvm.ir.attrs import DictAttrs
from tvmlite.tvm.marks import is_marked_itself, mark
from tvmlite.tvm.runtime.container import Array, Map
from tvmlite.tvm.runtime.values import Extent, StringImm, Text
from tvmlite.tvm.te.op_attributes import OpAttributes

_MODULES = (
    "core.span",
    "te.expr.nodes",
    "te.loop.ir",
    "te.schedule.layout",
    "te.schedule.stage_base",
    "te.schedule.tensor_intrin",
    "te.tensor.extern",
    "te.tensor.scan",
    "te.tensor.tensor",
    "tvm.te.threads",
    "tvm.tir.types",
)
_OF_TVM = (
    "tvm.ir.attrs",
    "tvm.ir.source",
    "tvm.tir.buffer",
    "tvm.tir.function",
    "tvm.tir.uncompiled",
    "tvm.written",
)
"""Modules whose classes may have the same names as those of ``_MODULES``."""

_SEQUENCES: dict[str, type] = {"tuple": tuple, "list": list, "attributes": OpAttributes, "Array": Array}
_MAPS: dict[str, Any] = {"dict": dict, "proxy": MappingProxyType, "Map": Map, "DictAttrs": DictAttrs}
_STRINGS: dict[str, type] = {"Text": Text, "StringImm": StringImm}
MARK, ITSELF = "tvm_mark", "tvm_itself"
"""Extra fields of a row: whether a TVM program made the node, and which of its fields are the node itself."""
_PLAIN = (str, int, float, bool, type(None))


def _classes() -> dict[str, type]:
    """The classes of objects that can be written, by name. Objects of other classes are never made."""
    made: dict[str, type] = {"Tensor": Tensor}
    for module in (importlib.import_module(f"tvmlite.{name}") for name in _MODULES):
        made.update({k: v for k, v in vars(module).items() if isinstance(v, type) and v.__name__ == k})
    for name in _OF_TVM:
        module = importlib.import_module(f"tvmlite.{name}")
        own = (v for v in vars(module).values() if getattr(v, "__module__", "") == module.__name__)
        made.update({f"tvm.{v.__name__}": v for v in own if isinstance(v, type)})
    return {k: v for k, v in made.items() if dataclasses.is_dataclass(v) or v is Tensor}


def encode(root: Any) -> dict[str, Any]:
    """``root``, a tensor, an operation, an expression or a schedule, as data for JSON. Raises an InputError
    if an object in it cannot be written."""
    known = {kind: name for name, kind in _classes().items()}
    places: dict[int, int] = {}
    rows: list[Any] = []
    value = (root._start, root.state) if isinstance(root, Schedule) else root
    stack = [(one, False) for one in _objects(value)]
    while stack:
        node, ready = stack.pop()
        if id(node) in places:
            continue
        if type(node) not in known:
            raise InputError(f"save_json: a {type(node).__name__} cannot be written")
        fields = _fields(node)
        if not ready:
            stack.append((node, True))
            stack += [(one, False) for field in fields.values() for one in _objects(field)]
            continue
        written = {key: _written(one, places) for key, one in fields.items()}
        rows.append([known[type(node)], written | ({MARK: True} if is_marked_itself(node) else {})])
        places[id(node)] = len(rows) - 1
    return {"schedule": isinstance(root, Schedule), "root": _written(value, places), "nodes": rows}


def decode(table: Mapping[str, Any]) -> Any:
    """New objects equal to those that ``encode`` was given. Raises an InputError for other data."""
    classes = _classes()
    nodes: list[Any] = []
    try:
        for name, fields in table["nodes"]:
            made = object.__new__(classes[name])
            if fields.pop(MARK, None):
                mark(made)
            for key in _read(fields.pop(ITSELF, ["list", []]), nodes):
                made.__dict__[key] = made
            for key, value in fields.items():
                if not key.isidentifier() or key.startswith("_"):
                    raise KeyError(key)
                made.__dict__[key] = _read(value, nodes)
            nodes.append(made)
        root = _read(table["root"], nodes)
        _join(nodes)
        return _schedule(*root) if table["schedule"] else root
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"load_json: this is not what save_json wrote: {error}") from None


def _schedule(start: Any, state: Any) -> Schedule:
    """A schedule in the state ``state``, with an empty trace: primitives applied earlier are not recorded."""
    made = Schedule.__new__(Schedule)
    made._begin(start, Trace(), {})
    made._show(state)
    return made


def _join(nodes: list[Any]) -> None:
    """Make the tensors that were read the outputs of their operations."""
    tensors = {(one.op, one.value_index): one for one in nodes if isinstance(one, Tensor)}
    for op in (one for one in nodes if isinstance(one, Operation)):
        found = tuple(tensors.get((op, k)) or Tensor(op, k) for k in range(op.num_outputs))
        object.__setattr__(op, "_outputs", found)


def _fields(node: Any) -> dict[str, Any]:
    own = {key: value for key, value in vars(node).items() if not key.startswith("_")}
    itself = [key for key, value in own.items() if value is node]
    kept = {key: value for key, value in own.items() if value is not node}
    return {**kept, ITSELF: itself} if itself else kept


def _objects(value: Any) -> Iterator[Any]:
    """The objects in ``value`` that are written as separate rows."""
    if isinstance(value, (tuple, list)):
        for one in value:
            yield from _objects(one)
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from _objects(pair)
    elif not isinstance(value, (*_PLAIN, NDArray)):
        yield value


def _written(value: Any, places: Mapping[int, int]) -> Any:
    if isinstance(value, (tuple, list)):
        kind = {list: "list", OpAttributes: "attributes", Array: "Array"}.get(type(value), "tuple")
        return [kind, [_written(one, places) for one in value]]
    if isinstance(value, Mapping):
        pairs = [[_written(key, places), _written(one, places)] for key, one in value.items()]
        names = {Map: "Map", DictAttrs: "DictAttrs", MappingProxyType: "proxy"}
        return [names.get(type(value), "dict"), pairs]
    if isinstance(value, NDArray):
        array = value.numpy()
        data = base64.b64encode(array.tobytes()).decode("ascii")
        return ["ndarray", [array.dtype.name, list(array.shape), data]]
    if isinstance(value, Extent):
        return ["extent", int(value)]
    if type(value) in (Text, StringImm):
        return [type(value).__name__, value.value]
    return value if isinstance(value, _PLAIN) else ["node", places[id(value)]]


def _read(value: Any, nodes: list[Any]) -> Any:
    if not isinstance(value, list):
        return value
    kind, inner = value
    if kind == "node":
        return nodes[range(len(nodes))[inner]]
    if kind == "extent":
        return Extent(inner)
    if kind in _STRINGS:
        return _STRINGS[kind](inner)
    if kind == "ndarray":
        dtype, shape, data = inner
        return nd.array(np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy())
    if kind in _SEQUENCES:
        return _SEQUENCES[kind](_read(one, nodes) for one in inner)
    pairs = {_read(key, nodes): _read(one, nodes) for key, one in inner}
    return _MAPS[kind](pairs)
