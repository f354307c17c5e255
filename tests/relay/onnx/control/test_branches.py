"""An If whose branches differ in rank, as exporters write squeeze: right against onnxruntime, or an error."""

import contextlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import tvmlite
from tvmlite import relay, runtime
from tvmlite.core.errors import ExecutionError, ModelError, UnsupportedError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.onnx import from_onnx

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
TARGETS = ["native", *(["c"] if shutil.which("cc") else [])]
node = helper.make_node
rng = np.random.default_rng(0)
onnxruntime.set_default_logger_severity(4)
HELD = {
    "first": np.array([0]),
    "last": np.array([-1]),
    "zero": np.array(0),
    "one": np.array(1),
    "four": np.array([4]),
    "flat": np.array([-1]),
    "rows": np.array([-1, 4]),
    "weights": rng.random((4, 5)).astype(np.float32),
    "ones": np.ones((1, 1, 4), np.float32),
    "one_row": np.array([1, 4]),
}


def graph(nodes, outputs, name="g") -> onnx.GraphProto:
    return helper.make_graph(nodes, name, [], [onnx.ValueInfoProto(name=one) for one in outputs])


def squeeze(
    data: str, result: str, name: str = "choose", axis: str = "first", turned=False
) -> list[onnx.NodeProto]:
    """``squeeze(data, axis)`` as PyTorch exports it; ``turned``: with a condition that is turned round."""
    own = f"{result}_"
    short = graph([node("Squeeze", [data, axis], [f"{own}s"])], [f"{own}s"])
    same = graph([node("Identity", [data], [f"{own}i"])], [f"{own}i"])
    then, otherwise = (same, short) if turned else (short, same)
    nodes = [
        node("Shape", [data], [f"{own}shape"]),
        node("Gather", [f"{own}shape", axis], [f"{own}extent"]),
        node("Squeeze", [f"{own}extent"], [f"{own}number"]),
        node("Equal", [f"{own}number", "one"], [f"{own}single"]),
    ]
    condition = f"{own}single"
    if turned:
        nodes.append(node("Not", [condition], [f"{own}several"]))
        condition = f"{own}several"
    return [*nodes, node("If", [condition], [result], name, then_branch=then, else_branch=otherwise)]


def model(nodes, shape: Any = ("n", 4), outputs: Any = (("y", None),), extra=()) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info("x", FLOAT, shape), *extra]
    wanted = [helper.make_tensor_value_info(name, FLOAT, rank and [None] * rank) for name, rank in outputs]
    used = {name for one in nodes for name in names_of(one)}
    held = [onnx.numpy_helper.from_array(value, name) for name, value in HELD.items() if name in used]
    made = helper.make_graph(nodes, "g", inputs, wanted, held)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def names_of(proto: onnx.NodeProto) -> list[str]:
    inner = [name for a in proto.attribute if a.HasField("g") for one in a.g.node for name in one.input]
    return [*proto.input, *inner]


def floats(*shape: int) -> np.ndarray:
    return rng.random(shape).astype(np.float32)


def reference(proto: onnx.ModelProto, feed: dict[str, np.ndarray]) -> list[Any]:
    return onnxruntime.InferenceSession(proto.SerializeToString()).run(None, feed)


def check(proto: onnx.ModelProto, feeds: list[dict[str, np.ndarray]], shape: Any = None) -> None:
    """Compiled and interpreted, it gives what onnxruntime gives; its text is read back."""
    module = from_onnx(proto, shape)
    verify(module)
    assert str(relay.parse(module.astext())) == str(module)
    lib = tvmlite.compile(module)
    for feed in feeds:
        meant = interpret(module, feed)
        meant = meant if isinstance(meant, tuple) else (meant,)
        for got, mean, want in zip(lib.run(feed).values(), meant, reference(proto, feed), strict=True):
            assert got.shape == want.shape == np.shape(mean)
            np.testing.assert_allclose(got, want, rtol=1e-5)
            np.testing.assert_allclose(mean, want, rtol=1e-5)


