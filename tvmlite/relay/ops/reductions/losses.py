"""Losses of classifiers, as in TVM: cross entropy and negative log likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.relay.ir.attributes import INTEGER, Attribute
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ir.op import choice, make
from tvmlite.relay.ir.types import Dim, same_shape, show_shape
from tvmlite.relay.ops.common import FLOAT, INTEGERS, expect, fault, one_dtype
from tvmlite.relay.ops.reductions.normalize import softmax_numpy
from tvmlite.relay.ops.written_out import cast, number, reshaped, written_out


@written_out("nn.fast_softmax", reference=softmax_numpy, attrs={"axis": -1})
def fast_softmax(call: Call, data: Expr) -> Expr:
    """``nn.softmax``; the opt level decides whether its exponential is approximated (``fast_math``)."""
    return make("nn.softmax", data, axis=call["axis"])


def _count(extent: Dim, dtype: str) -> Expr:
    """Return ``extent`` as a scalar of ``dtype``."""
    if isinstance(extent, int):
        return number(extent, dtype)
    return cast(reshaped(make("shape_value", values=(extent,)), ()), dtype)


def _entropy(call: Call, values: Expr, targets: Expr) -> Expr:
    """The sum of ``-values * targets``, divided by the batch."""
    total = make("negative", make("sum", make("multiply", values, targets)))
    return make("divide", total, _count(tensor_type_of(values).shape[0], tensor_type_of(values).dtype))


def _check_entropy(call: Call, predictions: Expr, targets: Expr) -> None:
    x, y = tensor_type_of(predictions), tensor_type_of(targets)
    expect(call, "predictions are", one_dtype(call, x, y), FLOAT)
    if x.ndim != 2 or not same_shape(x.shape, y.shape):
        raise fault(
            call,
            f"predictions are {show_shape(x.shape)}, targets are {show_shape(y.shape)}, "
            "expected one shape (batch, classes)",
        )


def _entropy_numpy(call: Call, predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    wide = np.log(predictions.astype(np.float64))
    return np.array(-(wide * targets).sum() / len(targets)).astype(predictions.dtype)


@written_out("nn.cross_entropy", reference=_entropy_numpy)
def cross_entropy(call: Call, predictions: Expr, targets: Expr) -> Expr:
    """``-sum(targets * log(predictions)) / batch``, a scalar."""
    _check_entropy(call, predictions, targets)
    return _entropy(call, make("log", predictions), targets)


def _logits_numpy(call: Call, predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    total = (predictions.astype(np.float64) * targets).sum()
    return np.array(-total / len(targets)).astype(predictions.dtype)


@written_out("nn.cross_entropy_with_logits", reference=_logits_numpy)
def cross_entropy_with_logits(call: Call, predictions: Expr, targets: Expr) -> Expr:
    """``-sum(targets * predictions) / batch``, a scalar.

    The predictions are logarithms already, such as those of ``nn.log_softmax``.
    """
    _check_entropy(call, predictions, targets)
    return _entropy(call, predictions, targets)


def _likelihood_numpy(
    call: Call, predictions: np.ndarray, targets: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    counts = targets != call["ignore_index"]
    chosen = np.where(counts, targets, 0)
    factor = weights.astype(np.float64)[chosen] * counts
    picked = np.take_along_axis(predictions, np.expand_dims(chosen, 1), 1).squeeze(1)
    loss = -picked.astype(np.float64) * factor
    if call["reduction"] != "none":
        loss = loss.sum() / (factor.sum() if call["reduction"] == "mean" else 1)
    return np.asarray(loss).astype(predictions.dtype)


@written_out(
    "nn.nll_loss",
    reference=_likelihood_numpy,
    attrs={
        "reduction": choice("mean", "sum", "none"),
        "ignore_index": Attribute(-100, lambda _: INTEGER),
    },
)
def nll_loss(call: Call, predictions: Expr, targets: Expr, weights: Expr) -> Expr:
    """The negative log likelihood of the classes ``targets`` (batch, ...) in ``predictions``.

    ``predictions`` (batch, classes, ...) are logarithms. Their element for the target class is negated and
    multiplied by the weight of that class; ``reduction`` is the sum or the weighted mean, or "none". Targets
    equal to ``ignore_index`` do not count.
    """
    x, y, w = (tensor_type_of(one) for one in (predictions, targets, weights))
    expect(call, "predictions are", one_dtype(call, x, w), FLOAT)
    expect(call, "targets are", y.dtype, INTEGERS)
    fits = x.ndim == y.ndim + 1 and same_shape((x.shape[0], *x.shape[2:]), y.shape)
    if not fits or w.ndim != 1 or not same_shape(w.shape, x.shape[1:2]):
        shapes = (show_shape(one.shape) for one in (x, y, w))
        raise fault(
            call,
            "predictions are {}, targets are {}, weights are {}, expected (batch, classes, ...), "
            "(batch, ...) and (classes)".format(*shapes),
        )
    counts = make("not_equal", targets, number(call["ignore_index"], y.dtype))
    chosen = make("where", counts, targets, make("zeros", shape=y.shape, dtype=y.dtype))
    picked: Any = make("gather", predictions, make("expand_dims", chosen, axis=1), axis=1)
    picked = make("squeeze", picked, axis=(1,))
    factor = make("multiply", make("take", weights, chosen, axis=0), cast(counts, x.dtype))
    loss = make("negative", make("multiply", picked, factor))
    if call["reduction"] == "none":
        return loss
    total = make("sum", loss)
    return total if call["reduction"] == "sum" else make("divide", total, make("sum", factor))
