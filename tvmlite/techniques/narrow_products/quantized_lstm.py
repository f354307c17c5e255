"""nn.quantized_lstm_scan: an LSTM whose states are quantized to 8 bits before each integer product.

The recurrence is (blocks, quads, gates, lanes * 4) of int8, so that the operands of ``vpdpbusd`` are
contiguous: element (b, k, g, j * 4 + i) is the weight of state ``k * 4 + i`` for gate g of unit
``b * lanes + j``. Elements beyond the hidden size are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import TensorType, TupleType
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import expect_extent, fault
from tvmlite.relay.ops.recurrent.layers import (
    LSTM_ATTRS,
    check_activations,
    lstm_gates_numpy,
    lstm_unit,
    require_ranks,
    scanned_numpy,
    states_type,
)
from tvmlite.relay.ops.recurrent.steps import LANES, Accumulators, Memory, Position, Steps, Work
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.techniques.common.quads import QUAD
from tvmlite.techniques.narrow_products.quad_products import quad_products

GATES = 4


def quantized_lstm_type(
    call: Call, data: TensorType, recurrence: TensorType, peephole: TensorType, *rest: TensorType
) -> TupleType:
    """The type relation. ``scales``, ``zeros`` and ``sums`` have one element per gate and unit, like the last
    axis of ``data``."""
    *columns, hidden, cell, lengths = rest
    if data.dtype != "float32" or data.ndim != 3 or recurrence.dtype != "int8" or recurrence.ndim != 4:
        raise fault(
            call, f"data is {data}, recurrence is {recurrence}, expected float32 and int8 of 3 and 4 axes"
        )
    require_ranks(call, (peephole, *rest), (1, 1, 1, 1, 2, 2, 1))
    size = hidden.shape[-1]
    if not isinstance(size, int):
        raise fault(call, f"the hidden size is {size}, expected a number")
    expected = (-(-size // LANES), -(-size // QUAD), GATES, LANES * QUAD)
    for name, have, want in zip(
        ("blocks", "quads", "gates", "lanes"), recurrence.shape, expected, strict=True
    ):
        expect_extent(call, f"the {name} of the recurrence", have, want)
    expect_extent(call, "the last extent of the data", data.shape[2], GATES * size)
    for name, one, dtype in zip(
        ("scales", "zeros", "sums"), columns, ("float32", "int32", "int32"), strict=True
    ):
        if one.dtype != dtype or one.ndim != 1:
            raise fault(call, f"{name} are {one}, expected {dtype} of one axis")
        expect_extent(call, f"the number of {name}", one.shape[0], GATES * size)
    expect_extent(call, "the peepholes", peephole.shape[0], 3 * size)
    check_activations(call, 3)
    return states_type(call, data, size, (hidden, cell, lengths))


def quantized_lstm_numpy(
    call: Call, data: np.ndarray, recurrence: np.ndarray, peephole: np.ndarray, *rest: np.ndarray
) -> Any:
    """The reference: the packed recurrence is unpacked and each state quantized before its product."""
    scales, zeros, sums, *states = rest
    size = states[0].shape[1]
    blocks, quads, gates, _ = recurrence.shape
    parts = recurrence.reshape(blocks, quads, gates, LANES, QUAD).transpose(1, 4, 2, 0, 3)
    weights = parts.reshape(quads * QUAD, gates, -1)[:size, :, :size].reshape(size, -1).astype(np.int32)

    def step(call: Call, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> Any:
        codes, scale, zero = _quantized_numpy(h)
        total = codes @ weights - zero * sums - codes.sum(1, keepdims=True, dtype=np.int32) * zeros
        return lstm_gates_numpy(call, x + total.astype(np.float32) * (scale * scales), peephole, h, c)

    return scanned_numpy(call, step, data, [], states)


def _quantized_numpy(h: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The codes of each row (its range, extended to 0, in 255 steps), and their scales and zero points."""
    low, high = np.minimum(h.min(1, keepdims=True), 0), np.maximum(h.max(1, keepdims=True), 0)
    scale = (high - low) / np.float32(255)
    scale = np.where(scale == 0, np.float32(1), scale)
    zero = np.rint(-low / scale)
    codes = np.clip(np.rint(h / scale) + zero, 0, 255)
    return codes.astype(np.int32), scale, zero.astype(np.int32)