BEHIND = {
    "reshape": [node("Reshape", ["w", "flat"], ["y"])],
    "arithmetic and reshape": [
        node("Exp", ["w"], ["e"]),
        node("Add", ["e", "w"], ["a"]),
        node("Reshape", ["a", "rows"], ["y"]),
    ],
    "a sum of all": [node("ReduceSum", ["w"], ["s"], keepdims=0), node("Add", ["s", "x"], ["y"])],
    "broadcast to rank 3": [node("Add", ["w", "ones"], ["y"])],
    "its own shape": [
        node("Shape", ["w"], ["s"]),
        node("Neg", ["w"], ["m"]),
        node("Reshape", ["m", "flat"], ["f"]),
        node("Reshape", ["f", "s"], ["g"]),
        node("Mul", ["g", "ones"], ["y"]),
    ],
    "a squeeze of the same axis again": [
        *squeeze("x", "v", "again"),
        node("Mul", ["v", "w"], ["p"]),
        node("Reshape", ["p", "flat"], ["y"]),
    ],
    "two chains": [
        node("Exp", ["w"], ["e"]),
        node("Reshape", ["e", "flat"], ["r"]),
        node("Abs", ["x"], ["b"]),
        node("Reshape", ["b", "flat"], ["q"]),
        node("Add", ["q", "r"], ["y"]),
    ],
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("behind", BEHIND)
def test_ranks_that_agree_again_are_right_for_every_size(behind: str, turned: bool) -> None:
    proto = model([*squeeze("x", "w", turned=turned), *BEHIND[behind]])

    check(proto, [{"x": floats(n, 4)} for n in (1, 3, 2)])


def test_two_open_axes_are_squeezed_each_by_its_own_size() -> None:
    nodes = [*squeeze("x", "v", "a"), *squeeze("x", "w", "b", axis="last")]
    nodes += [node("Reshape", ["v", "flat"], ["p"]), node("Reshape", ["w", "flat"], ["q"])]
    proto = model([*nodes, node("Add", ["p", "q"], ["y"])], ("n", "m"))

    check(proto, [{"x": floats(n, m)} for n in (1, 3) for m in (1, 2)])


def test_one_squeeze_behind_the_other_is_right_for_every_size() -> None:
    nodes = [
        *squeeze("x", "v", "a"),
        *squeeze("v", "w", "b", axis="last"),
        node("Reshape", ["w", "flat"], ["y"]),
    ]

    check(model(nodes, ("n", "m")), [{"x": floats(n, m)} for n in (1, 3) for m in (1, 2)])


def test_a_branch_that_the_data_choose_may_differ_in_rank_as_long_as_what_follows_does_not() -> None:
    then = graph([node("ReduceSum", ["x", "first"], ["t"], keepdims=0)], ["t"])
    otherwise = graph([node("NonZero", ["x"], ["k"]), node("Cast", ["k"], ["c"], to=FLOAT)], ["c"])
    nodes = [
        node("If", ["asked"], ["w"], "choose", then_branch=then, else_branch=otherwise),
        node("Reshape", ["w", "flat"], ["r"]),
        node("Add", ["r", "r"], ["y"]),
    ]
    proto = model(nodes, extra=[helper.make_tensor_value_info("asked", BOOL, ())])

    check(proto, [{"x": floats(n, 4), "asked": np.array(c)} for n in (1, 3) for c in (True, False)])


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (3, 2)])
def test_sizes_that_are_known_decide_the_branch_at_import(n: int, rank: int) -> None:
    proto = model([*squeeze("x", "w"), node("Exp", ["w"], ["y"])])
    feed = {"x": floats(n, 4)}

    for shape in ({"n": n}, {"x": (n, 4)}):
        assert "if" not in str(from_onnx(proto, shape))
        check(proto, [feed], shape)
    assert tvmlite.compile(from_onnx(proto, {"n": n}))(feed["x"]).ndim == rank


