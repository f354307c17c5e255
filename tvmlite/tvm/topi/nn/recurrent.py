"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.nn.padding import extent


def lstm(
    Xs: Tensor,
    Wi: Tensor,
    Wh: Tensor,
    Bi: Tensor | None = None,
    Bh: Tensor | None = None,
    h_init: Tensor | None = None,
    c_init: Tensor | None = None,
    proj: Tensor | None = None,
    p_i: Tensor | None = None,
    p_f: Tensor | None = None,
    p_o: Tensor | None = None,
    f_act: Callable[[Any], Any] = te.sigmoid,
    g_act: Callable[[Any], Any] = te.tanh,
    h_act: Callable[[Any], Any] = te.tanh,
    reverse: bool = False,
    weight_layout: str = "IFGO",
) -> tuple[Tensor, Tensor]:
    """Return the hidden states (steps, batch, projected or hidden units) and the cell states (steps, batch,
    hidden units) of an LSTM that reads ``Xs`` (steps, batch, inputs), from the end with ``reverse``.

    The rows of ``Wi`` (4 x hidden, inputs) and ``Wh`` (4 x hidden, states), and the biases ``Bi`` and ``Bh``,
    are those of the input, forget, cell and output gates, in the order ``weight_layout``. ``proj`` (states,
    hidden) projects the hidden states; ``p_i``, ``p_f`` and ``p_o`` (batch, hidden) are peephole weights.
    The initial states are ``h_init`` and ``c_init``, by default 0.
    """
    if sorted(weight_layout) != sorted("IFGO"):
        raise arguments.refused("topi.nn.lstm: weight_layout", weight_layout, "an order of IFGO")
    steps, batch, inputs = Xs.shape
    units, states = extent(Wi.shape[0]) // 4, Wh.shape[1]
    shape = (steps + 1, batch, units)
    hidden = te.placeholder((steps + 1, batch, states), Xs.dtype, name="hidden")
    cells = te.placeholder(shape, Xs.dtype, name="cells")

    x = te.reduce_axis((0, inputs), name="x")
    from_input = te.compute(
        (steps, batch, 4 * units), lambda t, b, n: te.sum(Xs[t, b, x] * Wi[n, x], axis=x), name="from_input"
    )
    h = te.reduce_axis((0, states), name="h")
    from_state = te.compute(
        (steps + 1, batch, 4 * units),
        lambda t, b, n: te.sum(hidden[t - 1, b, h] * Wh[n, h], axis=h),
        name="from_state",
    )

    def gate(name: str, peephole: Tensor | None = None, cell: Callable[..., Any] | None = None) -> Tensor:
        row, act = weight_layout.index(name) * units, g_act if name == "G" else f_act

        def element(t: Any, b: Any, n: Any) -> Any:
            step = te.min(steps - t, steps - 1) if reverse else te.max(t - 1, 0)  # row 0: initial state
            total = from_input[step, b, row + n] + from_state[t, b, row + n]
            for bias in (Bi, Bh):
                total = total if bias is None else total + bias[row + n]
            return act(total if peephole is None or cell is None else total + peephole[b, n] * cell(t, b, n))

        return te.compute(shape, element, name=f"gate_{name}")

    def before(t: Any, b: Any, n: Any) -> Any:
        return cells[t - 1, b, n]

    both = p_i is not None and p_f is not None
    input_gate, forget_gate = (
        gate(name, one if both else None, before) for name, one in zip("IF", (p_i, p_f), strict=True)
    )
    new = gate("G")
    next_cell = te.compute(
        shape, lambda *i: forget_gate(*i) * before(*i) + input_gate(*i) * new(*i), name="next_cell"
    )
    output_gate = gate("O", p_o, next_cell)
    next_hidden = te.compute(shape, lambda *i: output_gate(*i) * h_act(next_cell(*i)), name="next_hidden")
    if proj is not None:
        p, whole = te.reduce_axis((0, units), name="p"), next_hidden
        next_hidden = te.compute(
            hidden.shape, lambda t, b, n: te.sum(whole[t, b, p] * proj[n, p], axis=p), name="projected"
        )

    def first(given: Tensor | None, count: Any) -> Tensor:
        zero = e.const(0, Xs.dtype)
        return te.compute(
            (1, batch, count), lambda _, b, n: zero if given is None else given[b, n], name="first"
        )

    found = te.scan(
        [first(h_init, states), first(c_init, units)], [next_hidden, next_cell], [hidden, cells], name="lstm"
    )
    all_hidden, all_cells = (
        te.compute((steps, *one.shape[1:]), lambda t, b, n, one=one: one[t + 1, b, n], name="states")
        for one in found
    )
    return all_hidden, all_cells


__getattr__ = refusing(__name__)
