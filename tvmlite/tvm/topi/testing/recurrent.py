"""Reference implementations in numpy of recurrent layers."""

from __future__ import annotations

import numpy as np


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


_ACTIVATIONS = {"sigmoid": _sigmoid, "tanh": np.tanh}


def lstm_python(
    Xs: np.ndarray,
    Wi: np.ndarray,
    Wh: np.ndarray,
    Bi: np.ndarray | None = None,
    Bh: np.ndarray | None = None,
    h_init: np.ndarray | None = None,
    c_init: np.ndarray | None = None,
    proj: np.ndarray | None = None,
    p_i: np.ndarray | None = None,
    p_f: np.ndarray | None = None,
    p_o: np.ndarray | None = None,
    f_act: str = "sigmoid",
    g_act: str = "tanh",
    h_act: str = "tanh",
    reverse: bool = False,
    weight_layout: str = "IFGO",
) -> tuple[np.ndarray, np.ndarray]:
    """The hidden states and the cell states of all steps of an LSTM; see ``topi.nn.lstm``."""
    gates, new, out = (_ACTIVATIONS[one] for one in (f_act, g_act, h_act))
    batch, units = Xs.shape[1], Wi.shape[0] // 4
    hidden = np.zeros((batch, Wh.shape[1]), Xs.dtype) if h_init is None else h_init
    cell = np.zeros((batch, units), Xs.dtype) if c_init is None else c_init
    places = [weight_layout.index(name) for name in "IFGO"]
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for x in Xs[::-1] if reverse else Xs:
        sums = x @ Wi.T + hidden @ Wh.T
        for bias in (Bi, Bh):
            sums = sums if bias is None else sums + bias
        i, f, g, o = (sums[:, place * units : (place + 1) * units] for place in places)
        if p_i is not None and p_f is not None:
            i, f = i + p_i * cell, f + p_f * cell
        cell = gates(f) * cell + gates(i) * new(g)
        hidden = gates(o if p_o is None else o + p_o * cell) * out(cell)
        hidden = hidden if proj is None else hidden @ proj.T
        found.append((hidden, cell))
    all_hidden, all_cells = zip(*found, strict=True)
    return np.stack(all_hidden), np.stack(all_cells)