@pytest.mark.parametrize("n", [1, 3])
def test_sizes_that_are_pinned_after_the_import_decide_the_branch_too(n: int) -> None:
    proto = model([*squeeze("x", "w"), node("Reshape", ["w", "flat"], ["y"])])
    x = floats(3, 4)[:n]

    for given in (n, [n, 2]):
        lib = tvmlite.compile(from_onnx(proto), shape={"n": given})
        np.testing.assert_array_equal(lib(x), x.ravel())


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("declared", [None, 1, 2])
@pytest.mark.parametrize(
    "behind", [["Exp"], ["Softmax"], ["CumSum"], []], ids=["Exp", "Softmax", "CumSum", "none"]
)
def test_an_output_has_the_rank_that_its_size_gives_it(
    behind: list[str], declared: int | None, target: str, tmp_path: Path
) -> None:
    last = "w" if behind else "y"
    nodes = [*squeeze("x", last), *(node(op, [last, *["zero"] * (op == "CumSum")], ["y"]) for op in behind)]
    proto = model(nodes, outputs=[("y", declared)])
    module = from_onnx(proto)
    lib = tvmlite.compile(module, target=target)
    libs: list[Any] = [lib]
    if target == "native":
        lib.export(tmp_path / "model.so")
        libs.append(runtime.load(tmp_path / "model.so"))

    assert str(relay.parse(module.astext())) == str(module)
    for n in (1, 3, 2):
        feed = {"x": floats(n, 4)}
        (wanted,) = reference(proto, feed)
        for one in libs:
            for got in (one(feed["x"]), one.run(feed)["y"], one.profile(feed["x"]).result):
                assert got.shape == wanted.shape
                np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_squeeze_without_axes_takes_away_what_is_one_in_the_run() -> None:
    proto = model([node("Squeeze", ["x"], ["w"]), node("Exp", ["w"], ["y"])], ("n", 1, 4))
    lib = tvmlite.compile(from_onnx(proto))

    for n in (1, 3):
        x = floats(n, 1, 4)
        got, wanted = lib(x), reference(proto, {"x": x})[0]
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
    assert from_onnx(proto, {"n": 1}).attrs == ()


def test_squeeze_without_axes_of_two_open_axes_is_never_of_a_wrong_rank() -> None:
    proto = model([node("Squeeze", ["x"], ["y"])], ("n", "m"))
    lib = tvmlite.compile(from_onnx(proto))
    ranks = {}

    for shape in ((1, 1), (1, 3), (3, 1), (2, 3)):
        with contextlib.suppress(ExecutionError):
            ranks[shape] = lib(floats(*shape)).ndim

    assert ranks[2, 3] == 2
    assert all(rank == sum(extent > 1 for extent in shape) for shape, rank in ranks.items())


def unlike(outputs: Any = (("y", None),)) -> onnx.ModelProto:
    """A branch by size whose outputs are not of the same elements."""
    then = graph([node("ReduceSum", ["x", "last"], ["t"], keepdims=0)], ["t"])
    otherwise = graph([node("Identity", ["x"], ["e"])], ["e"])
    nodes = squeeze("x", "_")[:-1]
    nodes += [node("If", ["__single"], ["y"], "choose", then_branch=then, else_branch=otherwise)]
    return model(nodes, outputs=outputs)


def test_an_output_of_two_ranks_is_of_the_one_that_most_sizes_have_and_else_stops_the_run() -> None:
    module, x = from_onnx(unlike()), floats(3, 4)
    lib = tvmlite.compile(module)

    np.testing.assert_array_equal(lib(x), x)
    np.testing.assert_array_equal(lib(x[:2]), x[:2])
    message = r"""node "choose" \(If\).*the sizes choose its then_branch, as n == 1, where 'y' is """
    message += r"""Tensor\[\(n,\), float32\], the compiled branch has Tensor\[\(n, 4\), float32\]"""
    for run in (lib, lambda given: interpret(module, [given])):
        with pytest.raises(ExecutionError, match="its then_branch, as n == 1, where 'y' is"):
            run(x[:1])
    with pytest.raises(ExecutionError, match=rf"{message} \(n is 1\)"):
        lib(x[:1])


def test_an_output_of_two_ranks_has_the_one_that_the_model_declares() -> None:
    lib, x = tvmlite.compile(from_onnx(unlike([("y", 1)]))), floats(3, 4)

    assert lib(x[:1]).shape == (1,)
    with pytest.raises(ExecutionError, match=r"choose its else_branch, as n != 1, where 'y' is"):
        lib(x)


def test_a_branch_with_which_the_rest_cannot_be_is_left_out_and_the_error_says_why() -> None:
    nodes = [*squeeze("x", "w"), node("Gemm", ["w", "weights"], ["y"], "gemm")]
    lib, x = tvmlite.compile(from_onnx(model(nodes))), floats(3, 4)

    np.testing.assert_allclose(lib(x), x @ HELD["weights"], rtol=1e-5)
    with pytest.raises(
        ExecutionError, match=r"its then_branch, as n == 1, with which the model cannot be imported"
    ):
        lib(x[:1])


