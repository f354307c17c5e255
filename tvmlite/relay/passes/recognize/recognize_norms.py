"""Recognize layer and RMS normalizations that an exporter wrote in smaller operators, as one kernel each."""

from __future__ import annotations

import dataclasses

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.infer import same_type, tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import same_dim
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.relay.passes.patterns import (
    CONSTANT_TOLERANCE,
    Number,
    Readers,
    Reduction,
    Wildcard,
    commuted,
    first,
    is_float,
    is_vector_along,
    op,
    rewrite_with_readers,
    scalar_of,
    through_views,
)

NORMS = ("nn.layer_norm", "nn.rms_norm")

VALUE, DATA = Wildcard("value"), Wildcard("data")
VARIANCE = Reduction("mean", VALUE * VALUE | VALUE**2.0) + Number(name="epsilon")
ROOT = op("sqrt", VARIANCE) | VARIANCE ** Number(0.5, tolerance=CONSTANT_TOLERANCE)
NORMALIZED = VALUE / ROOT | VALUE * (op("rsqrt", VARIANCE) | 1.0 / ROOT | VARIANCE**-0.5)
CENTRED = DATA - Reduction("mean", DATA)


@graph_pass
def recognize_norms(body: Expr) -> Expr:
    """Rewrite ``d / sqrt(mean(d * d) + epsilon)`` with ``d = x - mean(x)`` to ``nn.layer_norm(x)``.

    With ``d = x`` it is ``nn.rms_norm(x)``. The axis must have a constant extent. The formula may divide by
    the root or multiply by its inverse; squares may be powers, and means sums divided by the count. A factor
    and a summand along the same axis become gamma and beta.
    """
    return rewrite_with_readers(body, _recognize)


def _recognize(node: Expr, readers: Readers) -> Expr:
    if not isinstance(node, Call) or not isinstance(node.op, str) or not is_float(node):
        return node
    return _norm(node) or _with_gamma(node, readers) or _with_beta(node, readers) or node


def _norm(node: Call) -> Expr | None:
    """``value / sqrt(mean(value * value) + epsilon)`` in one of its forms."""
    found = first(NORMALIZED, node)
    if found is None:
        return None
    value, axis, epsilon = found["value"], found["axis"], found["epsilon"]
    centred = first(CENTRED, value, axis=axis)
    data = centred["data"] if centred else value
    type_ = tensor_type_of(data)
    extent = type_.shape[axis]
    if not isinstance(extent, int) or not same_type(type_, type_of(node)):
        return None
    gamma, beta = (Constant(np.full(extent, v, dtypes.numpy_of(type_.dtype)), node.span) for v in (1, 0))
    axis -= type_.ndim
    if not centred:
        return make("nn.rms_norm", data, gamma, axis=axis, epsilon=epsilon, span=node.span)
    return make("nn.layer_norm", data, gamma, beta, axis=axis, epsilon=epsilon, span=node.span)


def _with_gamma(node: Call, readers: Readers) -> Expr | None:
    for norm, factor in commuted(node, "multiply"):
        if _is_plain(norm, 1) and readers.get(norm, 1) == 1:
            vector = _vector(norm, factor, node)
            if vector is not None:
                data, _, *beta = norm.args  # type: ignore[union-attr]
                return dataclasses.replace(norm, args=(data, vector, *beta), span=node.span)  # type: ignore[type-var]
    return None


def _with_beta(node: Call, readers: Readers) -> Expr | None:
    for norm, shift in commuted(node, "add"):
        if isinstance(norm, Call) and norm.op == "nn.layer_norm":
            if readers.get(norm, 1) == 1 and scalar_of(norm.args[2]) == 0.0:
                vector = _vector(norm, shift, node)
                if vector is not None:
                    return dataclasses.replace(norm, args=(*norm.args[:2], vector), span=node.span)
    return None


def _is_plain(norm: Expr, gamma: float) -> bool:
    """Whether ``norm`` is a normalization with this ``gamma`` and without a shift."""
    if not isinstance(norm, Call) or norm.op not in NORMS or scalar_of(norm.args[1]) != gamma:
        return False
    return norm.op == "nn.rms_norm" or scalar_of(norm.args[2]) == 0.0


def _vector(norm: Expr, given: Expr, result: Call) -> Expr | None:
    """``given`` as a vector along the axis of ``norm``; None if it is not one, or changes the type."""
    if not isinstance(norm, Call) or not same_type(type_of(norm), type_of(result)):
        return None
    type_, given_type = tensor_type_of(norm), tensor_type_of(given)
    axis = norm["axis"] % type_.ndim
    extent = type_.shape[axis]
    if given_type.ndim > type_.ndim or not is_vector_along(given_type.shape, type_.ndim, axis):
        return None
    source = through_views(given)
    if isinstance(source, Constant) and source.data.size == 1:
        return Constant(np.full(extent, source.data.reshape(()), source.data.dtype), given.span)  # type: ignore[arg-type]
    position = axis - (type_.ndim - given_type.ndim)
    if position < 0 or not same_dim(given_type.shape[position], extent):
        return None
    if given_type.ndim == 1:
        return given
    if isinstance(given, Constant):
        return Constant(given.data.reshape(-1), given.span)
    return make("reshape", given, newshape=(extent,), allowzero=True, span=result.span)
