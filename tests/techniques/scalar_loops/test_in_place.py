"""Convolutions that overwrite their own data, on machines without vectors."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.machine.target import Target
from tvmlite.relay.entry.memory import in_place
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Function, Module
from tvmlite.relay.passes import pipeline
from tvmlite.relay.passes.graph_pass import postorder

SCALAR = Target.parse("c -mcpu=cortex-m4")


def weight(*shape: int) -> relay.Constant:
    return relay.const(np.random.default_rng(shape).standard_normal(shape).astype("float32"))


def chain(convolve) -> Module:  # type: ignore[no-untyped-def]
    """A convolution between a pooling and a sum, so that its data and result are intermediate."""
    x = relay.var("x", shape=(1, 6, 5, 7))
    y = relay.nn.relu(convolve(relay.nn.max_pool2d(x, (3, 3), (1, 1), padding=(1, 1))))
    return Module.from_expr(relay.Function((x,), relay.sum(y, axis=1)))


def pointwise(y: relay.Expr) -> relay.Expr:
    return relay.nn.conv2d(y, weight(6, 6, 1, 1))


def depthwise(y: relay.Expr) -> relay.Expr:
    return relay.nn.conv2d(y, weight(6, 1, 3, 3), padding=(1, 1), groups=6)


def wide_depthwise(y: relay.Expr) -> relay.Expr:
    return relay.nn.conv2d(y, weight(6, 1, 5, 3), padding=(2, 1), groups=6)


def dense(y: relay.Expr) -> relay.Expr:
    return relay.nn.conv2d(y, weight(6, 6, 3, 3), padding=(1, 1))


def wider(y: relay.Expr) -> relay.Expr:
    return relay.nn.conv2d(y, weight(8, 6, 1, 1))


def dilated(y: relay.Expr) -> relay.Expr:
    return relay.nn.conv2d(y, weight(6, 1, 3, 3), padding=(2, 2), dilation=(2, 2), groups=6)


def grouped(y: relay.Expr) -> relay.Expr:
    return relay.nn.conv2d(y, weight(6, 3, 1, 1), groups=2)


def twice(y: relay.Expr) -> relay.Expr:
    return relay.add(relay.nn.conv2d(y, weight(6, 6, 1, 1)), relay.max(y, axis=1, keepdims=True))


IN_PLACE = (pointwise, depthwise, wide_depthwise)
NOT = (dense, wider, dilated, grouped)


def marks(module: Module, target: Target) -> list[int]:
    """The arguments that convolutions of ``module`` overwrite."""
    body = pipeline(3, target).run(module.unnamed()).main.body
    calls = [node for node in postorder(body) if isinstance(node, Call) and isinstance(node.op, Function)]
    return [mark for call in calls if "conv2d" in str(call.op) and (mark := in_place(call)) is not None]


@pytest.mark.parametrize("convolve", IN_PLACE)
def test_a_convolution_overwrites_its_input(convolve) -> None:  # type: ignore[no-untyped-def]
    assert marks(chain(convolve), SCALAR) == [0]


@pytest.mark.parametrize("convolve", NOT)
def test_other_convolutions_do_not_overwrite_their_input(convolve) -> None:  # type: ignore[no-untyped-def]
    assert marks(chain(convolve), SCALAR) == []


@pytest.mark.parametrize("convolve", IN_PLACE)
def test_with_vectors_no_convolution_overwrites_its_input(convolve) -> None:  # type: ignore[no-untyped-def]
    assert marks(chain(convolve), Target.parse("c -vector-bits=128")) == []


@pytest.mark.parametrize("convolve", [*IN_PLACE, *NOT, twice])
def test_results_stay_the_same(convolve, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    module = chain(convolve)
    x = np.random.default_rng(1).standard_normal((1, 6, 5, 7)).astype("float32")
    expected = np.asarray(interpret(module, [x]))
    tvmlite.compile(module, SCALAR, name="net").export(tmp_path / "net.c")

    got = run(tmp_path, [x], np.zeros_like(expected))

    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def run(folder: Path, inputs: Sequence[np.ndarray], output: np.ndarray) -> np.ndarray:
    command = ["gcc", "-std=c99", "-O1", "-shared", "-fPIC", "net.c", "-o", "net.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    size = re.search(r"NET_ARENA_BYTES (\d+)", (folder / "net.h").read_text())
    assert size
    arena = np.zeros(int(size.group(1)) // 8 + 1)
    arrays = [a.ctypes.data_as(ctypes.c_void_p) for a in (*inputs, output, arena)]
    assert ctypes.CDLL(str(folder / "net.so")).net(*arrays) == 0
    return output
