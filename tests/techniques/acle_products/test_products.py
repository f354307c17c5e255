"""Products of bytes by C functions have the bits of plain numpy, on this machine and on emulated ones."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core import techniques
from tvmlite.machine.target import Target
from tvmlite.relay.ir.nodes import Module
from tvmlite.te.codegen.c_functions import definitions

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))  # last: it has a models.py, as tests has
import bare_metal

techniques.load()
TARGETS = {
    "cortex-m3": (),
    "cortex-m4": ("arm_acle.h",),
    "cortex-m7": ("arm_acle.h",),
    "cortex-m55": ("arm_mve.h", "arm_acle.h"),
}
NAMES = ("tl_dot_rows_i8", "tl_dot_windows_i8")


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng((seed, *shape)).integers(-128, 128, shape).astype("int8")


# --- the functions as plain C


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    folder = tmp_path_factory.mktemp("plain")
    text = "\n".join(definitions(NAMES, lambda _: True)).replace("static void", "void")
    (folder / "plain.c").write_text(f"#include <stdint.h>\n{text}")
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror"]
    command = ["gcc", *strict, "-O3", "-shared", "-fPIC", "plain.c", "-o", "plain.so"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "plain.so"))


def pointers(*arrays: np.ndarray) -> list[ctypes.c_void_p]:
    return [one.ctypes.data_as(ctypes.c_void_p) for one in arrays]


@pytest.mark.parametrize(("count", "terms"), [*itertools.product((1, 2, 4, 7), (1, 3, 16, 37, 200))])
def test_dot_products_of_rows(plain: ctypes.CDLL, count: int, terms: int) -> None:
    data, rows, sums = drawn(terms), drawn(count, terms, seed=1), np.zeros(count, np.int32)

    plain.tl_dot_rows_i8(*pointers(sums, data, rows), count, terms)

    np.testing.assert_array_equal(sums, rows.astype(np.int32) @ data.astype(np.int32))


@pytest.mark.parametrize(("count", "step"), [*itertools.product((1, 2, 5, 8), (1, 2, 3))])
@pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 3), (2, 5), (5, 4)])
def test_dot_products_of_windows(plain: ctypes.CDLL, count: int, step: int, height: int, width: int) -> None:
    line = (count - 1) * step + width + 2
    data, window, sums = drawn(height, line), drawn(height, width, seed=1), np.zeros(count, np.int32)

    plain.tl_dot_windows_i8(*pointers(sums, data, window), count, step, line, height, width)

    wide = data.astype(np.int32)
    places = [wide[:, i * step : i * step + width] for i in range(count)]
    np.testing.assert_array_equal(sums, [(place * window).sum() for place in places])


# --- models


def codes(value: relay.Expr, scale: float) -> relay.Expr:
    step, zero = relay.const(np.float32(scale)), relay.const(np.int32(-3))
    return relay.qnn.dequantize(relay.qnn.quantize(value, step, zero, out_dtype="int8"), step, zero)


def weight(*shape: int, seed: int = 0) -> relay.Expr:
    stored = relay.const(drawn(*shape, seed=seed))
    return relay.qnn.dequantize(stored, relay.const(np.float32(0.01)), relay.const(np.int32(0)))


def images(channels: int, window: int, stride: int, groups: int = 1) -> Module:
    """A convolution of ``window`` by ``window`` whose data is padded with a number other than 0."""
    x = relay.var("x", shape=(1, 6, 9, 7))
    options = {"padding": (window // 2,) * 2, "strides": (stride,) * 2, "groups": groups}
    y = relay.nn.conv2d(codes(x, 0.02), weight(channels, 6 // groups, window, window), **options)
    return Module.from_expr(relay.Function((x,), codes(relay.nn.relu(y), 0.3)))


def dense(rows: int, terms: int, columns: int) -> Module:
    x = relay.var("x", shape=(rows, terms))
    return Module.from_expr(
        relay.Function((x,), codes(relay.nn.dense(codes(x, 0.02), weight(columns, terms)), 0.5))
    )


MODELS: dict[str, Callable[[], Module]] = {
    "3x3": lambda: images(8, 3, 1),
    "3x3 of seven": lambda: images(7, 3, 1),
    "5x5 in steps": lambda: images(6, 5, 2),
    "1x1": lambda: images(10, 1, 1),
    "depthwise": lambda: images(6, 3, 1, groups=6),
    "depthwise in steps": lambda: images(6, 3, 2, groups=6),
    "depthwise 5x5": lambda: images(6, 5, 1, groups=6),
    "depthwise 1x1": lambda: images(6, 1, 1, groups=6),
    "in groups": lambda: images(6, 3, 1, groups=2),
    "dense": lambda: dense(3, 37, 12),
    "dense of 19": lambda: dense(1, 64, 19),
}
BY_FUNCTIONS = [name for name in MODELS if name not in ("in groups", "depthwise 1x1")]


@pytest.mark.parametrize("name", BY_FUNCTIONS)
def test_products_of_bytes_call_a_function(name: str) -> None:
    lib = tvmlite.compile(MODELS[name](), "c -mcpu=cortex-m4", name="net")

    assert any(f"{function}(&" in lib.source("c") for function in NAMES)


@pytest.mark.parametrize("dilation", [1, 2])
def test_dilated_windows_and_floats_use_plain_loops(dilation: int) -> None:
    x = relay.var("x", shape=(1, 6, 9, 7))
    floats = relay.const(np.ones((4, 6, 3, 3), "float32"))
    data, kernel = (x, floats) if dilation == 1 else (codes(x, 0.02), weight(4, 6, 3, 3))
    y = relay.nn.conv2d(data, kernel, dilation=(dilation, dilation))

    lib = tvmlite.compile(Module.from_expr(relay.Function((x,), y)), "c -mcpu=cortex-m4", name="net")

    assert "tl_dot" not in lib.source("c")


@pytest.mark.parametrize("cpu", TARGETS)
def test_included_headers_follow_from_the_instruction_sets_of_the_table(cpu: str) -> None:
    text = tvmlite.compile(MODELS["3x3"](), f"c -mcpu={cpu}", name="net").source("c")

    for header in ("arm_acle.h", "arm_mve.h"):
        assert (f"#include <{header}>" in text) == (header in TARGETS[cpu])
    assert Target.parse(f"c -mcpu={cpu}").has("dsp") == ("arm_acle.h" in TARGETS[cpu])


@pytest.mark.slow
@pytest.mark.parametrize("cpu", TARGETS)
@pytest.mark.parametrize("name", MODELS)
def test_emulated_processors_have_the_bits_of_the_interpreter(name: str, cpu: str, tmp_path: Path) -> None:
    if bare_metal.missing():
        pytest.skip(f"no {bare_metal.missing()[0]}")
    tvmlite.compile(MODELS[name](), f"c -mcpu={cpu}", name="net").export(tmp_path / "net.c")
    text = (tmp_path / "net_test.c").read_text().replace("NET_TOLERANCE 0.0001", "NET_TOLERANCE 0.0")
    (tmp_path / "net_test.c").write_text(text)  # no code may differ

    for level in ("-Os", "-O2"):
        code, count = bare_metal.run(bare_metal.compiled(tmp_path, cpu, level), cpu)

        assert code == 0
        assert count > 1000


@pytest.mark.slow
def test_dsp_instructions_reduce_the_instruction_count(tmp_path: Path) -> None:
    if bare_metal.missing():
        pytest.skip(f"no {bare_metal.missing()[0]}")
    counts = []
    for target, cpu in (("c -mcpu=cortex-m3", "cortex-m4"), ("c -mcpu=cortex-m4", "cortex-m4")):
        folder = tmp_path / target.split("=")[1]
        folder.mkdir()
        tvmlite.compile(dense(4, 512, 64), target, name="net").export(folder / "net.c")
        counts.append(bare_metal.run(bare_metal.compiled(folder, cpu, "-O2"), cpu)[1])

    assert counts[1] < 0.75 * counts[0]
