"""Invalid models: each gives one clear error that names the node or the file, never a crash."""

from __future__ import annotations

import contextlib
import os

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors
from small_models import BOOL, I64, RELU, F, floats, ints, model, one, tensor

import tvmlite
from tvmlite.core.errors import (
    ExecutionError,
    ModelError,
    TvmliteError,
    UnsupportedError,
)
from tvmlite.relay.frontend import from_onnx

HUGE = 2**62
onnxruntime.set_default_logger_severity(4)
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
def test_an_input_that_is_not_a_model_is_refused(given, message) -> None:
    with pytest.raises(ModelError, match=message):
        from_onnx(given)


EMPTY = helper.make_graph([], "empty", [], [])
TAKES_TWO = helper.make_graph([], "two", [tensor("i", (), I64), tensor("q", (), BOOL)], [])
_GIVES = helper.make_graph([helper.make_node("Abs", ["x"], ["t"])], "b", [], [tensor("t", None)])
BRANCHES = {"then_branch": _GIVES, "else_branch": _GIVES}


def twice_an_attribute() -> onnx.ModelProto:
    made = one("LeakyRelu", tensor("x"), alpha=0.5)
    made.graph.node[0].attribute.append(helper.make_attribute("alpha", 0.25))
    return made


def an_attribute_of_no_function() -> onnx.ModelProto:
    made = one("LeakyRelu", tensor("x"))
    made.graph.node[0].attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope")
    return made


def microsoft(op: str, *inputs: onnx.ValueInfoProto, **attrs) -> onnx.ModelProto:
    node = helper.make_node(op, [i.name for i in inputs], ["y"], "bad", domain="com.microsoft", **attrs)
    made = model([node], list(inputs))
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return made


RELU_FUNCTION = helper.make_function(
    "own", "F", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 17)]
)


def own_function(inputs: list[str], outputs: list[str]) -> onnx.ModelProto:
    made = model([helper.make_node("F", inputs, outputs, "bad", domain="own")], [tensor("x")])
    made.opset_import.append(helper.make_opsetid("own", 1))
    made.functions.append(RELU_FUNCTION)
    return made


def changed(change) -> onnx.ModelProto:
    made = onnx.ModelProto.FromString(RELU.SerializeToString())
    change(made)
    return made


def imported(*versions: tuple[str, int]):
    def change(made: onnx.ModelProto) -> None:
        del made.opset_import[:]
        made.opset_import.extend(helper.make_opsetid(domain, version) for domain, version in versions)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: setattr(m, "ir_version", 999), r"is of ir_version 999, supported are 1 to \d+"),
        (lambda m: setattr(m, "ir_version", onnx.IR_VERSION + 1), "ir_version .*, supported are 1 to"),
        (lambda m: setattr(m, "ir_version", -1), "no graph or no ir_version"),
        (imported(("", 17), ("", 12)), "'ai.onnx' is imported twice, as versions 17 and 12"),
        (imported(("", 17), ("ai.onnx", 12)), "'ai.onnx' is imported twice, as versions 17 and 12"),
        (imported(("", 17), ("own", 1), ("own", 2)), "'own' is imported twice, as versions 1 and 2"),
        (imported(("", 17), ("own", -1)), "'own' is imported as version -1"),
        (imported(("", 999)), "opset 999, supported are"),
        (imported(), "imports no operator set"),
        (lambda m: m.functions.extend([RELU_FUNCTION] * 2), "the function own.F is defined twice"),
        (
            lambda m: m.graph.initializer.append(floats("x", [1.0])),
            r"'x' is float32 of shape \(1,\), declared",
        ),
        (lambda m: m.graph.initializer.append(ints("x", 1)), "'x' is int64 of .* as an input it is float32"),
        (lambda m: m.graph.initializer.extend([floats("w", 1.0)] * 2), "initializer 'w' is given twice"),
        (lambda m: m.graph.input[0].CopyFrom(tensor("x", (1,) * 33)), "'x': has 33 dimensions, at most 32"),
        (lambda m: m.graph.node[0].ClearField("op_type"), r'node "bad" \(\) has no operator'),
    ],
    ids=range(15),
)
def test_an_inconsistent_or_too_new_model_is_refused(change, message) -> None:
    with pytest.raises(TvmliteError, match=message):
        from_onnx(changed(change))


