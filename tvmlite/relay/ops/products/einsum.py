"""``einsum``: sums of products by index letters, computed pair by pair as batched matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.attributes import TEXT, Attribute
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ir.op import REQUIRED, make
from tvmlite.relay.ir.types import Dim, Shape, num_elements, same_dim, same_shape, show_shape
from tvmlite.relay.ops.common import fault, is_one, one_dtype
from tvmlite.relay.ops.written_out import written_out

Term = tuple[str, Expr]
"""A tensor and the letters of its axes."""


def letters_of(call: Call, equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """Return the letters of each term and of the result; an ellipsis becomes unused letters."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    names = left.split(",")
    if len(names) != len(ranks):
        raise fault(call, f"equation {text!r} names {len(names)} tensors, {len(ranks)} are given")
    hidden = [
        rank - len(name.replace("...", "")) if "..." in name else 0
        for name, rank in zip(names, ranks, strict=True)
    ]
    extra = "".join(chr(0x100 + k) for k in range(max([0, *hidden])))
    terms = [
        name.replace("...", extra[len(extra) - count :]) if count >= 0 else name
        for name, count in zip(names, hidden, strict=True)
    ]
    for name, letters, rank in zip(names, terms, ranks, strict=True):
        if len(letters) != rank or (not letters.isalpha() and letters):
            raise fault(call, f"equation {text!r}: {name!r} does not fit a tensor of {rank} axes")
    every = "".join(terms)
    if arrow:
        result = right.replace("...", extra)
    else:
        result = extra + "".join(sorted(c for c in set(every) - set(extra) if every.count(c) == 1))
    if len(set(result)) < len(result) or not set(result) <= set(every):
        raise fault(
            call, f"equation {text!r}: the result's letters must be distinct and occur in the operands"
        )
    return terms, result


def _einsum_numpy(call: Call, *data: np.ndarray) -> np.ndarray:
    wide = [one.astype(np.float64) if dtypes.is_float(dtypes.check(one.dtype)) else one for one in data]
    return np.asarray(np.einsum(call["equation"].replace(" ", ""), *wide)).astype(data[0].dtype)


@written_out("einsum", reference=_einsum_numpy, attrs={"equation": Attribute(REQUIRED, lambda _: TEXT)})
def einsum(call: Call, *data: Expr) -> Expr:
    """The sum of products that ``equation`` denotes: ``"ij,jk->ik"`` is a product of matrices.

    An extent of 1 broadcasts to the other extents of its letter. Operands are contracted pairwise, in order.
    """
    types = [tensor_type_of(one) for one in data]
    if not types:
        raise fault(call, "nothing to multiply, expected at least one tensor")
    one_dtype(call, *types)
    names, result = letters_of(call, call["equation"], [one.ndim for one in types])
    _check_extents(call, names, [one.shape for one in types])
    terms = [_diagonal(call, one) for one in zip(names, data, strict=True)]
    while len(terms) > 1:
        left, right, *rest = terms
        kept = "".join(dict.fromkeys(result + "".join(letters for letters, _ in rest)))
        terms = [_contract(left, right, kept), *rest]
    letters, value = _summed(terms[0], result)
    return _transposed(value, [letters.index(letter) for letter in result])


def _check_extents(call: Call, names: Sequence[str], shapes: Sequence[Shape]) -> None:
    """Raise a type error if a letter has two different extents, neither of which is 1."""
    met: dict[str, Dim] = {}
    for letters, shape in zip(names, shapes, strict=True):
        for letter, extent in zip(letters, shape, strict=True):
            if is_one(extent):
                continue
            if letter in met and not same_dim(met[letter], extent):
                listed = ", ".join(show_shape(one) for one in shapes)
                raise fault(
                    call,
                    f"shapes are {listed}: {letter!r} is {met[letter]} and {extent}, expected one extent",
                )
            met[letter] = extent


def _shape(value: Expr) -> Shape:
    return tensor_type_of(value).shape


def _transposed(value: Expr, axes: Sequence[int]) -> Expr:
    return value if list(axes) == sorted(axes) else make("transpose", value, axes=tuple(axes))


def _reshaped(value: Expr, shape: Sequence[Dim]) -> Expr:
    if same_shape(_shape(value), tuple(shape)):
        return value
    return make("reshape", value, newshape=tuple(shape), allowzero=True)


def _broadcast(value: Expr, shape: Sequence[Dim]) -> Expr:
    return (
        value if same_shape(_shape(value), tuple(shape)) else make("broadcast_to", value, shape=tuple(shape))
    )


def _diagonal(call: Call, term: Term) -> Term:
    """Merge axes of ``term`` that share a letter: flatten two, and take every (extent + 1)-th element."""
    letters, value = term
    while twice := [c for c in letters if letters.count(c) > 1]:
        first, second = [k for k, c in enumerate(letters) if c == twice[0]][:2]
        others = [k for k in range(len(letters)) if k not in (first, second)]
        shape: Any = _shape(value)
        extent = shape[first]
        if not isinstance(extent, int) or not same_dim(shape[second], extent):
            raise fault(
                call, f"a diagonal of extents {shape[first]} and {shape[second]}, expected one number twice"
            )
        flat = make("transpose", value, axes=(*others, first, second))
        flat = _reshaped(flat, [*(shape[k] for k in others), extent * extent])
        value = make(
            "strided_slice",
            flat,
            begin=(0,),
            end=(extent * extent,),
            strides=(extent + 1,),
            axes=(len(others),),
        )
        letters = "".join(letters[k] for k in others) + twice[0]
    return letters, value


def _summed(term: Term, keep: str) -> Term:
    """``term`` summed over the letters that are not in ``keep``."""
    letters, value = term
    axes = tuple(k for k, c in enumerate(letters) if c not in keep)
    return ("".join(c for c in letters if c in keep), make("sum", value, axis=axes)) if axes else term


def _contract(left: Term, right: Term, kept: str) -> Term:
    """Contract two terms: shared letters in ``kept`` are batch axes, other shared letters are summed."""
    one, a = _summed(left, kept + right[0])
    two, b = _summed(right, kept + left[0])
    batch = [c for c in one if c in two and c in kept]
    inner = [c for c in one if c in two and c not in kept]
    rows = [c for c in one if c not in two]
    columns = [c for c in two if c not in one]
    size: dict[str, Dim] = dict.fromkeys(one + two, 1)
    for letters, value in ((two, b), (one, a)):
        for letter, extent in zip(letters, _shape(value), strict=True):
            size[letter] = size[letter] if is_one(extent) else extent
    a = _transposed(a, [one.index(c) for c in batch + rows + inner])
    b = _transposed(b, [two.index(c) for c in batch + inner + columns])
    a = _broadcast(a, [size[c] for c in batch + rows + inner])
    b = _broadcast(b, [size[c] for c in batch + inner + columns])
    flat = [num_elements([size[c] for c in group]) for group in (batch, rows, inner, columns)]
    a, b = _reshaped(a, (flat[0], flat[1], flat[2])), _reshaped(b, (flat[0], flat[2], flat[3]))
    made = make("nn.batch_matmul", a, b, transpose_a=False, transpose_b=False)
    letters = "".join(batch + rows + columns)
    return letters, _reshaped(made, [size[c] for c in letters])
