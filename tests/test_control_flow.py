"""If, Loop and Scan with conditions and counts known only at run time, compared with onnxruntime."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from control_flow_models import BOOL, FLOAT, INT64, check, floats, graph, model, node

import tvmlite
from tvmlite import relay, runtime
from tvmlite.core import config
from tvmlite.core.errors import ExecutionError, UnsupportedError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Var
from tvmlite.relay.ir.types import tensor_type
from tvmlite.relay.onnx import from_onnx
from tvmlite.relay.onnx.control.loop_end import must_end

TARGETS = ["native", *(["c"] if shutil.which("cc") else [])]


@pytest.mark.parametrize("target", TARGETS)
def test_a_branch_is_chosen_at_run_time(target: str) -> None:
    then = graph([node("Exp", ["x"], ["t1"]), node("Add", ["t1", "y"], ["t2"])], outputs=[("t2", FLOAT)])
    otherwise = graph([node("Mul", ["x", "y"], ["e2"])], outputs=[("e2", FLOAT)])
    proto = model(
        [
            node("Neg", ["x"], ["y"]),
            node("If", ["c"], ["z"], then_branch=then, else_branch=otherwise),
            node("Add", ["z", "y"], ["o"]),
        ],
        [("c", BOOL, []), ("x", FLOAT, ["n", 3])],
        [("o", FLOAT), ("z", FLOAT)],
    )

    check(proto, [{"c": np.array(c), "x": floats(n, 3)} for c in (True, False) for n in (1, 4)], target)


@pytest.mark.parametrize("target", TARGETS)
def test_branches_may_have_results_of_different_extents(target: str) -> None:
    then = graph([node("NonZero", ["x"], ["t"])], outputs=[("t", INT64)])
    otherwise = graph(
        [node("Shape", ["x"], ["s"]), node("Unsqueeze", ["s", "zero"], ["e"])], outputs=[("e", INT64)]
    )
    proto = model(
        [node("If", ["c"], ["z"], then_branch=then, else_branch=otherwise)],
        [("c", BOOL, []), ("x", FLOAT, ["n", 3])],
        [("z", INT64)],
        zero=np.array([0]),
    )
    feeds = [{"c": np.array(c), "x": np.round(floats(n, 3))} for c in (True, False) for n in (1, 4)]

    check(proto, feeds, target)


@pytest.mark.parametrize("target", TARGETS)
def test_a_condition_ends_a_loop_and_determines_its_number_of_rows(target: str) -> None:
    body = graph(
        [
            node("Add", ["s", "x"], ["s2"]),
            node("ReduceSum", ["s2"], ["total"], keepdims=0),
            node("Less", ["total", "limit"], ["go"]),
            node("Cast", ["i"], ["turn"], to=FLOAT),
            node("Mul", ["s2", "turn"], ["row"]),
        ],
        [("i", INT64, []), ("on", BOOL, []), ("s", FLOAT)],
        [("go", BOOL, []), ("s2", FLOAT), ("row", FLOAT)],
    )
    proto = model(
        [node("Loop", ["m", "c", "s0"], ["last", "rows"], body=body)],
        [("m", INT64, []), ("c", BOOL, []), ("s0", FLOAT, ["n"]), ("x", FLOAT, ["n"])],
        [("last", FLOAT), ("rows", FLOAT)],
        limit=np.float32(10),
    )
    turns = ((100, True), (3, True), (0, True), (5, False))

    check(
        proto,
        [{"m": np.array(m), "c": np.array(c), "s0": floats(3), "x": floats(3)} for m, c in turns],
        target,
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("most", [2**31 - 1, None])
def test_a_loop_begins_only_if_its_size_condition_holds(target: str, most: int | None) -> None:
    """Keras' recurrent layers become a Loop whose first condition is ``0 < steps``, of an open size."""
    body = graph(
        [
            node("Gather", ["x", "i"], ["row"], axis=0),
            node("Add", ["total", "row"], ["next"]),
            node("Add", ["i", "one"], ["following"]),
            node("Less", ["following", "steps"], ["more"]),
        ],
        [("i", INT64, []), ("going", BOOL, []), ("total", FLOAT, [3])],
        [("more", BOOL, []), ("next", FLOAT, [3])],
    )
    proto = model(
        [
            node("Shape", ["x"], ["shape"]),
            node("Gather", ["shape", "zero"], ["steps"]),
            node("Less", ["zero", "steps"], ["begins"]),
            node("Loop", ["most" if most else "", "begins", "start"], ["y"], body=body),
        ],
        [("x", FLOAT, ["steps", 3]), ("start", FLOAT, [3])],
        [("y", FLOAT, [3])],
        zero=np.int64(0),
        one=np.int64(1),
        **({"most": np.int64(most)} if most else {}),
    )
    check(proto, [{"x": floats(n, 3), "start": floats(3)} for n in (0, 1, 5)], target)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("counted", [True, False])
