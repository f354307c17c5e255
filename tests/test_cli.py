"""The command as a user meets it: what it prints, what it writes, and its exit status."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import models
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvmlite import cli, export, relay
from tvmlite.commands import common, tune
from tvmlite.core.version import VERSION

WEIGHTS = np.random.default_rng(3).standard_normal((8, 5)).astype(np.float32)

HANGS = 900
"""Seconds after which a command is held to hang: many times what any takes, as other work may stop it."""

pytestmark = pytest.mark.usefixtures("threads")


def _model(rows: int | str) -> onnx.ModelProto:
    """``relu(x @ weights)`` over ``rows`` rows; its input's name is none that C could write."""
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
    """What a command left: its exit status, and what it printed."""

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


def _process(words: Sequence[str], **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tvmlite", *words]
    return subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_interrupts,
    )


def _seconds_of_children() -> float:
    """Of processors, by processes that have ended: the clock runs on where other work stops them."""
    used = os.times()
    return used.children_user + used.children_system


def _heed_interrupts() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# compile and run


@pytest.mark.parametrize("target", ["native", "c"])
def test_a_model_is_compiled_and_the_library_run(tvmlite: Run, folder: Path, target: str) -> None:
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    np.savez(folder / "in.npz", **{"in/x:0": x})

    compiled = tvmlite("compile", "fixed.onnx", "-o", "net.so", "--target", target)
    run = tvmlite("run", "net.so", "--inputs", "in.npz", "--outputs", "out.npz")

    assert compiled == (0, compiled.out, "")
    assert "net.so: 1 kernels, " in compiled.out
    assert " kB, " in compiled.out
    assert run.status == 0
    assert run.out.startswith("y: float32[4, 5], min 0, max ")
    np.testing.assert_allclose(np.load(folder / "out.npz")["y"], np.maximum(x @ WEIGHTS, 0), rtol=1e-4)


def test_c_source_and_headers_are_written(tvmlite: Run, folder: Path) -> None:
    assert tvmlite("compile", "open model.onnx", "-o", "net.c").status == 0
    assert tvmlite("compile", "open model.onnx", "-o", "only.h").status == 0

    names = {path.name for path in folder.iterdir() if path.suffix in (".c", ".h")}
    assert names == {"net.c", "net.h", "net_constants.c", "tvmlite_pool.c", "only.h"}
    assert "int32_t open_model(" in (folder / "only.h").read_text()


def test_the_report_lists_the_kernels(tvmlite: Run) -> None:
    done = tvmlite("compile", "fixed.onnx", "-o", "net.so", "--report")

    first, second, *_ = done.out.splitlines()
    assert first.split() == ["calls", "schedule", "code", "kernel"]
    assert second.endswith("dense_pack+relu m 4x5")


def test_times_of_passes_and_steps_are_printed_and_the_model_verified(tvmlite: Run) -> None:
    done = tvmlite("compile", "fixed.onnx", "-o", "net.so", "--times", "--verify")

    assert done.status == 0
    names = [line.split()[-1] for line in done.out.splitlines() if " ms " in line]
    assert {"fold_constant", "fuse", "kernels", "entry", "link", "total"} <= set(names)


def test_an_open_dimension_can_be_pinned(tvmlite: Run) -> None:
    pinned = tvmlite("run", "open model.onnx", "--sizes", "n=3")
    wrong = tvmlite("run", "open model.onnx", "--sizes", "n=x")
    unknown = tvmlite("run", "open model.onnx", "--sizes", "m=3")

    assert "y: float32[3, 5]" in pinned.out
    assert "--sizes 'n=x': expected NAME=NUMBER" in wrong.err
    assert "the inputs are 'in/x:0', the open dimensions 'n'" in unknown.err


