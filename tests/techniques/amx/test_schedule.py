"""Dense layers and convolutions in AMX tiles, compiled from graphs.

Schedules for tiles run on every machine: without tiles, plain loops replace the instructions.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.machine.target import Target
from tvmlite.model.artifact import CompiledModule
from tvmlite.model.kernels import CompiledKernel, interface_of, interfaces_of, lowered_kernel
from tvmlite.relay.entry import tasks
from tvmlite.relay.entry.entry import build_entry
from tvmlite.relay.entry.kernels import kernel_tasks
from tvmlite.te.codegen import jit
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop.passes import legalize
from tvmlite.te.space import ConfigEntity, Task
from tvmlite.techniques.amx.schedule import Tile, tiles_of

WITH_TILES = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids"
WITHOUT = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver5"
NATIVE = Target.parse("native")
TILED = NATIVE if NATIVE.has("amx-bf16") else Target.parse(WITH_TILES)
"""The target of schedules; code is generated for this machine."""


def rounded(values: np.ndarray) -> np.ndarray:
    return values.astype(ml_dtypes.bfloat16).astype("float32")


def convolved(x: np.ndarray, w: np.ndarray, stride: int, padding: int) -> np.ndarray:
    """The convolution in plain numpy."""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], axis=(2, 3))
    return np.einsum("nchwyx,ocyx->nohw", windows[:, :, ::stride, ::stride], w, optimize=True)


# Size of the image, its channels, then channels, window and stride of each convolution. The first reads
# channels-first, the last writes it.
NETWORKS = [
    (30, 3, [(32, 7, 2), (64, 3, 2), (8, 1, 1)]),
    (15, 4, [(64, 3, 1), (32, 1, 1), (8, 1, 1)]),
    (14, 8, [(64, 1, 1), (32, 3, 2), (96, 1, 1), (32, 3, 1), (8, 1, 1)]),
    (13, 8, [(64, 1, 1), (32, 1, 2), (96, 1, 1), (32, 3, 1), (8, 1, 1)]),
    (14, 8, [(32, 1, 1), (64, 3, 1), (32, 1, 1), (8, 1, 1)]),
    (7, 8, [(64, 1, 1), (32, 1, 1), (32, 3, 1), (64, 1, 1), (8, 1, 1)]),
    (16, 8, [(32, 1, 1), (32, 3, 2), (96, 1, 1), (32, 1, 1), (8, 1, 1)]),
    (16, 8, [(32, 1, 1), (96, 1, 2), (32, 3, 1), (8, 1, 1)]),
    (21, 8, [(96, 1, 1), (32, 3, 1), (32, 1, 1), (8, 1, 1)]),
]


def network(size: int, channels: int, layers: list[tuple[int, int, int]]) -> tuple[Any, Any, Any]:
    """Convolutions followed by ReLU: the module, its input and the expected result."""
    rng = np.random.default_rng(0)
    x = rounded(rng.standard_normal((2, channels, size, size)).astype("float32"))
    parameter = value = relay.var("x", shape=x.shape)
    want = x
    for made, window, stride in layers:
        weight = rng.standard_normal((made, channels, window, window)) / (channels**0.5 * window)
        weight, padding = rounded(weight.astype("float32")), window // 2
        sizes = {"strides": (stride,) * 2, "padding": (padding,) * 2, "kernel_size": (window,) * 2}
        value = relay.nn.relu(relay.nn.conv2d(value, relay.const(weight), **sizes))
        want = np.maximum(convolved(rounded(want), weight, stride, padding), 0)
        channels = made
    return relay.IRModule.from_expr(relay.Function((parameter,), value)), x, want


def compiled(module: Any) -> CompiledModule:
    """``module`` scheduled for tiles, in code for this machine."""
    made = tvmlite.compile(module, TILED, precision="bfloat16")
    assert "tdpbf16ps" in made.source("llvm")
    if TILED is NATIVE:
        return made
    every, task_of = kernel_tasks(made.module, TILED)
    kernels = {}
    for task in every:
        legal = legalize(lowered_kernel(task, TILED), NATIVE)
        code = jit.compile_object(llvm.generate(legal, NATIVE), NATIVE)
        kernels[task.key] = CompiledKernel(task, interface_of(task, legal), code)
    entry, constants = build_entry(made.module, "model", interfaces_of(task_of, kernels))
    return CompiledModule.link(made.module, NATIVE, entry, constants, [*kernels.values()], made.report)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "channels", "layers"), NETWORKS)
def test_convolutions_agree_with_numpy(size: int, channels: int, layers: list[tuple[int, int, int]]) -> None:
    module, x, want = network(size, channels, layers)
    np.testing.assert_allclose(compiled(module)(x), want, rtol=2e-2, atol=2e-2)


SHAPES = [(128, 96, 64), (49, 64, 32), (2 * 50, 32, 48), (9, 64, 16)]


@pytest.mark.parametrize(("rows", "depth", "columns"), SHAPES)
def test_dense_layers_agree_with_numpy(rows: int, depth: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    x = rounded(rng.standard_normal((rows, depth)).astype("float32"))
    w = rounded(rng.standard_normal((columns, depth)).astype("float32"))
    data = relay.var("x", shape=x.shape)
    body = relay.nn.relu(relay.nn.dense(data, relay.const(w)))
    lib = compiled(relay.IRModule.from_expr(relay.Function((data,), body)))
    np.testing.assert_allclose(lib(x), np.maximum(x @ w.T, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", [WITH_TILES, WITHOUT])
def test_only_targets_with_tiles_use_channel_blocks_of_32(target: str) -> None:
    module, _, _ = network(*NETWORKS[0])
    source = tvmlite.compile(module, target=target, precision="bfloat16").source("llvm")
    assert ("tdpbf16ps" in source) == (target == WITH_TILES)


def test_channels_that_do_not_fill_blocks_use_vectors() -> None:
    module, _, _ = network(14, 8, [(48, 1, 1), (48, 3, 1), (48, 1, 1), (8, 1, 1)])
    assert "tdpbf16ps" not in tvmlite.compile(module, target=WITH_TILES, precision="bfloat16").source("llvm")


def test_float32_does_not_use_tiles() -> None:
    module, _, _ = network(*NETWORKS[0])
    assert "tdpbf16ps" not in tvmlite.compile(module, target=WITH_TILES).source("llvm")


def test_the_fastest_tiles_come_first() -> None:
    assert tiles_of(128, [1, 2])[0] == Tile(2, 1, 32)
    assert tiles_of(14, [2], 14)[0] == Tile(2, 2, 14)
    assert Tile(1, 1, 49).register_rows == (13, 12, 12, 12)
    assert all(49 % tile.rows == 0 for tile in tiles_of(49, [1, 2]))
    assert tiles_of(5, [1, 2]) == []


DENSE = """fn (%x: Tensor[(1, 96, 64), bfloat16], %w: Tensor[(4, 32, 16, 2), bfloat16]) {
  nn.contrib_dense_pack(%x, %w, units=64, out_dtype="float32", weight_layout="NC16n2c")
}"""
CONVOLUTION = """fn (%x: Tensor[(1, 2, {size}, {size}, 32), bfloat16],
    %w: Tensor[(4, 2, 3, 3, 16, 16, 2), bfloat16]) {{
  nn.contrib_conv2d_NCHWc(%x, %w, channels=64, kernel_size=[3, 3], data_layout="NCHW32c",
    out_layout="NCHW32c", kernel_layout="OIHW16i16o2i", padding=[1, 1], out_dtype="float32")
}}"""
TASKS = [
    (DENSE, [(1, 96, 64), (4, 32, 16, 2)]),
    (CONVOLUTION.format(size=14), [(1, 2, 14, 14, 32), (4, 2, 3, 3, 16, 16, 2)]),
    (CONVOLUTION.format(size=7), [(1, 2, 7, 7, 32), (4, 2, 3, 3, 16, 16, 2)]),
]


def made(task: Task, knobs: dict[str, Any], arrays: list[np.ndarray]) -> tuple[np.ndarray, str]:
    """The result of the task with ``knobs``, and its LLVM IR for its own target."""
    schedule, args = task.instantiate(ConfigEntity({**task.default.settings, **knobs}))
    code = llvm.generate(legalize(tvmlite.lower(schedule, args), task.target), task.target)
    return tvmlite.build(schedule, args, name="product")(*arrays), code


@pytest.mark.slow
@pytest.mark.parametrize(("text", "shapes"), TASKS)
def test_every_choice_of_every_knob_gives_the_same_sums(text: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes]
    task = tasks.task_of(tasks.group_of(text), TILED)
    plain = tasks.task_of(tasks.group_of(text), Target.parse("llvm -mcpu=x86-64-v3"))
    want, source = made(plain, {}, arrays)
    assert "tdpbf16ps" not in source
    knobs = {
        name[5:]: list(space) for name, space in task.config_space.space_map.items() if name[:5] == "hand."
    }
    assert {"tile", "order", "steps", "grain"} <= knobs.keys()
    for name, choices in knobs.items():
        for choice in choices:
            got, source = made(task, {name: choice}, arrays)
            assert "tdpbf16ps" in source
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3, err_msg=f"{name} {choice}")
