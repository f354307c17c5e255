"""Models that cannot be: each is one clear error that names the node or the file, never a crash."""

from __future__ import annotations

import contextlib
import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from small_models import BOOL, I64, RELU, F, floats, ints, model, one, tensor

import tvmlite
from tvmlite.core.errors import (
    ModelError,
    TvmliteError,
    UnsupportedError,
)
from tvmlite.relay.frontend import from_onnx

HUGE = 2**62
IMAGE = tensor("x", (1, 3, 8, 8))
KERNEL = floats("w", np.ones((4, 3, 3, 3)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "a model is a path, bytes or an onnx.ModelProto, not a NoneType"),
        (3, "not a int"),
        ("/dev/zero", "is not a regular file"),
        ("a" * 5000, "cannot be read: File name too long"),
        ("a\0b", "cannot be read"),
        (RELU.graph.SerializeToString(), "no graph or no ir_version"),
        (floats("w", np.ones((3, 4))).SerializeToString(), "not an ONNX model"),
    ],
    ids=range(7),
)
def test_what_is_no_model_is_refused(given, message) -> None:
    with pytest.raises(ModelError, match=message):
        from_onnx(given)


def test_a_pipe_is_not_waited_for(tmp_path) -> None:
    os.mkfifo(tmp_path / "m.onnx")

    with pytest.raises(ModelError, match="is not a regular file"):
        from_onnx(tmp_path / "m.onnx")


def test_changed_bytes_give_a_module_or_an_error_of_ours() -> None:
    data, random = RELU.SerializeToString(), np.random.default_rng(0)

    for _ in range(500):
        changed = bytearray(data)
        for _ in range(random.integers(1, 4)):
            changed[random.integers(len(data))] = random.integers(256)
        with contextlib.suppress(TvmliteError):
            from_onnx(bytes(changed))


NODES = [
    (one("Conv", IMAGE, KERNEL, strides=[0, 0]), r"strides is \[0, 0\], expected 2 positive numbers"),
    (one("Conv", IMAGE, KERNEL, pads=[-1, 0, 0, 0]), "pads is .*, expected none below 0"),
    (one("Conv", IMAGE, KERNEL, pads=[HUGE] * 4), "beyond any memory"),
    (one("Conv", IMAGE, KERNEL, group=0), "groups is 0"),
    (one("Conv", IMAGE, KERNEL, kernel_shape="3,3"), "'kernel_shape' is of kind STRING, expected INTS"),
    (one("Conv", IMAGE, floats("w", np.ones((4, 5, 3, 3)))), "the channels do not fit"),
    (
        one("Conv", IMAGE, numpy_helper.from_array(np.ones((4, 3, 3, 3)), "w")),
        "inputs 'X' and 'W' are float32 and float64, expected one type",
    ),
    (one("MaxPool", IMAGE, kernel_shape=[2, 2], pads=[2, 0, 0, 0]), "expected less than the kernel's"),
    (one("MaxPool", IMAGE, kernel_shape=[2**40, 2], pads=[2**40, 0, 0, 0]), "less than the kernel's"),
    (one("Not", tensor("x")), "input 'X' is float32, expected bool"),
    (one("Reshape", tensor("x"), floats("s", [3, 2])), "input 'shape' is float32, expected int64"),
    (
        one("Reshape", tensor("x"), numpy_helper.from_array(np.array([[3, 2]]), "s")),
        r"input 'shape' is \(1, 2\), expected a vector",
    ),
    (one("Relu"), "has 0 inputs, expected 1"),
    (one("Add", tensor("a"), tensor("b"), tensor("c")), "has 3 inputs, expected 2"),
    (one("LRN", IMAGE, size=0), "size is 0"),
    (one("EyeLike", tensor("x", (2, 2, 2))), "expected a matrix"),
    (
        one("OneHot", tensor("i", (2,), I64), ints("d", 3), floats("v", [0, 1, 2])),
        "values is .*, expected the 2",
    ),
    (one("Pad", tensor("x"), ints("p", 0, 0, 0, 0), mode="x"), "mode is 'x', expected constant"),
    (one("Split", tensor("x", (3,)), axis=0, num_outputs=0, opset=18), "into 0 parts, 1 outputs are named"),
    (
        one("ConstantOfShape", ints("s", 2), value=floats("v", [1, 2])),
        r"value is \(2,\), expected one element",
    ),
    (one("ConstantOfShape", ints("s", HUGE, HUGE)), "beyond any memory"),
    (one("Expand", tensor("x", (1, 1)), ints("s", 2**20, 2**20)), "needs 4398046511104 bytes"),
    (one("Tile", tensor("x"), ints("s", 2**20, 2**20)), "needs .* bytes"),
    (one("Tile", tensor("x"), ints("s", -1, 1)), "repeats"),
    (one("Pad", tensor("x"), ints("p", HUGE, 0, HUGE, 0)), "beyond any memory"),
    (one("Range", ints("a", 0), ints("b", HUGE), ints("d", 1)), "beyond any memory"),
    (
        one("Range", *(floats(n, v) for n, v in (("a", 0), ("b", np.nan), ("d", 1)))),
        "expected finite numbers",
    ),
    (one("MatMul", tensor("a", (2**20, 1)), tensor("b", (1, 2**20))), "needs 4398046511104 bytes"),
    (one("ArgMax", tensor("x", (0, 3)), axis=0), "nothing to choose from"),
    (
        one("Resize", tensor("x", (1, 1, 4, 4)), floats("r", []), floats("s", [1, 1, np.nan, 2])),
        "scales are .*, expected positive numbers",
    ),
    (
        one("Resize", tensor("x", (1, 1, 0, 4)), floats("r", []), floats("s", []), ints("z", 1, 1, 3, 8)),
        "nothing to resize",
    ),
    (one("TopK", tensor("x"), ints("k", 9)), "K is 9 on an axis of 3"),
]