def test_a_run_can_stop_at_any_value(tvmlite: Run, folder: Path) -> None:
    done = tvmlite("run", "fixed.onnx", "--until", "m")
    unknown = tvmlite("run", "fixed.onnx", "--until", "mm")
    tvmlite("compile", "fixed.onnx", "-o", "net.so")
    library = tvmlite("run", "net.so", "--until", "m")

    assert done.status == 0
    assert "m: float32[4, 5], min -" in done.out
    assert "no value or node 'mm'; near it are 'm'" in unknown.err
    assert "--until needs the model: net.so is a library, which has no nodes" in library.err


def test_random_inputs_need_their_open_dimensions(tvmlite: Run) -> None:
    refused = tvmlite("run", "open model.onnx")
    done = tvmlite("run", "open model.onnx", "--dims", "n=7", "--seed", "3", "--threads", "1")

    assert refused.status == 1
    assert refused.err == (
        "tvmlite: InputError: input 'in/x:0' has the open dimension 'n'\n"
        "  hint: give inputs with --inputs in.npz, or give sizes with --dims n=N, "
        "or pin them with --sizes n=N\n"
    )
    assert done.status == 0
    assert "inputs: random, seed 3\n" in done.out
    assert "y: float32[7, 5]" in done.out


def test_all_open_dimensions_are_named_at_once_with_the_options_that_the_command_has(tvmlite: Run) -> None:
    run, bench = tvmlite("run", "wide.onnx"), tvmlite("bench", "wide.onnx")
    tuned = tvmlite("tune", "wide.onnx", "-o", "tune.jsonl", "--trials", "1")
    part = tvmlite("run", "wide.onnx", "--dims", "a_b=3")

    said = "tvmlite: InputError: input 'x' has the open dimensions 'a_b', 'w'; input 'z' has the open "
    said += "dimensions 'w', 'c'\n  hint: "
    assert run.err.startswith(
        f"{said}give inputs with --inputs in.npz, or give sizes with --dims a_b=N w=N c=N"
    )
    assert bench.err.startswith(f"{said}give sizes with --dims a_b=N w=N c=N, or pin them with --sizes a_b=N")
    assert tuned.err == f"{said}pin them with --sizes a_b=N w=N c=N\n"
    assert "input 'x' has the open dimension 'w'; input 'z' has the open dimensions 'w', 'c'" in part.err


def test_the_same_seed_gives_the_same_outputs(tvmlite: Run, folder: Path) -> None:
    for name in ("one", "two"):
        assert tvmlite("run", "fixed.onnx", "--outputs", f"{name}.npz").status == 0

    one, two = (np.load(folder / f"{name}.npz")["y"] for name in ("one", "two"))
    np.testing.assert_array_equal(one, two)


def test_time_and_profile_are_printed(tvmlite: Run) -> None:
    done = tvmlite("run", "fixed.onnx", "--print-time", "--profile")

    assert done.status == 0
    assert "time: " in done.out
    assert "\ndense_pack+relu m 4x5 " in done.out
    assert "total" in done.out.splitlines()[-1]


def test_a_shape_can_be_fixed_and_left_open_under_another_name(tvmlite: Run) -> None:
    fixed = tvmlite("run", "open model.onnx", "--input-shapes", "in/x:0:[6,8]")
    renamed = tvmlite("run", "open model.onnx", "--input-shapes", 'in/x:0:["rows",8]', "--dims", "rows=2")

    assert "y: float32[6, 5]" in fixed.out
    assert "y: float32[2, 5]" in renamed.out


# bench


def test_a_model_is_timed_alone_and_against_onnxruntime(tvmlite: Run) -> None:
    alone = tvmlite("bench", "open model.onnx", "--dims", "n=3", "--rounds", "1", "--threads", "1")
    both = tvmlite("bench", "fixed.onnx", "--against", "onnxruntime", "--rounds", "1")

    assert alone.status == both.status == 0
    assert "threads 1, load " in alone.out
    assert [line.split()[0] for line in both.out.splitlines()[-2:]] == ["tvmlite", "onnxruntime"]
    assert both.out.splitlines()[-1].endswith(" times ours")
    assert "output 0: largest difference " in both.out


