"""Recurrent layers over a whole sequence: nn.rnn_scan, nn.gru_scan, nn.lstm_scan.

The products of the inputs are one matrix product made before; here is what must go step by step. A sample's
steps from its length on leave its state alone and give zeros. Gates stand in ONNX's order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir import Call
from tvmlite.relay.op import Fuse, operator
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import agree, convert_numpy, expect_integers, fault, one_dtype
from tvmlite.relay.types import TensorType, TupleType, Type
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor import Tensor

LANES = 16
"""Columns that are computed as one, where their number allows it."""

ROWS = 4
"""Rows of the recurrence that are added in one go: the accumulators are read and written once for them."""

ACTIVATIONS = ("sigmoid", "tanh", "relu", "softsign", "affine", "leakyrelu", "scaledtanh", "hardsigmoid")

ATTRS: dict[str, Any] = {"reverse": False, "activations": (), "clip": None}
"""``activations`` are (name, alpha, beta), one a gate function; ``clip`` bounds what they are applied to."""


def _scan_type(gates: int, states: int, extra: int, functions: int) -> Callable[..., TupleType]:
    """The type relation: data, recurrence, ``extra`` parameters a gate, states, lengths."""

    def infer(call: Call, data: TensorType, recurrence: TensorType, *rest: TensorType) -> TupleType:
        dtype = one_dtype(call, data, recurrence, *rest[:-1])
        if not dtypes.is_float(dtype) or data.ndim != 3 or recurrence.ndim != 2:
            raise fault(call, f"data is {data}, recurrence is {recurrence}, expected floats of 3 and 2 axes")
        hidden = recurrence.shape[0]
        if not isinstance(hidden, int):
            raise fault(call, f"the hidden size is {hidden}, expected a number")
        agree(call, "the columns of the recurrence", recurrence.shape[1], gates * hidden)
        agree(call, "the last extent of the data", data.shape[2], gates * hidden)
        vectors, lengths = rest[:-1], rest[-1]
        if extra:
            agree(call, "the extra parameters", vectors[0].shape[0], extra * hidden)
            vectors = vectors[1:]
        for state in vectors:
            agree(call, "the states' batch", state.shape[0], data.shape[1])
            agree(call, "the states' size", state.shape[1], hidden)
        expect_integers(call, "lengths", lengths)
        agree(call, "the number of lengths", lengths.shape[0], data.shape[1])
        _check_activations(call, functions)
        state_type = TensorType((data.shape[1], hidden), dtype)
        whole: Type = TensorType((*data.shape[:2], hidden), dtype)
        return TupleType((whole, *[state_type] * states))

    return infer


def _check_activations(call: Call, count: int) -> None:
    given = call["activations"]
    if len(given) != count or any(len(row) != 3 or row[0] not in ACTIVATIONS for row in given):
        raise fault(call, f"activations are {given}, expected {count} of {', '.join(ACTIVATIONS)}")


# --- in numpy ---------------------------------------------------------------------------------------


def _applied_numpy(call: Call, which: int, x: np.ndarray) -> np.ndarray:
    name, alpha, beta = call["activations"][which]
    if call["clip"] is not None:
        x = np.clip(x, -call["clip"], call["clip"])
    with np.errstate(over="ignore"):
        made = {
            "sigmoid": lambda: 1 / (1 + np.exp(-x)),
            "tanh": lambda: np.tanh(x),
            "relu": lambda: np.maximum(x, 0),
            "softsign": lambda: x / (1 + np.abs(x)),
            "affine": lambda: alpha * x + beta,
            "leakyrelu": lambda: np.where(x < 0, alpha * x, x),
            "scaledtanh": lambda: alpha * np.tanh(beta * x),
            "hardsigmoid": lambda: np.clip(alpha * x + beta, 0, 1),
        }[name]()
    return made.astype(x.dtype)


def _scan_numpy(
    step: Callable[..., Sequence[np.ndarray]], states: int
) -> Callable[..., tuple[np.ndarray, ...]]:
    def reference(call: Call, data: np.ndarray, recurrence: np.ndarray, *rest: np.ndarray) -> Any:
        work = np.float64 if data.dtype == np.float64 else np.float32
        floats = [a.astype(work) for a in (recurrence, *rest[:-1])]
        parameters, now = floats[: len(floats) - states], floats[len(floats) - states :]
        out = np.zeros((*data.shape[:2], recurrence.shape[0]), work)
        order = range(len(data) - 1, -1, -1) if call["reverse"] else range(len(data))
        for time in order:
            inside = (time < rest[-1].astype(np.int64))[:, None]
            new = step(call, data[time].astype(work), *parameters, *now)
            now = [np.where(inside, a, b) for a, b in zip(new, now, strict=True)]
            out[time] = np.where(inside, new[0], 0)
        return tuple(convert_numpy(a, dtypes.check(data.dtype)) for a in (out, *now))

    return reference


def _rnn_numpy(call: Call, x: np.ndarray, recurrence: np.ndarray, h: np.ndarray) -> list[np.ndarray]:
    return [_applied_numpy(call, 0, x + h @ recurrence)]


def _gru_numpy(
    call: Call, x: np.ndarray, recurrence: np.ndarray, bias: np.ndarray, h: np.ndarray
) -> list[np.ndarray]:
    size = h.shape[1]
    old = h @ recurrence + bias
    z, r = (_applied_numpy(call, 0, x[:, i : i + size] + old[:, i : i + size]) for i in (0, size))
    last = slice(2 * size, None)
    kept = r * old[:, last] if call["linear_before_reset"] else (r * h) @ recurrence[:, last] + bias[last]
    return [(1 - z) * _applied_numpy(call, 1, x[:, last] + kept) + z * h]


def _quantized_numpy(h: np.ndarray) -> np.ndarray:
    """Each row as what 8 bits keep of it: its range, which holds 0, in 255 steps."""
    low, high = np.minimum(h.min(1, keepdims=True), 0), np.maximum(h.max(1, keepdims=True), 0)
    step = (high - low) / h.dtype.type(255)
    step = np.where(step == 0, h.dtype.type(1), step)
    zero = np.rint(-low / step)
    return (np.clip(np.rint(h / step) + zero, 0, 255) - zero) * step


def _lstm_numpy(
    call: Call, x: np.ndarray, recurrence: np.ndarray, peephole: np.ndarray, h: np.ndarray, c: np.ndarray
) -> list[np.ndarray]:
    seen = _quantized_numpy(h) if call["quantized"] else h
    i, o, f, g = np.split(x + seen @ recurrence, 4, axis=1)
    windows = np.split(peephole, 3) if call["peephole"] else [np.zeros((), h.dtype)] * 3
    i = _applied_numpy(call, 0, i + windows[0] * c)
    f = 1 - i if call["input_forget"] else _applied_numpy(call, 0, f + windows[2] * c)
    c = f * c + i * _applied_numpy(call, 1, g)
    o = _applied_numpy(call, 0, o + windows[1] * c)
    return [o * _applied_numpy(call, 2, c), c]


# --- in loops ---------------------------------------------------------------------------------------


def _applied(call: Call, which: int, x: e.Expr) -> e.Expr:
    """The gate function number ``which`` of ``x``."""
    name, alpha, beta = call["activations"][which]
    if call["clip"] is not None:
        x = e.Max(*e.match(e.Min(*e.match(x, float(call["clip"]))), -float(call["clip"])))
    zero, one = e.const(0, x.dtype), e.const(1, x.dtype)
    if name in ("sigmoid", "tanh"):
        return e.Call(name, (x,), x.dtype)
    if name == "relu":
        return e.Max(x, zero)
    if name == "softsign":
        return x / (e.Call("abs", (x,), x.dtype) + one)
    if name == "leakyrelu":
        return e.Select(x < zero, x * float(alpha), x)
    if name == "scaledtanh":
        return e.Call("tanh", (x * float(beta),), x.dtype) * float(alpha)
    line = x * float(alpha) + float(beta)
    return line if name == "affine" else e.Min(e.Max(line, zero), one)


class _Scan:
    """The loops of one layer: samples in parallel, steps in order, a gate's columns together."""

    def __init__(self, call: Call, data: Tensor, recurrence: Tensor, states: int) -> None:
        self.call, self.states = call, states
        self.steps, self.batch, _ = data.shape
        size = recurrence.shape[0]
        assert isinstance(size, int)
        self.size, self.work = size, "float64" if data.dtype == "float64" else "float32"

    def over_columns(self, count: int, body: Callable[[e.Expr], loop.Stmt]) -> loop.Stmt:
        """``body`` of each column, in vectors where they divide evenly."""
        if count % LANES:
            return loops.over(count, body, "j")
        return loops.over(
            count // LANES,
            lambda block: loops.over(LANES, lambda j: body(block * LANES + j), "jj", kind=loop.VECTORIZE),
            "j",
        )

    def multiplied(
        self,
        total: loop.Buffer,
        state: loop.Buffer,
        matrix: loop.Buffer,
        begin: int,
        count: int,
        time: e.Expr,
    ) -> loop.Stmt:
        """``total[j] += state @ matrix[:, j]`` for ``count`` columns from ``begin`` on.

        Every other step goes through the rows backwards: of a matrix that is a little larger than a cache,
        most is still there from the step before.
        """
        rows = ROWS if self.size % ROWS == 0 else 1
        last = self.size // rows - 1

        def block(n: e.Expr) -> loop.Stmt:
            k = n + (time % 2) * (last - n * 2)

            def column(j: e.Expr) -> loop.Stmt:
                value = loops.load(total, begin + j)
                for row in range(rows):
                    at = k * rows + row
                    value = value + loops.load(state, at) * e.cast(
                        self.work, loops.load(matrix, at, begin + j)
                    )
                return loops.store(total, (begin + j,), value)

            return self.over_columns(count, column)

        return loops.over(self.size // rows, block, "k")

    def tensors(
        self,
        name: str,
        inputs: Sequence[Tensor],
        dtype: str,
        step: Callable[..., loop.Stmt],
    ) -> list[Tensor]:
        """The operator's results; ``step(time, sample, buffers, states)`` changes the states for one step."""

        def body(*buffers: loop.Buffer) -> loop.Stmt:
            given, out = buffers[: len(inputs)], buffers[len(inputs) :]

            def sample(b: e.Expr) -> loop.Stmt:
                states = [loops.buffer(f"state{k}", (self.size,), self.work) for k in range(self.states)]
                initial = given[len(given) - 1 - self.states : len(given) - 1]
                begin = [
                    self.copied(one, (b,), state, ()) for one, state in zip(initial, states, strict=True)
                ]
                end = [self.copied(state, (), one, (b,)) for one, state in zip(out[1:], states, strict=True)]
                length = e.cast(loops.INT, loops.load(given[-1], b))

                def turn(s: e.Expr) -> loop.Stmt:
                    time = loops.index(self.steps) - 1 - s if self.call["reverse"] else s
                    done = loop.sequence(
                        step(time, b, given, states), self.copied(states[0], (), out[0], (time, b))
                    )
                    zeros = self.over_columns(
                        self.size, lambda j: loops.store(out[0], (time, b, j), e.const(0, dtype))
                    )
                    return loop.If(time < length, done, zeros)

                whole = loop.sequence(*begin, loops.over(self.steps, turn, "t"), *end)
                return loops.allocated(whole, *states)

            return loops.over(self.batch, sample, "b", kind=loop.PARALLEL)

        shapes = [((self.steps, self.batch, self.size), dtype)]
        shapes += [((self.batch, self.size), dtype)] * self.states
        return loops.extern(name, inputs, shapes, body)

    def copied(
        self, source: loop.Buffer, lead: tuple[Any, ...], target: loop.Buffer, to: tuple[Any, ...]
    ) -> loop.Stmt:
        """One row of numbers copied, converted on the way."""
        return self.over_columns(
            self.size, lambda j: loops.store(target, (*to, j), loops.load(source, *lead, j))
        )

    def quantized(self, state: loop.Buffer, seen: loop.Buffer) -> loop.Stmt:
        """``seen`` is what 8 bits keep of ``state``: its range, which holds 0, in 255 steps."""
        ends = loops.buffer("ends", (2,), self.work)

        def widen(j: e.Expr) -> loop.Stmt:
            value = loops.load(state, j)
            return loop.sequence(
                loops.store(ends, (0,), e.Min(loops.load(ends, 0), value)),
                loops.store(ends, (1,), e.Max(loops.load(ends, 1), value)),
            )

        def rounded(value: e.Expr) -> e.Expr:
            return e.Call("round", (value,), self.work)

        low, width = loops.load(ends, 0), loops.load(ends, 1) - loops.load(ends, 0)
        step = e.Select(width > 0.0, width / 255.0, e.const(1.0, self.work))
        zero = rounded((0.0 - low) / step)

        def put(j: e.Expr) -> loop.Stmt:
            code = rounded(loops.load(state, j) / step) + zero
            code = e.Max(e.Min(code, e.const(255.0, self.work)), e.const(0.0, self.work))
            return loops.store(seen, (j,), (code - zero) * step)

        begin = [loops.store(ends, (k,), e.const(0.0, self.work)) for k in (0, 1)]
        body = loop.sequence(*begin, loops.over(self.size, widen, "j"), self.over_columns(self.size, put))
        return loops.allocated(body, ends)

    def begun(self, total: loop.Buffer, count: int, first: Callable[[e.Expr], e.Expr]) -> loop.Stmt:
        return self.over_columns(count, lambda j: loops.store(total, (j,), first(j)))


def _row(scan: _Scan, data: loop.Buffer, time: e.Expr, b: e.Expr) -> Callable[[Any], e.Expr]:
    return lambda j: e.cast(scan.work, loops.load(data, time, b, j))


@operator(
    "nn.rnn_scan",
    infer=_scan_type(1, 1, 0, 1),
    reference=_scan_numpy(_rnn_numpy, 1),
    fuse=Fuse.OPAQUE,
    attrs=ATTRS,
    schedule="extern",
)
def rnn_scan(call: Call, data: Tensor, recurrence: Tensor, hidden: Tensor, lengths: Tensor) -> list[Tensor]:
    """``h = f(data[t] + h @ recurrence)`` for each step: all of ``h``, and the last."""
    scan = _Scan(call, data, recurrence, 1)

    def step(time: e.Expr, b: e.Expr, given: Sequence[loop.Buffer], states: list[loop.Buffer]) -> loop.Stmt:
        total, (state,) = loops.buffer("total", (scan.size,), scan.work), states
        put = scan.over_columns(
            scan.size, lambda j: loops.store(state, (j,), _applied(call, 0, loops.load(total, j)))
        )
        body = loop.sequence(
            scan.begun(total, scan.size, _row(scan, given[0], time, b)),
            scan.multiplied(total, state, given[1], 0, scan.size, time),
            put,
        )
        return loops.allocated(body, total)

    return scan.tensors("rnn_scan", [data, recurrence, hidden, lengths], data.dtype, step)


@operator(
    "nn.gru_scan",
    infer=_scan_type(3, 1, 3, 2),
    reference=_scan_numpy(_gru_numpy, 1),
    fuse=Fuse.OPAQUE,
    attrs={**ATTRS, "linear_before_reset": False},
    schedule="extern",
)
def gru_scan(
    call: Call, data: Tensor, recurrence: Tensor, bias: Tensor, hidden: Tensor, lengths: Tensor
) -> list[Tensor]:
    """Gates update, reset, new; ``bias`` belongs to the recurrence. All states, and the last."""
    scan = _Scan(call, data, recurrence, 1)
    size, before = scan.size, bool(call["linear_before_reset"])

    def step(time: e.Expr, b: e.Expr, given: Sequence[loop.Buffer], states: list[loop.Buffer]) -> loop.Stmt:
        (state,), row = states, _row(scan, given[0], time, b)
        total = loops.buffer("total", (3 * size,), scan.work)
        gates, masked = (loops.buffer(n, (size,), scan.work) for n in ("update", "masked"))

        def gate(j: e.Expr, which: int) -> e.Expr:
            return _applied(call, 0, row(which * size + j) + loops.load(total, which * size + j))

        def reset(j: e.Expr) -> loop.Stmt:
            old = loops.load(total, 2 * size + j) if before else loops.load(state, j)
            return loop.sequence(
                loops.store(gates, (j,), gate(j, 0)), loops.store(masked, (j,), gate(j, 1) * old)
            )

        def new(j: e.Expr) -> loop.Stmt:
            kept = loops.load(masked, j) if before else loops.load(total, 2 * size + j)
            z = loops.load(gates, j)
            made = (1.0 - z) * _applied(call, 1, row(2 * size + j) + kept) + z * loops.load(state, j)
            return loops.store(state, (j,), made)

        begin = scan.begun(total, 3 * size, lambda j: e.cast(scan.work, loops.load(given[2], j)))
        first = scan.multiplied(total, state, given[1], 0, 3 * size if before else 2 * size, time)
        more = [] if before else [scan.multiplied(total, masked, given[1], 2 * size, size, time)]
        rest = [scan.over_columns(size, reset), *more, scan.over_columns(size, new)]
        return loops.allocated(loop.sequence(begin, first, *rest), total, gates, masked)

    return scan.tensors("gru_scan", [data, recurrence, bias, hidden, lengths], data.dtype, step)


@operator(
    "nn.lstm_scan",
    infer=_scan_type(4, 2, 3, 3),
    reference=_scan_numpy(_lstm_numpy, 2),
    fuse=Fuse.OPAQUE,
    attrs={**ATTRS, "peephole": False, "input_forget": False, "quantized": False},
    schedule="extern",
)
def lstm_scan(
    call: Call,
    data: Tensor,
    recurrence: Tensor,
    peephole: Tensor,
    hidden: Tensor,
    cell: Tensor,
    lengths: Tensor,
) -> list[Tensor]:
    """Gates input, output, forget, cell. All hidden states, the last one, and the last cell.

    ``quantized``: each sample's hidden state is rounded to 255 steps of its range before each product.
    """
    scan = _Scan(call, data, recurrence, 2)
    size = scan.size

    def step(time: e.Expr, b: e.Expr, given: Sequence[loop.Buffer], states: list[loop.Buffer]) -> loop.Stmt:
        h, c = states
        total = loops.buffer("total", (4 * size,), scan.work)

        def looking(j: e.Expr, which: int, window: int, at: e.Expr) -> e.Expr:
            value = loops.load(total, which * size + j)
            if not call["peephole"]:
                return value
            return value + e.cast(scan.work, loops.load(given[2], window * size + j)) * at

        def cells(j: e.Expr) -> loop.Stmt:
            old = loops.load(c, j)
            i = _applied(call, 0, looking(j, 0, 0, old))
            f = 1.0 - i if call["input_forget"] else _applied(call, 0, looking(j, 2, 2, old))
            g = _applied(call, 1, loops.load(total, 3 * size + j))
            return loops.store(c, (j,), f * old + i * g)

        def outputs(j: e.Expr) -> loop.Stmt:
            o = _applied(call, 0, looking(j, 1, 1, loops.load(c, j)))
            return loops.store(h, (j,), o * _applied(call, 2, loops.load(c, j)))

        seen = loops.buffer("seen", (size,), scan.work) if call["quantized"] else h
        body = loop.sequence(
            scan.begun(total, 4 * size, _row(scan, given[0], time, b)),
            *([scan.quantized(h, seen)] if call["quantized"] else []),
            scan.multiplied(total, seen, given[1], 0, 4 * size, time),
            scan.over_columns(size, cells),
            scan.over_columns(size, outputs),
        )
        return loops.allocated(body, total, *([seen] if call["quantized"] else []))

    inputs = [data, recurrence, peephole, hidden, cell, lengths]
    return scan.tensors("lstm_scan", inputs, data.dtype, step)
