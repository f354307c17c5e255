"""The tensors stored between kernels of quantized models on machines with little memory."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.machine.target import Target
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module
from tvmlite.relay.passes import pipeline
from tvmlite.relay.passes.graph_pass import postorder

SCALAR = Target.parse("c -mcpu=cortex-m4")


def codes(value: Expr, scale: float = 0.05) -> Expr:
    step, zero = relay.const(np.float32(scale)), relay.const(np.int32(3))
    return relay.qnn.dequantize(relay.qnn.quantize(value, step, zero, out_dtype="int8"), step, zero)


def weight(*shape: int) -> Expr:
    drawn = np.random.default_rng(shape).integers(-127, 128, shape).astype("int8")
    return relay.qnn.dequantize(relay.const(drawn), relay.const(np.float32(0.01)), relay.const(np.int32(0)))


def padded() -> Module:
    """A model whose padding is not the code 0."""
    x = relay.var("x", shape=(1, 4, 9, 9))
    y = relay.nn.relu(relay.nn.conv2d(codes(x), weight(6, 4, 3, 3), padding=(1, 1)))
    y = codes(relay.nn.conv2d(codes(y), weight(6, 6, 3, 3), padding=(1, 1)), 0.2)
    return Module.from_expr(relay.Function((x,), y))


def pooled() -> Module:
    """A model with the mean of planes of codes."""
    x = relay.var("x", shape=(1, 4, 9, 9))
    y = relay.nn.conv2d(codes(x), weight(6, 4, 3, 3), padding=(1, 1))
    return Module.from_expr(relay.Function((x,), codes(relay.nn.global_avg_pool2d(codes(y)), 0.1)))


def added() -> Module:
    """A model that adds two convolutions of the same data, one of them quantized."""
    x = relay.var("x", shape=(1, 4, 9, 9))
    y = codes(relay.nn.relu(relay.nn.conv2d(codes(x), weight(6, 4, 3, 3), padding=(1, 1))))
    bias = relay.const(np.linspace(-1, 1, 6).astype("float32").reshape(6, 1, 1))
    one = codes(relay.add(relay.nn.conv2d(y, weight(6, 6, 3, 3), padding=(1, 1)), bias))
    other = relay.nn.conv2d(y, weight(6, 6, 1, 1))
    return Module.from_expr(relay.Function((x,), codes(relay.nn.relu(relay.add(one, other)), 0.2)))


MODELS = {"padded": padded, "pooled": pooled, "added": added}


def stored(module: Module, target: Target) -> list[str]:
    """The types of the intermediate results that groups pass to other groups."""
    body = pipeline(3, target).run(module.unnamed()).main.body
    calls = [node for node in postorder(body) if isinstance(node, Call) and isinstance(node.op, Function)]
    return [
        f"{tensor_type_of(call).dtype} {tensor_type_of(call).shape}" for call in calls if call is not body
    ]


@pytest.mark.parametrize("name", MODELS)
def test_only_codes_without_borders_are_stored(name: str) -> None:
    found = stored(MODELS[name](), SCALAR)

    assert found
    assert all(one.startswith("int8") for one in found)
    assert not any("11" in one for one in found)


@pytest.mark.parametrize("name", MODELS)
def test_results_stay_the_same(name: str, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    module = MODELS[name]()
    x = np.random.default_rng(1).standard_normal((1, 4, 9, 9)).astype("float32")
    fused = pipeline(3, SCALAR).run(module.unnamed())
    step = 0.2 + 1e-5  # integer sums are exact, float sums may round a tie the other way
    np.testing.assert_allclose(interpret(fused, [x]), interpret(module, [x]), atol=step)
    tvmlite.compile(module, SCALAR, name="net").export(tmp_path / "net.c")

    command = ["gcc", "-std=c99", "-Wall", "-Werror", "net.c", "net_test.c", "-o", "t", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)

    assert subprocess.run([tmp_path / "t"], check=False).returncode == 0
