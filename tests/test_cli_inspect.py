"""``tvmlite inspect``: what is in a library, read and not run."""

from __future__ import annotations

import importlib.util
import json

import pytest
from command_line import Run

from tvmlite.commands import inspect
from tvmlite.core import VERSION

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


def test_open_dimensions_are_named(tvmlite: Run) -> None:
    tvmlite("compile", "open model.onnx", "-o", "net.so")
    done = tvmlite("inspect", "net.so")
    assert "in/x:0  float32[n, 8]  in_x_0" in done.out


def test_a_library_for_another_machine_is_called_so(tvmlite: Run) -> None:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("no ziglang, which links for other machines")
    tvmlite("compile", "fixed.onnx", "-o", "net.a", "--target", "llvm -mtriple=riscv64-linux-musl")
    tvmlite("compile", "fixed.onnx", "-o", "net.tar", "--target", "llvm -mtriple=riscv64-linux-musl")
    done = tvmlite("inspect", "net.tar")
    assert "instruction sets: a, c, d, f, m" in done.out
    assert "they are of another kind of machine than this one" in done.out


def test_all_metadata_comes_as_json(tvmlite: Run) -> None:
    tvmlite("compile", "fixed.onnx", "-o", "net.so")
    fields = json.loads(tvmlite("inspect", "net.so", "--json").out)
    assert fields["input_names"] == ["in/x:0"]
    assert fields["entry"]["parameters"][0] == ["in_x_0", "input", "float32", [4, 8]]


def test_what_a_library_needs_that_the_processor_lacks_is_named(
    tvmlite: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    tvmlite("compile", "fixed.onnx", "-o", "net.so")
    monkeypatch.setattr(inspect, "missing_features", lambda _: ["avx9999"])
    assert "this processor lacks avx9999" in tvmlite("inspect", "net.so").out


def test_what_is_no_library_is_an_error(tvmlite: Run) -> None:
    model, missing = tvmlite("inspect", "fixed.onnx"), tvmlite("inspect", "nowhere.so")
    assert model.status == missing.status == 1
    assert "fixed.onnx does not end as a tvmlite library does" in model.err
    assert "there is no file 'nowhere.so'" in missing.err