@pytest.mark.parametrize("again", ["", "ai.onnx"])
def test_the_operator_set_may_be_imported_twice_in_one_version(again: str) -> None:
    module = from_onnx(changed(imported(("", 17), (again, 17))))

    assert str(module) == str(from_onnx(RELU))


def test_subgraphs_nested_up_to_32_deep_are_accepted() -> None:
    def nested(depth: int) -> onnx.ModelProto:
        made = model([], [tensor("x"), tensor("c", (), BOOL)])
        graph = made.graph
        for k in range(depth):
            node = graph.node.add(
                op_type="If", name=f"if{k}", input=["c"], output=["y" if k == 0 else f"v{k}"]
            )
            node.attribute.add(name="else_branch", type=onnx.AttributeProto.GRAPH).g.CopyFrom(_GIVES)
            then = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH)
            graph = then.g
            graph.output.add(name=f"v{k + 1}")
        graph.node.add(op_type="Neg", input=["x"], output=[f"v{depth}"])
        return made

    assert from_onnx(nested(30)).output_names == ("y",)
    with pytest.raises(ModelError, match="graphs are nested more than 32 deep"):
        from_onnx(nested(60))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("shape", [(2, 3), ("n", "m")])
def test_negative_pads_give_onnxruntimes_result_or_an_error(mode: str, shape) -> None:
    random = np.random.default_rng(0)
    x = random.random((2, 3)).astype(np.float32)
    for _ in range(12):
        pads = [int(p) for p in random.integers(-2, 3, 4)]
        proto = one("Pad", tensor("x", shape), ints("p", *pads), mode=mode)
        try:
            wanted = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})[0]
        except (ort_errors.Fail, ort_errors.InvalidArgument):
            wanted = None
        got = None
        with contextlib.suppress(TvmliteError):
            got = tvmlite.compile(from_onnx(proto))(x)

        if wanted is None:
            assert got is None or got.size == 0, pads
        elif got is not None or shape == (2, 3):  # an open axis must have as many elements as are removed
            np.testing.assert_array_equal(got, wanted, str(pads))


def test_pads_too_large_for_the_data_are_errors_at_run_time() -> None:
    told = tvmlite.compile(from_onnx(one("Pad", tensor("x"), tensor("p", (4,), I64))))
    fixed = tvmlite.compile(from_onnx(one("Pad", tensor("x", ("n", 3)), ints("p", -3, 0, 0, 0))))
    mirrored = one("Pad", tensor("x", ("n", 3)), ints("p", 2, 0, 0, 0), mode="reflect")
    reflected = tvmlite.compile(from_onnx(mirrored))
    x = np.ones((2, 3), np.float32)

    assert told(x, np.array([0, -2, 0, -1])).shape == (2, 0)
    assert fixed(np.ones((3, 3), np.float32)).shape == (0, 3)
    with pytest.raises(ExecutionError, match=r'node "bad" \(Pad\): the extent .* must not be negative'):
        told(x, np.array([0, -2, 0, -2]))
    for count in (2, 0):
        with pytest.raises(ExecutionError, match="pads take 3 elements of axis 0, which has fewer"):
            fixed(x[:count])
    with pytest.raises(ExecutionError, match="mode reflect by 2 and 0 of axis 0 needs more elements"):
        reflected(x)


def test_a_pipe_is_refused_without_waiting(tmp_path) -> None:
    os.mkfifo(tmp_path / "m.onnx")

    with pytest.raises(ModelError, match="is not a regular file"):
        from_onnx(tmp_path / "m.onnx")


