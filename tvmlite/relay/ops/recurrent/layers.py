"""Recurrent layers over a whole sequence: nn.rnn_scan, nn.gru_scan, nn.lstm_scan.

Their data, (steps, batch, gates * size), are the products with the inputs, computed before as one matrix
product. These operators are the sequential rest. From its length on, a sample's steps leave its state
unchanged and give zeros. Gates are in ONNX's order.

The recurrence is (blocks, size, gates, lanes), so that the weights of a block of units are contiguous:
element (b, k, g, j) is the weight of state k in gate g of unit ``b * lanes + j``. Units beyond the size are
padding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import TensorType, TupleType, Type
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import INTEGERS, convert_numpy, expect, expect_extent, fault, one_dtype
from tvmlite.relay.ops.recurrent.steps import LANES, Memory, Position, Steps, Work
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor

ACTIVATIONS = ("sigmoid", "tanh", "relu", "softsign", "affine", "leakyrelu", "scaledtanh", "hardsigmoid")

ATTRS: dict[str, Any] = {"reverse": False, "activations": (), "clip": None}
"""``activations`` are (name, alpha, beta), one per gate function; ``clip`` bounds their operands."""


def _scan_type(gates: int, states: int, extra: int, functions: int) -> Callable[..., TupleType]:
    """Return the type relation: data, recurrence, ``extra`` parameters per gate, states, lengths."""

    def infer(call: Call, data: TensorType, recurrence: TensorType, *rest: TensorType) -> TupleType:
        dtype = one_dtype(call, data, recurrence, *rest[:-1])
        if not dtypes.is_float(dtype) or data.ndim != 3 or recurrence.ndim != 4:
            raise fault(call, f"data is {data}, recurrence is {recurrence}, expected floats of 3 and 4 axes")
        ranks = (*(1,) * bool(extra), *(2,) * (len(rest) - 1 - bool(extra)), 1)
        require_ranks(call, rest, ranks)
        hidden = recurrence.shape[1]
        if not isinstance(hidden, int):
            raise fault(call, f"the hidden size is {hidden}, expected a number")
        lanes = recurrence.shape[3]
        if not isinstance(lanes, int) or lanes % LANES or not lanes:
            raise fault(call, f"the lanes of the recurrence are {lanes}, expected a multiple of {LANES}")
        expect_extent(call, "the blocks of the recurrence", recurrence.shape[0], -(-hidden // lanes))
        expect_extent(call, "the gates of the recurrence", recurrence.shape[2], gates)
        expect_extent(call, "the last extent of the data", data.shape[2], gates * hidden)
        if extra:
            expect_extent(call, "the extra parameters", rest[0].shape[0], extra * hidden)
        check_activations(call, functions)
        return states_type(call, data, hidden, rest[-1 - states :])

    return infer


def require_ranks(call: Call, rest: Sequence[TensorType], ranks: Sequence[int]) -> None:
    """Raise a type error if the arguments after the recurrence do not have these ``ranks``."""
    if [one.ndim for one in rest] != [*ranks]:
        given = ", ".join(map(str, rest))
        raise fault(call, f"the arguments after the recurrence are {given}, expected ranks {tuple(ranks)}")


def states_type(call: Call, data: TensorType, hidden: int, rest: Sequence[TensorType]) -> TupleType:
    """Return the types of a layer of ``hidden`` units; ``rest`` are its states and the lengths."""
    *vectors, lengths = rest
    for state in vectors:
        expect_extent(call, "the states' batch", state.shape[0], data.shape[1])
        expect_extent(call, "the states' size", state.shape[1], hidden)
    expect(call, "lengths are", lengths.dtype, INTEGERS)
    expect_extent(call, "the number of lengths", lengths.shape[0], data.shape[1])
    state_type = TensorType((data.shape[1], hidden), data.dtype)
    whole: Type = TensorType((*data.shape[:2], hidden), data.dtype)
    return TupleType((whole, *[state_type] * len(vectors)))


def check_activations(call: Call, count: int) -> None:
    """Raise a type error unless ``count`` known gate functions are given."""
    given = call["activations"]
    if len(given) != count or any(name not in ACTIVATIONS for name, _, _ in given):
        raise fault(call, f"activations are {given}, expected {count} of {', '.join(ACTIVATIONS)}")


# --- in numpy ---------------------------------------------------------------------------------------


def _activate_numpy(call: Call, number: int, x: np.ndarray) -> np.ndarray:
    name, alpha, beta = call["activations"][number]
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


def _recurrence_matrix(recurrence: np.ndarray) -> np.ndarray:
    """The recurrence as a matrix (size, gates * size)."""
    blocks, size, gates, lanes = recurrence.shape
    return (
        recurrence.transpose(1, 2, 0, 3).reshape(size, gates, blocks * lanes)[:, :, :size].reshape(size, -1)
    )


def _scan_numpy(
    step: Callable[..., Sequence[np.ndarray]], states: int
) -> Callable[..., tuple[np.ndarray, ...]]:
    """Return the reference of a layer, step by step."""

    def reference(call: Call, data: np.ndarray, recurrence: np.ndarray, *rest: np.ndarray) -> Any:
        work = np.float64 if data.dtype == np.float64 else np.float32
        parameters = [a.astype(work) for a in (_recurrence_matrix(recurrence), *rest[: -1 - states])]
        return scanned_numpy(call, step, data, parameters, rest[-1 - states :])

    return reference


def scanned_numpy(
    call: Call,
    step: Callable[..., Sequence[np.ndarray]],
    data: np.ndarray,
    parameters: Sequence[np.ndarray],
    rest: Sequence[np.ndarray],
) -> tuple[np.ndarray, ...]:
    """Return all hidden states, and the last states; ``rest`` is the initial states, and the lengths."""
    work = np.float64 if data.dtype == np.float64 else np.float32
    states = [a.astype(work) for a in rest[:-1]]
    out = np.zeros((*data.shape[:2], states[0].shape[1]), work)
    order = range(len(data) - 1, -1, -1) if call["reverse"] else range(len(data))
    for time in order:
        active = (time < rest[-1].astype(np.int64))[:, None]
        new = step(call, data[time].astype(work), *parameters, *states)
        states = [np.where(active, a, b) for a, b in zip(new, states, strict=True)]
        out[time] = np.where(active, new[0], 0)
    return tuple(convert_numpy(a, dtypes.check(data.dtype)) for a in (out, *states))


def _rnn_numpy(call: Call, x: np.ndarray, recurrence: np.ndarray, h: np.ndarray) -> list[np.ndarray]:
    return [_activate_numpy(call, 0, x + h @ recurrence)]


def _gru_numpy(
    call: Call, x: np.ndarray, recurrence: np.ndarray, bias: np.ndarray, h: np.ndarray
) -> list[np.ndarray]:
    size = h.shape[1]
    old = h @ recurrence + bias
    z, r = (_activate_numpy(call, 0, x[:, i : i + size] + old[:, i : i + size]) for i in (0, size))
    last = slice(2 * size, None)
    kept = r * old[:, last] if call["linear_before_reset"] else (r * h) @ recurrence[:, last] + bias[last]
    return [(1 - z) * _activate_numpy(call, 1, x[:, last] + kept) + z * h]


def _lstm_numpy(
    call: Call, x: np.ndarray, recurrence: np.ndarray, peephole: np.ndarray, h: np.ndarray, c: np.ndarray
) -> list[np.ndarray]:
    return lstm_gates_numpy(call, x + h @ recurrence, peephole, h, c)


def lstm_gates_numpy(
    call: Call, sums: np.ndarray, peephole: np.ndarray, h: np.ndarray, c: np.ndarray
) -> list[np.ndarray]:
    """Return the states after a step whose products sum to ``sums``."""
    i, o, f, g = np.split(sums, 4, axis=1)
    windows = np.split(peephole, 3) if call["with_peephole"] else [np.zeros((), h.dtype)] * 3
    i = _activate_numpy(call, 0, i + windows[0] * c)
    f = 1 - i if call["input_forget"] else _activate_numpy(call, 0, f + windows[2] * c)
    c = f * c + i * _activate_numpy(call, 1, g)
    o = _activate_numpy(call, 0, o + windows[1] * c)
    return [o * _activate_numpy(call, 2, c), c]


# --- in loops ---------------------------------------------------------------------------------------


def _activate(call: Call, number: int, x: e.Expr) -> e.Expr:
    """Apply the gate function ``number`` to ``x``."""
    name, alpha, beta = call["activations"][number]
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


@statement("nn.rnn_scan", infer=_scan_type(1, 1, 0, 1), reference=_scan_numpy(_rnn_numpy, 1), attrs=ATTRS)
def rnn_scan(call: Call, data: Tensor, recurrence: Tensor, hidden: Tensor, lengths: Tensor) -> list[Tensor]:
    """``h = f(data[t] + h @ recurrence)`` for each step ``t``. Return all ``h``, and the last."""
    steps = Steps(call, data, recurrence)

    def step(iteration: e.Expr, time: e.Expr, memory: Memory) -> loop.Stmt:
        def unit(at: Position, n: e.Expr, total: Callable[[int], e.Expr]) -> loop.Stmt:
            value = _activate(call, 0, steps.load_input(memory, at, 0, n) + total(0))
            return steps.store_state(at, memory, n, value)

        return steps.run_parallel(iteration, time, memory, Work(steps.load_state, range(1), unit))

    return steps.tensors("rnn_scan", [data, recurrence, hidden, lengths], [], [], step)


@statement(
    "nn.gru_scan",
    infer=_scan_type(3, 1, 3, 2),
    reference=_scan_numpy(_gru_numpy, 1),
    attrs={**ATTRS, "linear_before_reset": False},
)
def gru_scan(
    call: Call, data: Tensor, recurrence: Tensor, bias: Tensor, hidden: Tensor, lengths: Tensor
) -> list[Tensor]:
    """A GRU with gates update, reset, new; ``bias`` is the recurrence's. Return all states, and the last."""
    steps = Steps(call, data, recurrence)
    inputs, linear_before_reset = [data, recurrence, bias, hidden, lengths], call["linear_before_reset"]
    update, reset_state = steps.state_buffer("update"), steps.state_buffer("masked")

    def step(iteration: e.Expr, time: e.Expr, memory: Memory) -> loop.Stmt:
        def recurrent_sum(gate: int, n: e.Expr, total: Callable[[int], e.Expr]) -> e.Expr:
            return total(gate) + steps.load(memory.inputs[2], gate * steps.size + n)

        def gate(number: int, at: Position, n: e.Expr, total: Callable[[int], e.Expr]) -> e.Expr:
            return _activate(
                call, 0, steps.load_input(memory, at, number, n) + recurrent_sum(number, n, total)
            )

        def blend(at: Position, n: e.Expr, z: e.Expr, recurrent: e.Expr) -> loop.Stmt:
            new = _activate(call, 1, steps.load_input(memory, at, 2, n) + recurrent)
            return steps.store_state(at, memory, n, (1.0 - z) * new + z * steps.load_state(at, n))

        def single_pass(at: Position, n: e.Expr, total: Callable[[int], e.Expr]) -> loop.Stmt:
            return blend(at, n, gate(0, at, n, total), gate(1, at, n, total) * recurrent_sum(2, n, total))

        def first_pass(at: Position, n: e.Expr, total: Callable[[int], e.Expr]) -> loop.Stmt:
            return loop.sequence(
                loops.store(update, (at.sample, n), gate(0, at, n, total)),
                loops.store(reset_state, (at.sample, n), gate(1, at, n, total) * steps.load_state(at, n)),
            )

        def second_pass(at: Position, n: e.Expr, total: Callable[[int], e.Expr]) -> loop.Stmt:
            return blend(at, n, loops.load(update, at.sample, n), recurrent_sum(2, n, total))

        if linear_before_reset:
            return steps.run_parallel(iteration, time, memory, Work(steps.load_state, range(3), single_pass))
        first = Work(steps.load_state, range(2), first_pass, ends_step=False)
        second = Work(lambda at, k: loops.load(reset_state, at.sample, k), range(2, 3), second_pass)
        return loop.sequence(*(steps.run_parallel(iteration, time, memory, work) for work in (first, second)))

    return steps.tensors("gru_scan", inputs, [], [] if linear_before_reset else [update, reset_state], step)