# show and opt


def test_a_model_is_shown_as_imported_and_after_a_pass(tvmlite: Run) -> None:
    imported, fused = tvmlite("show", "fixed.onnx"), tvmlite("show", "fixed.onnx", "--pass", "fuse")

    assert "Primitive" not in imported.out
    assert "Primitive=1" in fused.out


@pytest.mark.parametrize(
    ("form", "mark"),
    [("loops", "for "), ("llvm", "define "), ("asm", ".text"), ("c", "int32_t fused_")],
)
def test_a_kernel_is_shown_in_every_form(tvmlite: Run, form: str, mark: str) -> None:
    done = tvmlite("show", "fixed.onnx", "--kernel", "relu", "--form", form)

    assert done.status == 0
    assert mark in done.out


def test_a_kernel_in_c_has_the_forms_of_c(tvmlite: Run) -> None:
    source = tvmlite("show", "fixed.onnx", "--kernel", "all", "--form", "c", "--target", "c")
    refused = tvmlite("show", "fixed.onnx", "--kernel", "all", "--form", "asm", "--target", "c")

    assert "int32_t fused_" in source.out
    assert refused.status == 1
    assert "form 'asm' is of LLVM; target 'c' has loops, legal, c" in refused.err


def test_passes_run_over_text(tvmlite: Run, folder: Path) -> None:
    x = relay.var("x", (3,))
    text = relay.astext(relay.IRModule.from_expr(relay.Function((x,), relay.exp(relay.nn.relu(x)))))
    (folder / "graph.relay").write_text(text)

    plain = tvmlite("opt", "graph.relay")
    fused = tvmlite("opt", "graph.relay", "-p", "simplify_expr,fuse", "--times")

    assert (plain.status, plain.out.strip()) == (0, text.strip())
    assert "Primitive=1" in fused.out
    assert "%  fuse\n" in fused.out


def test_what_show_writes_to_a_file_is_read_by_opt_in_another_process(tvmlite: Run, folder: Path) -> None:
    shown = tvmlite("show", "conv.onnx", "--pass", "none")
    fused = tvmlite("show", "conv.onnx", "--pass", "simplify_expr")
    (folder / "graph.relay").write_text(shown.out)

    child = _process(["opt", "graph.relay", "-p", "simplify_expr"])
    out, errors = child.communicate(timeout=HANGS)

    assert (child.returncode, errors) == (0, "")
    assert "meta[relay.Constant]" in out
    assert len(out.partition("#[metadata]")[2]) > 32 * 16 * 9 * 4  # the weights' bytes
    assert out.partition("def ")[2] == fused.out.partition("def ")[2]