def test_an_output_of_two_ranks_by_the_data_is_refused() -> None:
    then = graph([node("Squeeze", ["x", "first"], ["t"])], ["t"])
    otherwise = graph([node("Identity", ["x"], ["e"])], ["e"])
    nodes = [node("If", ["asked"], ["y"], "choose", then_branch=then, else_branch=otherwise)]
    proto = model(nodes, extra=[helper.make_tensor_value_info("asked", BOOL, ())])

    with pytest.raises(UnsupportedError, match=r'(?s)of different types, chosen by the data.*"choose"'):
        from_onnx(proto)


def _flag_in_a_loop() -> onnx.ModelProto:
    """A flag that begins as ``()``; in each iteration it is ``()`` or ``(1,)`` by the data."""
    seen = graph([node("Constant", [], ["t"], value=onnx.numpy_helper.from_array(np.array(True)))], ["t"])
    asked = graph([node("Identity", ["wide"], ["e"])], ["e"])
    body = helper.make_graph(
        [
            node("Add", ["total", "x"], ["next"]),
            node("ReduceSum", ["next"], ["all"], keepdims=0),
            node("Less", ["all", "limit"], ["more"]),
            node("Reshape", ["more", "flat"], ["wide"]),
            node("If", ["flag"], ["mixed"], "choose", then_branch=seen, else_branch=asked),
            node("Not", ["mixed"], ["after"]),
            node("Identity", ["more"], ["going"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", INT64, ()),
            helper.make_tensor_value_info("on", BOOL, ()),
            helper.make_tensor_value_info("total", FLOAT, ("n", 4)),
            helper.make_tensor_value_info("flag", BOOL, ()),
        ],
        [
            helper.make_tensor_value_info("going", BOOL, ()),
            helper.make_tensor_value_info("next", FLOAT, ("n", 4)),
            onnx.ValueInfoProto(name="after"),
        ],
    )
    nodes = [
        node("Loop", ["most", "yes", "x", "no"], ["ended", "flagged"], body=body),
        node("Cast", ["flagged"], ["number"], to=FLOAT),
        node("Add", ["ended", "number"], ["y"]),
    ]
    made = model(nodes)
    held = {"limit": np.float32(100), "flat": np.array([-1]), "most": np.array(50)}
    held |= {"yes": np.array(True), "no": np.array(False)}
    have = {one.name for one in made.graph.initializer}
    made.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.asarray(value), name)
        for name, value in held.items()
        if name not in have
    )
    return made


def test_a_flag_of_one_element_may_have_either_rank_in_a_loop() -> None:
    check(_flag_in_a_loop(), [{"x": floats(n, 4)} for n in (1, 3)])


def test_branches_of_different_numbers_of_outputs_are_refused() -> None:
    then = graph([node("Abs", ["x"], ["t"])], ["t", "t"])
    otherwise = graph([node("Neg", ["x"], ["e"])], ["e"])
    nodes = [node("If", ["asked"], ["y"], "choose", then_branch=then, else_branch=otherwise)]

    with pytest.raises(ModelError, match="its branches give 2 and 1 outputs"):
        from_onnx(model(nodes, extra=[helper.make_tensor_value_info("asked", BOOL, ())]))


def test_a_squeeze_inside_a_loop_is_right_for_every_size() -> None:
    body = helper.make_graph(
        [*squeeze("s", "w"), node("Reshape", ["w", "rows"], ["r"]), node("Add", ["r", "s"], ["s2"])],
        "body",
        [helper.make_tensor_value_info(*one) for one in (("i", INT64, []), ("on", BOOL, []))]
        + [onnx.ValueInfoProto(name="s")],
        [onnx.ValueInfoProto(name="on"), onnx.ValueInfoProto(name="s2")],
    )
    nodes = [node("Loop", ["turns", "", "x"], ["y"], body=body), node("Identity", ["rows"], ["_"])]
    nodes += [node("Identity", [name], [f"_{name}"]) for name in ("first", "one")]
    proto = model(nodes, extra=[helper.make_tensor_value_info("turns", INT64, [])])

    check(proto, [{"x": floats(n, 4), "turns": np.array(3)} for n in (1, 3)])