LSTM_ATTRS: dict[str, Any] = {**ATTRS, "with_peephole": False, "input_forget": False}


@statement(
    "nn.lstm_scan", infer=_scan_type(4, 2, 3, 3), reference=_scan_numpy(_lstm_numpy, 2), attrs=LSTM_ATTRS
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
    """An LSTM with gates input, output, forget, cell. Return all states, the last one, and the last cell."""
    steps = Steps(call, data, recurrence)
    cells = steps.state_buffer("cells")

    def step(iteration: e.Expr, time: e.Expr, memory: Memory) -> loop.Stmt:
        def unit(at: Position, n: e.Expr, total: Callable[[int], e.Expr]) -> loop.Stmt:
            return lstm_unit(steps, memory, cells, at, n, total)

        return steps.run_parallel(iteration, time, memory, Work(steps.load_state, range(4), unit))

    inputs = [data, recurrence, peephole, hidden, cell, lengths]
    return steps.tensors("lstm_scan", inputs, [cells], [], step)


def lstm_unit(
    steps: Steps, memory: Memory, cells: loop.Buffer, at: Position, n: e.Expr, total: Callable[[int], e.Expr]
) -> loop.Stmt:
    """Compute the new states of unit ``n``; the third input is the peepholes."""
    call = steps.call

    def gate(number: int, function: int, window: int, c: e.Expr) -> e.Expr:
        value = steps.load_input(memory, at, number, n) + total(number)
        if call["with_peephole"]:
            value = value + steps.load(memory.inputs[2], window * steps.size + n) * c
        return _activate(call, function, value)

    def store_states(c: e.Expr) -> loop.Stmt:
        return loop.sequence(
            loops.store(cells, (at.sample, n), c),
            steps.store_state(at, memory, n, gate(1, 0, 1, c) * _activate(call, 2, c)),
        )

    old = loops.load(cells, at.sample, n)
    i = gate(0, 0, 0, old)
    f = 1.0 - i if call["input_forget"] else gate(2, 0, 2, old)
    new = _activate(call, 1, steps.load_input(memory, at, 3, n) + total(3))
    return loops.let("cell", f * old + i * new, store_states)
