"""The C interface of exported libraries: DLPack arrays, error messages and concurrent callers."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, te
from tvmlite.core import config
from tvmlite.machine.cores import processors
from tvmlite.relay.ir.nodes import LetDims
from tvmlite.relay.ir.op import make
from tvmlite.runtime.c_text import ARCHITECTURES
from tvmlite.runtime.library import interface

OK, WRONG_ARGUMENT, TOO_SMALL = 0, -1, -2
CODES = {"f": 2, "i": 0, "u": 1, "b": 6}

WEIGHTS = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)


class Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def tensor(array: np.ndarray) -> DLTensor:
    """A DLPack view of ``array``, which the caller keeps alive."""
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    strides = (ctypes.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
    kind = DataType(CODES[array.dtype.kind], array.itemsize * 8, 1)
    return DLTensor(array.ctypes.data, Device(1, 0), array.ndim, kind, shape, strides, 0)


class Net:
    """The functions of a library, called with ctypes."""

    def __init__(self, path: Path, name: str = "net") -> None:
        self.library, self.name = ctypes.CDLL(str(path)), name
        for function in ("last_error", "metadata", "cpu_level"):
            self.function(function).restype = ctypes.c_char_p
        self.function("workspace_bytes").restype = ctypes.c_int64

    def function(self, name: str) -> Any:
        return getattr(self.library, f"{self.name}_{name}")

    @property
    def error(self) -> str:
        return self.function("last_error")().decode()

    def run(self, inputs: Sequence[DLTensor | None], outputs: Sequence[DLTensor | None]) -> int:
        return self.function("run_tensors")(*pointers(inputs), *pointers(outputs))

    def run_in(
        self, inputs: Sequence[DLTensor], outputs: Sequence[DLTensor], address: int | None, size: int
    ) -> tuple[int, int]:
        """Return the code, and the size written back."""
        number = ctypes.c_int64(size)
        given = (*pointers(inputs), *pointers(outputs), ctypes.c_void_p(address), ctypes.byref(number))
        return self.function("run_tensors_in")(*given), number.value


def pointers(tensors: Sequence[DLTensor | None]) -> tuple[Any, int]:
    kind = ctypes.POINTER(DLTensor)
    made = [kind() if one is None else ctypes.pointer(one) for one in tensors]
    return (kind * max(len(made), 1))(*made), len(made)


def expected(x: np.ndarray) -> np.ndarray:
    scores = x.astype(np.float64) @ WEIGHTS.T
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.fixture(scope="module", params=["native", "c"])
def net(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Net:
    """A dense layer and a softmax over any number of rows."""
    if request.param == "c" and shutil.which("cc") is None:
        pytest.skip("no C compiler")
    x = relay.var("x", shape=(relay.dim("n"), 8), dtype="float32")
    body = relay.nn.softmax(relay.nn.dense(x, relay.const(WEIGHTS)))
    module = relay.IRModule.from_expr(relay.Function((x,), body))
    path = tmp_path_factory.mktemp("interface") / "net.so"
    tvmlite.compile(module, request.param, name="net").export(path)
    return Net(path)


def rows(count: int) -> np.ndarray:
    return np.random.default_rng(count).standard_normal((count, 8)).astype(np.float32)


@pytest.mark.parametrize("count", [1, 3, 50])
def test_it_runs_in_its_own_workspace(net: Net, count: int) -> None:
    x, y = rows(count), np.zeros((count, 16), np.float32)
    assert net.run([tensor(x)], [tensor(y)]) == OK
    assert net.error == ""
    np.testing.assert_allclose(y, expected(x), rtol=1e-5, atol=1e-6)


def test_it_runs_in_a_workspace_of_the_caller(net: Net) -> None:
    x, y = rows(50), np.zeros((50, 16), np.float32)
    size = net.function("workspace_bytes")(*pointers([tensor(x)]))
    assert size > 0
    room = np.zeros(size + 64, np.uint8)
    start = room.ctypes.data + -room.ctypes.data % 64

    assert net.run_in([tensor(x)], [tensor(y)], None, 0) == (TOO_SMALL, size)
    assert net.error == f"net: the workspace has 0 bytes, expected at least {size}"
    assert net.run_in([tensor(x)], [tensor(y)], start + 8, size) == (WRONG_ARGUMENT, size)
    assert net.error == "net: the workspace begins at an address that is no multiple of 64"
    assert net.run_in([tensor(x)], [tensor(y)], start, size) == (OK, size)
    np.testing.assert_allclose(y, expected(x), rtol=1e-5, atol=1e-6)


def test_the_byte_offset_is_added_to_the_address(net: Net) -> None:
    x, y = rows(5), np.zeros((3, 16), np.float32)
    later = tensor(x[2:])
    later.data, later.byte_offset = x.ctypes.data, 2 * 8 * 4
    assert net.run([later], [tensor(y)]) == OK
    np.testing.assert_allclose(y, expected(x[2:]), rtol=1e-5, atol=1e-6)


def _with(array: DLTensor, **fields: Any) -> DLTensor:
    for name, value in fields.items():
        setattr(array, name, value)
    return array


X, Y = rows(3), np.zeros((3, 16), np.float32)
WIDE = np.zeros((3, 16), np.float32)


@pytest.mark.parametrize(
    ("inputs", "outputs", "text"),
    [
        ([], [tensor(Y)], "0 inputs given, expected 1: x"),
        ([tensor(X)], [], "0 outputs given, expected 1: output0"),
        ([tensor(X)], [tensor(Y)] * 2, "2 outputs given, expected 1: output0"),
        ([None], [tensor(Y)], "input 'x' is a null pointer, expected float32 (n, 8)"),
        ([tensor(X)], [None], "output 'output0' is a null pointer, expected float32 (n, 16)"),
        (
            [_with(tensor(X), device=Device(2, 1))],
            [tensor(Y)],
            "input 'x' is on DLPack device (2, 1), expected the CPU (1, 0)",
        ),
        (
            [tensor(X.astype(np.float64))],
            [tensor(Y)],
            "input 'x' has dtype float64, expected float32 (n, 8)",
        ),
        (
            [_with(tensor(X), dtype=DataType(4, 16, 2))],
            [tensor(Y)],
            "input 'x' has dtype bfloat16x2, expected float32 (n, 8)",
        ),
        (
            [tensor(np.zeros(8, np.float32))],
            [tensor(Y)],
            "input 'x' has 1 dimension, expected float32 (n, 8)",
        ),
        (
            [tensor(np.zeros((3, 7), np.float32))],
            [tensor(Y)],
            "input 'x' has shape (3, 7), expected float32 (n, 8)",
        ),
        (
            [tensor(X)],
            [tensor(np.zeros((4, 16), np.float32))],
            "output 'output0' has shape (4, 16), expected float32 (n, 16), where n is 3",
        ),
        (
            [tensor(WIDE[:, :8])],
            [tensor(Y)],
            "input 'x' has strides (16, 1) with shape (3, 8), expected a dense row-major array",
        ),
        ([_with(tensor(X), data=None)], [tensor(Y)], "input 'x' has no data, expected float32 (n, 8)"),
        (
            [_with(tensor(X), byte_offset=2)],
            [tensor(Y)],
            "input 'x' begins at an address that is no multiple of 4, the size of an element",
        ),
        (
            [tensor(Y.reshape(-1)[:24].reshape(3, 8))],
            [tensor(Y)],
            "output 'output0' overlaps 'x', expected memory of its own",
        ),
    ],
)
def test_wrong_arguments_are_named(net: Net, inputs: Any, outputs: Any, text: str) -> None:
    assert net.run(inputs, outputs) == WRONG_ARGUMENT
    assert net.error == f"net: {text}"


def test_a_null_pointer_instead_of_arrays_is_named(net: Net) -> None:
    outputs = pointers([tensor(Y)])
    assert net.function("run_tensors")(None, 1, *outputs) == WRONG_ARGUMENT
    assert net.error == "net: inputs is a null pointer, expected 1: x"
    assert net.function("run_tensors")(*pointers([tensor(X)]), None, 1) == WRONG_ARGUMENT
    assert net.error == "net: outputs is a null pointer, expected 1: output0"
    given = pointers([tensor(X)])
    assert net.function("run_tensors_in")(*given, *outputs, None, None) == WRONG_ARGUMENT
    assert net.error == "net: the size of the workspace is a null pointer"


def test_setting_zero_threads_restores_the_default(net: Net) -> None:
    net.function("set_num_threads")(5)
    net.function("set_num_threads")(0)
    assert net.function("num_threads")() == (config.num_threads() or processors())


def test_strides_of_axes_of_extent_one_are_ignored(net: Net) -> None:
    x, y = rows(1), np.zeros((1, 16), np.float32)
    odd = tensor(x)
    odd.strides[0] = 77
    assert net.run([odd], [tensor(y)]) == OK
    empty = np.zeros((0, 8), np.float32)
    assert net.run([tensor(empty)], [tensor(np.zeros((0, 16), np.float32))]) == OK


def test_a_negative_extent_is_refused(net: Net) -> None:
    x = tensor(X)
    x.shape[0] = -3
    assert net.run([x], [tensor(Y)]) == WRONG_ARGUMENT
    assert net.error == "net: input 'x' has shape (-3, 8), expected float32 (n, 8)"


def test_the_metadata_have_names_shapes_and_dtypes(net: Net) -> None:
    fields = json.loads(net.function("metadata")())
    assert fields["inputs"] == [{"name": "x", "dtype": "float32", "shape": ["n", 8]}]
    assert fields["outputs"] == [{"name": "output0", "dtype": "float32", "shape": ["n", 16]}]
    assert {"version", "features", "target"} <= fields.keys()


def test_each_thread_has_its_own_last_error(net: Net) -> None:
    net.run([], [])
    seen = []

    def other() -> None:
        seen.append(net.error)
        net.run([None], [tensor(Y)])
        seen.append(net.error)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == ["", "net: input 'x' is a null pointer, expected float32 (n, 8)"]
    assert net.error == "net: 0 inputs given, expected 1: x"


def test_many_threads_run_while_the_number_of_threads_changes(net: Net) -> None:
    wrong = []

    def work(count: int) -> None:
        x, y = rows(count), np.zeros((count, 16), np.float32)
        for _ in range(200):
            y[:] = 0
            if net.run([tensor(x)], [tensor(y)]) != OK or not np.allclose(y, expected(x), 1e-5, 1e-6):
                wrong.append(net.error)

    threads = [threading.Thread(target=work, args=(count,)) for count in (1, 7, 64, 200)]
    for one in threads:
        one.start()
    for round_ in range(50):
        net.function("set_num_threads")(1 + round_ % 4)
    for one in threads:
        one.join()
    net.function("set_num_threads")(3)
    assert net.function("num_threads")() == 3
    assert not wrong


def test_a_forked_child_can_run_it(net: Net) -> None:
    net.function("set_num_threads")(2)
    x, y = rows(200), np.zeros((200, 16), np.float32)
    assert net.run([tensor(x)], [tensor(y)]) == OK
    child = os.fork()
    if child == 0:
        made = np.zeros_like(y)
        net.function("set_num_threads")(4)
        good = net.run([tensor(x)], [tensor(made)]) == OK and np.array_equal(made, y)
        os._exit(0 if good else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0


def found_array(place: DLTensor) -> np.ndarray:
    """The int64 elements of an output in a workspace."""
    shape = tuple(place.shape[: place.ndim])
    return np.ctypeslib.as_array(ctypes.cast(place.data, ctypes.POINTER(ctypes.c_int64)), shape).copy()


def aligned(size: int) -> tuple[np.ndarray, int]:
    """``size`` bytes, and a 64-byte aligned address in them."""
    room = np.zeros(size + 64, np.uint8)
    return room, room.ctypes.data + -room.ctypes.data % 64


def test_outputs_with_data_dependent_extents_are_in_the_workspace(tmp_path: Path) -> None:
    x, n = relay.var("x", shape=("h",), dtype="float32"), relay.dim("n")
    body = LetDims((n,), make("count_nonzero", x), make("argwhere", x, count=n))
    module = relay.IRModule.from_expr(relay.Function((x,), body))
    tvmlite.compile(module, name="found").export(tmp_path / "found.so")
    found = Net(tmp_path / "found.so", "found")
    given = (np.random.default_rng(0).random(5000) < 0.5).astype(np.float32)
    wanted, place = np.argwhere(given), tensor(np.zeros((0, 1), np.int64))

    assert found.run([tensor(given)], [place]) == OK, found.error
    np.testing.assert_array_equal(found_array(place), wanted)

    size = found.function("workspace_bytes")(*pointers([tensor(given)]))
    room, address = aligned(size)
    code, needed = found.run_in([tensor(given)], [place], address, size)
    assert code == TOO_SMALL
    assert found.error == f"found: the workspace has {size} bytes, expected at least {needed}"
    assert needed >= wanted.nbytes
    room, address = aligned(needed)
    code, _ = found.run_in([tensor(given)], [place], address, needed)
    assert code == OK
    np.testing.assert_array_equal(found_array(place), wanted)
    assert room.nbytes > needed


def test_a_single_built_function_has_the_interface(tmp_path: Path) -> None:
    n = te.var("n")
    a, b = te.placeholder((n,), name="a"), te.placeholder((n,), name="b")
    c = te.compute((n,), lambda i: a[i] + 2 * b[i], name="c")
    tvmlite.build(te.create_schedule(c.op), [a, b, c], name="add").export(tmp_path / "add.so")
    add = Net(tmp_path / "add.so", "add")
    x, y, z = np.arange(5, dtype="float32"), np.ones(5, "float32"), np.zeros(5, "float32")
    assert add.run([tensor(x), tensor(y)], [tensor(z)]) == OK, add.error
    np.testing.assert_array_equal(z, x + 2)
    assert add.run([tensor(x), tensor(y[:4])], [tensor(z)]) == WRONG_ARGUMENT
    assert add.error == "add: input 'b' has shape (4,), expected float32 (n,), where n is 5"


def test_scalars_are_passed_as_arrays_of_rank_zero(tmp_path: Path) -> None:
    count, factor = te.var("count", "int64"), te.var("factor", "float32")
    a = te.placeholder((8,), name="a")
    c = te.compute((count,), lambda i: a[i] * factor, name="c")
    tvmlite.build(te.create_schedule(c.op), [a, count, factor, c], name="scaled").export(tmp_path / "s.so")
    scaled = Net(tmp_path / "s.so", "scaled")
    x, z = np.arange(8, dtype="float32"), np.zeros(5, "float32")
    many, three = np.array(5, "int64"), np.array(3, "float32")
    assert scaled.run([tensor(x), tensor(many), tensor(three)], [tensor(z)]) == OK, scaled.error
    np.testing.assert_array_equal(z, 3 * x[:5])
    assert scaled.run([tensor(x), tensor(three), tensor(three)], [tensor(z)]) == WRONG_ARGUMENT
    assert scaled.error == "scaled: input 'count' has dtype float32, expected int64 ()"
    short = np.zeros(4, "float32")
    assert scaled.run([tensor(x), tensor(many), tensor(three)], [tensor(short)]) == WRONG_ARGUMENT
    assert scaled.error == "scaled: output 'c' has shape (4,), expected float32 (count,), where count is 5"


def test_a_runtime_error_of_the_model_has_its_message(tmp_path: Path) -> None:
    n = relay.dim("n")
    size = relay.var("size", shape=(1,), dtype="int64")
    body = LetDims((n,), size, make("ones", shape=(n, 8), dtype="float32"))
    module = relay.IRModule.from_expr(relay.Function((size,), body))
    tvmlite.compile(module, name="ones").export(tmp_path / "ones.so")
    ones, place = Net(tmp_path / "ones.so", "ones"), tensor(np.zeros((0, 8), np.float32))
    given = np.array([3], "int64")
    assert ones.run([tensor(given)], [place]) == OK, ones.error
    assert tuple(place.shape[:2]) == (3, 8)
    given[0] = -3
    assert ones.run([tensor(given)], [place]) > 0
    assert ones.error.startswith("ones: ")
    assert "negative" in ones.error


# The source and its LLVM IR.


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_stored_llvm_ir_has_the_hash_of_the_source(architecture: str) -> None:
    triple = f"{architecture}-unknown-linux-gnu"
    assert interface.TEXT.source_hash in interface.TEXT.llvm_ir(triple).splitlines()[0]


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="no ziglang")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_stored_llvm_ir_is_the_compiler_output(architecture: str) -> None:
    assert interface.TEXT.generate(architecture) == interface.TEXT.llvm_ir(f"{architecture}-linux-gnu")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_source_compiles_without_warnings(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    flags = "-std=c99 -O2 -Wall -Wextra -Wshadow -Wconversion -Werror -fPIC -c".split()
    subprocess.run([compiler, *flags, str(interface.TEXT.path), "-o", str(tmp_path / "i.o")], check=True)
