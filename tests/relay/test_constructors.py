"""Everything public in ``relay``, called with wrong things by ``tests/fuzz/constructors.py``."""

from __future__ import annotations

import dataclasses
import functools
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.constructors import Subject, faults_as_asked, public, subjects
from onnx import TensorProto, helper, numpy_helper

import tvmlite
from tvmlite import relay, te
from tvmlite.relay.ir import op

INPUT = re.compile(r"(\w+)\((.*?)\)")
OPERATOR_SPACES = {
    "": relay,
    "nn.": relay.nn,
    "image.": relay.image,
    "vision.": relay.vision,
    "qnn.": relay.qnn,
}
TEXT = """def @main(%x: Tensor[(2, n), float32], %w: Tensor[(4, 3), float32]) {
  %0 = add(%x, 1f);
  let %v: Tensor[(2, n), float32] = nn.relu(%0);
  %1 = split(%v, indices_or_sections=2);
  (%1.0, concatenate((%1.0, %1.1), axis=0))
}
"""


def _variable(given: Any, name: str) -> Any:
    """The variable for an example's input: a text such as ``"float32(2, n) in 0..5"``, or an array."""
    if isinstance(given, np.ndarray):
        return relay.var(name, shape=given.shape, dtype=given.dtype.name)
    matched = INPUT.match(given)
    assert matched is not None
    parts = [part.strip() for part in matched[2].split(",") if part.strip()]
    return relay.var(name, shape=[int(p) if p.isdecimal() else p for p in parts], dtype=matched[1])


def _operator_examples() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((Path(__file__).parent / "ops").glob("examples_*.py")):
        for name, attrs, inputs, *_ in runpy.run_path(str(path))["EXAMPLES"]:
            names = op.get(name).argument_names
            variables = [
                [_variable(one, f"x{k}_{place}") for place, one in enumerate(given)]
                if isinstance(given, list)
                else _variable(given, f"x{k}")
                for k, given in enumerate(inputs)
            ]
            if op.get(name).num_inputs is None:
                variables = [variables]
            found.setdefault(name, []).append({**dict(zip(names, variables, strict=True)), **attrs})
    return found


def _nodes() -> dict[str, Any]:
    """Right arguments by the parameter they are for."""
    x = relay.var("x", shape=(2, 3))
    v = relay.var("v", shape=(2, 3))
    flag = relay.var("flag", shape=(), dtype="bool")
    body = relay.add(x, relay.const(1.0))
    function = relay.Function((x,), body)
    return {
        "name": "x", "name_hint": "x", "shape": (2, "n"), "dtype": "float32",
        "type": relay.TensorType((2, 3)), "type_annotation": relay.TensorType((2, 3)),
        "data": np.ones((2, 3), np.float32), "value": x, "op": "add", "args": (x, x), "params": (x,),
        "body": body, "var": v, "condition": flag, "then": x, "otherwise": body, "fields": (x, body),
        "index": 0, "dims": (relay.dim("found"),), "trip_count": 3, "states": (v,), "initial": (x,),
        "functions": {"main": function}, "expr": body, "node": body, "text": TEXT,
        "result": relay.TensorType((2, 3)), "module": relay.Module({"main": function}), "model": None,
    }  # fmt: skip