def test_a_corrupted_model_gives_a_module_or_a_tvmlite_error() -> None:
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
    (one("ArgMax", tensor("x", (0, 3)), axis=0), "cannot choose from no elements"),
    (
        one("Resize", tensor("x", (1, 1, 4, 4)), floats("r", []), floats("s", [1, 1, np.nan, 2])),
        "scales are .*, expected positive numbers",
    ),
    (
        one("Resize", tensor("x", (1, 1, 0, 4)), floats("r", []), floats("s", []), ints("z", 1, 1, 3, 8)),
        "cannot resize an empty axis",
    ),
    (one("TopK", tensor("x"), ints("k", 9)), "K is 9 on an axis of 3"),
    (one("Pad", tensor("x"), ints("p", 0, -2, 0, -2)), "pads of -2 and -2 leave -1 of axis 1, of 3 elements"),
    (one("Pad", tensor("x"), pads=[-3, 0, 0, 0], opset=10), "pads of -3 and 0 leave -1 of axis 0"),
    (one("Pad", tensor("x"), ints("p", 0, 3, 0, 0), mode="reflect"), "reflect by 3 of axis 1, of 3 elements"),
    (one("CenterCropPad", tensor("x"), ints("p", -3, 1), opset=18), r"shape is \[-3, 1\]"),
    (twice_an_attribute(), "attribute 'alpha' is given twice"),
    (an_attribute_of_no_function(), "attribute 'alpha' stands for 'slope' of a function"),
    (one("If", tensor("c", (3,), BOOL), **BRANCHES), r"the condition has shape \(3,\), expected one element"),
    (
        one("Loop", ints("m", 2), tensor("c", (), BOOL), tensor("s"), body=EMPTY),
        "takes 0 inputs, 3 are given",
    ),
    (
        one("Loop", ints("m", 2), tensor("c", (), BOOL), body=TAKES_TWO),
        "its subgraph gives 0 outputs, expected 1 or more",
    ),
    (
        one("Scan", tensor("s"), tensor("z"), num_scan_inputs=1, body=TAKES_TWO),
        "its subgraph gives 0 outputs, expected 1 or more",
    ),
    (microsoft("FusedMatMul"), "has 0 inputs, expected 2 or more"),
    (
        microsoft("FusedMatMul", *(tensor(n, (3, 3)) for n in "abcde")),
        "has 5 inputs, at most 2 are supported",
    ),
    (
        microsoft("FusedMatMul", tensor("a", (3, 3)), tensor("b", (3, 3)), alpha="s"),
        "attribute 'alpha' is 's', expected a number",
    ),
    (own_function(["x", "x"], ["y"]), "has 2 inputs, expected 0 to 1"),
    (own_function(["x"], ["y", "z"]), "has 2 outputs, at most 1 are defined"),
]


@pytest.mark.parametrize(("bad", "message"), NODES, ids=range(len(NODES)))
def test_error_of_an_invalid_node_names_it(bad, message) -> None:
    with pytest.raises(TvmliteError, match=rf'(?s){message}.*node "bad"'):
        from_onnx(bad)


def test_all_unsupported_operators_are_named_at_once() -> None:
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
def test_a_graph_with_undefined_or_cyclic_values_is_refused(nodes, message) -> None:
    made = [helper.make_node(op, inputs, [output]) for op, inputs, output in nodes]

    with pytest.raises(ModelError, match=message):
        from_onnx(model(made, [tensor("x")]))


def test_wrongly_declared_outputs_are_refused() -> None:
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
        ("folder/", "0", "is not a regular file"),
        (".", "0", "is not a regular file"),
        ("w.bin/x", "0", "cannot be read"),
        ("", "0", "no location is given"),
        ("zero", "0", "leads out of the model's folder"),
        ("w.bin", "9" * 5000, "expected a whole number"),
        ("w.bin", "٣", "expected a whole number"),
    ],
)
def test_invalid_external_data_is_refused(tmp_path, location, offset, message) -> None:
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
