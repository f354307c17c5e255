"""The command as users see it: what it prints, what it writes, and its exit status."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import models
import numpy as np
import onnx
import pytest
from command_line import HANGS, MODULE, WEIGHTS, Run, process, script, seconds_of_children

from tvmlite import cli, relay
from tvmlite.commands.peers.quantizer import quantized_by_onnxruntime
from tvmlite.core import VERSION

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.usefixtures("threads")


# compile and run


def test_a_model_is_compiled_for_a_machine_without_an_operating_system(tvmlite: Run, folder: Path) -> None:
    done = tvmlite("compile", "fixed.onnx", "--standalone", "-o", "net.c")

    assert done.status == 0
    assert "for c -system=none" in done.out
    made = {path.name for path in folder.iterdir() if path.name.startswith("net") or path.suffix == ".json"}
    assert made == {"net.c", "net.h", "net_test.c", "net_cases.npz", "manifest.json"}


def test_weights_of_a_standalone_model_may_be_in_a_file(tvmlite: Run, folder: Path) -> None:
    done = tvmlite("compile", "fixed.onnx", "--standalone", "--weights", "file", "-o", "net.c")

    assert done.status == 0
    np.testing.assert_array_equal(np.fromfile("net.bin", "float32", WEIGHTS.size), WEIGHTS.T.reshape(-1))
    assert not Path("net_test.c").exists()


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


def test_times_of_passes_and_steps_are_printed(tvmlite: Run) -> None:
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


def test_run_until_prints_an_intermediate_value(tvmlite: Run, folder: Path) -> None:
    done = tvmlite("run", "fixed.onnx", "--until", "m")
    unknown = tvmlite("run", "fixed.onnx", "--until", "mm")
    tvmlite("compile", "fixed.onnx", "-o", "net.so")
    library = tvmlite("run", "net.so", "--until", "m")

    assert done.status == 0
    assert "m: float32[4, 5], min -" in done.out
    assert "no value or node 'mm'; similar names are 'm'" in unknown.err
    assert "--until needs the model: net.so is a library, which has no nodes" in library.err


def test_random_inputs_need_sizes_of_open_dimensions(tvmlite: Run) -> None:
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


def test_all_open_dimensions_are_named_with_the_options_that_fix_them(tvmlite: Run) -> None:
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


def test_a_quantized_model_is_compared_with_onnxruntime(tvmlite: Run, folder: Path) -> None:
    """Outputs may differ by rounding steps, which is not an error."""
    data = [{"x": np.random.default_rng(k).standard_normal((1, 16, 9, 10), np.float32)} for k in range(8)]
    (folder / "q.onnx").write_bytes(quantized_by_onnxruntime(folder / "conv.onnx", data))
    small = onnx.load(folder / "q.onnx")
    assert {"QuantizeLinear", "DequantizeLinear"} <= {node.op_type for node in small.graph.node}

    alone = tvmlite("bench", "q.onnx", "--against", "onnxruntime", "--rounds", "1")
    assert tvmlite("compile", "conv.onnx", "-o", "conv.so").status == 0
    words = ("--against", "onnxruntime", "--quantized-peer", "q.onnx", "--rounds", "1")
    other = tvmlite("bench", "conv.so", *words)

    assert (alone.status, other.status) == (0, 0)
    assert "onnxruntime: output 0: largest difference " in alone.out
    assert "WRONG" not in alone.out
    assert "onnxruntime: its outputs are " in other.out
    noise = float(re.search(r"are (\S+) dB signal to noise beside ours", other.out)[1])  # type: ignore[index]
    assert 20 < noise < 60


def test_a_model_is_timed_against_openvino(tvmlite: Run) -> None:
    pytest.importorskip("openvino")
    both = tvmlite("bench", "fixed.onnx", "--against", "openvino", "onnxruntime", "--rounds", "1")

    assert both.status == 0
    assert [line.split()[0] for line in both.out.splitlines()[-3:]] == ["tvmlite", "openvino", "onnxruntime"]


@pytest.mark.parametrize("peer", ["openvino", "onnxruntime"])
def test_a_missing_peer_is_named_with_how_to_install_it(
    tvmlite: Run, monkeypatch: pytest.MonkeyPatch, peer: str
) -> None:
    monkeypatch.setitem(sys.modules, peer, None)
    done = tvmlite("bench", "fixed.onnx", "--against", peer, "--rounds", "1")

    assert done.status == 1
    assert f"{peer} is not installed" in done.err
    assert f"pip install {peer}" in done.err


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
    assert "form 'asm' needs an LLVM target; target 'c' has loops, legal, c" in refused.err


def test_opt_runs_passes_over_relay_text(tvmlite: Run, folder: Path) -> None:
    x = relay.var("x", (3,))
    text = relay.astext(relay.IRModule.from_expr(relay.Function((x,), relay.exp(relay.nn.relu(x)))))
    (folder / "graph.relay").write_text(text)

    plain = tvmlite("opt", "graph.relay")
    fused = tvmlite("opt", "graph.relay", "-p", "simplify_expr,fuse", "--times")

    assert (plain.status, plain.out.strip()) == (0, text.strip())
    assert "Primitive=1" in fused.out
    assert "%  fuse\n" in fused.out


def test_opt_reads_what_show_wrote_in_another_process(tvmlite: Run, folder: Path) -> None:
    shown = tvmlite("show", "conv.onnx", "--pass", "none")
    fused = tvmlite("show", "conv.onnx", "--pass", "simplify_expr")
    (folder / "graph.relay").write_text(shown.out)

    child = process(["opt", "graph.relay", "-p", "simplify_expr"])
    out, errors = child.communicate(timeout=HANGS)

    assert (child.returncode, errors) == (0, "")
    assert "meta[relay.Constant]" in out
    assert len(out.partition("#[metadata]")[2]) > 32 * 16 * 9 * 4  # the weights' bytes
    assert out.partition("def ")[2] == fused.out.partition("def ")[2]


def test_large_constants_are_left_out_on_a_terminal_with_a_note(
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


def test_the_doctor_lists_what_is_installed(tvmlite: Run) -> None:
    done = tvmlite("doctor")

    assert done.status == 0
    names = [line[:12].strip() for line in done.out.splitlines()]
    assert names[:4] == ["tvmlite", "python", "numpy", "llvmlite"]
    assert {"target", "threads", "cache", "linker", "onnx", "xgboost"} <= set(names)
    assert {
        "machine",
        "cores",
        "vectors",
        "in a cycle",
        "L1 cache",
        "memory",
        "bytes",
        "instructions",
    } <= set(names)
    assert done.out.splitlines()[-1].split(maxsplit=2) == ["a", "kernel", "compiled, run and right"]


def test_the_doctor_says_how_to_get_what_is_missing(
    tvmlite: Run, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    from tvmlite.commands import doctor
    from tvmlite.runtime.library import link

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


# Separate processes.


@pytest.mark.slow
def test_the_demo_prints_all_steps_and_a_right_result(tmp_path: Path) -> None:
    before = seconds_of_children()
    child = process(["demo", "--budget", "4s"], TVMLITE_CACHE=str(tmp_path / "cache"))
    out, errors = child.communicate(timeout=HANGS)

    assert child.returncode == 0, errors
    assert "Traceback" not in errors
    titles = [line for line in out.splitlines() if line.startswith("--- ")]
    assert [title[4:6] for title in titles] == ["th", "1.", "2.", "3.", "4.", "5.", "6.", "7.", "8."]
    assert "of the largest value: right" in out
    assert "time on 1 thread: " in out
    assert max(map(len, out.splitlines())) <= 132
    assert seconds_of_children() - before < 120  # it needs a tenth of this


@pytest.mark.slow
def test_control_c_ends_with_130_and_leaves_a_usable_cache(tmp_path: Path) -> None:
    onnx.save(models.light_model("densenet121"), tmp_path / "net.onnx")
    words = ["compile", str(tmp_path / "net.onnx"), "-o", str(tmp_path / "net.so")]
    cache = tmp_path / "cache"
    child = process(words, TVMLITE_CACHE=str(cache))
    while not [p for p in cache.glob("*/*") if p.name[0] != "."] and child.poll() is None:
        time.sleep(0.01)

    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=HANGS)

    assert (child.returncode, errors) == (130, "tvmlite: interrupted\n")
    assert not (tmp_path / "net.so").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    again = process(words, TVMLITE_CACHE=str(cache))
    _, errors = again.communicate(timeout=HANGS)
    assert (again.returncode, errors) == (0, "")


INTERRUPTED = {
    "by the signal": "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n",
    "in text that is executed": "exec('raise KeyboardInterrupt')\n",
    "in a destructor": "class Gone:\n    def __del__(self):\n        raise KeyboardInterrupt\nGone()\n",
}
"""Modules during whose import Ctrl-C arrives; in the last one Python ignores it and goes on."""


@pytest.mark.parametrize("command", [MODULE, script()], ids=["module", "script"])
@pytest.mark.parametrize("how", INTERRUPTED)
def test_control_c_ends_the_command_during_its_imports(
    command: Sequence[str], how: str, tmp_path: Path
) -> None:
    goes_on = f"import sys\nsys.path.remove({str(tmp_path)!r})\ndel sys.modules['numpy']\nimport numpy\n"
    (tmp_path / "numpy.py").write_text(INTERRUPTED[how] + goes_on)

    child = process(["doctor"], command, PYTHONPATH=os.pathsep.join((str(tmp_path), str(ROOT))))
    _, errors = child.communicate(timeout=HANGS)

    assert (child.returncode, errors) == (130, "tvmlite: interrupted\n")


def test_a_closed_output_pipe_is_no_error(folder: Path) -> None:
    command = f"'{sys.executable}' -m tvmlite show fixed.onnx --kernel all --form asm | head -1"

    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=HANGS)

    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


def test_python_dash_m_runs_the_command(folder: Path) -> None:
    child = process(["run", "fixed.onnx"])
    out, errors = child.communicate(timeout=HANGS)

    assert (child.returncode, errors) == (0, "")
    assert "y: float32[4, 5]" in out