def test_a_state_that_is_never_read_may_change_its_shape(target: str, counted: bool) -> None:
    body = graph(
        [
            node("Add", ["total", "x"], ["next"]),
            node("Concat", ["next", "x"], ["wide"], axis=0),
            node("ReduceSum", ["next"], ["sum"], keepdims=0),
            node("Less", ["sum", "limit"], ["more"]),
        ],
        [("i", INT64, []), ("on", BOOL, []), ("total", FLOAT, ["n"]), ("undefined", FLOAT, [])],
        [("on" if counted else "more", BOOL, []), ("next", FLOAT, ["n"]), ("wide", FLOAT, ["m"])],
    )
    if counted:
        body.node.append(node("Identity", ["on"], ["going"]))
        body.output[0].name = "going"
    proto = model(
        [node("Loop", ["turns", "yes", "x", "nothing"], ["last", "y"], body=body)],
        [("turns", INT64, []), ("x", FLOAT, ["n"])],
        [("last", FLOAT, ["n"]), ("y", FLOAT, ["m"])],
        yes=np.True_,
        nothing=np.float32(0),
        limit=np.float32(3),
    )
    check(proto, [{"turns": np.array(t), "x": floats(4)} for t in (1, 3, 9)], target)
    with pytest.raises(ExecutionError, match="makes no iteration"):
        tvmlite.compile(from_onnx(proto), target=target).run({"turns": np.array(0), "x": floats(4)})


@pytest.mark.parametrize("target", TARGETS)
def test_states_of_a_counted_loop_may_be_swapped(target: str) -> None:
    body = graph(
        [
            node("Add", ["s", "x"], ["s2"]),
            node("Sub", ["q", "s"], ["q2"]),
            node("Identity", ["on"], ["go"]),
            node("Identity", ["s"], ["row"]),
        ],
        [("i", INT64, []), ("on", BOOL, []), ("s", FLOAT), ("q", FLOAT)],
        [("go", BOOL, []), ("q2", FLOAT), ("s2", FLOAT), ("row", FLOAT)],
    )
    proto = model(
        [node("Loop", ["m", "", "s0", "x"], ["a", "b", "rows"], body=body)],
        [("m", INT64, []), ("s0", FLOAT, ["n"]), ("x", FLOAT, ["n"])],
        [("a", FLOAT), ("b", FLOAT), ("rows", FLOAT)],
    )

    check(proto, [{"m": np.array(m), "s0": floats(3), "x": floats(3)} for m in (5, 0, 1, 2)], target)


@pytest.mark.parametrize("target", TARGETS)
def test_a_branch_inside_a_loop_reads_outer_values(target: str) -> None:
    then = graph([node("Add", ["s", "x"], ["a"])], outputs=[("a", FLOAT)])
    otherwise = graph([node("Sub", ["s", "x"], ["b"])], outputs=[("b", FLOAT)])
    body = graph(
        [
            node("Mod", ["i", "two"], ["rest"]),
            node("Equal", ["rest", "zero"], ["even"]),
            node("If", ["even"], ["s2"], then_branch=then, else_branch=otherwise),
            node("Identity", ["on"], ["go"]),
        ],
        [("i", INT64, []), ("on", BOOL, []), ("s", FLOAT)],
        [("go", BOOL, []), ("s2", FLOAT)],
    )
    proto = model(
        [node("Loop", ["m", "", "s0"], ["last"], body=body)],
        [("m", INT64, []), ("s0", FLOAT, ["n"]), ("x", FLOAT, ["n"])],
        [("last", FLOAT)],
        two=np.array(2),
        zero=np.array(0),
    )

    check(proto, [{"m": np.array(m), "s0": floats(3), "x": floats(3)} for m in (5, 0, 2)], target)