def _onnx_model() -> bytes:
    """A model of a few nodes, as the bytes of a file."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in "xy")
    scale = numpy_helper.from_array(np.ones((3,), np.float32), "scale")
    nodes = [
        helper.make_node("Mul", ["x", "scale"], ["m"]),
        helper.make_node("Softmax", ["m"], ["s"], axis=1),
        helper.make_node("Transpose", ["s"], ["t"], perm=[1, 0]),
        helper.make_node("Transpose", ["t"], ["y"], perm=[1, 0]),
    ]
    graph = helper.make_graph(nodes, "small", [x], [y], [scale])
    opset = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


def _examples() -> dict[str, list[dict[str, Any]]]:
    nodes = _nodes()
    x, flag = nodes["value"], nodes["condition"]
    index = relay.var("i", shape=(), dtype="int64")
    going = relay.const(True)
    count = relay.make("count_nonzero", x)
    types = (relay.TensorType((2, 3)), relay.TensorType((), "bool"))
    pair = relay.Tuple((x, x))
    after = relay.Tuple((going, nodes["states"][0], x))
    loop = {
        "index": index,
        "states": nodes["states"],
        "trip_count": 3,
        "condition": None,
        "initial": (x,),
        "body": after,
    }
    return {
        **_operator_examples(), "make": [{"name": "add"}], "TupleGetItem": [{"value": pair, "index": 1}],
        "LetDims": [{"dims": (relay.dim("found"),), "value": count, "body": x}],
        "Loop": [loop],
        "If": [{"condition": flag, "then": x, "otherwise": nodes["body"]}],
        "const": [{"value": 1.0}, {"value": [1, 2], "dtype": "int8"}], "TupleType": [{"fields": types}],
        "FuncType": [{"params": types, "result": types[0]}],
        "frontend.from_onnx": [{"model": _onnx_model(), "shape": {"x": [2, 3]}}],
        "frontend.onnx_coverage": [{"model": _onnx_model()}],
        "parse_expr": [{"text": "free_var %x: Tensor[(2, 3), float32];\nadd(%x, 1f)"}],
    }  # fmt: skip


def _operators() -> Iterator[tuple[str, Callable[..., Any]]]:
    for prefix, space in OPERATOR_SPACES.items():
        for name in dir(space):
            if op.is_known(prefix + name):
                yield prefix + name, getattr(space, name)
    for name in op.names():
        if name.startswith("linalg."):
            yield name, relay.builders.builder(name)


def _passes() -> Iterator[Subject]:
    """Each maker of passes, and the passes themselves."""
    for name, make in public(relay.transform, "transform."):
        given = {"passes": [relay.transform.FoldConstant()]} if name.endswith("Sequential") else {}
        yield Subject(name, make, given, ("precision",))
        yield Subject(f"{name}()", make(**given), {"module": _nodes()["module"]})


@functools.cache
def _subjects() -> list[Subject]:
    top = [(name, value) for name, value in public(relay) if name != "Expr"]
    frontend = list(public(relay.frontend, "frontend."))
    words = {"TupleGetItem": ("field",), "make": ("operator",), "Constant": ("dtype",)}
    return [
        *subjects([*top, *_operators()], _examples(), _nodes(), words),
        *(
            dataclasses.replace(one, places=("model file ", "model: ", ".{0,9}: ", "\\w+: its input"))
            for one in subjects(frontend, _examples(), {})
        ),
        *_passes(),
        Subject(
            "compile", tvmlite.compile, {"module": _nodes()["module"]}, callbacks=("progress", "kernel_cost")
        ),
    ]


def _wrong() -> list[Any]:
    """Nodes of all kinds, right in some places."""
    nodes = _nodes()
    x = nodes["value"]
    tensor = te.placeholder((2, 3), name="A")
    made = te.compute((2, 3), lambda i, j: tensor[i, j] + 1.0, name="B")
    return [
        x, relay.var("s", shape=()), relay.var("i", shape=(3,), dtype="int64"),
        relay.var("b", shape=(2,), dtype="bool"), relay.var("n", shape=("n", "m")),
        relay.var("five", shape=(1, 2, 3, 4, 5)), relay.var("e", shape=(0, 3)),
        relay.var("half", shape=(2, 3), dtype="float16"), relay.var("u", shape=(), dtype="uint8"),
        relay.var("image", shape=(1, 3, 8, 8)), relay.var("vector", shape=(3,)),
        relay.var("line", shape=(1, 3, 9)), relay.var("ids", shape=(2, 3), dtype="int32"),
        relay.var("narrow", shape=(2, 3), dtype="float8_e4m3fn"), relay.const(1.0), relay.const(2),
        relay.const([1, 2]), relay.const(np.ones((2, 3), "float32")), relay.Tuple((x, x)), relay.Tuple(()),
        nodes["functions"]["main"], nodes["module"], nodes["type"],
        relay.split(relay.var("y", shape=(4, 2)), 2), relay.TupleType((nodes["type"],)), relay.dim("n"),
        relay.dim("n") + 1, relay.dim("n") // 2 * 3, relay.dim("n") < 3, te.var("k"),
        te.var("f", "float32"), tensor, made, made.op, tensor[0, 0], te.const(2.5), te.const(3, "int64"),
        te.create_schedule(made.op), te.reduce_axis((0, 3)), relay.add, relay.nn, relay,
        relay.transform.FoldConstant(),
    ]  # fmt: skip


def _after(result: Any) -> None:
    """What a user does next: ask for the type, print, run a pass."""
    if isinstance(result, relay.Expr):
        relay.type_of(result)
    if isinstance(result, relay.Module):
        relay.infer.infer(result)
    if isinstance(result, (relay.Expr, relay.Module, relay.TensorType, relay.TupleType, relay.FuncType)):
        str(result)
        repr(result)


def test_every_call_answers_or_says_what_is_wrong(request: pytest.FixtureRequest) -> None:
    found = faults_as_asked(request, _subjects(), _wrong(), _after)

    assert not found, found
