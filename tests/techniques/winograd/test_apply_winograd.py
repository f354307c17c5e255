"""Winograd is used where its error is allowed and it is estimated to be faster; all else is unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ConfigError
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.simplify.fold_constant import fold_constant
from tvmlite.techniques.blocked_conv.alter_op_layout import alter_op_layout
from tvmlite.techniques.winograd.apply_winograd import alternatives, apply_winograd

rng = np.random.default_rng(0)
wide = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")

DIRECT = "nn.contrib_conv2d_NCHWc"
WINOGRAD = "nn.contrib_conv2d_winograd_without_weight_transform"


def network(
    channels: int = 32, size: int = 12, kernel: int = 3, inputs: int | None = None, **attrs: Any
) -> Module:
    """Two convolutions, so that channels are blocked between them, followed by pooling."""
    x = var("x", (1, inputs or channels, size, size))
    weights = [
        rng.standard_normal((channels, c, kernel, kernel)).astype("float32")
        for c in (inputs or channels, channels)
    ]
    y: Expr = x
    for weight in weights:
        y = make("nn.relu", make("nn.conv2d", y, constant(weight), padding=kernel // 2, **attrs))
    return Module({"main": Function((x,), make("nn.global_avg_pool2d", y))})


def after(module: Module, bound: float) -> Module:
    return fold_constant(apply_winograd(bound)(alter_op_layout(wide)(module)))


def tile_sizes(module: Module) -> list[int]:
    """The tile size of each Winograd convolution, 0 for a direct one."""
    found = [node for node in postorder(module.main.body) if isinstance(node, Call)]
    return [
        node["tile_size"] if node.op == WINOGRAD else 0 for node in found if node.op in (DIRECT, WINOGRAD)
    ]


@pytest.mark.parametrize(("bound", "sizes"), [(1e-4, [4, 4]), (3e-6, [2, 2]), (1e-7, [0, 0])])
def test_the_fastest_filtering_within_the_bound_is_chosen(bound: float, sizes: list[int]) -> None:
    module = network()

    made = after(module, bound)

    assert tile_sizes(made) == sizes
    data = rng.standard_normal((1, 32, 12, 12)).astype("float32")
    np.testing.assert_allclose(interpret(made, [data]), interpret(module, [data]), rtol=1e-4)


def test_the_weight_is_transformed_at_compile_time() -> None:
    made = after(network(), 1e-4)

    convolutions = [n for n in postorder(made.main.body) if isinstance(n, Call) and n.op == WINOGRAD]
    assert convolutions[0].args[1].data.shape == (2, 6, 6, 32, 16)  # type: ignore[attr-defined]
    assert not any(
        isinstance(n, Call) and "weight_transform" in str(n.op) and n.op != WINOGRAD
        for n in postorder(made.main.body)
    )


@pytest.mark.parametrize(
    "module",
    [
        network(kernel=1),
        network(kernel=5),
        network(strides=(2, 2)),
        network(dilation=(2, 2)),
        network(channels=64, inputs=64, groups=1, size=3),
    ],
    ids=["1x1", "5x5", "strided", "dilated", "few pixels"],
)
def test_other_convolutions_are_the_same_object(module: Module) -> None:
    blocked = alter_op_layout(wide)(module)

    assert apply_winograd(1e-4)(blocked) is blocked


def test_grouped_convolutions_are_unchanged() -> None:
    x = var("x", (1, 32, 12, 12))
    weight = constant(rng.standard_normal((32, 16, 3, 3)).astype("float32"))
    y = make("nn.conv2d", x, weight, padding=1, groups=2)
    module = alter_op_layout(wide)(Module({"main": Function((x,), make("nn.relu", y))}))

    assert apply_winograd(1e-4)(module) is module


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_convolutions_are_unchanged(dtype: str) -> None:
    x = var("x", (1, 2, 12, 12, 16), dtype)
    weight = constant(rng.standard_normal((32, 32, 3, 3)).astype(dtypes.numpy_of(dtype)))
    packed = make("layout_transform", weight, src_layout="OIHW", dst_layout="OIHW16o")
    module = Module({"main": Function((x,), make(DIRECT, x, packed, padding=1))})

    assert apply_winograd(1.0)(module) is module


def of_pairs(channels: int = 64, size: int = 24, kernel: int = 3) -> Module:
    """A convolution of bfloat16 on channel blocks, its weight packed in pairs."""
    x = var("x", (1, channels // 16, size, size, 16), "bfloat16")
    data = rng.standard_normal((channels, channels, kernel, kernel)).astype(dtypes.numpy_of("bfloat16"))
    packed = make("layout_transform", constant(data), src_layout="OIHW", dst_layout="OIHW16o2i")
    attrs = {"kernel_layout": "OIHW16o2i", "out_dtype": "float32", "padding": kernel // 2}
    return Module({"main": Function((x,), make(DIRECT, x, packed, **attrs))})


def test_a_paired_bfloat16_convolution_can_become_winograd() -> None:
    module = of_pairs()

    made = fold_constant(apply_winograd(1e-4, pairs=True)(module))

    assert tile_sizes(made) == [4]
    data = rng.standard_normal((1, 4, 24, 24, 16)).astype(dtypes.numpy_of("bfloat16"))
    want = interpret(module, [data])
    np.testing.assert_allclose(interpret(made, [data]), want, atol=1e-4 * float(np.abs(want).max()))


@pytest.mark.parametrize(
    ("module", "bound", "pairs"),
    [
        (of_pairs(), 1e-4, False),
        (of_pairs(), 1e-7, True),
        (of_pairs(kernel=1), 1e-4, True),
        (of_pairs(channels=64, size=5), 1e-4, True),
    ],
    ids=["not asked for", "a bound too small", "1x1", "few pixels"],
)
def test_other_paired_convolutions_are_the_same_object(module: Module, bound: float, pairs: bool) -> None:
    assert apply_winograd(bound, pairs)(module) is module


def test_paired_convolutions_are_estimated_at_half_the_cost() -> None:
    node = next(n for n in postorder(of_pairs().main.body) if isinstance(n, Call) and n.op == DIRECT)

    direct, *filterings = alternatives(node, 1e-4, pairs=True)

    blocked = alter_op_layout(wide)(network(channels=64, size=24))
    nodes = [n for n in postorder(blocked.main.body) if isinstance(n, Call) and n.op == DIRECT]
    same, *_ = alternatives(nodes[-1], 1e-4)
    assert direct.cost == same.cost / 2
    assert [way.name for way in filterings] == ["F(2, 3)", "F(4, 3)"]


def test_a_channels_first_convolution_is_blocked_for_winograd() -> None:
    x = var("x", (1, 40, 30, 31))
    weight = constant(rng.standard_normal((45, 40, 3, 3)).astype("float32"))
    module = Module({"main": Function((x,), make("nn.conv2d", x, weight, padding=1))})

    made = after(module, 1e-4)

    assert tile_sizes(made) == [4]
    data = rng.standard_normal((1, 40, 30, 31)).astype("float32")
    np.testing.assert_allclose(interpret(made, [data]), interpret(module, [data]), rtol=1e-4, atol=1e-3)


def test_the_pipeline_has_the_pass_only_with_an_error_bound() -> None:
    def names(bound: float) -> list[str]:
        return [one.__name__ for one in passes.pipeline(3, wide, error_bound=bound).passes]

    assert "apply_winograd" in names(1e-4)
    assert "apply_winograd" not in names(0)


@pytest.mark.parametrize("bound", [-1e-4, float("nan"), float("inf"), "small"])
def test_an_invalid_bound_is_refused(bound: Any) -> None:
    with pytest.raises(ConfigError, match=r"error_bound is .*, expected a relative error such as 1e-4, or 0"):
        apply_winograd(bound)
