"""Generated schedules compute the results of numpy for every setting of their knobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tvmlite import te
from tvmlite.core.errors import ScheduleError
from tvmlite.machine.target import Target
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.loop.verify import verify
from tvmlite.te.lowering.lower import lower
from tvmlite.te.space import Config, ConfigEntity, ConfigSpace, FallbackConfig, OptionChoice, SplitChoice
from tvmlite.te.templates import templates
from tvmlite.te.tensor.tensor import Tensor

TARGETS = ("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4", "c -vector-bits=128")

Program = tuple[list[Tensor], list[Tensor], Callable[..., Any]]
"""Inputs, outputs, and the reference in numpy."""


def relu(x: Tensor) -> Tensor:
    return te.compute(
        x.shape, lambda *i: te.if_then_else(x[i] > 0, x[i], te.const(0.0, x.dtype)), name="relu"
    )


def product(rows: int, steps: int, columns: int, turned: bool) -> Program:
    """A matrix product; if ``turned``, the second matrix is transposed."""
    a = te.placeholder((rows, steps), name="a")
    b = te.placeholder((columns, steps) if turned else (steps, columns), name="b")
    k = te.reduce_axis(steps, "k")
    c = te.compute(
        (rows, columns), lambda i, j: te.sum(a[i, k] * (b[j, k] if turned else b[k, j]), k), name="c"
    )
    return [a, b], [relu(c)], lambda x, y: np.maximum(x @ (y.T if turned else y), 0)


def packed_product() -> Program:
    """A product with a matrix in panels, its result unpacked by another stage."""
    a, b = te.placeholder((9, 10), name="a"), te.placeholder((4, 10, 16), name="b")
    k = te.reduce_axis(10, "k")
    packed = te.compute((9, 4, 16), lambda i, j, lane: te.sum(a[i, k] * b[j, k, lane], k), name="packed")
    c = te.compute((9, 64), lambda i, j: packed[i, j // 16, j % 16] + 1.0, name="c")
    return [a, b], [c], lambda x, y: np.einsum("ik,jkl->ijl", x, y).reshape(9, 64) + 1


def batched() -> Program:
    a, b = te.placeholder((2, 7, 9), name="a"), te.placeholder((2, 9, 33), name="b")
    k = te.reduce_axis(9, "k")
    c = te.compute((2, 7, 33), lambda n, i, j: te.sum(a[n, i, k] * b[n, k, j], k), name="c")
    return [a, b], [c], np.matmul


def convolution(channels: int, size: int, kernel: int, stride: int, depthwise: bool = False) -> Program:
    """A convolution of a padded image, followed by a relu."""
    pad, results = kernel // 2, 3 if depthwise else 18
    x = te.placeholder((1, channels, size, size), name="x")
    w = te.placeholder((results, 1 if depthwise else channels, kernel, kernel), name="w")
    inside = lambda y, x: te.all(y >= pad, y < size + pad, x >= pad, x < size + pad)  # noqa: E731
    padded = te.compute(
        (1, channels, size + 2 * pad, size + 2 * pad),
        lambda n, c, i, j: te.if_then_else(inside(i, j), x[n, c, i - pad, j - pad], te.const(0.0)),
        name="padded",
    )
    c, ky, kx = (te.reduce_axis(n, m) for n, m in ((w.shape[1], "c"), (kernel, "ky"), (kernel, "kx")))
    out = (size + 2 * pad - kernel) // stride + 1
    conv = te.compute(
        (1, results, out, out),
        lambda n, o, i, j: te.sum(
            padded[n, o if depthwise else c, i * stride + ky, j * stride + kx] * w[o, c, ky, kx], [c, ky, kx]
        ),
        name="conv",
    )

    def reference(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        whole = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        found = np.zeros((1, results, out, out), np.float32)
        for a in range(kernel):
            for b in range(kernel):
                part = whole[:, :, a : a + out * stride : stride, b : b + out * stride : stride][
                    :, :, :out, :out
                ]
                if depthwise:
                    found += part * w[None, :, 0, a, b, None, None]
                else:
                    found += np.einsum("nchw,oc->nohw", part, w[:, :, a, b])
        return np.maximum(found, 0)

    return [x, w], [relu(conv)], reference


def softmax(axis: int) -> Program:
    x = te.placeholder((21, 70), name="x")
    along, across = (70, 21) if axis else (21, 70)
    k, m = te.reduce_axis(along, "k"), te.reduce_axis(along, "m")
    at = lambda i, j: (i, j) if axis else (j, i)  # noqa: E731
    most = te.compute((across,), lambda i: te.max(x[at(i, k)], k), name="most")
    powers = te.compute((21, 70), lambda i, j: te.exp(x[i, j] - most[i if axis else j]), name="powers")
    total = te.compute((across,), lambda i: te.sum(powers[at(i, m)], m), name="total")
    made = te.compute((21, 70), lambda i, j: powers[i, j] / total[i if axis else j], name="made")

    def reference(x: np.ndarray) -> np.ndarray:
        raised = np.exp(x - x.max(axis, keepdims=True))
        return raised / raised.sum(axis, keepdims=True)

    return [x], [made], reference


def layer_norm() -> Program:
    x, scale = te.placeholder((5, 80), name="x"), te.placeholder((80,), name="scale")
    k, m = te.reduce_axis(80, "k"), te.reduce_axis(80, "m")
    sums = te.compute((5,), lambda i: te.sum(x[i, k], k), name="sums")
    off = te.compute((5, 80), lambda i, j: x[i, j] - sums[i] / 80.0, name="off")
    squares = te.compute((5,), lambda i: te.sum(off[i, m] * off[i, m], m), name="squares")
    made = te.compute(
        (5, 80), lambda i, j: off[i, j] * scale[j] / te.sqrt(squares[i] / 80.0 + 1e-5), name="made"
    )

    def reference(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        off = x - x.mean(1, keepdims=True)
        return off * scale / np.sqrt((off * off).mean(1, keepdims=True) + 1e-5)

    return [x, scale], [made], reference


def turned_shares() -> Program:
    """Exponentials that read their operand transposed, and are parallelized along their own rows."""
    x, m = te.placeholder((70, 21), name="x"), te.reduce_axis(21, "m")
    powers = te.compute((21, 70), lambda i, j: te.exp(x[j, i]), name="powers")
    total = te.compute((70,), lambda j: te.sum(powers[m, j], m), name="total")
    made = te.compute((21, 70), lambda i, j: powers[i, j] / total[j], name="made")
    return [x], [made], lambda x: np.exp(x.T) / np.exp(x.T).sum(0)


def row_sums(axis: int) -> Program:
    x, k = te.placeholder((30, 150), name="x"), te.reduce_axis((30, 150)[axis], "k")
    made = te.compute(
        (180 - (30, 150)[axis],), lambda i: te.sum(x[i, k] if axis else x[k, i], k), name="made"
    )
    return [x], [made], lambda x: x.sum(axis)


def total() -> Program:
    x, i, j = te.placeholder((40, 41), name="x"), te.reduce_axis(40, "i"), te.reduce_axis(41, "j")
    return [x], [te.compute((), lambda: te.sum(x[i, j], [i, j]), name="made")], lambda x: x.sum()


def turned() -> Program:
    x = te.placeholder((40, 50), name="x")
    return [x], [te.compute((50, 40), lambda i, j: x[j, i] * 2.0, name="made")], lambda x: x.T * 2


def pooling() -> Program:
    x, i, j = te.placeholder((1, 3, 9, 20), name="x"), te.reduce_axis(3, "i"), te.reduce_axis(3, "j")
    made = te.compute((1, 3, 7, 18), lambda n, c, y, w: te.max(x[n, c, y + i, w + j], [i, j]), name="made")
    windows = np.lib.stride_tricks.sliding_window_view
    return [x], [made], lambda x: windows(x, (3, 3), (2, 3)).max((4, 5))


def two_results() -> Program:
    """A product read by two outputs that is itself an output."""
    (a, b), _, _ = product(6, 5, 20, False)
    k = te.reduce_axis(5, "k")
    c = te.compute((6, 20), lambda i, j: te.sum(a[i, k] * b[k, j], k), name="c")
    plus, root = (
        te.compute((6, 20), f, name=n)
        for f, n in ((lambda i, j: c[i, j] + 1.0, "plus"), (lambda i, j: te.exp(c[i, j]), "power"))
    )
    return [a, b], [c, plus, root], lambda x, y: [x @ y, x @ y + 1, np.exp(x @ y)]


PROGRAMS: dict[str, Callable[[], Program]] = {
    "product": lambda: product(13, 21, 37, False),
    "product by columns": lambda: product(13, 21, 37, True),
    "a row by columns": lambda: product(1, 70, 40, True),
    "a row": lambda: product(1, 40, 70, False),
    "packed product": packed_product,
    "batched product": batched,
    "convolution": lambda: convolution(3, 7, 3, 1),
    "strided convolution": lambda: convolution(3, 8, 3, 2),
    "pointwise convolution": lambda: convolution(8, 7, 1, 1),
    "depthwise convolution": lambda: convolution(3, 19, 3, 1, depthwise=True),
    "softmax": lambda: softmax(1),
    "softmax of columns": lambda: softmax(0),
    "layer norm": layer_norm,
    "turned shares": turned_shares,
    "sums of rows": lambda: row_sums(1),
    "sums of columns": lambda: row_sums(0),
    "total": total,
    "transposition": turned,
    "pooling": pooling,
    "two results": two_results,
}


def extents(tensor: Tensor) -> list[int]:
    return [int(n) for n in tensor.shape]  # type: ignore[arg-type]


def sketched(outputs: Sequence[Tensor], target: Target, config: Config) -> te.Schedule:
    """The generated schedule of ``outputs``."""
    return templates.complete(te.create_schedule([tensor.op for tensor in outputs]), target, config)


def check(program: Program, config: Config, target: str) -> None:
    inputs, outputs, reference = program
    schedule = sketched(outputs, Target.parse(target), config)
    function = lower(schedule, [*inputs, *outputs])
    verify(function)
    random = np.random.default_rng(0)
    arrays = [random.uniform(-1, 1, extents(x)).astype(x.dtype) for x in inputs]
    results = [np.full(extents(x), np.nan, x.dtype) for x in outputs]
    interpret(function, [*arrays, *results])
    expected = reference(*arrays)
    for result, want in zip(results, expected if isinstance(expected, list) else [expected], strict=True):
        np.testing.assert_allclose(result, want, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_default_agrees_with_numpy(name: str, target: str) -> None:
    check(PROGRAMS[name](), FallbackConfig(), target)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_any_setting_of_the_knobs_agrees_with_numpy(name: str) -> None:
    program, space = PROGRAMS[name](), ConfigSpace()
    sketched(program[1], Target.parse(TARGETS[0]), space)
    for number in np.random.default_rng(len(name)).integers(0, len(space), 4).tolist():
        check(program, space.get(number), TARGETS[0])


@pytest.mark.parametrize("place", ["at", "inline"])
def test_settings_stay_valid_wherever_an_operand_is_computed(place: str) -> None:
    program, space = turned_shares(), ConfigSpace()
    sketched(program[1], Target.parse(TARGETS[0]), space)
    settings = {**space.get(0).settings, "powers.place": OptionChoice(place)}

    check(program, ConfigEntity(settings), TARGETS[0])


@pytest.mark.parametrize(
    "program",
    [
        lambda: convolution(64, 56, 3, 1),
        lambda: product(128, 768, 3072, False),
        lambda: product(128, 768, 3072, True),
        lambda: softmax(1),
    ],
)
def test_there_are_more_than_ten_thousand_candidates(program: Callable[[], Program]) -> None:
    space = ConfigSpace()
    sketched(program()[1], Target.parse(TARGETS[0]), space)

    assert len(space) > 10_000


def test_tiles_fit_into_the_registers() -> None:
    space = ConfigSpace()
    sketched(product(128, 64, 256, False)[1], Target.parse(TARGETS[0]), space)

    for choice in space.space_map["c.tile"]:
        _, rows, columns = choice.size  # type: ignore[union-attr]
        assert rows * columns // 16 + 2 <= 32


def test_the_default_tile_of_a_product_fills_the_registers() -> None:
    config = FallbackConfig()
    sketched(product(128, 64, 384, False)[1], Target.parse(TARGETS[0]), config)

    assert config["c.tile"] == SplitChoice((-1, 8, 48))


def test_a_tile_without_whole_vectors_is_refused() -> None:
    program, config = product(128, 64, 256, False), FallbackConfig()
    sketched(program[1], Target.parse(TARGETS[0]), config)
    settings = {**config.settings, "c.tile": SplitChoice((-1, 3, 5))}

    with pytest.raises(ScheduleError, match=r"the tile \[3, 5\] of c has no axis of whole vectors"):
        sketched(program[1], Target.parse(TARGETS[0]), ConfigEntity(settings))
