"""User mistakes on a command line give one clear message, write nothing, and show no traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import Run

from tvmlite.commands import common
from tvmlite.model import export

pytestmark = pytest.mark.usefixtures("threads")


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
        ("compile net.pt -o x.so", 1, "model file 'net.pt': not an ONNX model"),
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
        (
            "quantize fixed.onnx -o x.so",
            1,
            "InputError: --data is missing: ranges are measured on",
        ),
        ("quantize fixed.onnx -o x.so --data no.npz", 1, "quantize: there is no file or folder no.npz"),
        ("quantize fixed.onnx -o no/x.relay --data x", 1, "InputError: -o no/x.relay: there is no folder no"),
        ("replay absent.jsonl:1", 1, "InputError: records absent.jsonl: there is no such file"),
        ("compile fixed.onnx", 2, "the following arguments are required: -o/--output"),
        ("compile absent.onnx -o x.so", 1, "ModelError: model file 'absent.onnx' does not exist"),
        ("compile text.onnx -o x.so", 1, "ModelError: model file 'text.onnx': not an ONNX model"),
        ("compile fixed.onnx -o x.exe", 1, "InputError: cannot export to x.exe: expected an ending of .so"),
        ("compile fixed.onnx -o absent/x.so", 1, "-o absent/x.so: there is no folder absent"),
        ("compile fixed.onnx -o x.so --target cuda", 1, "TargetError: target 'cuda' is of unknown kind"),
        ("compile fixed.onnx -o x.so --opt-level 7", 2, "invalid choice: 7"),
        (
            "compile fixed.onnx -o x.c --standalone --target c",
            1,
            "InputError: --standalone: target 'c' is for a machine with an operating system",
        ),
        ("compile fixed.onnx -o x.c --weights file", 1, "InputError: --weights file needs --standalone"),
        ("compile fixed.onnx -o x.c --weights flash", 2, "invalid choice: 'flash'"),
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
        (
            "run empty.onnx",
            1,
            "ModelError: model file 'empty.onnx': the file is empty, expected an ONNX model",
        ),
        ("run .", 1, "ModelError: model file '.' is a folder"),
        ("run fixed.onnx --dims n", 1, "InputError: --dims 'n': expected NAME=NUMBER"),
        ("run fixed.onnx --dims n=3", 1, "--dims: there is no open dimension 'n'; there are none"),
        ("run fixed.onnx --inputs wrong.npz --dims n=3", 1, "--inputs gives them already"),
        ("run fixed.onnx --threads 0", 1, "InputError: --threads is 0, expected at least 1"),
        ("bench fixed.onnx --against tensorflow", 2, "invalid choice: 'tensorflow'"),
        ("bench fixed.onnx --quantized-peer fixed.onnx", 1, "--quantized-peer is given without --against"),
        (
            "bench fixed.onnx --against onnxruntime --quantized-peer none.onnx",
            1,
            "--quantized-peer none.onnx: there is no such file",
        ),
        (
            "bench model.so --against onnxruntime",
            1,
            "--against: other runtimes cannot run the library model.so",
        ),
        (
            "quantize fixed.onnx -o q.so --mode weight_only --against onnxruntime",
            1,
            "--against: onnxruntime's quantizer has no mode weight_only, only static and dynamic",
        ),
        (
            "quantize fixed.onnx -o q.so --mode weight_only --data-bits 4",
            1,
            "data_bits is 4, expected 0 (data stay floats), 8 or 16",
        ),
        (
            "quantize fixed.onnx -o q.so --mode dynamic --data-bits 8",
            1,
            "quantize: mode='dynamic' takes no data_bits: it is for mode='weight_only'",
        ),
        (
            "quantize fixed.onnx -o q.relay --mode bfloat16",
            1,
            "-o q.relay: --mode bfloat16 is no part of a module's text",
        ),
        ("bench fixed.onnx --rounds 0", 1, "InputError: --rounds is 0, expected at least 1"),
        ("show fixed.onnx --pass fue", 1, "InputError: no pass 'fue' at level 3; there are infer_types"),
        ("show fixed.onnx --kernel zzz", 1, "InputError: no kernel's name contains 'zzz'"),
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
def test_a_mistake_gives_one_clear_message(
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


def test_an_impossible_export_is_refused_before_compilation(
    tvmlite: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MOST_IN_C", 10)
    monkeypatch.setattr(common, "compile", None)
    refused = tvmlite("compile", "fixed.onnx", "-o", "x.c")
    assert refused.status == 1
    assert "GB of weights, C source holds at most" in refused.err
