"""Fused groups as tuning tasks: their text is complete, and every configuration computes the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, te
from tvmlite.core.alike import alike
from tvmlite.core.errors import UnsupportedError
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.entry import tasks
from tvmlite.relay.entry.kernels import fused_groups
from tvmlite.relay.ir import op
from tvmlite.relay.ir.nodes import Call, Function
from tvmlite.te.space import Config, ConfigSpace, FallbackConfig, RuleSpace, create

TARGET = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")

CONVOLUTION = """
def @main({x}: Tensor[(1, 2, 7, 6, 16), float32], {w}: Tensor[(3, 32, 3, 3, 16), float32],
          {b}: Tensor[(1, 3, 1, 1, 16), float32]) {{
  %0 = nn.contrib_conv2d_NCHWc({x}, {w}, padding=[1, 1, 1, 1], kernel_size=[3, 3], channels=48,
                               data_layout="NCHW16c", kernel_layout="OIHW16o");
  %1 = add(%0, {b});
  nn.relu(%1)
}}
"""


def group(text: str) -> Function:
    """Return the first fused group of a module."""
    return next(fused_groups(passes.fuse(relay.parse(text))))


def convolution(x: str = "%x", w: str = "%w", b: str = "%b") -> Function:
    return group(CONVOLUTION.format(x=x, w=w, b=b))


def test_task_text_ignores_names_and_round_trips() -> None:
    text = tasks.task_text(convolution())

    assert text == tasks.task_text(convolution("%data", "%weights", "%bias"))
    assert tasks.task_text(tasks.group_of(text)) == text
    assert alike(tasks.group_of(text), tasks.group_of(text))


def test_a_task_is_recreated_from_its_record() -> None:
    task = tasks.task_of(convolution(), TARGET)

    again = create(task.name, task.args, TARGET)

    assert task.name == "fused"
    assert again.key == task.key
    assert again.config_space.dims == task.config_space.dims
    assert task.flop >= 2 * 48 * 42 * 9 * 32


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def @main(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }", "open dimensions n"),
        (
            "def @main(%x: Tensor[(4,), float32]) { tests.tasks.foreign(%x) }",
            "tests.tasks.foreign is defined outside the package",
        ),
    ],
)
def test_error_says_why_a_group_is_no_task(text: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "foreign" in text:
        register_foreign(monkeypatch)
    assert tasks.why_no_task(group(text)) == reason
    with pytest.raises(UnsupportedError, match=f"is no tuning task: {reason}"):
        tasks.task_of(group(text), TARGET)


def register_foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register an operator that is defined outside the package for the duration of a test."""
    op.names()  # loads the operators that techniques add; they stay registered
    monkeypatch.setattr(op, "OPERATORS", dict(op.OPERATORS))

    @op.operator("tests.tasks.foreign", infer=lambda call, x: x, reference=lambda call, x: x)
    def foreign(call: Call, data: te.Tensor) -> te.Tensor:
        return te.compute(data.shape, lambda i: data[i], name="foreign", tag="elemwise")


def test_flop_count_of_dense_layers_does_not_depend_on_the_algorithm() -> None:
    quick, direct, short = (
        tasks.task_of(group(text), TARGET).flop for text in (DENSE_WINOGRAD, DENSE, DENSE_24)
    )

    products = 2 * 37 * 80
    assert 0 < quick - products * 48 < 0.2 * products * 48
    assert 0 < direct - products * 64 < 0.2 * products * 64
    assert short == 2 * 2 * 384 * 48 + 2 * 300


def test_text_that_is_not_a_function_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match="text is a Constant, expected a function"):
        tasks.group_of("1f")


def on_this_machine(made: Function) -> tuple[ConfigSpace, Callable[[Config], np.ndarray]]:
    """Return the space of a group and a function that runs its kernel with a configuration."""
    task = tasks.task_of(made, Target.parse("native"))
    random = np.random.default_rng(1)
    buffers = task.instantiate(FallbackConfig())[1][:-1]
    inputs = [random.standard_normal(one.shape).astype("float32") for one in buffers]
    for place, one in enumerate(buffers):
        if one.dtype == "uint32":  # words that hold the weights of ``pack24.operator``
            inputs[place] = inputs[place].view("uint32") >> 16 << 16 | 0x3C3D

    def run(config: Config) -> np.ndarray:
        schedule, args = task.instantiate(config)
        return tvmlite.build(schedule, args)(*inputs)

    return task.config_space, run


POINTWISE = """
def @main(%x: Tensor[(2, 2, 7, 7, 16), float32], %w: Tensor[(3, 32, 1, 1, 16), float32]) {
  nn.contrib_conv2d_NCHWc(%x, %w, kernel_size=[1, 1], channels=48, data_layout="NCHW16c",
                          kernel_layout="OIHW16o")
}
"""
STEM = """
def @main(%x: Tensor[(1, 3, 19, 21), float32], %w: Tensor[(2, 3, 5, 5, 16), float32]) {
  nn.contrib_conv2d_NCHWc(%x, %w, kernel_size=[5, 5], channels=20, strides=[2, 2], padding=[2, 2, 2, 2],
                          data_layout="NCHW", out_layout="NCHW", kernel_layout="OIHW16o")
}
"""
WINOGRAD = """
def @main(%x: Tensor[(2, 2, 13, 10, 16), float32], %w: Tensor[(3, 6, 6, 32, 16), float32]) {
  nn.contrib_conv2d_winograd_without_weight_transform(%x, %w, tile_size=4, padding=[1, 1, 1, 1])
}
"""


