"""Reads JSON that TVM wrote: containers, numbers, scalar expressions, names, types and operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm import tir
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import GlobalVar, Var
from tvmlite.tvm.relay.op.op import get
from tvmlite.tvm.runtime.container import Array, Map, String

HINT = "of TVM's own graphs tvm.relay.fromtext reads the text, which mod.astext() gives there"

_BINARY = "Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE And Or".split()
_REFERENCES: dict[str, tuple[str, ...]] = {
    "relay.Var": ("vid", "type_annotation"),
    "relay.TensorType": ("shape",),
    "relay.TupleType": ("fields",),
    "relay.FuncType": ("arg_types", "ret_type", "type_params", "type_constraints"),
    **{f"tir.{name}": ("a", "b") for name in _BINARY},
}
"""The attributes of each kind of node that refer to other nodes."""

_NAMES = "name", "name_hint"

_MADE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "IntImm": lambda of: tir.IntImm(of["dtype"], int(of["value"])),
    "FloatImm": lambda of: tir.FloatImm(of["dtype"], float(of["value"])),
    "tir.Var": lambda of: tir.Var(of["name"], of["dtype"]),
    "tir.SizeVar": lambda of: tir.SizeVar(of["name"], of["dtype"]),
    "relay.Id": lambda of: of["name_hint"],
    "relay.Var": lambda of: Var(of["vid"], of["type_annotation"]),
    "GlobalVar": lambda of: GlobalVar(of["name_hint"]),
    "relay.TensorType": lambda of: ty.TensorType(tuple(of["shape"]), of["dtype"]),
    "relay.TupleType": lambda of: ty.TupleType(list(of["fields"])),
    "relay.FuncType": lambda of: _function(of),
    "IncompleteType": lambda of: ty.IncompleteType(),
}
_MADE |= {f"tir.{name}": lambda of, name=name: getattr(tir, name)(of["a"], of["b"]) for name in _BINARY}
_OLDER = {
    "Variable": "tir.Var",
    "SizeVar": "tir.SizeVar",
    "relay.GlobalVar": "GlobalVar",
    "relay.IncompleteType": "IncompleteType",
    "relay.Op": "Op",
    "TensorType": "relay.TensorType",
    "TupleType": "relay.TupleType",
    "FuncType": "relay.FuncType",
    "StrMap": "Map",
    **{name: f"tir.{name}" for name in _BINARY},
}
"""The current names of kinds of nodes, by the names that other versions of TVM write."""


def is_of_tvm(table: Any) -> bool:
    """Whether ``table`` has the form of the JSON that TVM's ``save_json`` writes."""
    return isinstance(table, Mapping) and isinstance(table.get("nodes"), list) and "root" in table


def decode(table: Mapping[str, Any]) -> Any:
    """The root object of TVM's JSON. Raises an UnsupportedError for a kind of node that is not supported, and
    an InputError for a malformed table."""
    try:
        return _decode(table["nodes"], table["root"])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"load_json: this is not what TVM's save_json writes: {error!r}") from None


def _decode(rows: Sequence[Mapping[str, Any]], root: int) -> Any:
    made: dict[int, Any] = {0: None}
    begun: set[int] = set()
    stack = [root]
    while stack:
        place = stack[-1]
        missing = [one for one in _children(rows, rows[place]) if one not in made]
        if place in made or not missing:
            stack.pop()
            if place not in made:
                made[place] = _made(rows, rows[place], made)
            continue
        if place in begun:
            raise ValueError(f"node {place} is in itself")
        begun.add(place)
        stack += missing
    return made[root]


def _kind(row: Mapping[str, Any]) -> str:
    key = str(row["type_key"])
    return _OLDER.get(key, key)


def _children(rows: Sequence[Any], row: Mapping[str, Any]) -> list[int]:
    """The positions of the nodes that ``row`` refers to."""
    kind = _kind(row)
    found = row.get("data", []) if kind in ("Array", "Map") else []
    found = [*found, *(int(row["attrs"][name]) for name in _REFERENCES.get(kind, ()))]
    return [range(len(rows))[one] for one in found]


def _made(rows: Sequence[Any], row: Mapping[str, Any], made: Mapping[int, Any]) -> Any:
    kind, inner = _kind(row), [made[one] for one in row.get("data", [])]
    if kind == "":
        return None
    if kind == "Array":
        return Array(inner)
    if kind == "Map":
        keys, values = (row["keys"], inner) if "keys" in row else (inner[::2], inner[1::2])
        return Map(dict(zip(keys, values, strict=True)))
    if kind == "runtime.String":
        return String(row.get("repr_str", ""))
    if kind == "Op":
        return get(row.get("global_key", row.get("repr_str", "")))
    if kind not in _MADE:
        raise UnsupportedError(f"load_json: TVM's {row['type_key']} is not read", Span.of_caller(), HINT)
    attrs: dict[str, Any] = dict(row.get("attrs", {}))
    attrs |= {name: _text(rows, attrs[name]) for name in _NAMES if name in attrs}
    attrs |= {name: made[int(row["attrs"][name])] for name in _REFERENCES.get(kind, ())}
    return _MADE[kind](attrs)


def _text(rows: Sequence[Any], value: str) -> str:
    """The string ``value``: TVM 0.6 writes it directly, later versions write the position of a node."""
    row: Mapping[str, Any] = rows[int(value)] if value.isdecimal() and int(value) < len(rows) else {}
    return row.get("repr_str", "") if row.get("type_key") == "runtime.String" else value


def _function(of: Mapping[str, Any]) -> Any:
    return ty.FuncType(list(of["arg_types"]), of["ret_type"], of["type_params"], of["type_constraints"])