def test_large_constants_are_left_out_on_a_terminal_and_that_is_said(
    tvmlite: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    short, whole = tvmlite("show", "conv.onnx"), tvmlite("show", "conv.onnx", "--constants")
    small = tvmlite("show", "conv.onnx", "--no-constants")

    assert "#[metadata]" not in short.out
    assert short.out.endswith("left out on a terminal: write to a file, or give --constants */\n")
    assert "#[metadata]" in whole.out
    assert small.out == short.out.partition("/* large")[0]


# doctor, version, help


def test_the_doctor_tells_what_there_is(tvmlite: Run) -> None:
    done = tvmlite("doctor")

    assert done.status == 0
    names = [line[:12].strip() for line in done.out.splitlines()]
    assert names[:4] == ["tvmlite", "python", "numpy", "llvmlite"]
    assert {"target", "threads", "cache", "linker", "onnx", "xgboost"} <= set(names)
    assert done.out.splitlines()[-1].split(maxsplit=2) == ["a", "kernel", "compiled, run and right"]


def test_the_doctor_says_how_to_get_what_is_missing(
    tvmlite: Run, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    from tvmlite.commands import doctor
    from tvmlite.runtime import link

    monkeypatch.setattr(doctor, "EXTRAS", (("no-such-package", "dream", "dreams"),))
    monkeypatch.setattr(doctor, "how_to_install", "get {}".format)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(link.importlib.util, "find_spec", lambda name: None)

    done = tvmlite("doctor")

    assert "no-such-package not installed: needed to dream (get dreams)" in done.out
    assert "linker       none: exporting a library needs one (install a C compiler" in done.out


def test_version_and_help(tvmlite: Run) -> None:
    assert tvmlite("--version") == (0, f"tvmlite {VERSION}\n", "")
    whole = tvmlite("--help")
    assert whole.status == 0
    for module in cli.COMMANDS:
        assert f"    {module.NAME}" in whole.out
        one = tvmlite(module.NAME, "--help")
        assert one.status == 0
        assert f"usage: tvmlite {module.NAME}" in one.out


def test_what_ends_an_export_is_said_before_a_model_is_compiled(
    tvmlite: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MOST_IN_C", 10)
    monkeypatch.setattr(common, "compile", None)
    refused = tvmlite("compile", "fixed.onnx", "-o", "x.c")
    assert refused.status == 1
    assert "GB of weights, C source holds at most" in refused.err


# What the user got wrong.


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ("", 2, "the following arguments are required: COMMAND"),
        ("compil fixed.onnx", 2, "invalid choice: 'compil' (choose from "),
        ("compil fixed.onnx", 2, "; did you mean compile?"),
        (
            "run fixed.onnx --threds 2",
            2,
            "tvmlite run: error: unrecognized arguments: --threds 2; did you mean",
        ),
        ("run fixed.onnx --zzz", 2, "unrecognized arguments: --zzz\n  hint: tvmlite run --help says what"),
        ("compile net.pt -o x.so", 1, "net.pt: not an ONNX model"),
        ("compile net.pt -o x.so", 1, "hint: torch.onnx.export(model, (example_input,), 'model.onnx')"),
        ("run net.pt", 1, "hint: torch.onnx.export(model, (example_input,), 'model.onnx')"),
        ("compile fixed.onnx -o x.so --records no.jsonl", 1, "--records no.jsonl: there is no such file"),
        ("compile fixed.onnx -o x.so --records .", 1, "InputError: --records .: a folder, expected a file"),
        ("tune fixed.onnx -o no/t.jsonl --trials 1", 1, "InputError: -o no/t.jsonl: there is no folder no"),
        ("tune fixed.onnx -o . --trials 1", 1, "InputError: -o .: a folder, expected a file"),
        ("tune fixed.onnx -o text.so/t --trials 1", 1, "InputError: -o text.so/t: text.so is not a folder"),
        ("tune fixed.onnx -o x.jsonl --report no/t.html", 1, "--report no/t.html: there is no folder no"),
        ("run fixed.onnx --outputs no/o.npz", 1, "InputError: --outputs no/o.npz: there is no folder no"),
        ("show fixed.onnx --html no/o.html", 1, "InputError: --html no/o.html: there is no folder no"),
        ("replay absent.jsonl:1", 1, "InputError: records absent.jsonl: there is no such file"),
        ("compile fixed.onnx", 2, "the following arguments are required: -o/--output"),
        ("compile absent.onnx -o x.so", 1, "ModelError: model file 'absent.onnx' does not exist"),
        ("compile text.onnx -o x.so", 1, "ModelError: text.onnx: not an ONNX model"),
        ("compile fixed.onnx -o x.dll", 1, "InputError: cannot export to x.dll: expected an ending of .so"),
        ("compile fixed.onnx -o absent/x.so", 1, "-o absent/x.so: there is no folder absent"),
        ("compile fixed.onnx -o x.so --target cuda", 1, "TargetError: target 'cuda' is of unknown kind"),
        ("compile fixed.onnx -o x.so --opt-level 7", 2, "invalid choice: 7"),
        ("compile fixed.onnx -o x.so --error-bound -1", 1, "error_bound is -1.0, expected a relative error"),
        (
            "compile fixed.onnx -o x.so --input-shapes x:4,8",
            1,
            "InputError: --input-shapes 'x:4,8': expected",
        ),
        ("compile fixed.onnx -o x.so --input-shapes [4]", 1, "InputError: --input-shapes '[4]': expected"),
        ("compile fixed.onnx -o x.so --input-shapes z:[4]", 1, "shape is given for 'z'; the inputs are"),
        ("compile fixed.onnx -o x.so --input-shapes in/x:0:[4,9]", 1, "dimension 1 is 8 in the model"),
        ("run absent.so", 1, "LibraryError: there is no file 'absent.so'"),
        ("run text.so", 1, "text.so is not a shared library"),
        ("run fixed.onnx --inputs absent.npz", 1, "InputError: --inputs absent.npz: there is no such file"),
        ("run fixed.onnx --inputs text.so", 1, "InputError: --inputs text.so: not an .npz file"),
        ("run fixed.onnx --inputs wrong.npz", 1, "InputError: there is no input 'z'; the inputs are in/x:0"),
        ("run fixed.onnx --inputs dtype.npz", 1, "input 'in/x:0' has dtype float64, expected float32"),
        ("run fixed.onnx --inputs shape.npz", 1, "input 'in/x:0' has shape (4, 7), expected float32 (4, 8)"),
        ("run fixed.onnx --inputs objects.npz", 1, "objects.npz: not an .npz of plain arrays"),
        ("run empty.onnx", 1, "ModelError: empty.onnx: the file is empty, expected an ONNX model"),
        ("run .", 1, "ModelError: model file '.' is a folder"),
        ("run fixed.onnx --dims n", 1, "InputError: --dims 'n': expected NAME=NUMBER"),
        ("run fixed.onnx --dims n=3", 1, "--dims: there is no open dimension 'n'; there are none"),
        ("run fixed.onnx --inputs wrong.npz --dims n=3", 1, "--inputs gives them already"),
        ("run fixed.onnx --threads 0", 1, "InputError: --threads is 0, expected at least 1"),
        ("bench fixed.onnx --against tensorflow", 2, "invalid choice: 'tensorflow'"),
        ("bench fixed.onnx --rounds 0", 1, "InputError: --rounds is 0, expected at least 1"),
        ("show fixed.onnx --pass fue", 1, "InputError: no pass 'fue' at level 3; there are infer_types"),
        ("show fixed.onnx --kernel zzz", 1, "InputError: no kernel's name holds 'zzz'"),
        ("show fixed.onnx --kernel all --form ptx", 2, "invalid choice: 'ptx'"),
        ("opt absent.relay -p fuse", 1, "InputError: graph absent.relay: there is no such file"),
        ("opt text.onnx -p fuse", 1, "ParseError: text.onnx:1:"),
        ("opt binary.relay -p fuse", 1, "InputError: binary.relay is not Relay text: it is not UTF-8"),
        ("opt graph.relay -p fue", 1, "InputError: no pass 'fue'; there are "),
        (
            "demo --model light_resnet",
            1,
            "ModelError: no graph 'light_resnet' in the onnx package; there are",
        ),
    ],
)
def test_a_mistake_is_one_clear_message(
    tvmlite: Run, folder: Path, words: str, status: int, message: str
) -> None:
    (folder / "text.onnx").write_text("this is no model\n")
    (folder / "text.so").write_text("this is no library\n")
    (folder / "net.pt").write_bytes(b"PK\x03\x04" * 9)
    (folder / "binary.relay").write_bytes(b"\xff\xfe\x00")
    (folder / "graph.relay").write_text("def @main(%x: Tensor[(3), float32]) { exp(%x) }\n")
    (folder / "empty.onnx").touch()
    np.savez(folder / "wrong.npz", z=np.zeros(3))
    np.savez(folder / "dtype.npz", **{"in/x:0": np.zeros((4, 8))})
    np.savez(folder / "shape.npz", **{"in/x:0": np.zeros((4, 7), np.float32)})
    np.savez(folder / "objects.npz", **{"in/x:0": np.array([{}], object)})

    done = tvmlite(*words.split())

    assert done.status == status
    assert message in done.err
    assert "Traceback" not in done.err
    assert not list(folder.glob("x.*"))


# Whole processes.


def test_the_demo_tells_its_story_and_is_right(tmp_path: Path) -> None:
    before = _seconds_of_children()
    child = _process(["demo", "--budget", "4s"], TVMLITE_CACHE=str(tmp_path / "cache"))
    out, errors = child.communicate(timeout=HANGS)

    assert child.returncode == 0, errors
    assert "Traceback" not in errors
    titles = [line for line in out.splitlines() if line.startswith("--- ")]
    assert [title[4:6] for title in titles] == ["th", "1.", "2.", "3.", "4.", "5.", "6.", "7.", "8."]
    assert "of the largest value: right" in out
    assert "time on 1 thread: " in out
    assert max(map(len, out.splitlines())) <= 132
    assert _seconds_of_children() - before < 120  # it needs a tenth of it


def test_control_c_ends_with_130_and_leaves_a_usable_cache(tmp_path: Path) -> None:
    onnx.save(models.light_model("densenet121"), tmp_path / "net.onnx")
    words = ["compile", str(tmp_path / "net.onnx"), "-o", str(tmp_path / "net.so")]
    cache = tmp_path / "cache"
    child = _process(words, TVMLITE_CACHE=str(cache))
    while not [p for p in cache.glob("*/*") if p.name[0] != "."] and child.poll() is None:
        time.sleep(0.01)

    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=HANGS)

    assert (child.returncode, errors) == (130, "tvmlite: interrupted\n")
    assert not (tmp_path / "net.so").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    again = _process(words, TVMLITE_CACHE=str(cache))
    _, errors = again.communicate(timeout=HANGS)
    assert (again.returncode, errors) == (0, "")


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    command = f"'{sys.executable}' -m tvmlite show fixed.onnx --kernel all --form asm | head -1"

    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=HANGS)

    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


