"""The loops of convolutions with packed weights."""

from __future__ import annotations

from typing import Any

import pytest

from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay.entry import lower, tasks
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.passes import legalize

MANY_REGISTERS = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")


def lowered(
    data: str, kernel: tuple[int, int], blocks: int = 4, out: str = "NCHW16c", **attrs: Any
) -> loop.Function:
    """A convolution from 64 channels in blocks of 16 to ``blocks`` blocks, of an image of size ``data``."""
    more = "".join(f", {name}={value}" for name, value in attrs.items())
    text = f"""fn (%x: Tensor[(1, 4, {data}, 16), float32],
        %w: Tensor[({blocks}, 64, {kernel[0]}, {kernel[1]}, 16), float32]) {{
      nn.contrib_conv2d_NCHWc(%x, %w, channels={16 * blocks}, kernel_size={list(kernel)},
        data_layout="NCHW16c", out_layout="{out}", kernel_layout="OIHW16o"{more})
    }}"""
    return lower.lower_group(tasks.group_of(text), MANY_REGISTERS, "kernel")


def loops_over(function: loop.Function, name: str) -> list[loop.For]:
    """The loops of ``function`` over a variable called ``name``."""
    return [n for n in postorder(function.body) if isinstance(n, loop.For) and n.var.name == name]


def tile(function: loop.Function) -> list[int]:
    """The extents of the unrolled loops of the accumulation, outermost first."""
    turn = next(iter(loops_over(function, "ic.k0.fused.k1.fused")))
    unrolled = [n for n in postorder(turn.body) if isinstance(n, loop.For) and n.kind == loop.UNROLL]
    return [int(n.extent.value) for n in reversed(unrolled) if isinstance(n.extent, e.Const)]


@pytest.mark.parametrize("data", ["24, 24", "h, w"])
def test_rows_of_padding_under_a_dilated_window_are_skipped(data: str) -> None:
    windows = loops_over(lowered(data, (3, 3), dilation=[6, 6], padding=[6, 6]), "k0")

    assert windows
    for window in windows:
        assert isinstance(window.body, loop.If)
        assert window.var in list(postorder(window.body.condition))


@pytest.mark.parametrize("attrs", [{"padding": [1, 1]}, {"dilation": [2, 2]}])
def test_rows_of_other_windows_are_fused_into_the_loop_over_channels(attrs: dict[str, Any]) -> None:
    assert not loops_over(lowered("24, 24", (3, 3), **attrs), "k0")


@pytest.mark.parametrize("data", ["24, 24", "h, w"])
def test_channels_first_results_are_stored_channel_by_channel_in_a_loop(data: str) -> None:
    """If unrolled, each channel of a tile would have its own code with the whole epilogue."""
    legal = legalize(lowered(data, (3, 3), out="NCHW", padding=[1, 1]), MANY_REGISTERS)

    loops = [n for n in postorder(legal.body) if isinstance(n, loop.For) and n.var.name.startswith("c.inner")]
    in_loops = {n for one in loops for n in postorder(one.body)}
    stored = {n for n in postorder(legal.body) if isinstance(n, loop.Store) and n.buffer in legal.outputs}
    assert stored
    assert stored <= in_loops


def test_only_images_of_known_size_prefetch_the_next_weight_panel() -> None:
    assert "prefetch" in str(lowered("28, 28", (3, 3), blocks=32, padding=[1, 1]))
    assert "prefetch" not in str(lowered("h, w", (3, 3), blocks=32, padding=[1, 1]))


def test_an_image_of_one_column_is_tiled_like_one_row() -> None:
    column, row = tile(lowered("60, 1", (5, 1))), tile(lowered("1, 60", (1, 5)))

    assert sorted(n for n in column if n > 1) == sorted(n for n in row if n > 1)
    assert max(column) > 4