DEPTHWISE = """
def @main(%x: Tensor[(1, 3, 11, 14, 16), float32], %w: Tensor[(3, 1, 3, 3, 1, 16), float32]) {
  %0 = nn.contrib_depthwise_conv2d_NCHWc(%x, %w, kernel_size=[3, 3], padding=[1, 1, 1, 1], channels=48,
                                         groups=48, data_layout="NCHW16c", kernel_layout="OIHW1i16o");
  clip(%0, a_min=0.0, a_max=6.0)
}
"""
POOL = """
def @main(%x: Tensor[(1, 2, 13, 9, 16), float32]) {
  nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1], layout="NCHW16c")
}
"""
DENSE = """
def @main(%x: Tensor[(37, 64), float32], %w: Tensor[(5, 64, 16), float32], %b: Tensor[(75,), float32]) {
  %0 = nn.contrib_dense_pack(%x, %w, units=75);
  add(%0, %b)
}
"""
DENSE_WINOGRAD = """
def @main(%x: Tensor[(37, 48), float32], %w: Tensor[(5, 48, 16), float32], %t: Tensor[(48,), float32],
          %c: Tensor[(5, 2, 16), float32], %b: Tensor[(75,), float32]) {
  %0 = nn.contrib_dense_winograd(%x, %w, %t, %c, units=75);
  add(%0, %b)
}
"""
DENSE_24 = """
def @main(%x: Tensor[(2, 48), float32], %w: Tensor[(3, 48, 2, 3, 16), uint32], %b: Tensor[(300,), float32]) {
  %0 = nn.contrib_dense_pack24(%x, %w, units=300);
  add(%0, %b)
}
"""
FEW_ROWS = """
def @main(%x: Tensor[(3, 40), float32], %w: Tensor[(40, 90), float32]) { nn.matmul(%x, %w) }
"""
BATCHED = """
def @main(%x: Tensor[(3, 20, 24), float32], %y: Tensor[(3, 50, 24), float32]) { nn.batch_matmul(%x, %y) }
"""
SOFTMAX = """
def @main(%x: Tensor[(6, 256), float32]) { nn.softmax(%x) }
"""
NORM = """
def @main(%x: Tensor[(5, 128), float32], %g: Tensor[(128,), float32], %b: Tensor[(128,), float32]) {
  nn.layer_norm(%x, %g, %b)
}
"""
ATTENTION = """
def @main(%q: Tensor[(1, 2, 33, 32), float32], %k: Tensor[(1, 2, 33, 32), float32],
          %v: Tensor[(1, 2, 33, 32), float32], %m: Tensor[(33, 33), float32]) {
  nn.attention(%q, %k, %v, %m)
}
"""


DRAWN = 3
"""The number of configurations tried for each rule."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [
        convolution(),
        *map(
            group,
            (POINTWISE, STEM, WINOGRAD, DEPTHWISE, POOL, DENSE, DENSE_WINOGRAD, DENSE_24, FEW_ROWS, BATCHED)
            + (SOFTMAX, NORM, ATTENTION),
        ),
    ],
    ids=[
        "3x3",
        "1x1",
        "stem",
        "winograd",
        "depthwise",
        "pool",
        "dense",
        "dense winograd",
        "dense 24",
        "few rows",
        "batched",
        "softmax",
        "norm",
        "attention",
    ],
)
def test_all_configurations_compute_the_same(made: Function) -> None:
    """Draw configurations from each rule, as one rule has nearly all of them."""
    space, run = on_this_machine(made)
    assert isinstance(space, RuleSpace)
    expected = run(FallbackConfig())
    random, first = np.random.default_rng(2), 0

    for of_rule in space.rules.values():
        for number in random.integers(len(of_rule), size=DRAWN).tolist():
            config = space.get(first + number)
            np.testing.assert_allclose(run(config), expected, rtol=1e-4, atol=1e-4, err_msg=str(config))
        first += len(of_rule)


def test_weights_are_cold_and_activations_are_warm() -> None:
    """In a model, weights are read from memory, while activations were just computed."""
    assert tasks.task_of(convolution(), TARGET).cold == (1,)
    assert tasks.task_of(group(BATCHED), TARGET).cold == ()


def test_attention_with_a_huge_configuration_space_is_a_task() -> None:
    shape = "Tensor[(1, 20, 1500, 64), float32]"
    text = f"def @main(%q: {shape}, %k: {shape}, %v: {shape}) {{ nn.attention(%q, %k, %v, 0f) }}"
    task = tasks.task_of(group(text), Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5"))

    space = task.config_space
    assert 1 << 60 < len(space) < 1 << 63
    assert all(space.index_of(one.settings) is not None for one in task.defaults)
    task.instantiate(space.get(len(space) - 1))
