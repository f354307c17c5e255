"""Recognize attention that an exporter wrote as two products around a softmax."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field

from tvmlite.relay.ir.infer import same_type, tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Expr, canonical, constant
from tvmlite.relay.ir.op import is_view, make
from tvmlite.relay.ir.types import Dim, Shape, same_dim, same_shape
from tvmlite.relay.ops.common import is_one
from tvmlite.relay.passes.decisions import Decisions, decide
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.relay.passes.patterns import (
    Readers,
    commuted,
    is_float,
    rewrite_with_readers,
    scalar_of,
    through_views,
)
from tvmlite.relay.passes.simplify.simplify_expr import simplified

MASKED_SCORE = -1e30
"""The largest value that is filled in for a hidden score: its weight vanishes next to other scores."""

ONE_KERNEL, SEPARATE = "one kernel", "apart"
"""The alternatives of the decision."""


@graph_pass
def recognize_attention(body: Expr, decisions: Decisions | None = None) -> Expr:
    """Rewrite ``batch_matmul(softmax(batch_matmul(q, k) * scale + mask), v)`` to ``nn.attention``.

    Scales may come before or after the first product, masks may be added or filled in (``where`` with minus
    infinity or the least float), and reshapes and transposes may come anywhere in between. Keys and values
    that are repeated for several heads are read unrepeated. A transpose of the result becomes its layout.

    Each match is a decision (``relay.passes.decisions``): ``one kernel``, the default, or ``apart``.
    """
    return rewrite_with_readers(body, lambda node, readers: _recognize(node, readers, decisions))


def _choose_kernel(node: Call, made: Expr, decisions: Decisions | None) -> str:
    """The decision whether ``node``, the product with the values, becomes ``made``, a view of attention."""

    def calls_in_parts() -> list[list[Call]]:
        inner = through_views(made)
        while isinstance(inner, Call) and inner.op == "where":
            inner = inner.args[2]
        assert isinstance(inner, Call)
        return [[inner, node]]

    return decide(decisions, "attention", calls_in_parts, (ONE_KERNEL, SEPARATE), ONE_KERNEL)


def _recognize(node: Expr, readers: Readers, decisions: Decisions | None) -> Expr:
    if not isinstance(node, Call):
        return node
    if node.op == "nn.batch_matmul" and is_float(node) and not node["transpose_a"]:
        made = _attention(node, readers)
        return made if made is not None and _choose_kernel(node, made, decisions) == ONE_KERNEL else node
    if node.op == "transpose":
        return _with_layout(node, readers) or node
    inner = through_views(node)
    made = isinstance(inner, Call) and (inner.op == "nn.attention" or _replaces_rows(inner))
    return simplified(node) if made and inner is not node else node


@dataclass
class _Scores:
    """What is done to the scores between the first product and the softmax, and to its rows afterwards."""

    scale: float = 1.0
    masks: list[Expr] = field(default_factory=list)
    zero_hidden: bool = False
    zeroed_rows: Expr | None = None
    """The rows that are replaced by 0, as a condition whose last axis is 1."""

    def add(self, mask: Expr) -> None:
        """Add ``mask``, multiplied by the scale that is applied after it."""
        factor = constant(self.scale, tensor_type_of(mask).dtype)
        self.masks.append(mask if self.scale == 1.0 else make("multiply", mask, factor))


def _attention(node: Call, readers: Readers) -> Expr | None:
    weights, value = node.args
    found = _Scores()
    softmax = _softmax(through_views(weights), found, readers)
    if softmax is None or not _read_once(weights, readers):
        return None
    shape = tensor_type_of(softmax).shape
    if softmax["axis"] % len(shape) != len(shape) - 1 or len(shape) not in (3, 4):
        return None
    if not same_shape(tensor_type_of(weights).shape[-2:], shape[-2:]):
        return None
    product = _product(softmax.args[0], found, readers)
    if product is None:
        return None
    batch, heads = shape[:2] if len(shape) == 4 else (shape[0], 1)
    query, key = product.args
    query = _transposed(query) if product["transpose_a"] else query
    key = key if product["transpose_b"] else _transposed(key)
    value = _transposed(value) if node["transpose_b"] else value
    return _build_attention(node, (query, key, value), (batch, heads), found, len(shape) == 3)


def _softmax(expr: Expr, found: _Scores, readers: Readers) -> Call | None:
    """The softmax in ``expr``, below a ``where`` that sets rows to 0 if they are NaN or by a condition."""
    if isinstance(expr, Call) and expr.op == "where" and scalar_of(expr.args[1]) == 0.0:
        condition, _, softmax = expr.args
        if not same_type(type_of(softmax), type_of(expr)):
            return None
        guard = isinstance(condition, Call) and condition.op == "isnan" and condition.args[0] is softmax
        shape = tensor_type_of(condition).shape
        if guard and readers.get(softmax, 2) == 2:
            found.zero_hidden = True
        elif not guard and readers.get(softmax, 1) == 1 and (not shape or is_one(shape[-1])):
            found.zeroed_rows = condition
        else:
            return None
        expr = softmax
    return expr if isinstance(expr, Call) and expr.op == "nn.softmax" else None


def _read_once(expr: Expr, readers: Readers) -> bool:
    """Whether ``expr``, and what it is a view of, has a single reader."""
    while readers.get(expr, 1) == 1:
        if not (isinstance(expr, Call) and is_view(expr)):
            return True
        (expr,) = expr.args
    return False


def _product(expr: Expr, found: _Scores, readers: Readers) -> Call | None:
    """The product that computes the scores; operations on the scores are added to ``found``."""
    shape = tensor_type_of(expr).shape
    while readers.get(expr, 1) == 1:
        inner = through_views(expr)
        if isinstance(inner, Call) and inner.op == "nn.batch_matmul" and readers.get(inner, 1) == 1:
            rows = same_shape(tensor_type_of(inner).shape[-2:], shape[-2:])
            return inner if rows and _keeps_dtype(inner) else None
        step = _without_last_operation(expr, found, shape)
        if step is None:
            return None
        expr = step
    return None


def _keeps_dtype(product: Call) -> bool:
    return tensor_type_of(product).dtype == tensor_type_of(product.args[0]).dtype


def _without_last_operation(expr: Expr, found: _Scores, shape: Shape) -> Expr | None:
    """``expr`` without the last scale or mask that was applied to it, which is added to ``found``."""
    if not isinstance(expr, Call):
        return None
    if is_view(expr) and same_shape(tensor_type_of(expr.args[0]).shape, shape):
        return expr.args[0]
    number = scalar_of(expr.args[1]) if expr.op == "divide" else None
    if number and same_type(type_of(expr.args[0]), type_of(expr)):
        found.scale /= number
        return expr.args[0]
    for scores, factor in commuted(expr, "multiply"):
        number = scalar_of(factor)
        if number is not None and same_type(type_of(scores), type_of(expr)):
            found.scale *= number
            return scores
    for scores, mask in sorted(commuted(expr, "add"), key=lambda pair: not _contains_product(pair[0])):
        if same_type(type_of(scores), type_of(expr)) and _contains_product(scores):
            found.add(mask)
            return scores
    return _without_fill(expr, found) if expr.op == "where" else None


def _without_fill(expr: Call, found: _Scores) -> Expr | None:
    """The scores in ``where(seen, scores, -inf)``, or the reverse; the fill becomes a mask that is added."""
    condition, first, second = expr.args
    dtype = tensor_type_of(expr).dtype
    zero, hidden = constant(0, dtype), constant(-math.inf, dtype)
    for scores, fill, choice in ((first, second, (zero, hidden)), (second, first, (hidden, zero))):
        number = scalar_of(fill)
        if number is None or number * found.scale > MASKED_SCORE or found.scale <= 0:
            continue
        if same_type(type_of(scores), type_of(expr)):
            kept = [constant(number, dtype) if one is hidden else one for one in choice]
            found.add(make("where", condition, *kept, span=expr.span))
            return scores
    return None


def _contains_product(expr: Expr) -> bool:
    """Whether ``expr`` contains scores: a product, under scales and masks."""
    for _ in range(8):
        expr = through_views(expr)
        if not isinstance(expr, Call):
            return False
        if expr.op == "nn.batch_matmul":
            return True
        if expr.op == "where":
            expr = expr.args[2] if scalar_of(expr.args[1]) is not None else expr.args[1]
        elif expr.op in ("add", "multiply", "divide"):
            left, right = expr.args
            expr = right if scalar_of(left) is not None or not _may_contain_product(left) else left
        else:
            return False
    return False


def _may_contain_product(expr: Expr) -> bool:
    expr = through_views(expr)
    return isinstance(expr, Call) and expr.op in ("nn.batch_matmul", "add", "multiply", "divide", "where")


def _build_attention(
    node: Call, parts: tuple[Expr, Expr, Expr], batch_and_heads: tuple[Dim, Dim], found: _Scores, flat: bool
) -> Expr | None:
    """The attention operator, in the shape of ``node``; None if the parts do not fit together."""
    (query, first), (key, second) = _unscaled(parts[0]), _unscaled(parts[1])
    split = [
        part for one in (query, key, parts[2]) if (part := _split_heads(one, batch_and_heads)) is not None
    ]
    mask = _mask(found.masks, tensor_type_of(node).dtype, flat)
    if len(split) < 3 or mask is None:
        return None
    query, key, value = split[0], *map(_unrepeated, split[1:])
    if not same_dim(tensor_type_of(key).shape[1], tensor_type_of(value).shape[1]):
        key, value = split[1:]
    scale = found.scale * first * second
    attrs = {"scale": scale, "zero_hidden": found.zero_hidden}
    made: Expr = make("nn.attention", query, key, value, mask, span=node.span, **attrs)
    if found.zeroed_rows is not None:
        rows = _with_heads(found.zeroed_rows) if flat else found.zeroed_rows
        made = make("where", rows, constant(0, tensor_type_of(made).dtype), made, span=node.span)
    return _reshaped(made, tensor_type_of(node).shape)


def _transposed(expr: Expr) -> Expr:
    """``expr`` with its last two axes swapped."""
    rank = tensor_type_of(expr).ndim
    axes = (*range(rank - 2), rank - 1, rank - 2)
    return simplified(make("transpose", expr, axes=axes, span=getattr(expr, "span", None)))


def _reshaped(expr: Expr, shape: Shape) -> Expr:
    span = getattr(expr, "span", None)
    return simplified(make("reshape", expr, newshape=shape, allowzero=True, span=span))


def _unscaled(expr: Expr) -> tuple[Expr, float]:
    """``expr`` without the scalar factors under its reshapes and transposes, and their product."""
    if not isinstance(expr, Call):
        return expr, 1.0
    if is_view(expr) or expr.op == "transpose":
        inner, factor = _unscaled(expr.args[0])
        return (expr if factor == 1.0 else simplified(dataclasses.replace(expr, args=(inner,)))), factor
    pairs = list(commuted(expr, "multiply"))
    pairs += [(expr.args[0], expr.args[1])] if expr.op == "divide" else []
    for value, other in pairs:
        number = scalar_of(other)
        if number and same_type(type_of(value), type_of(expr)):
            inner, factor = _unscaled(value)
            return inner, factor / number if expr.op == "divide" else factor * number
    return expr, 1.0


def _split_heads(expr: Expr, batch_and_heads: tuple[Dim, Dim]) -> Expr | None:
    """``(b * h, n, d)`` as ``(b, h, n, d)``; None if the first extent is not ``b * h``."""
    shape = tensor_type_of(expr).shape
    whole = batch_and_heads[0] * batch_and_heads[1]
    if not same_dim(shape[0], whole):
        return None
    wanted = (*batch_and_heads, *shape[1:])
    if isinstance(expr, Call) and expr.op == "transpose":
        inner = _split_heads(expr.args[0], batch_and_heads)
        if inner is not None and tuple(expr["axes"] or ()) == (0, 2, 1):
            return _transposed(inner)
    return _reshaped(expr, wanted)


def _unrepeated(expr: Expr) -> Expr:
    """The ``(b, g, n, d)`` whose heads, each repeated in a run, are ``expr``; else ``expr`` itself."""
    if not (isinstance(expr, Call) and is_view(expr)):
        return expr
    repeated = expr.args[0]
    if not (isinstance(repeated, Call) and repeated.op == "broadcast_to"):
        return expr
    shape, broadcast = tensor_type_of(expr).shape, tensor_type_of(repeated).shape
    given = tensor_type_of(repeated.args[0]).shape
    if len(broadcast) != 5 or len(given) != 5 or not is_one(given[2]):
        return expr
    wanted = (given[0], given[1], *given[3:])
    is_repetition = same_shape(broadcast, (*given[:2], broadcast[2], *given[3:])) and same_dim(
        broadcast[1] * broadcast[2], shape[1]
    )
    if not is_repetition or not same_shape((shape[0], *shape[2:]), (broadcast[0], *broadcast[3:])):
        return expr
    return _reshaped(repeated.args[0], wanted)


def _mask(masks: list[Expr], dtype: str, flat: bool) -> Expr | None:
    """The sum of ``masks`` with at most four axes; a scalar 0 if there are none."""
    total: Expr | None = None
    for mask in masks:
        while isinstance(mask, Call) and mask.op == "broadcast_to":
            mask = mask.args[0]
        if flat:
            mask = _with_heads(mask)
        total = mask if total is None else make("add", total, mask)
    if total is None:
        return constant(0, dtype)
    type_ = tensor_type_of(total)
    return total if type_.ndim <= 4 and type_.dtype == dtype else None


def _with_heads(mask: Expr) -> Expr:
    """A mask for ``(b, s, t)`` as a mask for ``(b, 1, s, t)``."""
    shape = tensor_type_of(mask).shape
    return _reshaped(mask, (shape[0], 1, *shape[1:])) if len(shape) == 3 else mask


def _with_layout(node: Call, readers: Readers) -> Expr | None:
    """A transpose of attention's result, even with rows of it replaced, as attention in another layout."""
    (inner,) = node.args
    axes: tuple[int, ...] = node["axes"] or ()
    if not isinstance(inner, Call) or readers.get(inner, 1) != 1 or len(axes) != 4 or axes[-1] not in (3, -1):
        return None
    if _replaces_rows(inner):
        return _where_in_layout(node, inner, readers)
    if inner.op != "nn.attention":
        return None
    layout = "".join(inner["layout"][axis] for axis in axes)
    attrs = canonical({**dict(inner.attrs), "layout": layout})
    return Call("nn.attention", inner.args, attrs, node.span)


def _replaces_rows(call: Call) -> bool:
    value = call.args[2] if call.op == "where" else call
    return isinstance(value, Call) and value.op == "nn.attention" and value is not call


def _where_in_layout(node: Call, where: Call, readers: Readers) -> Expr | None:
    """``transpose(where(rows, 0, attention))`` with the transposes moved to the rows and the attention."""
    rows, zero, attention = where.args
    value = _with_layout(dataclasses.replace(node, args=(attention,)), readers)
    if value is None:
        return None
    shape = tensor_type_of(rows).shape
    missing: Shape = (1,) * (4 - len(shape))
    full_rank = _reshaped(rows, missing + shape)
    transposed = simplified(make("transpose", full_rank, axes=node["axes"], span=node.span))
    return make("where", transposed, zero, value, span=node.span)
