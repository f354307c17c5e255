"""User mistakes in calls, files and commands: each gives one clear error, never a wrong answer."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from small_models import I64, RELU, floats, ints, model, one, tensor

import tvmlite
from tvmlite import runtime
from tvmlite.cli import main
from tvmlite.core.errors import (
    ConfigError,
    ExecutionError,
    InputError,
    LibraryError,
    TargetError,
    TensorExpressionError,
)
from tvmlite.relay.frontend import from_onnx

# --- sizes at run time ------------------------------------------------------------------------------


def squared(times: int) -> tvmlite.model.artifact.CompiledModule:
    """The first element of ``x``, whose n elements are tiled to n ** (2 ** times)."""
    nodes, last = [], "x"
    for k in range(times):
        nodes.append(helper.make_node("Shape", [last], [f"s{k}"]))
        nodes.append(helper.make_node("Tile", [last, f"s{k}"], [f"t{k}"]))
        last = f"t{k}"
    nodes.append(helper.make_node("Slice", [last, "from", "to"], ["y"]))
    return tvmlite.compile(from_onnx(model(nodes, [tensor("x", ["n"])], [ints("from", 0), ints("to", 1)])))


def test_sizes_that_overflow_64_bits_are_refused() -> None:
    lib = squared(3)

    assert lib(np.full(3, 7, np.float32)) == [7]
    for count in (3000, 2**16):  # 2**16 to the eighth is 0 in 64 bits
        with pytest.raises(InputError, match=r"the shape of 'y' would be \(more than 2\*\*63 - 1,\)"):
            lib(np.ones(count, np.float32))


def test_a_workspace_of_terabytes_is_refused_at_run_time() -> None:
    outer = helper.make_node("MatMul", ["a", "b"], ["m"])
    whole = helper.make_node("ReduceSum", ["m"], ["y"], keepdims=0)
    lib = tvmlite.compile(from_onnx(model([outer, whole], [tensor("a", ["n", 1]), tensor("b", [1, "n"])])))

    assert lib(np.ones((5, 1), np.float32), np.ones((1, 5), np.float32)) == 25
    with pytest.raises(InputError, match=r"needs [\d,]+ bytes .* for workspace"):
        lib(np.ones((2**20, 1), np.float32), np.ones((1, 2**20), np.float32))


# --- arguments --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lib() -> tvmlite.model.artifact.CompiledModule:
    return tvmlite.compile(from_onnx(one("Add", tensor("x", ["n", 3]), tensor("z", ["n", 3]))))


X = np.arange(12, dtype=np.float32).reshape(4, 3)


class Liar:
    def __dlpack__(self, **_: Any) -> int:
        return 5

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "input 'x' is a NoneType"),
        (X.tolist(), "input 'x' is a list"),
        (np.ndarray, "input 'x' is a type"),
        (Liar(), "input 'x' cannot be used: a Liar gives a int, expected a DLPack capsule"),
        (X.astype(object), "has dtype object"),
        (X.astype(np.float64), "has dtype float64, expected float32"),
        (X.astype([("a", "f4")]), "has dtype .*expected float32"),
        (np.ma.masked_array(X, X > 3), "has masked elements"),
        (X[0], r"has shape \(3,\), expected float32 \(n, 3\)"),
        (X[:3], r"'z' has shape \(4, 3\), expected float32 \(n, 3\), where n is 3 already"),
    ],
)
def test_error_of_a_wrong_argument_names_the_input(lib, given, message) -> None:
    with pytest.raises(InputError, match=message):
        lib(given, X)


@pytest.mark.parametrize(
    "given", [None, [X, X], {"x": X}, {"x": X, "q": X}, {"x": X, "z": X, "q": X}, {0: X, "z": X}]
)
def test_run_needs_a_dict_of_exactly_the_inputs(lib, given) -> None:
    with pytest.raises(InputError, match="x, z"):
        lib.run(given)


@pytest.mark.parametrize(
    "given",
    [X[::-1].copy()[::-1], np.asfortranarray(X), X.astype(">f4"), np.repeat(X, 2, 0)[::2], X.view(np.matrix)],
)
def test_inputs_of_any_strides_and_byte_order_are_accepted(lib, given) -> None:
    assert np.array_equal(lib(given, X), X + X)


def test_inputs_of_size_zero_are_accepted(lib) -> None:
    assert lib(X[:0], X[:0]).shape == (0, 3)


def test_torch_tensors_without_accessible_memory_are_refused(lib) -> None:
    torch = pytest.importorskip("torch")

    assert np.array_equal(lib(torch.from_numpy(X.T.copy()).T, torch.from_numpy(X)), X + X)
    for given in (torch.empty(4, 3, device="meta"), torch.zeros(4, 3, requires_grad=True)):
        with pytest.raises(InputError, match="input 'x' cannot be used"):
            lib(given, X)


# --- numbers ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", "c"])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint64])
def test_integer_division_is_defined_for_all_operands(dtype, target: str) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    values = np.array([low, low + 1, 0, 1, 2, 7, high - 1, high], dtype)
    a, b = (grid.ravel() for grid in np.meshgrid(values, values))
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    sides = [tensor("a", [64], kind), tensor("b", [64], kind)]
    quotient = tvmlite.compile(from_onnx(one("Div", *sides)), target)(a, b)
    remains = tvmlite.compile(from_onnx(one("Mod", *sides, fmod=0)), target)(a, b)

    for x, y, q, r in zip(*(array.tolist() for array in (a, b, quotient, remains)), strict=True):
        exact = int(abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1) if y else 0
        wrapped = np.array(exact & (2 ** (8 * a.itemsize) - 1), np.uint64).astype(dtype)
        assert (q, r) == (wrapped, x % y if y else 0), (x, y)


def test_a_cast_to_int8_saturates_and_maps_nan_to_zero() -> None:
    given = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 2.9, -2.9, 300, -300], np.float32)
    expected = [0, 127, -128, 127, -128, 2, -2, 127, -128]

    made = one("Cast", tensor("x", [9]), to=TensorProto.INT8)

    assert tvmlite.compile(from_onnx(made))(given).tolist() == expected


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "Relu", "Clip"])
def test_nan_is_propagated(op) -> None:
    given = np.array([1, np.nan, -1, 5], np.float32)
    bounds = [floats("low", 0), floats("high", 1)] if op == "Clip" else []

    assert np.isnan(tvmlite.compile(from_onnx(one(op, tensor("x", [4]), *bounds)))(given)).any()


@pytest.mark.parametrize("level", range(4))
def test_folding_of_non_finite_weights_keeps_results(level: int) -> None:
    weights = np.array([[1, np.inf, 2], [np.nan, 1, -np.inf], [0, 3, np.inf]], np.float32)
    scale, shift = np.array([2, np.inf, 0.5], np.float32), np.array([np.nan, 1, -np.inf], np.float32)
    nodes = [
        helper.make_node("Add", ["shift", "shift"], ["twice"]),
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Mul", ["m", "scale"], ["s"]),
        helper.make_node("Add", ["s", "twice"], ["y"]),
    ]
    held = [floats("w", weights), floats("scale", scale), floats("shift", shift)]
    x = np.array([[1, 0, 2], [0.5, -1, 0], [3, 1, 1]], np.float32)
    with np.errstate(all="ignore"):
        expected = (x @ weights) * scale + (shift + shift)

    made = tvmlite.compile(from_onnx(model(nodes, [tensor("x", ["n", 3])], held)), opt_level=level)(x)

    np.testing.assert_array_equal(np.isnan(made), np.isnan(expected))
    np.testing.assert_allclose(made[~np.isnan(expected)], expected[~np.isnan(expected)], rtol=1e-6)


# --- targets, tensor expressions, files -------------------------------------------------------------


def test_code_for_another_machine_is_generated_but_not_run() -> None:
    arm = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"
    shown = tvmlite.compile(from_onnx(one("Relu", tensor("x", ["n"]))), target=arm)

    assert "aarch64" in shown.source("llvm")
    with pytest.raises(
        TargetError, match="model is not run: it is for aarch64-linux-gnu, this process runs on"
    ):
        shown(X[0])


@pytest.mark.parametrize("target", [None, 5, "", "cuda", "llvm -x=3", "llvm -mcpu=foo"])
def test_an_invalid_target_is_refused(target) -> None:
    with pytest.raises(TargetError):
        tvmlite.compile(from_onnx(RELU), target=target)


def test_errors_of_te_have_the_users_line() -> None:
    te = tvmlite.te
    a = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    no_function: Any = 5
    mistakes: list[tuple[Any, str]] = [
        (lambda: te.compute((8,), lambda i: a[i, i, i]), "has 2 axes, indexed with 3"),
        (lambda: te.compute((8,), lambda i: a[i]), "has 2 axes, indexed with 1"),
        (lambda: te.compute((8,), lambda i: a[i] + 1), "has 2 axes, indexed with 1"),
        (lambda: te.compute((8,), lambda i: a), "has 2 axes, indexed with 0"),
        (lambda: te.compute((8,), lambda i: a[i, 1.5]), "indexed with a float32 value"),
        (lambda: te.compute((8,), lambda i: a[i, 0] % 2.0), "'%' of float32 values, expected ints"),
        (lambda: te.compute((8,), lambda i: a[i, 0] << 1), "shift_left of float32 values"),
        (lambda: te.compute((8,), lambda i: te.sum(a[i, k], [k, k])), "an axis is given twice: k, k"),
        (lambda: te.compute((8,), no_function), "a int given, expected a function"),
        (lambda: te.compute((-3,), lambda i: i), "an extent of a shape: -3 given"),
        (lambda: te.reduce_axis((0, 2.5)), "expected an extent or"),
        (lambda: te.reduce_axis((0, -8), "k"), "its extent is -8"),
    ]
    for mistake, message in mistakes:
        with pytest.raises(TensorExpressionError, match=rf"(?s){re.escape(message)}.*test_bad_input\.py:\d+"):
            mistake()


def test_files_that_cannot_be_read_or_written_are_errors(tmp_path, monkeypatch) -> None:
    made = tvmlite.compile(from_onnx(RELU))
    (tmp_path / "file").write_text("x")

    for path in (tmp_path / "no" / "x.so", "a\0.so", tmp_path / "file" / "x.c"):
        with pytest.raises(LibraryError, match="cannot write"):
            made.export(path)
    wrong: Any
    for wrong in (None, b"x.so", "a" * 5000, tmp_path, tmp_path / "file"):
        with pytest.raises(LibraryError):
            runtime.load(wrong)
    monkeypatch.setenv("TVMLITE_DUMP", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match="TVMLITE_DUMP: cannot write"):
        tvmlite.compile(from_onnx(RELU))


@pytest.mark.parametrize("change", ["half", "flip", "empty", "pipe", "folder"])
def test_broken_cache_entries_are_rebuilt(tmp_path, monkeypatch, change) -> None:
    monkeypatch.setenv("TVMLITE_CACHE", str(tmp_path))
    tvmlite.compile(from_onnx(RELU))
    entries = [path for path in tmp_path.glob("??/*") if path.is_file()]
    assert entries
    for path in entries:
        data = path.read_bytes()
        path.unlink()
        match change:
            case "pipe":
                os.mkfifo(path)
            case "folder":
                path.mkdir()
            case _:
                flipped = data[:-9] + bytes([data[-9] ^ 255]) + data[-8:]
                path.write_bytes({"half": data[: len(data) // 2], "flip": flipped, "empty": b""}[change])

    with (
        pytest.warns(RuntimeWarning, match="is not kept") if change == "folder" else contextlib.nullcontext()
    ):
        again = tvmlite.compile(from_onnx(RELU))

    assert np.array_equal(again(np.full((2, 3), -1, np.float32)), np.zeros((2, 3)))


# --- the command line -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """A model, its library, one with an open size, and files that are neither."""
    folder = tmp_path_factory.mktemp("files")
    onnx.save(RELU, folder / "r.onnx")
    onnx.save(one("Foo", tensor("x")), folder / "foo.onnx")
    tvmlite.compile(from_onnx(one("Relu", tensor("x", ["n"])))).export(folder / "open.so")
    (folder / "text").write_text("not a model")
    np.savez(folder / "bad.npz", x=np.ones((2, 2), np.float32))
    return folder


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("compile nope.onnx -o x.so", "ModelError: model file 'nope.onnx' does not exist"),
        ("compile text -o x.so", "ModelError: model file 'text': not an ONNX model"),
        ("compile . -o x.so", "ModelError: model file '.' is a folder"),
        ("compile foo.onnx -o x.so", "UnsupportedError: foo.onnx: operators that are not supported"),
        ("compile r.onnx -o x.foo", "InputError: cannot export to x.foo"),
        ("compile r.onnx -o no/x.so", "InputError: -o no/x.so: there is no folder no"),
        ("compile r.onnx -o x.so --target cuda", "TargetError: target 'cuda' is of unknown kind"),
        ("compile r.onnx -o x.so --input-shapes x:[1,2]", "dimension 0 is 2 in the model, shape gives 1"),
        ("compile r.onnx -o x.so --input-shapes q", "expected NAME:"),
        ("run text", "ModelError: model file 'text': not an ONNX model"),
        ("run open.so", "InputError: input 'x' has the open dimension 'n'"),
        ("run open.so --dims n=999999999999", "BeyondMemory: x: needs"),
        ("run open.so --inputs bad.npz", "InputError: model: input 'x' has shape (2, 2), expected"),
        ("run open.so --inputs text", "InputError: --inputs text: not an .npz file"),
        ("run open.so --threads 0 --dims n=3", "--threads is 0, expected at least 1"),
        ("opt text -p fuse", "ParseError: text:1:1: expected 'def'"),
        ("show r.onnx --pass nopass", "InputError: no pass 'nopass'"),
    ],
)
def test_errors_of_the_command_line_say_what_is_wrong(files, monkeypatch, capsys, words, message) -> None:
    monkeypatch.chdir(files)

    status = main(words.split())

    said = capsys.readouterr().err
    assert status == 1
    assert said.startswith("tvmlite: ")
    assert message in said
    assert "Traceback" not in said


def test_a_constant_index_into_an_open_axis_is_checked_at_run_time() -> None:
    index = numpy_helper.from_array(np.array(2), "i")
    lib = tvmlite.compile(from_onnx(one("Gather", tensor("x", ["n", 2]), index)))
    x = np.arange(6, dtype=np.float32).reshape(3, 2)

    assert lib(x).tolist() == [4, 5]
    with pytest.raises(ExecutionError, match=r"an index is outside \[-n, n - 1\]"):
        lib(x[:2])


def test_error_of_an_index_names_its_node_among_two_in_one_kernel() -> None:
    table, first, second = tensor("t", (5, 2)), *(tensor(n, (3,), I64) for n in "ab")
    nodes = [
        helper.make_node("Gather", ["t", "a"], ["u"], "first"),
        helper.make_node("Gather", ["t", "b"], ["v"], "second"),
        helper.make_node("Add", ["u", "v"], ["y"]),
    ]
    lib = tvmlite.compile(from_onnx(model(nodes, [table, first, second])))
    x, good, bad = np.ones((5, 2), np.float32), np.array([0, -5, 4]), np.array([0, 5, 4])

    assert lib(x, good, good).shape == (3, 2)
    for node, given in (("first", (bad, good)), ("second", (good, bad))):
        with pytest.raises(ExecutionError, match=rf'node "{node}" \(Gather\): an index is outside \[-5, 4\]'):
            lib(x, *given)