def test_the_module_is_the_command(folder: Path) -> None:
    child = _process(["run", "fixed.onnx"])
    out, errors = child.communicate(timeout=HANGS)

    assert (child.returncode, errors) == (0, "")
    assert "y: float32[4, 5]" in out


# tuning


def test_a_model_is_tuned_compiled_with_the_records_and_a_record_replayed(tvmlite: Run, folder: Path) -> None:
    search = ("--trials", "4", "--tuner", "random", "--no-decisions", "--report", "tune.html")
    tuned = tvmlite("tune", "conv.onnx", "-o", "tune.jsonl", *search)
    compiled = tvmlite(
        "compile", "conv.onnx", "-o", "net.so", "--records", "tune.jsonl", "--report", "--require-tuned"
    )
    timed = tvmlite("bench", "conv.onnx", "--records", "tune.jsonl", "--rounds", "1")
    replayed = tvmlite("replay", "tune.jsonl:1")
    shown = tvmlite("replay", (folder / "tune.jsonl").read_text().splitlines()[0], "--form", "loops")

    assert tuned.status == 0, tuned.err
    ends = ("of the default, 4 trials", "nothing quicker than the default", "not surely quicker there")
    assert any(told in tuned.out for told in ends), tuned.out  # these are measurements
    takes = "take it with\n    tvmlite compile conv.onnx -o conv.so --records tune.jsonl\n"
    assert (takes in tuned.out) != ("nothing to take, a longer search may find more" in tuned.out)
    page = (folder / "tune.html").read_text(encoding="utf-8")
    assert "<h1>Tuning of conv.onnx</h1>" in page
    assert f"<dd>tvmlite tune conv.onnx -o tune.jsonl {' '.join(search)}</dd>" in page
    assert f"<dt>date</dt><dd>{time.strftime('%Y-')}" in page
    assert "<dt>machine</dt><dd>" in page
    assert re.search(r"<summary>conv2d\w* y 1x[\dx]+</summary>", page)
    assert compiled.status == 0, compiled.err
    assert "tuned conv2d" in compiled.out
    assert timed.status == 0, timed.err
    assert [line.split()[0] for line in replayed.out.splitlines()] == [
        "fused:",
        "replayed",
        "default",
        "recorded",
    ]
    assert shown.out.startswith("def default_function(p0: float32[1, 16, 9, 10]")


