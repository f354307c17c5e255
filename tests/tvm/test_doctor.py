"""``tvmlite doctor --tvm`` finds the names of TVM that a script uses, without running it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tvmlite.tvm as tvm
from tvmlite import cli
from tvmlite.commands.parsing.tvm_script import uses, why_missing
from tvmlite.core.errors import TvmliteError

SCRIPT = """
import numpy as np
import tvm
import tvm.testing as testing
from tvm import autotvm as at, rpc
from tvm.contrib import graph_executor
raise SystemExit("this must not run")
task = at.task.create("matmul", (512,), tvm.target.Target("llvm"))
module = graph_executor.GraphModule(lib["default"](dev))
testing.assert_allclose(np.zeros(3), module.get_output(0))
at.no_such_name.deeper()
at.tempalte("x")
rpc.connect("host", 9090)
at.task.create("other", (), "llvm")
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_names_are_resolved_through_imports_and_aliases(tmp_path: Path) -> None:
    found = {one.name: one for one in uses(written(tmp_path / "s.py", SCRIPT))}

    assert found["tvm.autotvm.task.create"].lines == (8, 14)
    assert found["tvm.contrib.graph_executor.GraphModule"].lines == (9,)
    assert found["tvm.testing.assert_allclose"].missing == ""
    assert found["tvm.target.Target"].missing == ""
    assert not any(name.startswith(("np", "numpy", "tvm.zeros")) for name in found)
    missing = {name: one.missing for name, one in found.items() if one.missing}
    assert missing == {
        "tvm.autotvm.no_such_name.deeper": "tvm.autotvm has no 'no_such_name'",
        "tvm.autotvm.tempalte": "tvm.autotvm has no 'tempalte'; did you mean template?",
        "tvm.rpc.connect": "rpc.LocalSession() is a session with this machine; an exported library can be "
        "copied to another",
    }


def use(name: str) -> None:
    """Call the object named ``tvm.x.y``, as a decorator if possible."""
    found: Any = tvm
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    found(lambda: None)()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tvm.compute", "tvm.te.compute"),
        ("tvm.contrib.ndk.create_shared", "docs/targets.md"),
        ("tvm.contrib.nvcc.compile_cuda", "code for CPUs only"),
        ("tvm.meta_schedule.tune_tir", "auto_scheduler, or tvmlite.tune"),
        ("tvm.micro.Session", "docs/microcontrollers.md"),
        ("tvm.relay.transform.PartialEvaluate", "relay.transform.Inline and"),
        ("tvm.relay.frontend.from_keras", "from_onnx"),
        ("tvm.relay.op.dyn.reshape", "relay.reshape also takes its sizes, axes and scales in a tensor"),
        ("tvm.relay.op.nn.bitserial_dense", "no kernels of single bits"),
        ("tvm.relax.frontend", "relay, or"),
        ("tvm.script.tir.prim_func", "TVMScript is not read"),
        ("tvm.tir.Schedule", "te.create_schedule"),
        ("tvm.tir.transform.Simplify", "tvm.lower applies the passes there are"),
        ("tvm.topi.cuda.conv2d_nchw", "code for CPUs only"),
        ("tvm.autotvm.measure.local_executor", "one worker process"),
    ],
)
def test_the_hint_is_the_same_as_in_the_error(name: str, text: str) -> None:
    assert text in why_missing(name)
    with pytest.raises(TvmliteError, match=r"is not supported|is not in tvmlite"):
        use(name)


@pytest.mark.parametrize(
    "text",
    ["import tvmlite.tvm as tvm\ntvm.nd.array([1])\n", "from tvmlite.tvm import nd\nnd.array([1])\n"],
)
def test_a_script_that_imports_tvmlite_tvm_is_read(tmp_path: Path, text: str) -> None:
    assert "tvm.nd.array" in [one.name for one in uses(written(tmp_path / "s.py", text))]


def test_aliasing_tvmlite_as_tvm_counts_as_an_import(tmp_path: Path) -> None:
    text = (
        'import sys\nimport tvmlite.tvm\nsys.modules["tvm"] = tvmlite.tvm\nimport tvm.te\ntvm.te.var("n")\n'
    )
    found = uses(written(tmp_path / "s.py", text))

    assert [(one.name, one.lines, one.missing) for one in found] == [
        ("tvm", (2, 3), ""),
        ("tvm.te", (4,), ""),
        ("tvm.te.var", (5,), ""),
    ]


def test_other_names_of_tvmlite_are_not_names_of_tvm(tmp_path: Path) -> None:
    text = "import tvmlite.te\nfrom tvmlite import te\ntvmlite.te.var('n')\nte.no_such_name()\n"

    assert uses(written(tmp_path / "s.py", text)) == []


def test_attributes_of_call_results_are_not_followed(tmp_path: Path) -> None:
    found = uses(written(tmp_path / "s.py", "import tvm\ntvm.nd.array([1]).no_such_method()\n"))

    assert [one.name for one in found] == ["tvm", "tvm.nd.array"]


def test_attributes_of_classes_are_checked() -> None:
    assert why_missing("tvm.autotvm.tuner.XGBTuner.load_history") == ""
    assert "has no 'dream'" in why_missing("tvm.autotvm.tuner.XGBTuner.dream")


def test_the_exit_status_says_whether_names_are_missing(tmp_path: Path, capsys: Any) -> None:
    good = written(tmp_path / "good.py", "from tvm import autotvm\nautotvm.LocalRunner()\n")
    bad = written(tmp_path / "bad.py", "from tvm import autotvm\nautotvm.dream()\n")

    assert cli.main(["doctor", "--tvm", str(good)]) == 0
    assert "2 names of TVM, 0 missing" in capsys.readouterr().out
    assert cli.main(["doctor", "--tvm", str(good), str(bad)]) == 1
    shown = capsys.readouterr().out
    assert "tvm.autotvm.dream  missing  line 2" in shown
    assert "tvm.autotvm has no 'dream'" in shown


@pytest.mark.parametrize(
    ("text", "message"),
    [("def (", "line 1: no Python"), ("x = '\0'", "no Python"), ("(" * 5000, "no Python")],
)
def test_a_file_that_is_not_python_is_an_error(tmp_path: Path, capsys: Any, text: str, message: str) -> None:
    assert cli.main(["doctor", "--tvm", str(written(tmp_path / "s.py", text))]) == 1
    assert message in capsys.readouterr().err


def test_error_of_a_missing_file_names_it(capsys: Any) -> None:
    assert cli.main(["doctor", "--tvm", "gone.py"]) == 1
    assert "--tvm gone.py: there is no such file" in capsys.readouterr().err