@pytest.mark.parametrize("target", TARGETS)
def test_a_scan_runs_over_sequences_of_any_length(target: str) -> None:
    body = graph(
        [node("Add", ["s", "e"], ["s2"]), node("Mul", ["s2", "g"], ["o"])],
        [("s", FLOAT), ("e", FLOAT), ("g", FLOAT)],
        [("s2", FLOAT), ("o", FLOAT)],
    )
    how = {"num_scan_inputs": 2, "scan_input_axes": [0, 1], "scan_input_directions": [0, 1],
           "scan_output_axes": [1], "scan_output_directions": [1]}  # fmt: skip
    proto = model(
        [node("Scan", ["s0", "x", "y"], ["last", "rows"], body=body, **how)],
        [("s0", FLOAT, [3]), ("x", FLOAT, ["t", 3]), ("y", FLOAT, [3, "t"])],
        [("last", FLOAT), ("rows", FLOAT)],
    )

    check(proto, [{"s0": floats(3), "x": floats(t, 3), "y": floats(3, t)} for t in (1, 5, 30)], target)


def endless(shape_of_state: list[Any], change: onnx.NodeProto) -> onnx.ModelProto:
    body = graph(
        [change, node("Equal", ["on", "on"], ["go"])],
        [("i", INT64, []), ("on", BOOL, []), ("s", FLOAT)],
        [("go", BOOL, []), ("s2", FLOAT)],
    )
    return model(
        [node("Loop", ["", "c", "s0"], ["last"], body=body)],
        [("c", BOOL, []), ("s0", FLOAT, shape_of_state)],
        [("last", FLOAT)],
    )


def test_an_endless_loop_stops_at_the_iteration_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVMLITE_LOOP_LIMIT", "1000")
    module = from_onnx(endless([2], node("Neg", ["s"], ["s2"])))
    lib = tvmlite.compile(module)
    feed = {"c": np.array(True), "s0": floats(2)}

    for run in (lib.run, lambda given: interpret(module, given)):
        with pytest.raises(ExecutionError, match=r"of more than 1000 iterations \(TVMLITE_LOOP_LIMIT\)"):
            run(feed)
    assert lib.run({**feed, "c": np.array(False)})["last"].shape == (2,)


def counted(always: bool, **constants: np.ndarray) -> onnx.ModelProto:
    """A loop of ``m`` iterations (an input unless it is constant) whose condition always holds."""
    body = graph(
        [
            node("Neg", ["s"], ["s2"]),
            node(*(["Identity", ["on"]] if always else ["Equal", ["on", "on"]]), ["go"]),
        ],
        [("i", INT64, []), ("on", BOOL, []), ("s", FLOAT)],
        [("go", BOOL, []), ("s2", FLOAT)],
    )
    inputs: list[Any] = [("c", BOOL, []), ("s0", FLOAT, [2])]
    inputs += [] if constants else [("m", INT64, [])]
    nodes = [node("Loop", ["m", "" if always else "c", "s0"], ["last"], "spin", body=body)]
    return model(nodes, inputs, [("last", FLOAT)], **constants)