@statement(
    "nn.quantized_lstm_scan", infer=quantized_lstm_type, reference=quantized_lstm_numpy, attrs=LSTM_ATTRS
)
def quantized_lstm_scan(
    call: Call,
    data: Tensor,
    recurrence: Tensor,
    peephole: Tensor,
    scales: Tensor,
    zeros: Tensor,
    sums: Tensor,
    hidden: Tensor,
    cell: Tensor,
    lengths: Tensor,
) -> list[Tensor]:
    """``nn.lstm_scan`` with the real weights ``(recurrence - zeros) * scales``, per column.

    Before each product, a sample's hidden state is quantized to 255 steps of its range; products and sums are
    integers. ``sums`` are the sums of the columns of ``recurrence - zeros``.
    """
    steps = _QuantizedSteps(call, data, recurrence, hidden)
    cells = steps.state_buffer("cells")

    def step(iteration: e.Expr, time: e.Expr, memory: Memory) -> loop.Stmt:
        def unit(at: Position, n: e.Expr, total: Callable[[int], e.Expr]) -> loop.Stmt:
            return lstm_unit(steps, memory, cells, at, n, lambda g: steps.real(memory, at, g, n, total(g)))

        products = steps.run_parallel(iteration, time, memory, Work(steps.load_state, range(GATES), unit))
        return loop.sequence(steps.quantized(iteration, memory), products)

    inputs = [data, recurrence, peephole, scales, zeros, sums, hidden, cell, lengths]
    return steps.tensors("quantized_lstm_scan", inputs, [cells], steps.memory, step)


