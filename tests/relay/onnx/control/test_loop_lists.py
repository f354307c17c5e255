"""Loops that fill a list or append rows to a state, compiled, against onnxruntime."""

from typing import Any

import numpy as np
import onnx
import pytest
from control_flow_models import BOOL, FLOAT, INT64, check, floats, graph, info, model, node
from onnx import helper

from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.relay.onnx import from_onnx

TURN: list[Any] = [("i", INT64, []), ("on", BOOL, [])]
LIST = helper.make_tensor_sequence_value_info


def filling(
    after: list[onnx.NodeProto],
    outputs: list[Any],
    begins: onnx.NodeProto | None = None,
    row: list[onnx.NodeProto] | None = None,
    insert: onnx.NodeProto | None = None,
) -> onnx.ModelProto:
    """``for r in x: values.append(exp(r)); total += r``, then the nodes ``after``."""
    body = graph(
        [
            node("Gather", ["x", "i"], ["r"]),
            *(row or [node("Exp", ["r"], ["value"])]),
            insert or node("SequenceInsert", ["list", "value"], ["longer"]),
            node("Add", ["total", "r"], ["sum"]),
            node("Identity", ["on"], ["go"]),
        ],
        TURN,
        [("go", BOOL, [])],
    )
    body.input.extend([LIST("list", FLOAT, None), info("total", FLOAT, [3])])
    body.output.extend([LIST("longer", FLOAT, None), info("sum", FLOAT, [3])])
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["turns"]),
        begins or node("SequenceEmpty", [], ["begin"], dtype=FLOAT),
        node("Loop", ["turns", "", "begin", "start"], ["values", "last"], "fill", body=body),
        *after,
    ]
    return model(
        nodes,
        [("x", FLOAT, ["t", 3])],
        [*outputs, ("last", FLOAT)],
        zero=np.int64(0),
        start=np.zeros(3, np.float32),
        first=np.array([0]),
        second=np.array([1]),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("axis", "new"), [(0, 1), (1, 1), (-1, 1), (0, 0)])
def test_a_list_filled_by_a_loop_is_stacked_or_concatenated(axis: int, new: int) -> None:
    proto = filling([node("ConcatFromSequence", ["values"], ["y"], axis=axis, new_axis=new)], [("y", FLOAT)])

    check(proto, [{"x": floats(t, 3)} for t in (1, 4, 300)], "native")


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_list_elements_are_concatenated_along_one_of_their_axes(axis: int) -> None:
    row = [node("Unsqueeze", ["r", "first"], ["one"]), node("Concat", ["one", "one"], ["value"], axis=0)]
    proto = filling([node("ConcatFromSequence", ["values"], ["y"], axis=axis)], [("y", FLOAT)], row=row)

    check(proto, [{"x": floats(t, 3)} for t in (1, 4)], "native")


def test_length_and_elements_of_a_list_filled_by_a_loop() -> None:
    after = [
        node("SequenceLength", ["values"], ["n"]),
        node("SequenceAt", ["values", "back"], ["y"]),
        node("SequenceAt", ["values", "zero"], ["z"]),
        node("Sub", ["zero", "one"], ["back"]),
    ]
    proto = filling(after, [("n", INT64), ("y", FLOAT), ("z", FLOAT)])
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.int64(1), "one"))

    check(proto, [{"x": floats(t, 3)} for t in (1, 4)], "native")


def test_a_list_may_start_with_elements() -> None:
    proto = filling(
        [node("ConcatFromSequence", ["values"], ["y"], axis=0, new_axis=1)],
        [("y", FLOAT)],
        begins=node("SequenceConstruct", ["start", "start"], ["begin"]),
    )

    check(proto, [{"x": floats(t, 3)} for t in (1, 4, 0)], "native")


@pytest.mark.parametrize(
    ("insert", "after", "message"),
    [
        (
            node("SequenceInsert", ["list", "value", "zero"], ["longer"]),
            None,
            "one of its values is a sequence",
        ),
        (
            None,
            node("SequenceErase", ["values"], ["y"]),
            "whose length is known only at run time.*SequenceErase",
        ),
        (None, node("Identity", ["values"], ["y"]), "'y' is a list whose length is known only at run time"),
    ],
)
def test_other_uses_of_lists_are_refused(
    insert: onnx.NodeProto | None, after: onnx.NodeProto | None, message: str
) -> None:
    proto = filling([after] if after else [], [("y", FLOAT)] if after else [], insert=insert)

    with pytest.raises((ModelError, UnsupportedError), match=f"(?s){message}"):
        from_onnx(proto)


def growing(begin: list[int | str], axis: int, how: str = "Concat") -> onnx.ModelProto:
    """``for r in x: state = concat(state, [r], axis)``"""
    joined = {"Concat": ["state", "row"], "in front": ["row", "state"]}[how]
    body = graph(
        [
            node("Gather", ["x", "i"], ["r"]),
            node("Unsqueeze", ["r", "at"], ["row"]),
            node("Concat", joined, ["longer"], axis=axis),
            node("Identity", ["on"], ["go"]),
        ],
        [*TURN, ("state", FLOAT, None)],
        [("go", BOOL, []), ("longer", FLOAT, None)],
    )
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["turns"]),
        node("Loop", ["turns", "", "begin"], ["y"], "grow", body=body),
    ]
    inputs = [("x", FLOAT, ["t", 3]), ("begin", FLOAT, begin)]
    return model(nodes, inputs, [("y", FLOAT)], zero=np.int64(0), at=np.array([axis]))


@pytest.mark.parametrize(
    ("begin", "axis", "shape"),
    [
        ([0, 3], 0, (0, 3)),
        (["k", 3], 0, (2, 3)),
        (["k", 3], -2, (0, 3)),
        ([3, "k"], 1, (3, 2)),
        ([3, 0], 1, (3, 0)),
    ],
)
def test_a_loop_state_may_grow_by_rows(begin: list[int | str], axis: int, shape: tuple[int, ...]) -> None:
    proto = growing(begin, axis)

    check(proto, [{"x": floats(t, 3), "begin": floats(*shape)} for t in (1, 4, 0)], "native")


def test_a_state_that_grows_in_front_or_with_another_shape_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="its type must stay the same"):
        from_onnx(growing([0, 3], 0, "in front"))
    with pytest.raises(ModelError, match=r"begins as Tensor\[\(0, 4\).*concatenated with"):
        from_onnx(growing([0, 4], 0))
