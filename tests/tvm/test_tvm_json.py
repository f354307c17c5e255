"""JSON written by TVM's own ``save_json``."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.tvm import relay, tir


def read(*nodes: dict[str, Any]) -> Any:
    return tvm.ir.load_json(json.dumps({"root": 1, "nodes": [{"type_key": ""}, *nodes], "b64ndarrays": []}))


def node(kind: str, **attrs: str) -> dict[str, Any]:
    return {"type_key": kind, "attrs": attrs}


def test_containers_and_shared_expressions_are_read() -> None:
    made = read(
        {"type_key": "Map", "keys": ["e", "f"], "data": [2, 7]},
        node("Add", a="3", b="4", span="0"),
        node("Mul", a="4", b="5", span="0"),
        node("tir.Var", dtype="int32", name="6", span="0"),
        node("IntImm", dtype="int32", value="2", span="0"),
        {"type_key": "runtime.String", "repr_str": "a"},
        {"type_key": "Array", "data": [8, 6]},
        node("FloatImm", dtype="float32", value="0.5"),
    )

    assert str(made["e"]) == "((a: int32*2) + a)"
    assert made["e"].b is made["e"].a.a
    assert [made["f"][0].value, made["f"][1]] == [0.5, "a"]
    name = {"type_key": "runtime.String", "repr_str": "a"}
    assert read({"type_key": "Array", "data": [3]}, name, node("IntImm", dtype="int32", value="2"))[0] == 2


def test_relay_names_types_and_operators_are_read() -> None:
    shape = ({"type_key": "Array", "data": [4]}, node("IntImm", dtype="int32", value="16"))
    tensor = node("relay.TensorType", dtype="float32", shape="3")
    x = read(node("relay.Var", vid="5", type_annotation="2"), tensor, *shape, node("relay.Id", name_hint="x"))
    function = node("relay.FuncType", arg_types="3", ret_type="2", type_params="3", type_constraints="3")
    empty = {"type_key": "Array"}

    assert (x.name_hint, x.type_annotation) == ("x", relay.TensorType((16,)))
    assert read(node("relay.GlobalVar", name_hint="main")).name_hint == "main"
    assert read(function, node("relay.TupleType", fields="3"), empty).ret_type == relay.TupleType([])
    assert read({"type_key": "relay.Op", "global_key": "nn.conv2d"}) == relay.op.get("nn.conv2d")
    assert isinstance(read(node("SizeVar", dtype="int32", name="n")), tir.SizeVar)
    assert isinstance(read(node("relay.IncompleteType", span="0")), tvm.ir.IncompleteType)


def test_unsupported_and_damaged_json_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match=r"load_json: TVM's relay\.Call is not read"):
        read(node("relay.Call", args="0"))
    for wrong in (
        [{"type_key": "Array", "data": [1]}],
        [{"type_key": "Array", "data": [9]}],
        [{"type_key": "Map", "data": [0]}],
        [{"data": [0]}],
        [node("IntImm", dtype="int32", value="x")],
        [node("Add", a="0")],
        ["text"],
    ):
        with pytest.raises(InputError, match="load_json: this is not what TVM's save_json writes"):
            read(*wrong)  # type: ignore[arg-type]