class _QuantizedSteps(Steps):
    """Steps with integer products of ``codes`` of the states. Each sample has a ``scale`` and two ``totals``:
    the zero point and the sum of its codes."""

    def __init__(self, call: Call, data: Tensor, recurrence: Tensor, hidden: Tensor) -> None:
        self._size = hidden.shape[1]
        super().__init__(call, data, recurrence)
        self.rows, self.sums = -(-self.size // QUAD), "int32"
        self.codes = loops.buffer("codes", (self.batch, self.rows * QUAD), "uint8")
        self.scale = loops.buffer("scale", (self.batch,), "float32")
        self.totals = loops.buffer("totals", (self.batch, 2), "int32")
        self.memory = [self.codes, self.scale, self.totals]

    def extents(self, recurrence: Tensor) -> tuple[Any, ...]:
        return recurrence.shape[0], self._size, GATES, LANES

    def add_row(self, total: Accumulators, chain: int, k: e.Expr, memory: Memory, work: Work) -> loop.Stmt:
        products = []
        for gate in work.gates:
            for sample, at in enumerate(total.ats):
                sums = total.buffer, (total.row(chain, sample, gate), 0)
                codes, weights = (at.sample, k * QUAD), (at.block, k, gate, 0)
                products.append(
                    quad_products(*sums, self.codes, codes, memory.recurrence, weights, self.lanes)
                )
        return loop.sequence(*products)

    def real(self, memory: Memory, at: Position, gate: int, unit: e.Expr, total: e.Expr) -> e.Expr:
        """The real value of a sum of products of codes and weights."""
        scales, zeros, sums = memory.inputs[3:6]
        column = unit + gate * self.size
        zero, codes = (loops.load(self.totals, at.sample, k) for k in (0, 1))
        total = total - zero * loops.load(sums, column) - codes * loops.load(zeros, column)
        return e.cast("float32", total) * (loops.load(self.scale, at.sample) * loops.load(scales, column))

    def quantized(self, iteration: e.Expr, memory: Memory) -> loop.Stmt:
        """Quantize each sample's output state: its range, extended to 0, in 255 steps."""
        return loops.over(memory.count, lambda n: self._quantized(iteration % 2, memory.begin + n), "b")

    def _quantized(self, now: e.Expr, sample: e.Expr) -> loop.Stmt:
        def state(unit: e.Expr) -> e.Expr:
            return loops.load(self.hidden, now, sample, unit)

        return loop.sequence(self._compute_scale(sample, state), self._compute_codes(sample, state))

    def _compute_scale(self, sample: e.Expr, state: Callable[[e.Expr], e.Expr]) -> loop.Stmt:
        """Compute the scale and zero point of a sample."""
        low, high = (loops.buffer(name, (LANES,), "float32") for name in ("low", "high"))

        def widen(j: e.Expr, unit: e.Expr) -> loop.Stmt:
            return loop.sequence(
                loops.store(low, (j,), e.Min(loops.load(low, j), state(unit))),
                loops.store(high, (j,), e.Max(loops.load(high, j), state(unit))),
            )

        width = loops.load(high, 0) - loops.load(low, 0)
        scale = e.Select(width > 0.0, width / 255.0, e.const(1.0, "float32"))
        zero = _rounded((0.0 - loops.load(low, 0)) / loops.load(self.scale, sample))
        body = loop.sequence(
            *(
                _over_lanes(LANES, lambda j, b=b: loops.store(b, (j,), e.const(0.0, b.dtype)))
                for b in (low, high)
            ),  # type: ignore[misc]
            _over_units(self.size, widen),
            _reduce_lanes(low, e.Min),
            _reduce_lanes(high, e.Max),
            loops.store(self.scale, (sample,), scale),
            loops.store(self.totals, (sample, 0), zero),
        )
        return loops.allocated(body, low, high)

    def _compute_codes(self, sample: e.Expr, state: Callable[[e.Expr], e.Expr]) -> loop.Stmt:
        """Compute the codes of a sample, followed by zeros, and their sum."""
        count = loops.buffer("count", (LANES,), "int32")
        step = loops.load(self.scale, sample)
        zero = e.cast("float32", loops.load(self.totals, sample, 0))

        def put(j: e.Expr, unit: e.Expr) -> loop.Stmt:
            code = e.Min(_rounded(state(unit) / step) + zero, e.const(255.0, "float32"))
            whole = e.cast("int32", e.Max(code, e.const(0.0, "float32")))
            return loops.let(
                "code",
                whole,
                lambda code: loop.sequence(
                    loops.store(self.codes, (sample, unit), code),
                    loops.store(count, (j,), loops.load(count, j) + code),
                ),
            )

        behind = range(self.size, self.rows * QUAD)
        body = loop.sequence(
            _over_lanes(LANES, lambda j: loops.store(count, (j,), e.const(0, "int32"))),
            _over_units(self.size, put),
            _reduce_lanes(count, e.Add),
            loops.store(self.totals, (sample, 1), loops.load(count, 0)),
            *(loops.store(self.codes, (sample, n), e.const(0, "uint8")) for n in behind),
        )
        return loops.allocated(body, count)


def _rounded(value: e.Expr) -> e.Expr:
    return e.Call("round", (value,), "float32")


def _over_lanes(count: int, make: Callable[[e.Expr], loop.Stmt]) -> loop.Stmt:
    return loops.over(count, make, "j", kind=loop.VECTORIZE)


def _over_units(size: int, make: Callable[[e.Expr, e.Expr], loop.Stmt]) -> loop.Stmt:
    """``make(lane, unit)`` for all units, in vectors except for the remainder."""
    whole = size // LANES
    vectors = loops.over(whole, lambda n: _over_lanes(LANES, lambda j: make(j, n * LANES + j)), "n")
    rest = loops.over(size % LANES, lambda j: make(j, j + whole * LANES), "j")
    return loop.sequence(*([vectors] if whole else []), *([rest] if size % LANES else []))


def _reduce_lanes(values: loop.Buffer, combine: Callable[[e.Expr, e.Expr], e.Expr]) -> loop.Stmt:
    """Combine all ``values`` into the first, by halving."""

    def halved(count: int) -> loop.Stmt:
        return _over_lanes(
            count,
            lambda j: loops.store(
                values, (j,), combine(loops.load(values, j), loops.load(values, j + count))
            ),
        )

    return loop.sequence(*(halved(LANES >> n) for n in range(1, LANES.bit_length())))
