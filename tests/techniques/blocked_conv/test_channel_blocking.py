"""Convolutions split into passes over channels: where accumulators are kept, and correct results."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite import build
from tvmlite.core.node import postorder
from tvmlite.machine.table import estimate
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.te.loop import ir as loop
from tvmlite.te.lowering.lower import lower
from tvmlite.te.space import Task

FEW_REGISTERS = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver3"
MANY_REGISTERS = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver5"


def task(
    inputs: int, outputs: int, size: tuple[int, int], target: str = FEW_REGISTERS, stride: int = 1
) -> Task:
    """A padded 3x3 convolution from ``inputs`` to ``outputs`` blocks of 8 channels."""
    text = f"""fn (%x: Tensor[(1, {inputs}, {size[0]}, {size[1]}, 8), float32],
        %w: Tensor[({outputs}, {8 * inputs}, 3, 3, 8), float32]) {{
      nn.relu(nn.contrib_conv2d_NCHWc(%x, %w, channels={8 * outputs}, kernel_size=[3, 3], padding=[1, 1],
        strides=[{stride}, {stride}], data_layout="NCHW8c", out_layout="NCHW8c", kernel_layout="OIHW8o"))
    }}"""
    return tasks.task_of(tasks.group_of(text), Target.parse(target))


def check(one: Task, stride: int, index: int | None = None) -> None:
    """Check configuration number ``index``, or the default, against numpy."""
    chosen = one.default if index is None else one.config_space.get(index)
    assert "pass" in chosen
    built = build(*one.instantiate(chosen), "native")
    data, weight, made = (np.zeros(one.shape, "float32") for one in built.signature.arrays)
    rng = np.random.default_rng(0)
    data[...], weight[...] = rng.standard_normal(data.shape), rng.standard_normal(weight.shape)

    built(data, weight, made)

    image = np.pad(data[0], [(0, 0), (1, 1), (1, 1), (0, 0)])
    read = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))[:, ::stride, ::stride]
    kernels = weight.reshape(len(weight), -1, 8, 3, 3, 8)
    expected = np.einsum("cyxivu,ocivul->oyxl", read, kernels, optimize=True)
    np.testing.assert_allclose(made[0], np.maximum(expected, 0), rtol=1e-4, atol=1e-4)


@pytest.fixture
def few_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat this machine as one with few registers."""
    monkeypatch.setattr(Target, "machine", property(lambda one: estimate(one.vector_bits, 16)))


@pytest.mark.usefixtures("few_registers")
@pytest.mark.parametrize(
    ("inputs", "outputs", "size", "stride"), [(6, 3, (7, 6), 1), (8, 1, (3, 11), 1), (6, 2, (9, 9), 2)]
)
def test_passes_compute_the_convolution(
    inputs: int, outputs: int, size: tuple[int, int], stride: int
) -> None:
    check(task(inputs, outputs, size, "native", stride), stride)


@pytest.mark.usefixtures("few_registers")
@pytest.mark.parametrize("seed", range(3))
def test_passes_chosen_by_a_search_compute_the_convolution(seed: int) -> None:
    one = task(8, 3, (7, 6), "native")
    space = one.config_space
    drawn = map(int, space.sample(100, np.random.default_rng(seed)))

    check(one, 1, next(index for index in drawn if "pass" in space.get(index)))


@pytest.mark.parametrize("size", [(14, 14), (28, 28), (55, 55), (112, 112), (109, 224)])
def test_accumulators_of_a_tile_fit_registers_and_those_of_rows_a_near_cache(
    size: tuple[int, int],
) -> None:
    one = task(16, 16, size)

    lowered = lower(*one.instantiate(one.default))

    kept = [node.buffer for node in postorder(lowered.body) if isinstance(node, loop.Allocate)]
    sums = {one.name: 4 * int(np.prod([int(str(extent)) for extent in one.shape])) for one in kept}
    assert sums["conv.rf"] <= 16 * 32
    assert sums["conv"] <= one.target.machine.working_sets.partial_sums


@pytest.mark.parametrize(("inputs", "target"), [(4, FEW_REGISTERS), (16, MANY_REGISTERS)])
def test_few_channels_or_many_registers_use_a_single_pass(inputs: int, target: str) -> None:
    assert "pass" not in task(inputs, 16, (14, 14), target).default
