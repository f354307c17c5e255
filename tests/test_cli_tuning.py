"""The commands of tuning: tune, the use of its records, replay."""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path

import pytest
from command_line import Run

from tvmlite import cli
from tvmlite.commands import tune

pytestmark = pytest.mark.usefixtures("threads")


@pytest.mark.slow
def test_a_model_is_tuned_compiled_with_records_and_a_record_replayed(tvmlite: Run, folder: Path) -> None:
    search = ("--trials", "4", "--tuner", "random", "--no-decisions", "--report", "tune.html")
    tuned = tvmlite("tune", "conv.onnx", "-o", "tune.jsonl", *search)
    compiled = tvmlite(
        "compile", "conv.onnx", "-o", "net.so", "--records", "tune.jsonl", "--report", "--require-tuned"
    )
    timed = tvmlite("bench", "conv.onnx", "--records", "tune.jsonl", "--rounds", "1")
    replayed = tvmlite("replay", "tune.jsonl:1")
    shown = tvmlite("replay", (folder / "tune.jsonl").read_text().splitlines()[0], "--form", "loops")

    assert tuned.status == 0, tuned.err
    ends = ("of the default, 4 trials", "nothing faster than the default", "not significantly faster there")
    assert any(told in tuned.out for told in ends), tuned.out  # these are measurements
    takes = "use it with\n    tvmlite compile conv.onnx -o conv.so --records tune.jsonl\n"
    assert (takes in tuned.out) != ("nothing to use yet, a longer search may find more" in tuned.out)
    page = (folder / "tune.html").read_text(encoding="utf-8")
    assert "<h1>Tuning of conv.onnx</h1>" in page
    assert f"<dd>tvmlite tune conv.onnx -o tune.jsonl {' '.join(search)}</dd>" in page
    assert f"<dt>date</dt><dd>{time.strftime('%Y-')}" in page
    assert "<dt>machine</dt><dd>" in page
    assert re.search(r"<summary>conv2d\w* y 1x[\dx]+</summary>", page)
    assert compiled.status == 0, compiled.err
    assert re.search("(tuned|best default) conv2d", compiled.out), compiled.out  # as the measurements went
    assert timed.status == 0, timed.err
    assert [line.split()[0] for line in replayed.out.splitlines()] == [
        "fused:",
        "replayed",
        "default",
        "recorded",
    ]
    assert shown.out.startswith("def default_function(p0: float32[1, 16, 9, 10]")


@pytest.mark.slow
def test_decisions_are_records_that_cannot_be_replayed(tvmlite: Run, folder: Path) -> None:
    tuned = tvmlite("tune", "conv.onnx", "-o", "decided.jsonl", "--trials", "1", "--tuner", "random")
    first = json.loads((folder / "decided.jsonl").read_text().splitlines()[0])
    compiled = tvmlite("compile", "conv.onnx", "-o", "net.so", "--records", "decided.jsonl", "--report")
    replayed = tvmlite("replay", "decided.jsonl:1")

    assert tuned.status == 0, tuned.err
    assert first["decision"].startswith("layout nn.conv2d")
    assert (compiled.status, compiled.err) == (0, "")
    assert replayed.status == 1
    assert "a decision about a graph, which has no kernel of its own" in replayed.err


def test_mistakes_in_tuning_commands_are_reported(tvmlite: Run, folder: Path) -> None:
    (folder / "bad.jsonl").write_text('{"v": 1}\n')

    untuned = tvmlite("compile", "fixed.onnx", "-o", "net.so", "--require-tuned")
    damaged = tvmlite("compile", "fixed.onnx", "-o", "net.so", "--records", "bad.jsonl")
    replayed = tvmlite("replay", "bad.jsonl:7")
    neither = tvmlite("replay", "bad.jsonl")
    broken = tvmlite("replay", "bad.jsonl:1")

    assert (untuned.status, "--require-tuned needs --records" in untuned.err) == (1, True)
    assert (damaged.status, damaged.err) == (
        0,
        "tvmlite: bad.jsonl: 1 lines are not records; line 1: fields ['code', 'config', 'costs', 'error', "
        "'message', 'origin', 'seed', 'target', 'task', 'time', 'trace', 'trial', 'verified'] are missing\n",
    )
    assert (replayed.status, "bad.jsonl has 1 lines, none is number 7" in replayed.err) == (1, True)
    assert (neither.status, "expected a record's line or FILE:NUMBER" in neither.err) == (1, True)
    assert (broken.status, "ParseError: fields" in broken.err) == (1, True)


def test_the_suggested_compile_command_is_quoted_and_has_all_options() -> None:
    words = ["tune", "a b.onnx", "-o", "t 1.jsonl", "--input-shapes", 'x:[1,"h"]', "--sizes", "h=3"]
    words += ["--error-bound", "1e-4", "--opt-level", "4", "--threads", "1", "--trials", "3"]
    options = cli.parser().parse_whole(words)

    assert tune.compile_command(options) == (
        "tvmlite compile 'a b.onnx' -o 'a b.so' --records 't 1.jsonl' --threads 1 "
        """--input-shapes 'x:[1,"h"]' --sizes h=3 --opt-level 4 --error-bound 0.0001"""
    )
    again = cli.parser().parse_whole(shlex.split(tune.compile_command(options))[1:])
    for name in ("input_shapes", "sizes", "error_bound", "opt_level", "threads", "target", "precision"):
        assert getattr(again, name) == getattr(options, name)
