"""Labels of kernels, the same in tables, profiles and pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvmlite
from tvmlite import relay, runtime
from tvmlite.graph_page import draw
from tvmlite.relay.entry import labels
from tvmlite.relay.entry.kernels import fused_groups
from tvmlite.relay.ir.nodes import Function, Module


def model(rows: int | str = 4, turns: int = 2, named: bool = True) -> Module:
    """Return consecutive dense layers, each with a relu."""
    nodes, last = [], "x"
    for k in range(turns):
        name = f"/block.{k}/fc/MatMul" if named else ""
        nodes.append(helper.make_node("MatMul", [last, f"w{k}"], [f"m{k}"], name))
        nodes.append(
            helper.make_node("Relu", [f"m{k}"], [last := f"r{k}"], f"/block.{k}/act" if named else "")
        )
    weights = [numpy_helper.from_array(np.full((8, 8), k, "f4"), f"w{k}") for k in range(turns)]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [rows, 8]) for n in ("x", last))
    graph = helper.make_graph(nodes, "net", [x], [y], weights)
    return relay.frontend.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


def function(text: str) -> Function:
    return relay.parse(f"def @main{text}").main


def test_labels_tell_equal_kernels_apart_by_their_nodes(
    tmp_path: Path,
) -> None:
    lib = tvmlite.compile(model())
    lib.export(tmp_path / "net.so")
    loaded = runtime.load(tmp_path / "net.so")
    first, second = (f"dense_pack+relu /block.{k}/fc/MatMul 4x8" for k in (0, 1))
    x = np.ones((4, 8), np.float32)

    assert lib.kernel_labels == loaded.kernel_labels == (first, second)
    for profile in (lib.profile(x), loaded.profile(x)):
        assert profile.kernels[0][0].startswith("fused_")
        assert {line.rpartition("4x8")[0] + "4x8" for line in str(profile).splitlines()[:2]} == {
            first,
            second,
        }
    assert [row.label for row in lib.report.rows] == [first]  # one kernel, called twice
    assert str(lib.report).splitlines()[1].endswith(first)
    assert [box.label for box in draw(lib.module).boxes if box.operators] == [first, second]


def test_an_unnamed_node_is_labelled_by_its_output() -> None:
    lib = tvmlite.compile(model(named=False))

    assert lib.kernel_labels == ("dense_pack+relu m0 4x8", "dense_pack+relu m1 4x8")


def test_labels_of_a_graph_that_was_not_imported_have_no_node() -> None:
    x = relay.var("x", (2, 3))
    lib = tvmlite.compile(relay.Function((x,), relay.exp(relay.nn.relu(x))))

    assert lib.kernel_labels == ("relu+exp 2x3",)


def test_long_operator_chains_are_abbreviated_with_a_count() -> None:
    assert labels.operators(["nn.conv2d", "add", "nn.relu", "exp", "log"]) == "conv2d+add+relu+exp+log"
    assert labels.operators(["add"] * 4 + ["exp", "log"]) == "add+add+add+add+2 more"


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("(%x: Tensor[(3, n), float32]) { nn.relu(%x) }", "3xn"),
        ("(%x: Tensor[((n + 1), 2), float32]) { nn.relu(%x) }", "(n + 1)x2"),
        ("(%x: Tensor[(), float32]) { nn.relu(%x) }", "scalar"),
        ("(%x: Tensor[(4, 6), float32]) { split(%x, indices_or_sections=2, axis=1) }", "4x3, 4x3"),
    ],
)
def test_shapes_are_printed_in_short_form(text: str, shape: str) -> None:
    assert labels.shape(relay.infer.type_of(function(text).body)) == shape


def test_labels_of_branches_and_loops_follow_the_order_of_the_signature() -> None:
    text = """(%x: Tensor[(4,), float32], %go: Tensor[(), bool]) {
      %0 = exp(%x);
      %1 = if (%go) {
        sin(%0)
      } else {
        cos(%0)
      };
      tanh(%1)
    }"""
    lib = tvmlite.compile(Module({"main": function(text)}))

    for symbol, label in zip(lib.signature.kernels, lib.kernel_labels, strict=True):
        assert symbol.removeprefix("fused_").partition("_")[0] == label.split()[0].partition("+")[0]
    assert len(list(fused_groups(lib.module))) == len(lib.kernel_labels) >= 3
