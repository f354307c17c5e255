"""Rows at the border of an image: their number, and the loops that compute them."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.te import compute, placeholder, reduce_axis
from tvmlite.te import expr as e
from tvmlite.te import sum as te_sum
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.lowering.lower import lower
from tvmlite.te.templates import anchors
from tvmlite.te.templates import templates as schedules
from tvmlite.te.tensor.tensor import ComputeOp, Tensor
from tvmlite.techniques.common.borders import rows_at_border

FEW_REGISTERS = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver3"
MANY_REGISTERS = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver5"
BY_ROWS = "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids"


def depthwise(
    blocks: int, size: int, window: int, stride: int, begin: int, end: int
) -> tuple[list[Tensor], Tensor, Tensor]:
    """A padded depthwise convolution in blocks of 8 channels: the arguments, the padded data and the sums."""
    x, w = (
        placeholder((1, blocks, size, size, 8), name="x"),
        placeholder((blocks, window, window, 8), name="w"),
    )
    whole = size + begin + end

    def padded(n: e.Expr, b: e.Expr, i: e.Expr, j: e.Expr, c: e.Expr) -> e.Expr:
        inside = e.all_of([i >= begin, i < size + begin, j >= begin, j < size + begin])
        read = x[n, b, i - begin, j - begin, c]
        return e.Call("if_then_else", (inside, read, e.const(0, "float32")), "float32")

    pad = compute((1, blocks, whole, whole, 8), padded, name="pad", tag="pad")
    u, v = reduce_axis(window, name="u"), reduce_axis(window, name="v")
    results = (whole - window) // stride + 1
    sums = compute(
        (1, blocks, results, results, 8),
        lambda n, b, i, j, c: te_sum(pad[n, b, i * stride + u, j * stride + v, c] * w[b, u, v, c], [u, v]),
        name="conv",
        tag="depthwise_conv2d_blocked",
    )
    return [x, w], pad, sums


def border(size: int, window: int, stride: int, begin: int, end: int) -> tuple[int, int]:
    _, pad, sums = depthwise(2, size, window, stride, begin, end)
    assert isinstance(sums.op, ComputeOp)
    assert isinstance(pad.op, ComputeOp)
    return rows_at_border(sums.op, pad.op, 2)


@pytest.mark.parametrize(
    ("size", "window", "stride", "begin", "end", "rows"),
    [
        (14, 3, 1, 1, 1, (1, 1)),
        (14, 5, 1, 2, 2, (2, 2)),
        (14, 3, 2, 1, 1, (1, 0)),
        (14, 3, 2, 0, 1, (0, 1)),
        (14, 5, 3, 2, 2, (1, 1)),
        (14, 3, 1, 0, 0, (0, 0)),
    ],
)
def test_rows_at_the_border_are_those_whose_windows_read_padding(
    size: int, window: int, stride: int, begin: int, end: int, rows: tuple[int, int]
) -> None:
    assert border(size, window, stride, begin, end) == rows


def loops(target: str, blocks: int, size: int, stride: int = 1) -> loop.Function:
    arguments, _, sums = depthwise(blocks, size, 3, stride, 1, 1)
    return lower(
        schedules.apply(anchors.CONVOLUTION, [sums], Target.parse(target)), [*arguments, sums], name="f"
    )


def turns(function: loop.Function, kind: str) -> list[int]:
    """The extents of the loops of ``kind``, at least two iterations unless they are parallel."""
    found = [one for one in postorder(function.body) if isinstance(one, loop.For) and one.kind == kind]
    return [int(str(one.extent)) for one in found]


def test_with_few_registers_rows_without_padding_have_their_own_loop() -> None:
    assert 26 in turns(loops(FEW_REGISTERS, 16, 28), loop.SERIAL)
    assert turns(loops(MANY_REGISTERS, 16, 28), loop.SERIAL).count(28) == 1


def test_with_few_blocks_threads_share_chunks_of_rows() -> None:
    function = loops(FEW_REGISTERS, 4, 112)

    assert turns(function, loop.PARALLEL) == [16]
    assert 26 in turns(function, loop.SERIAL)


def test_threads_share_rows_of_all_blocks_like_neighbouring_layers() -> None:
    function = loops(BY_ROWS, 16, 56)

    assert turns(function, loop.PARALLEL) == [4 * 16]
    assert 14 in turns(function, loop.SERIAL)


@pytest.mark.parametrize(("blocks", "parts"), [(1, 16), (2, 8), (3, 7), (4, 4)])
def test_rows_of_few_blocks_are_split_into_more_parts(blocks: int, parts: int) -> None:
    """All parts times all blocks are enough work items for the threads."""
    function = loops(BY_ROWS, blocks, 112)

    assert turns(function, loop.PARALLEL) == [parts * blocks]
    assert 112 // parts in turns(function, loop.SERIAL)


@pytest.mark.slow
@pytest.mark.parametrize("target", [FEW_REGISTERS, BY_ROWS])
@pytest.mark.parametrize(
    ("blocks", "size", "stride"), [(1, 20, 1), (4, 32, 2), (16, 9, 1), (16, 3, 2), (16, 1, 1)]
)
def test_separate_border_rows_give_the_same_results(blocks: int, size: int, stride: int, target: str) -> None:
    check(loops(target, blocks, size, stride), blocks, size, stride)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("blocks", "size", "stride", "parts"), [(2, 32, 1, 8), (1, 40, 1, 20), (2, 62, 2, 31), (5, 20, 1, 4)]
)
def test_parts_of_rows_give_the_same_results(blocks: int, size: int, stride: int, parts: int) -> None:
    function = loops(BY_ROWS, blocks, size, stride)

    assert turns(function, loop.PARALLEL) == [parts * blocks]
    check(function, blocks, size, stride)


def check(function: loop.Function, blocks: int, size: int, stride: int) -> None:
    """Check ``function``, made by ``loops``, against numpy."""
    results = (size - 1) // stride + 1
    random = np.random.default_rng(0)
    x = random.standard_normal((1, blocks, size, size, 8)).astype("f4")
    w = random.standard_normal((blocks, 3, 3, 8)).astype("f4")
    made = np.full((1, blocks, results, results, 8), np.nan, "f4")

    interpret(function, [x, w, made])

    around = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(around, (3, 3), (2, 3))[:, :, ::stride, ::stride]
    np.testing.assert_allclose(made, np.einsum("nbijcuv,buvc->nbijc", windows, w), rtol=1e-4, atol=1e-4)