@pytest.mark.parametrize(("bad", "message"), NODES, ids=range(len(NODES)))
def test_a_node_that_cannot_be_is_named(bad, message) -> None:
    with pytest.raises(TvmliteError, match=rf'(?s){message}.*node "bad"'):
        from_onnx(bad)


def test_missing_operators_are_named_all_at_once_also_in_subgraphs() -> None:
    branch = helper.make_graph([helper.make_node("Foo", [], ["t"], "inner")], "b", [], [tensor("t")])
    nodes = [
        helper.make_node("If", ["c"], ["y"], "if", then_branch=branch, else_branch=branch),
        helper.make_node("Bar", ["x"], ["z"], "outer"),
    ]

    with pytest.raises(
        UnsupportedError, match=r"(?s)Bar: 1 node \('outer'\).*Foo: 2 nodes \('inner', 'inner'\)"
    ):
        from_onnx(model(nodes, [tensor("x"), tensor("c", (), BOOL)]))


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([("Relu", ["x"], "y"), ("Abs", ["x"], "y")], "its output 'y' is the name of another value"),
        ([("Relu", ["x"], "x")], "its output 'x' is the name of another value"),
        (
            [("Add", ["x", "b"], "a"), ("Relu", ["a"], "y"), ("Relu", ["y"], "b")],
            "the nodes are in a cycle",
        ),
        ([("Relu", ["q"], "y")], "'q' is the name of nothing"),
        ([("Relu", ["x"], "z")], "graph output 'y' is not the name of any value"),
    ],
)
def test_a_graph_that_does_not_hang_together_is_refused(nodes, message) -> None:
    made = [helper.make_node(op, inputs, [output]) for op, inputs, output in nodes]

    with pytest.raises(ModelError, match=message):
        from_onnx(model(made, [tensor("x")]))


def test_outputs_are_what_they_are_declared_to_be() -> None:
    twice, other = (onnx.ModelProto.FromString(RELU.SerializeToString()) for _ in range(2))
    twice.graph.output.append(twice.graph.output[0])
    other.graph.output[0].CopyFrom(tensor("y", None, I64))

    with pytest.raises(ModelError, match="graph output 'y' is named twice"):
        from_onnx(twice)
    with pytest.raises(ModelError, match="graph output 'y' is declared int64, its nodes compute float32"):
        from_onnx(other)


@pytest.mark.parametrize(
    ("location", "offset", "message"),
    [
        ("loop", "0", "cannot be read"),
        ("a" * 300, "0", "cannot be read"),
        ("pipe", "0", "is not a regular file"),
        ("folder", "0", "is not a regular file"),
        ("zero", "0", "leads out of the model's folder"),
        ("w.bin", "9" * 5000, "expected a whole number"),
        ("w.bin", "٣", "expected a whole number"),
    ],
)
def test_external_data_that_cannot_be_is_refused(tmp_path, location, offset, message) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(24))
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    weight = TensorProto(name="w", data_type=F, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value=location)
    weight.external_data.add(key="offset", value=offset)
    (tmp_path / "m.onnx").write_bytes(one("Add", tensor("x"), weight).SerializeToString())

    with pytest.raises(ModelError, match=f"'w': .*{message}"):
        from_onnx(tmp_path / "m.onnx")


def test_external_data_of_a_constant_is_read(tmp_path) -> None:
    (tmp_path / "w.bin").write_bytes(np.arange(6, dtype=np.float32).tobytes())
    value = TensorProto(name="w", data_type=F, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    value.external_data.add(key="location", value="w.bin")
    (tmp_path / "m.onnx").write_bytes(one("Constant", value=value).SerializeToString())

    assert np.array_equal(tvmlite.compile(from_onnx(tmp_path / "m.onnx"))(), np.arange(6).reshape(2, 3))
