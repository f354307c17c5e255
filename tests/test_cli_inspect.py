"""``tvmlite inspect`` prints the contents of a library without running it."""

from __future__ import annotations

import importlib.util
import json

import pytest
from command_line import Run

from tvmlite.commands import inspect
from tvmlite.core import VERSION
from tvmlite.machine.target import Target

pytestmark = pytest.mark.usefixtures("threads")


def test_inputs_outputs_kernels_and_target_are_printed(tvmlite: Run) -> None:
    tvmlite("compile", "fixed.onnx", "-o", "net.so", "--target", "llvm -mcpu=x86-64-v2")
    done = tvmlite("inspect", "net.so")

    assert done.status == 0
    assert f"made by tvmlite {VERSION}, calling convention 1" in done.out
    assert "-mcpu=x86-64-v2" in done.out
    assert "instruction sets: popcnt, sse2, " in done.out
    assert "this processor has them all" in done.out
    assert "in/x:0  float32[4, 8]  in_x_0" in done.out
    assert "y       float32[4, 5]  y" in done.out
    assert "scratch memory: 0 B" in done.out
    assert done.out.splitlines()[-2:] == ["1 kernels, in order of first use:", "  dense_pack+relu m 4x5"]


def test_open_dimensions_are_printed_by_name(tvmlite: Run) -> None:
    tvmlite("compile", "open model.onnx", "-o", "net.so")
    done = tvmlite("inspect", "net.so")
    assert "in/x:0  float32[n, 8]  in_x_0" in done.out


def test_a_library_for_another_machine_is_reported_as_such(tvmlite: Run) -> None:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("no ziglang, which links for other machines")
    tvmlite("compile", "fixed.onnx", "-o", "net.a", "--target", "llvm -mtriple=riscv64-linux-musl")
    tvmlite("compile", "fixed.onnx", "-o", "net.tar", "--target", "llvm -mtriple=riscv64-linux-musl")
    done = tvmlite("inspect", "net.tar")
    assert "instruction sets: a, c, d, f, m" in done.out
    assert "they are of another kind of machine than this one" in done.out


def test_metadata_is_printed_as_json(tvmlite: Run) -> None:
    tvmlite("compile", "fixed.onnx", "-o", "net.so")
    fields = json.loads(tvmlite("inspect", "net.so", "--json").out)
    assert fields["input_names"] == ["in/x:0"]
    assert fields["entry"]["parameters"][0] == ["in_x_0", "input", "float32", [4, 8]]


def test_missing_features_of_the_processor_are_named(tvmlite: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    tvmlite("compile", "fixed.onnx", "-o", "net.so")
    monkeypatch.setattr(inspect, "missing_features", lambda _: ["avx9999"])
    assert "this processor lacks avx9999" in tvmlite("inspect", "net.so").out


def test_a_file_that_is_not_a_library_is_an_error(tvmlite: Run) -> None:
    model, missing = tvmlite("inspect", "fixed.onnx"), tvmlite("inspect", "nowhere.so")
    assert model.status == missing.status == 1
    assert "fixed.onnx does not end as a tvmlite library does" in model.err
    assert "there is no file 'nowhere.so'" in missing.err


def test_processor_levels_are_listed_with_the_one_used_here(tvmlite: Run) -> None:
    if Target.parse("native").triple.split("-")[0] != "x86_64":
        pytest.skip("levels are of x86-64")
    done = tvmlite("compile", "fixed.onnx", "-o", "net.so", "--cpu-levels", "baseline,avx2,amx")
    assert done.status == 0, done.err
    assert "for levels baseline,avx2,amx" in done.out
    rows = [line.split() for line in tvmlite("inspect", "net.so").out.splitlines()]
    table = {row[0]: row[1:] for row in rows if row and row[0] in ("baseline", "avx2", "amx")}
    assert list(table) == ["baseline", "avx2", "amx"]
    assert table["baseline"][0] == "x86-64"
    assert table["baseline"][-1] == "sse2"
    assert table["avx2"][0] == "x86-64-v3"
    assert [row[1] for row in table.values()].count("used") == 1


def test_an_unknown_level_is_an_error(tvmlite: Run) -> None:
    done = tvmlite("compile", "fixed.onnx", "-o", "net.so", "--cpu-levels", "baseline,avx3")
    assert done.status == 1
    assert "there is no level 'avx3'; levels are baseline, avx2, avx512, vnni, amx" in done.err


def test_an_archive_is_run_timed_and_inspected_like_a_library(tvmlite: Run) -> None:
    tvmlite("compile", "open model.onnx", "-o", "net.tar")
    run = tvmlite("run", "net.tar", "--dims", "n=3")
    assert run.status == 0, run.err
    assert "y: float32[3, 5]" in run.out
    bench = tvmlite("bench", "net.tar", "--dims", "n=3", "--rounds", "1")
    assert bench.status == 0, bench.err
    assert " ms" in bench.out
    assert "in/x:0  float32[n, 8]  in_x_0" in tvmlite("inspect", "net.tar").out
    missing = tvmlite("run", "net.tar")
    assert missing.status == 1
    assert "give sizes with --dims n=N" in missing.err
    assert "--sizes" not in missing.err