@pytest.mark.parametrize("target", [*TARGETS, "exported"])
@pytest.mark.parametrize("turns", [None, 2**31 - 1, 2**63 - 1])
def test_a_loop_without_an_iteration_count_has_a_time_limit(
    turns: int | None, target: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(config, "loop_seconds", lambda: 0)
    proto = endless([2], node("Neg", ["s"], ["s2"])) if turns is None else counted(False)
    feed = {"c": np.array(True), "s0": floats(2)} | ({} if turns is None else {"m": np.array(turns)})
    lib: Any = tvmlite.compile(from_onnx(proto), target="native" if target == "exported" else target)
    if target == "exported":
        lib.export(tmp_path / "loop.so")
        lib = runtime.load(tmp_path / "loop.so")

    with pytest.raises(ExecutionError, match=r"without a number of iterations that runs for more than 0 s"):
        lib.run(feed)
    assert lib.run({**feed, "c": np.array(False)})["last"].shape == (2,)


@pytest.mark.parametrize(
    ("step", "compare", "order"),
    [
        (1, "Less", "counter bound"),
        (2, "LessOrEqual", "counter bound"),
        (1, "Greater", "bound counter"),
        (-1, "Greater", "counter bound"),
        (-1, "Less", "bound counter"),
    ],
)
def test_a_loop_that_counts_to_a_bound_has_no_time_limit(
    step: int, compare: str, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "loop_seconds", lambda: 0)
    names = {"counter": "next", "bound": "n"}
    body = graph(
        [
            node("Neg", ["s"], ["s2"]),
            node("Add", ["k", "step"], ["next"]),
            node(compare, [names[one] for one in order.split()], ["counts"]),
            node("And", ["counts", "c"], ["go"]),
        ],
        [("i", INT64, []), ("on", BOOL, []), ("s", FLOAT), ("k", INT64, [])],
        [("go", BOOL, []), ("s2", FLOAT), ("next", INT64, [])],
    )
    proto = model(
        [node("Loop", ["most", "c", "s0", "k0"], ["last", "end"], body=body)],
        [("c", BOOL, []), ("s0", FLOAT, [2]), ("n", INT64, [])],
        [("last", FLOAT), ("end", INT64)],
        most=np.array(2**31 - 1),
        k0=np.array(0),
        step=np.array(step),
    )
    n = 5001 if step > 0 else -5001

    made = tvmlite.compile(from_onnx(proto)).run({"c": np.array(True), "s0": floats(2), "n": np.array(n)})

    assert abs(int(made["end"]) - n) <= abs(step)


def test_only_a_counter_that_approaches_its_bound_ends_a_loop() -> None:
    index, state, bound = (Var(name, tensor_type((), "int64")) for name in ("turn", "k", "n"))
    less = relay.make("less", state, bound)
    up, down = relay.make("add", state, relay.const(1)), relay.make("subtract", state, relay.const(1))

    assert must_end(index, [state], relay.Tuple([less, up]))
    assert must_end(index, [state], relay.Tuple([relay.make("less", index, bound), state]))
    for after in (state, down, relay.make("add", state, bound), relay.make("add", state, relay.const(0))):
        assert not must_end(index, [state], relay.Tuple([less, after]))
    assert not must_end(index, [state], relay.Tuple([relay.make("less", state, up), up]))
    assert not must_end(index, [state], relay.Tuple([relay.make("logical_or", less, less), up]))


def test_the_interpreter_has_the_same_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "loop_seconds", lambda: 0)
    module = from_onnx(endless([2], node("Neg", ["s"], ["s2"])))

    with pytest.raises(ExecutionError, match=r"for more than 0 seconds \(TVMLITE_LOOP_SECONDS\)"):
        interpret(module, {"c": np.array(True), "s0": floats(2)})


@pytest.mark.parametrize("always", [True, False])
def test_an_iteration_count_from_the_data_has_no_time_limit(
    always: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "loop_seconds", lambda: 0)
    lib = tvmlite.compile(from_onnx(counted(always)))
    feed = {"s0": np.array([1, 2], np.float32), "c": np.array(True)}

    assert lib.run({**feed, "m": np.array(99_999)})["last"].tolist() == [-1, -2]
    with pytest.raises(ExecutionError, match="without a number of iterations"):
        lib.run({**feed, "m": np.array(2**62)})


def test_a_model_with_a_provably_endless_loop_is_refused_at_import() -> None:
    with pytest.raises(UnsupportedError, match=r"(?s)an endless loop.*node \"spin\""):
        from_onnx(counted(True, m=np.array(2**63 - 1)))


def test_a_state_that_grows_is_refused_at_its_node() -> None:
    with pytest.raises(UnsupportedError, match=r"(?s)its type must stay the same.*Loop"):
        from_onnx(endless([2], node("Concat", ["s", "s"], ["s2"], axis=0)))
