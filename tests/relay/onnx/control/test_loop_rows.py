"""Rows of Loop and Scan whose extents depend on the data, compiled, against onnxruntime."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from control_flow_models import BOOL, FLOAT, INT64, check, floats, graph, model, node

import tvmlite
from tvmlite.core.errors import ExecutionError, UnsupportedError
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.types import show_shape
from tvmlite.relay.onnx import from_onnx

TURN: list[Any] = [("i", INT64, []), ("on", BOOL, [])]
CONSTANTS = {"zero": np.int64(0), "one": np.int64(1), "step": np.int64(3), "first": np.array([0])}


def rows_of(
    nodes: list[onnx.NodeProto], inputs: list[Any], turns: int | None = None, **constants: Any
) -> Any:
    """Return a loop that stacks ``row`` of its body over ``turns`` iterations, or input ``m`` iterations."""
    nodes = [*nodes, node("Identity", ["on"], ["go"])]
    body = graph(nodes, TURN, [("go", BOOL, []), ("row", FLOAT, None)])
    given = inputs if turns is not None else [*inputs, ("m", INT64, [])]
    held = CONSTANTS | constants | ({} if turns is None else {"m": np.int64(turns)})
    return model([node("Loop", ["m", ""], ["rows"], body=body)], given, [("rows", FLOAT)], **held)


def window(start: str, width: str) -> list[onnx.NodeProto]:
    """``part = x[start : start + width]``"""
    return [
        node("Unsqueeze", [start, "first"], ["begin"]),
        node("Add", ["begin", width], ["end"]),
        node("Slice", ["x", "begin", "end", "first"], ["part"]),
    ]


FRAMES = [node("Mul", ["i", "step"], ["start"]), *window("start", "width"), node("Exp", ["part"], ["row"])]


def count(value: int) -> np.ndarray:
    return np.array(value)


def differs(proto: onnx.ModelProto, feed: dict[str, np.ndarray], message: str) -> None:
    """Check that onnxruntime refuses the run and that tvmlite reports it with ``message``."""
    module = from_onnx(proto)
    with pytest.raises(Exception, match="Inconsistent shape in loop output"):
        onnxruntime.InferenceSession(proto.SerializeToString()).run(None, feed)
    for run in (tvmlite.compile(module).run, lambda given: interpret(module, given)):
        with pytest.raises(ExecutionError, match=message):
            run(feed)


@pytest.mark.slow
@pytest.mark.parametrize("length", [40, "n"])
def test_windows_of_equal_width_are_stacked(length: int | str) -> None:
    proto = rows_of(FRAMES, [("x", FLOAT, [length])], width=np.int64(5))

    check(proto, [{"x": floats(40), "m": count(m)} for m in (12, 1, 0)], "native")
    if length == "n":
        check(proto, [{"x": floats(n), "m": count(m)} for n, m in ((5, 1), (8, 2))], "c")
        differs(proto, {"x": floats(40), "m": count(13)}, "extents .* must be equal")


@pytest.mark.slow
@pytest.mark.parametrize("length", [2000, "n"])
@pytest.mark.parametrize("counted", [True, False])
def test_number_of_windows_depends_on_the_size_of_an_array(length: int | str, counted: bool) -> None:
    """The trip count comes from sizes or, as TensorFlow writes it, from a condition on a counter."""
    turns = [
        node("Size", ["x"], ["size"]),
        node("Sub", ["size", "width"], ["room"]),
        node("Div", ["room", "step"], ["steps"]),
        node("Add", ["steps", "one"], ["turns"]),
    ]
    states: list[Any] = [] if counted else [("k", INT64, [])]
    following: list[Any] = [] if counted else [("next", INT64, [])]
    start = node("Mul", ["i" if counted else "k", "step"], ["start"])
    if counted:
        goes_on, begins = [node("Identity", ["on"], ["go"])], []
    else:
        goes_on = [node("Add", ["k", "one"], ["next"]), node("Less", ["next", "turns"], ["go"])]
        begins = [node("Less", ["zero", "turns"], ["begins"])]
    body = graph(
        [start, *window("start", "width"), node("Exp", ["part"], ["row"]), *goes_on],
        [*TURN, *states],
        [("go", BOOL, []), *following, ("row", FLOAT, ["w"])],
    )
    given = ["turns", ""] if counted else ["", "begins", "zero"]
    proto = model(
        [*turns, *begins, node("Loop", given, ["rows"] if counted else ["last", "rows"], body=body)],
        [("x", FLOAT, [length])],
        [("rows", FLOAT)],
        width=np.int64(7),
        **CONSTANTS,
    )
    sizes = [7, 12, 50, 2000] if length == "n" else [2000]

    check(proto, [{"x": floats(n)} for n in sizes], "native")


@pytest.mark.parametrize("where", ["an input", "a state"])
def test_window_width_known_only_at_run_time(where: str) -> None:
    states, after = ([("s", INT64, [])], [("s2", INT64, [])]) if where == "a state" else ([], [])
    nodes = [*window("i", "s" if states else "width"), node("Exp", ["part"], ["row"])]
    ends = [node("Identity", ["on"], ["go"]), *[node("Identity", ["s"], ["s2"]) for _ in states]]
    body = graph([*nodes, *ends], [*TURN, *states], [("go", BOOL, []), *after, ("row", FLOAT, ["w"])])
    results = ["last", "rows"] if states else ["rows"]
    proto = model(
        [node("Loop", ["m", "", *(["width"] if states else [])], results, body=body)],
        [("x", FLOAT, ["n"]), ("m", INT64, []), ("width", INT64, [])],
        [("rows", FLOAT)],
        **CONSTANTS,
    )

    feeds = [{"x": floats(9), "m": count(m), "width": count(w)} for m, w in ((3, 4), (7, 3), (1, 30), (0, 4))]
    check(proto, feeds, "native")
    differs(proto, {"x": floats(9), "m": count(2), "width": count(9)}, "extents .* must be equal")


def test_windows_padded_to_one_width() -> None:
    nodes = [
        node("Mul", ["i", "step"], ["start"]),
        *window("start", "width"),
        node("Shape", ["part"], ["have"]),
        node("Sub", ["width", "have"], ["lack"]),
        node("Concat", ["first", "lack"], ["pads"], axis=0),
        node("Pad", ["part", "pads"], ["row"]),
    ]
    proto = rows_of(nodes, [("x", FLOAT, ["n"])], width=np.array([5]))

    check(proto, [{"x": floats(13), "m": count(m)} for m in (3, 6, 1, 0)], "native")


@pytest.mark.parametrize("width", ["a constant", "an input"])
def test_windows_gathered_with_a_range(width: str) -> None:
    nodes = [
        node("Mul", ["i", "step"], ["start"]),
        node("Add", ["start", "width"], ["end"]),
        node("Range", ["start", "end", "one"], ["at"]),
        node("Gather", ["x", "at"], ["row"]),
    ]
    constant = width == "a constant"
    given: list[Any] = [] if constant else [("width", INT64, [])]
    held = {"width": np.int64(4)} if constant else {}
    proto = rows_of(nodes, [("x", FLOAT, ["n", 2]), *given], None, **held)

    feeds = [
        {"x": floats(12, 2), "m": count(m)} | ({} if constant else {"width": count(4)}) for m in (3, 1, 0)
    ]
    check(proto, feeds, "native")


FOUND = [node("NonZero", ["part"], ["where"]), node("Cast", ["where"], ["row"], to=FLOAT)]


@pytest.mark.parametrize("turns", [3, None])
def test_row_extents_that_depend_on_data_are_checked(turns: int | None) -> None:
    nodes = [node("Gather", ["x", "i"], ["part"]), *FOUND]
    proto = rows_of(nodes, [("x", FLOAT, ["b", 4])], turns)
    x = np.array([[0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 1, 1]], np.float32)
    counts = [{"m": count(m)} for m in (3, 1, 0)] if turns is None else [{}]

    check(proto, [{"x": x} | one for one in counts], "native")
    if turns is None:
        check(proto, [{"x": x[:0], "m": count(0)}], "native")  # no first iteration determines the extents
    x[1, 1] = 1
    differs(proto, {"x": x} | counts[0], "extents .* must be equal")


@pytest.mark.parametrize("backward", [0, 1])
@pytest.mark.parametrize("turns", [3, "t"])
def test_scan_rows_whose_extents_depend_on_data(backward: int, turns: int | str) -> None:
    body = graph(FOUND, [("part", FLOAT, [4])], [("row", FLOAT, None)])
    how = {"num_scan_inputs": 1, "scan_input_directions": [backward], "scan_output_axes": [1]}
    proto = model(
        [node("Scan", ["x"], ["rows"], body=body, **how)], [("x", FLOAT, [turns, 4])], [("rows", FLOAT)]
    )
    x = np.array([[0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 1, 1]], np.float32)

    check(proto, [{"x": x}], "native")


@pytest.mark.slow
def test_row_extents_that_depend_on_shapes_need_no_check() -> None:
    """As where TensorFlow maps signal framing over a batch: the extents depend on the length only."""
    nodes = [
        node("Gather", ["x", "i"], ["part"]),
        node("Shape", ["part"], ["size"]),
        node("Split", ["size", "parts"], ["before", "length", "after"]),
        node("Sub", ["length", "width"], ["room"]),
        node("Div", ["room", "stride"], ["steps"]),
        node("Add", ["steps", "one"], ["turns"]),
        node("Max", ["zero", "turns"], ["frames"]),
        node("Squeeze", ["frames", "first"], ["number"]),
        node("Range", ["zero", "number", "one"], ["ids"]),
        node("Mul", ["ids", "stride"], ["starts"]),
        node("Concat", ["frames", "first_one"], ["column"], axis=0),
        node("Reshape", ["starts", "column"], ["begins"]),
        node("Add", ["begins", "offsets"], ["at"]),
        node("Gather", ["part", "at"], ["windows"]),
        node("MatMul", ["windows", "weight"], ["row"]),
    ]
    proto = rows_of(
        nodes,
        [("x", FLOAT, ["b", "n"])],
        parts=np.array([0, 1, 0]),
        width=np.int64(8),
        stride=np.int64(3),
        first_one=np.array([1]),
        offsets=np.arange(8)[None],
        weight=floats(8, 6),
    )

    assert "assume_shape" not in str(from_onnx(proto))
    feeds = [{"x": floats(2, n), "m": count(m)} for n in (8, 9, 30) for m in (2, 1, 0)]
    for target in ("native", "c"):
        check(proto, feeds, target)


def test_a_loop_without_iterations_has_no_rows() -> None:
    nodes = [node("Gather", ["x", "i"], ["part"]), node("Neg", ["part"], ["row"])]

    for turns in (0, -4):
        check(rows_of(nodes, [("x", FLOAT, ["n", 3])], turns), [{"x": floats(2, 3)}], "native")


@pytest.mark.parametrize(("turns", "rows"), [(1000, "1000"), ("size", "n + 1")])
def test_a_known_trip_count_is_the_number_of_rows(turns: int | str, rows: str) -> None:
    sized = [node("Size", ["x"], ["many"]), node("Add", ["many", "one"], ["turns"])]
    body = graph(
        [node("Cast", ["i"], ["row"], to=FLOAT), node("Identity", ["on"], ["go"])],
        TURN,
        [("go", BOOL, []), ("row", FLOAT, [])],
    )
    fixed = {} if turns == "size" else {"turns": np.int64(turns)}
    proto = model(
        [*(sized if turns == "size" else []), node("Loop", ["turns", ""], ["rows"], body=body)],
        [("x", FLOAT, ["n"])],
        [("rows", FLOAT)],
        **CONSTANTS,
        **fixed,
    )

    assert show_shape(tensor_type_of(from_onnx(proto).main.body).shape) == f"({rows},)"
    check(proto, [{"x": floats(n)} for n in (3, 0)], "native")


def test_rows_that_certainly_differ_in_shape_are_refused_at_import() -> None:
    nodes = [node("Add", ["i", "one"], ["width"]), *window("zero", "width"), node("Exp", ["part"], ["row"])]

    with pytest.raises(UnsupportedError, match="scan outputs of different shapes"):
        from_onnx(rows_of(nodes, [("x", FLOAT, [9])], 3))
