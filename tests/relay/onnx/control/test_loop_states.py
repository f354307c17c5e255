"""States of loops that no iteration changes, compiled; against onnxruntime."""

import numpy as np
import pytest
from control_flow_models import BOOL, FLOAT, INT64, check, floats, graph, model, node

from tvmlite.core.node import reachable
from tvmlite.relay.ir.nodes import UNLIMITED_TRIP_COUNT, Loop
from tvmlite.relay.onnx import from_onnx


@pytest.mark.parametrize("given_on", ["itself", "a copy"])
@pytest.mark.parametrize("constant", [True, False])
def test_a_state_that_no_iteration_changes_is_a_value_from_around(given_on: str, constant: bool) -> None:
    """As Keras hands the weights of a recurrent layer to the body of its loop."""
    body = graph(
        [
            node("Gather", ["x", "i"], ["row"]),
            node("MatMul", ["h", "w"], ["product"]),
            node("Add", ["product", "row"], ["sum"]),
            node("Tanh", ["sum"], ["h2"]),
            node("Identity", ["on"], ["go"]),
            *(
                [node("Identity", ["w"], ["w1"]), node("Identity", ["w1"], ["w2"])]
                if given_on == "a copy"
                else []
            ),
        ],
        [("i", INT64, []), ("on", BOOL, []), ("w", FLOAT, [3, 3]), ("h", FLOAT, ["b", 3])],
        [("go", BOOL, []), ("w2" if given_on == "a copy" else "w", FLOAT, [3, 3]), ("h2", FLOAT, ["b", 3])],
    )
    weights = floats(3, 3)
    proto = model(
        [
            node("Shape", ["x"], ["shape"]),
            node("Gather", ["shape", "zero"], ["turns"]),
            node("Loop", ["turns", "", "weights", "start"], ["same", "last"], body=body),
        ],
        [("x", FLOAT, ["t", "b", 3]), ("start", FLOAT, ["b", 3])]
        + ([] if constant else [("weights", FLOAT, [3, 3])]),
        [("same", FLOAT), ("last", FLOAT)],
        zero=np.int64(0),
        **({"weights": weights} if constant else {}),
    )

    (loop,) = (one for one in reachable(from_onnx(proto).main.body) if isinstance(one, Loop))
    assert [var.name for var in loop.states] == ["state0"]
    feeds = [{"x": floats(t, 2, 3), "start": floats(2, 3)} for t in (0, 1, 5)]
    check(proto, [one | ({} if constant else {"weights": weights}) for one in feeds], "native")


def test_states_that_are_exchanged_are_states() -> None:
    body = graph(
        [node("Identity", ["on"], ["go"]), node("Identity", ["a"], ["a2"]), node("Identity", ["b"], ["b2"])],
        [("i", INT64, []), ("on", BOOL, []), ("a", FLOAT, [2]), ("b", FLOAT, [2])],
        [("go", BOOL, []), ("b2", FLOAT, [2]), ("a2", FLOAT, [2])],
    )
    proto = model(
        [node("Loop", ["m", "", "x", "y"], ["p", "q"], body=body)],
        [("m", INT64, []), ("x", FLOAT, [2]), ("y", FLOAT, [2])],
        [("p", FLOAT), ("q", FLOAT)],
    )

    check(proto, [{"m": np.array(m), "x": floats(2), "y": floats(2)} for m in (0, 1, 2)], "native")


def test_operators_of_the_body_know_the_constants_that_a_loop_carries_unchanged() -> None:
    """Pads and k decide shapes, which a body must know at import."""
    body = graph(
        [
            node("Pad", ["h", "pads"], ["padded"], mode="reflect"),
            node("TopK", ["padded", "k"], ["values", "places"]),
            node("Add", ["h", "one"], ["h2"]),
            node("Identity", ["on"], ["go"]),
        ],
        [("i", INT64, []), ("on", BOOL, []), ("pads", INT64, [4]), ("k", INT64, [1]), ("h", FLOAT, [2, 3])],
        [("go", BOOL, []), ("pads", INT64, [4]), ("k", INT64, [1]), ("h2", FLOAT, [2, 3])]
        + [("values", FLOAT, None)],
    )
    proto = model(
        [node("Loop", ["m", "", "pads0", "k0", "x"], ["p", "q", "y", "rows"], body=body)],
        [("m", INT64, []), ("x", FLOAT, [2, 3])],
        [("y", FLOAT), ("rows", FLOAT)],
        pads0=np.array([0, 1, 0, 1]),
        k0=np.array([2]),
        one=np.float32(1),
    )

    check(proto, [{"m": np.array(m), "x": floats(2, 3)} for m in (1, 3)], "native")


def test_a_loop_that_counts_up_to_a_limit_that_it_carries_unchanged_ends() -> None:
    body = graph(
        [node("Add", ["k", "one"], ["k2"]), node("Less", ["k2", "limit"], ["go"])],
        [("i", INT64, []), ("on", BOOL, []), ("k", INT64, []), ("limit", INT64, [])],
        [("go", BOOL, []), ("k2", INT64, []), ("limit", INT64, [])],
    )
    proto = model(
        [node("Loop", ["", "begins", "start", "most"], ["last", "same"], body=body)],
        [("start", INT64, []), ("most", INT64, [])],
        [("last", INT64)],
        one=np.int64(1),
        begins=np.array(True),
    )

    (loop,) = (one for one in reachable(from_onnx(proto).main.body) if isinstance(one, Loop))
    assert loop.trip_count == UNLIMITED_TRIP_COUNT - 1
