"""Computations of kinds and sizes for which templates have few knobs, to be measured for the cost model of
gains: transpositions, borders, windows, reductions along any axis, products of odd sizes, convolutions with
few or odd channels and with groups. The sizes are random."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

OF_FAMILY = 8
"""The number of computations of each family."""

Drawn = tuple[list[tuple[int, ...]], str]
"""The shapes of p0, p1, ..., and the expression that is computed from them."""


class _Dice:
    """Draws random sizes, with a separate seed for each computation."""

    def __init__(self, *seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def size(self, least: int, most: int) -> int:
        """A number from ``least`` to ``most``, log-uniform; half of them are multiples of 8, if possible."""
        drawn = round(float(np.exp(self.generator.uniform(np.log(least), np.log(most)))))
        if least >= 8 and self.generator.random() < 0.5:
            drawn = drawn // 8 * 8
        return int(np.clip(drawn, least, most))

    def one(self, *values: object) -> object:
        """One of ``values``."""
        return values[int(self.generator.integers(len(values)))]

    def order(self, count: int) -> list[int]:
        """``range(count)`` in a random order."""
        while (found := self.generator.permutation(count).tolist()) == list(range(count)):
            pass
        return found


def _transposed(dice: _Dice) -> Drawn:
    shape = tuple(dice.size(4, 100) for _ in range(int(dice.generator.integers(2, 5))))
    if len(shape) == 2:
        shape = dice.size(100, 1500), dice.size(100, 1500)
    moved = f"transpose(%p0, axes={dice.order(len(shape))})"
    return [shape], str(dice.one(moved, f"nn.relu({moved})", f"sigmoid({moved})"))


def _bordered(dice: _Dice) -> Drawn:
    by = dice.size(1, 4)
    padded = f"nn.pad(%p0, pad_width=[[0, 0], [0, 0], [{by}, {by}], [{by}, {dice.size(1, 4)}]])"
    return [(dice.size(1, 4), dice.size(3, 64), dice.size(14, 90), dice.size(14, 90))], padded


def _repeated(dice: _Dice) -> Drawn:
    shape = dice.size(8, 60), dice.size(8, 60), dice.size(8, 60)
    times = [dice.size(1, 3) for _ in range(3)]
    return [shape], f"tile(%p0, reps={times})"


def _resized(dice: _Dice) -> Drawn:
    height, width = dice.size(16, 64), dice.size(16, 64)
    method = dice.one("nearest_neighbor", "linear")
    size = [height * dice.size(2, 3), width * 2]
    return [(1, dice.size(3, 64), height, width)], f'image.resize2d(%p0, size={size}, method="{method}")'


def _concatenated(dice: _Dice) -> Drawn:
    rows, axis = dice.size(20, 400), dice.size(0 + 1, 2) - 1
    wide, other = dice.size(30, 600), dice.size(30, 600)
    shapes = [(rows, wide), (rows, other)] if axis else [(wide, rows), (other, rows)]
    return shapes, f"concatenate((%p0, %p1), axis={axis})"


def _sliced(dice: _Dice) -> Drawn:
    rows, wide, step = dice.size(50, 500), dice.size(50, 900), dice.size(1, 3)
    return [(rows, wide)], (
        f"strided_slice(%p0, begin=[0, 1], end=[{rows}, {wide}], strides=[1, {step}], axes=[0, 1])"
    )


def _pointwise(dice: _Dice) -> Drawn:
    rows, wide = dice.size(20, 1000), dice.size(20, 1000)
    other = dice.one((rows, wide), (wide,), (rows, 1))
    kind = dice.one("add", "multiply", "maximum")
    body = f"{kind}(%p0, %p1)"
    done = dice.one(body, f"tanh({body})", f"sigmoid({body})", f"nn.relu({body})", f"exp({body})")
    return [(rows, wide), other], str(done)  # type: ignore[list-item]


def _reduced(dice: _Dice) -> Drawn:
    rank = int(dice.generator.integers(2, 5))
    shape = tuple(dice.size(6, {2: 1000, 3: 90, 4: 40}[rank]) for _ in range(rank))
    axes = sorted(dice.order(rank)[: int(dice.generator.integers(1, rank))])
    return [shape], f"{dice.one('sum', 'mean', 'max')}(%p0, axis={axes})"


def _distances(dice: _Dice) -> Drawn:
    shape = dice.size(40, 400), dice.size(40, 800)
    axis = dice.one(0, 1)
    return [shape, shape], f"sqrt(sum(abs(subtract(%p0, %p1)), axis=[{axis}]))"


def _softmax(dice: _Dice) -> Drawn:
    if dice.generator.random() < 0.5:
        return [(dice.size(4, 30), dice.size(10, 90), dice.size(10, 90))], "nn.softmax(%p0, axis=1)"
    kind = dice.one("softmax", "log_softmax")
    return [(dice.size(20, 900), dice.size(20, 900))], f"nn.{kind}(%p0, axis=-1)"


def _normed(dice: _Dice) -> Drawn:
    wide = dice.size(60, 1100)
    return [(dice.size(10, 300), wide), (wide,), (wide,)], "nn.layer_norm(%p0, %p1, %p2)"


def _pooled(dice: _Dice) -> Drawn:
    window, step = dice.one((2, 2), (3, 2), (3, 1), (5, 1), (3, 3))  # type: ignore[misc]
    edge = window // 2 if window > 2 else 0
    kind = dice.one("max", "avg")
    sizes = (
        f"pool_size=[{window}, {window}], strides=[{step}, {step}], padding=[{edge}, {edge}, {edge}, {edge}]"
    )
    return [(1, dice.size(3, 120), dice.size(14, 110), dice.size(14, 110))], f"nn.{kind}_pool2d(%p0, {sizes})"


def _product(dice: _Dice) -> Drawn:
    rows, inner, columns = dice.size(1, 400), dice.size(30, 1100), dice.size(30, 700)
    body = dice.one("nn.dense(%p0, %p1)", "nn.relu(nn.dense(%p0, %p1))", "tanh(nn.dense(%p0, %p1))")
    return [(rows, inner), (columns, inner)], str(body)


def _products(dice: _Dice) -> Drawn:
    batch, rows, inner, columns = dice.size(2, 32), *(dice.size(16, 200) for _ in range(3))
    return [(batch, rows, inner), (batch, columns, inner)], "nn.batch_matmul(%p0, %p1)"


def _convolved(dice: _Dice, inputs: int, outputs: int, groups: int, kernel: int) -> Drawn:
    size, step = dice.size(7, 70), dice.one(1, 1, 2)
    edge = kernel // 2
    body = (
        f"nn.conv2d(%p0, %p1, channels={outputs}, kernel_size=[{kernel}, {kernel}], groups={groups},"
        f" strides=[{step}, {step}], padding=[{edge}, {edge}, {edge}, {edge}])"
    )
    shapes = [(1, inputs, size, dice.size(7, 70)), (outputs, inputs // groups, kernel, kernel)]
    return shapes, str(dice.one(body, f"nn.relu({body})"))


def _first(dice: _Dice) -> Drawn:
    kernel = int(dice.one(3, 5, 7))  # type: ignore[call-overload]
    return _convolved(dice, dice.size(1, 4), dice.size(8, 64), 1, kernel)


def _odd_channels(dice: _Dice) -> Drawn:
    return _convolved(dice, dice.size(5, 70), dice.size(5, 70), 1, int(dice.one(1, 3)))  # type: ignore[call-overload]


def _in_groups(dice: _Dice) -> Drawn:
    groups = dice.size(2, 9)
    inputs, outputs = groups * dice.size(3, 60), groups * dice.size(3, 60)
    return _convolved(dice, inputs, outputs, groups, int(dice.one(1, 3)))  # type: ignore[call-overload]


def _depthwise(dice: _Dice) -> Drawn:
    channels = dice.size(5, 90)
    return _convolved(dice, channels, channels, channels, int(dice.one(3, 5)))  # type: ignore[call-overload]


def _conv1d(dice: _Dice) -> Drawn:
    inputs, outputs, kernel = dice.size(3, 60), dice.size(3, 60), int(dice.one(1, 3, 5, 9))  # type: ignore[call-overload]
    body = f"nn.conv1d(%p0, %p1, channels={outputs}, kernel_size=[{kernel}])"
    return [(dice.size(1, 3), inputs, dice.size(50, 900)), (outputs, inputs, kernel)], body


FAMILIES: tuple[Callable[[_Dice], Drawn], ...] = (
    *(_transposed, _bordered, _repeated, _resized, _concatenated, _sliced, _pointwise),
    *(_reduced, _distances, _softmax, _normed, _pooled, _product, _products),
    *(_first, _odd_channels, _in_groups, _depthwise, _conv1d),
)


def texts(count: int = OF_FAMILY) -> list[str]:
    """``count`` modules of each family, in relay's text form."""
    found = []
    for number, family in enumerate(FAMILIES):
        for one in range(count):
            shapes, body = family(_Dice(number, one))
            params = ", ".join(
                f"%p{n}: Tensor[({', '.join(map(str, shape))}), float32]" for n, shape in enumerate(shapes)
            )
            found.append(f"def @main({params}) {{ {body} }}")
    return found
