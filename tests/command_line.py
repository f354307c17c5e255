"""Shared by the tests of the command: a folder of small models, and ways to run a command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvmlite import cli

WEIGHTS = np.random.default_rng(3).standard_normal((8, 5)).astype(np.float32)

HANGS = 900
"""Seconds after which a command counts as hanging: generous, as other work may delay it."""


def _model(rows: int | str) -> onnx.ModelProto:
    """``relu(x @ weights)`` over ``rows`` rows; the name of its input is not a C identifier."""
    nodes = [helper.make_node("MatMul", ["in/x:0", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])]
    inputs = [helper.make_tensor_value_info("in/x:0", TensorProto.FLOAT, [rows, 8])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 5])]
    graph = helper.make_graph(nodes, "net", inputs, outputs, [numpy_helper.from_array(WEIGHTS, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _convolution() -> onnx.ModelProto:
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 9, 10])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 32, 9, 10])]
    weights = numpy_helper.from_array(np.ones((32, 16, 3, 3), np.float32), "w")
    graph = helper.make_graph(nodes, "net", inputs, outputs, [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _product() -> onnx.ModelProto:
    def value(name: str, *shape: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    nodes = [helper.make_node("MatMul", ["x", "z"], ["y"])]
    graph = helper.make_graph(
        nodes, "net", [value("x", "a b", "w"), value("z", "w", "c")], [value("y", "a b", "c")]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with ``fixed.onnx`` (four rows), ``open model.onnx`` (n rows), ``wide.onnx``
    (several open dimensions) and ``conv.onnx``."""
    onnx.save(_model(4), tmp_path / "fixed.onnx")
    onnx.save(_convolution(), tmp_path / "conv.onnx")
    onnx.save(_model("n"), tmp_path / "open model.onnx")
    onnx.save(_product(), tmp_path / "wide.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Done(NamedTuple):
    """The result of a command: its exit status, and what it printed."""

    status: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def tvmlite(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process."""

    def run(*words: str) -> Done:
        try:
            status = cli.main(words)
        except SystemExit as end:  # how argparse ends
            status = end.code if isinstance(end.code, int) else 2
        return Done(status, *capsys.readouterr())

    return run


MODULE = (sys.executable, "-m", "tvmlite")
"""The command as a module."""


def script() -> tuple[str, ...]:
    """The script of the command, as an installer creates it from ``pyproject.toml``."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"]["tvmlite"].partition(":")
    return sys.executable, "-c", f"import sys; from {module} import {function}; sys.exit({function}())"


def process(
    words: Sequence[str], command: Sequence[str] = MODULE, **environment: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command, *words],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_interrupts,
    )


def seconds_of_children() -> float:
    """Processor time of ended child processes: wall time would include other work of the machine."""
    used = os.times()
    return used.children_user + used.children_system


def _heed_interrupts() -> None:
    """Restore the default of Ctrl-C: processes that a shell starts in the background ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