def test_decisions_are_records_too_and_no_kernels_to_replay(tvmlite: Run, folder: Path) -> None:
    tuned = tvmlite("tune", "conv.onnx", "-o", "decided.jsonl", "--trials", "1", "--tuner", "random")
    first = json.loads((folder / "decided.jsonl").read_text().splitlines()[0])
    compiled = tvmlite("compile", "conv.onnx", "-o", "net.so", "--records", "decided.jsonl", "--report")
    replayed = tvmlite("replay", "decided.jsonl:1")

    assert tuned.status == 0, tuned.err
    assert first["decision"].startswith("layout nn.conv2d")
    assert (compiled.status, compiled.err) == (0, "")
    assert replayed.status == 1
    assert "a decision about a graph, which has no kernel of its own" in replayed.err


def test_mistakes_in_commands_of_tuning_are_told(tvmlite: Run, folder: Path) -> None:
    (folder / "bad.jsonl").write_text('{"v": 1}\n')

    untuned = tvmlite("compile", "fixed.onnx", "-o", "net.so", "--require-tuned")
    damaged = tvmlite("compile", "fixed.onnx", "-o", "net.so", "--records", "bad.jsonl")
    replayed = tvmlite("replay", "bad.jsonl:7")
    neither = tvmlite("replay", "bad.jsonl")
    broken = tvmlite("replay", "bad.jsonl:1")

    assert (untuned.status, "--require-tuned needs --records" in untuned.err) == (1, True)
    assert (damaged.status, damaged.err) == (
        0,
        "tvmlite: bad.jsonl: 1 lines are no records; line 1: fields ['code', 'config', 'costs', 'error', "
        "'message', 'origin', 'seed', 'target', 'task', 'time', 'trace', 'trial', 'verified'] are missing\n",
    )
    assert (replayed.status, "bad.jsonl has 1 lines, none is number 7" in replayed.err) == (1, True)
    assert (neither.status, "expected a record's line or FILE:NUMBER" in neither.err) == (1, True)
    assert (broken.status, "ParseError: fields" in broken.err) == (1, True)


def test_the_command_that_takes_what_was_found_is_quoted_and_has_every_option() -> None:
    words = ["tune", "a b.onnx", "-o", "t 1.jsonl", "--input-shapes", 'x:[1,"h"]', "--sizes", "h=3"]
    words += ["--error-bound", "1e-4", "--opt-level", "4", "--threads", "1", "--trials", "3"]
    options = cli.parser().parse_whole(words)

    assert tune.how_to_take(options) == (
        "tvmlite compile 'a b.onnx' -o 'a b.so' --records 't 1.jsonl' --threads 1 "
        """--input-shapes 'x:[1,"h"]' --sizes h=3 --opt-level 4 --error-bound 0.0001"""
    )
    again = cli.parser().parse_whole(shlex.split(tune.how_to_take(options))[1:])
    for name in ("input_shapes", "sizes", "error_bound", "opt_level", "threads", "target", "precision"):
        assert getattr(again, name) == getattr(options, name)
