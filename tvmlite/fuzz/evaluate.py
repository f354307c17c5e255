"""The value of a computation straight from its definition: no schedule, no loops, no lowering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.fuzz import scalars
from tvmlite.fuzz.bounded import WIDE, Bounded, constant, errors, exact, lowest_bit, mantissa, rounded, unit
from tvmlite.te import expr as e
from tvmlite.te import tensor as t
from tvmlite.te.loop import ir

LIMIT = 400_000
"""The most iterations a compute may have."""


class OutOfBounds(AssertionError):
    """The computation itself reads outside a tensor: it has no value."""


class TooLarge(AssertionError):
    """The computation has more iterations than can be evaluated quickly."""


def evaluate(
    tensors: Sequence[t.Tensor], given: Mapping[t.Tensor, np.ndarray], variables: Mapping[e.Var, int]
) -> list[Bounded]:
    """The values of ``tensors``, from those of the placeholders and of the size variables.

    Each has a bound on what rounding, contraction and the order of reductions can make of it. Raises
    OutOfBounds where an element depends on one that does not exist.
    """
    with np.errstate(all="ignore"):
        run = _Evaluation(given, variables)
        return [run.tensor(one) for one in tensors]


def shape_at(tensor: t.Tensor, variables: Mapping[e.Var, int]) -> tuple[int, ...]:
    """The shape of ``tensor`` where the size variables have these values."""
    run = _Evaluation({}, variables)
    return tuple(run.number(n) for n in tensor.shape)


class _Evaluation:
    def __init__(self, given: Mapping[t.Tensor, np.ndarray], variables: Mapping[e.Var, int]) -> None:
        self.variables = {var: exact(np.asarray(value), var.dtype) for var, value in variables.items()}
        self.known = {tensor: exact(array, tensor.dtype) for tensor, array in given.items()}

    def tensor(self, tensor: t.Tensor) -> Bounded:
        if tensor not in self.known:
            op = tensor.op
            assert isinstance(op, (t.ComputeOp, t.ExternOp)), f"no value is given for {tensor.name}"
            for one in op.inputs:
                self.tensor(one)
            made = self.extern(op) if isinstance(op, t.ExternOp) else self.compute(op)
            self.known.update(zip(op.outputs, made, strict=True))
            for one in made:
                if np.isnan(one.error).any():
                    raise OutOfBounds(f"{op.name} reads outside a tensor")
        return self.known[tensor]

    def number(self, value: Any) -> int:
        """An extent or the like."""
        if isinstance(value, int):
            return value
        return int(_Scope(self, self.variables).expr(value).value)

    def compute(self, op: t.ComputeOp) -> list[Bounded]:
        axes = (*op.axis, *op.reduce_axis)
        extents = [max(0, self.number(a.dom.extent)) for a in axes if a.dom is not None]
        if int(np.prod(extents, dtype=object)) > LIMIT:
            raise TooLarge(f"{op.name} has {int(np.prod(extents, dtype=object))} iterations")
        values = dict(self.variables)
        for place, (axis, extent) in enumerate(zip(axes, extents, strict=True)):
            assert axis.dom is not None
            row = np.arange(extent) + self.number(axis.dom.min)
            shape = [extent if n == place else 1 for n in range(len(axes))]
            values[axis.var] = exact(row.reshape(shape), axis.var.dtype)
        scope, whole = _Scope(self, values), tuple(extents[: len(op.axis)])
        if not isinstance(op.body[0], t.Reduce):
            return [_spread(scope.expr(body), whole) for body in op.body]
        reduced = _Reduction(scope, op.body[0], whole, tuple(extents))
        every = reduced.run()
        return [every[body.value_index] for body in op.body if isinstance(body, t.Reduce)]

    def extern(self, op: t.ExternOp) -> list[Bounded]:
        memory: dict[ir.Buffer, Bounded] = {}
        for buffer, tensor in zip(op.input_buffers, op.input_tensors, strict=True):
            memory[buffer] = self.known[tensor]
        for buffer in op.output_buffers:
            shape = tuple(self.number(n) for n in buffer.shape)
            memory[buffer] = _unwritten(shape, buffer.dtype)
        scope = _Scope(self, dict(self.variables))
        scope.memory = memory
        _execute(op.body, scope)
        return [memory[buffer] for buffer in op.output_buffers]


def _unwritten(shape: tuple[int, ...], dtype: str) -> Bounded:
    kind = WIDE if dtypes.is_float(dtype) else dtypes.numpy_of(dtype)
    return Bounded(np.zeros(shape, kind), np.full(shape, np.inf), dtype)


def _spread(part: Bounded, shape: tuple[int, ...]) -> Bounded:
    return Bounded(
        np.array(np.broadcast_to(part.value, shape)), np.array(np.broadcast_to(part.error, shape)), part.dtype
    )


class _Scope:
    """Expressions evaluated for all values of the axes at once."""

    def __init__(self, evaluation: _Evaluation, values: dict[e.Var, Bounded]) -> None:
        self.evaluation, self.values = evaluation, values
        self.memory: dict[ir.Buffer, Bounded] = {}
        self.done: dict[e.Expr, Bounded] = {}

    def expr(self, node: e.Expr) -> Bounded:
        known = self.done.get(node)
        if known is None:
            known = self.done[node] = self.compute(node)
        return known

    def compute(self, node: e.Expr) -> Bounded:
        match node:
            case e.Var():
                return self.values[node]
            case e.Const(value, dtype):
                return constant(value, dtype)
            case e.Binary():
                return scalars.binary(node, self.expr(node.a), self.expr(node.b))
            case e.Not(a):
                return scalars.negate(self.expr(a))
            case e.Select(condition, a, b):
                return scalars.choose(self.expr(condition), self.expr(a), self.expr(b), lazy=False)
            case e.Call(name="if_then_else", args=(condition, a, b)):
                return scalars.choose(self.expr(condition), self.expr(a), self.expr(b), lazy=True)
            case e.Call(name, args, dtype):
                return scalars.call(name, dtype, [self.expr(a) for a in args])
            case e.Cast(dtype, value):
                return scalars.cast(self.expr(value), dtype)
            case t.TensorRead(tensor, indices):
                return self.read(self.evaluation.known[tensor], indices)
            case ir.Load(buffer, indices):
                return self.read(self.memory[buffer], indices)
        raise AssertionError(f"unknown expression {type(node).__name__}")

    def read(self, array: Bounded, indices: Sequence[e.Expr]) -> Bounded:
        """The elements at ``indices``; those outside, and those at an unknown place, are so marked."""
        places = [self.expr(i) for i in indices]
        inside: Any = True
        clipped = []
        for place, extent in zip(places, array.value.shape, strict=True):
            index = place.value.astype(np.int64)
            inside = inside & (index >= 0) & (index < extent)
            clipped.append(np.clip(index, 0, max(extent - 1, 0)))
        shape = np.broadcast_shapes(*(c.shape for c in clipped), np.shape(inside))
        if 0 in array.value.shape:
            return Bounded(np.zeros(shape, array.value.dtype), np.full(shape, np.nan), array.dtype)
        sure, lost = errors(*places) if places else (True, False)
        error = np.where(sure, array.error[tuple(clipped)], np.inf)
        error = np.where(inside & ~np.asarray(lost), error, np.nan)
        value = np.asarray(array.value[tuple(clipped)])
        return Bounded(np.broadcast_to(value, shape), np.broadcast_to(error, shape), array.dtype)


class _Reduction:
    """A reduction over the last axes of everything."""

    def __init__(
        self, scope: _Scope, node: t.Reduce, whole: tuple[int, ...], extents: tuple[int, ...]
    ) -> None:
        self.scope, self.node, self.whole = scope, node, whole
        flat = (*whole, int(np.prod(extents[len(whole) :], dtype=np.int64)))
        chosen = _spread(scope.expr(node.condition), extents)
        self.terms: list[Bounded] = []
        for source, identity in zip(node.source, node.combiner.identity, strict=True):
            term = scalars.choose(chosen, _spread(scope.expr(source), extents), self.constant(identity), True)
            self.terms.append(Bounded(term.value.reshape(flat), term.error.reshape(flat), term.dtype))
        starts = [scope.expr(one) for one in node.init] or [self.constant(i) for i in node.combiner.identity]
        self.starts = [_spread(self.lifted(one), whole) for one in starts]

    def constant(self, identity: e.Expr) -> Bounded:
        return self.scope.expr(identity)

    def lifted(self, part: Bounded) -> Bounded:
        """``part``, which does not depend on the reduce axes, without them."""
        extra = max(0, part.value.ndim - len(self.whole))
        shape = part.value.shape[: part.value.ndim - extra]
        return Bounded(part.value.reshape(shape), part.error.reshape(shape), part.dtype)

    def run(self) -> list[Bounded]:
        name, one = self.node.combiner.name, len(self.terms) == 1
        if one and self.terms[0].is_float and name in ("sum", "prod", "max", "min"):
            start = self.starts[0]
            both = _joined(self.terms[0], start)
            return [_sum(both) if name == "sum" else _prod(both) if name == "prod" else _extreme(both, name)]
        return self.fold()

    def fold(self) -> list[Bounded]:
        """One term after another; any order must give the same where terms are exact."""
        combiner = self.node.combiner
        state = self.starts
        for turn in range(self.terms[0].value.shape[-1]):
            terms = [Bounded(x.value[..., turn], x.error[..., turn], x.dtype) for x in self.terms]
            values = dict(zip(combiner.left, state, strict=True)) | dict(
                zip(combiner.right, terms, strict=True)
            )
            inner = _Scope(self.scope.evaluation, {**self.scope.values, **values})
            state = [_spread(inner.expr(result), self.whole) for result in combiner.result]
        if any(x.is_float for x in self.terms):
            state = [_unsure_if_nan(one, self.terms) for one in state]
            state = [_in_any_order(one, x) for one, x in zip(state, self.terms, strict=True)]
        return state


def _unsure_if_nan(state: Bounded, terms: list[Bounded]) -> Bounded:
    """Comparisons with NaN depend on the order in which values meet."""
    nan: Any = False
    for term in terms:
        nan = nan | (np.isnan(term.value).any(-1) if term.is_float else False)
    return Bounded(state.value, np.where(nan & ~np.isnan(state.error), np.inf, state.error), state.dtype)


def _in_any_order(state: Bounded, terms: Bounded) -> Bounded:
    """What was not rounded in one order may be in another, and be off by as much as a sum may; unless it is
    one of the terms, or all are multiples of one number that is large enough."""
    if not state.is_float:
        return state
    size = np.abs(terms.value).sum(-1)
    fits = _fits(terms, size)
    chosen = (state.value[..., None] == terms.value).any(-1)
    slack = terms.value.shape[-1] * 2.2 * unit(terms.dtype) * size + terms.error.sum(-1)
    slack = np.where(np.isfinite(slack), slack, np.inf)
    same = (state.error == 0) & (fits | chosen | ~np.isfinite(state.value))
    return Bounded(state.value, np.asarray(np.where(same, 0.0, state.error + slack), np.float64), state.dtype)


def _fits(terms: Bounded, size: np.ndarray) -> np.ndarray:
    """Whether sums of the terms, whose magnitudes add up to ``size``, are exact in any order."""
    step = lowest_bit(terms.value).min(-1, initial=np.inf)
    return (size == 0) | (np.isfinite(size) & (size / step <= 2.0 ** mantissa(terms.dtype)))


def _joined(terms: Bounded, start: Bounded) -> Bounded:
    return Bounded(
        np.concatenate([start.value[..., None], terms.value], -1),
        np.concatenate([start.error[..., None], terms.error], -1),
        terms.dtype,
    )


def _sum(terms: Bounded) -> Bounded:
    value, size = terms.value.sum(-1), np.abs(terms.value).sum(-1)
    count = terms.value.shape[-1]
    error = terms.error.sum(-1) + count * 1.1 * unit(terms.dtype) * size
    whole = (terms.error == 0).all(-1) & _fits(terms, size)
    overflow = size * 1.01 > dtypes.limits(terms.dtype)[1]
    error = np.where(whole, 0.0, np.where(overflow & np.isfinite(size), np.inf, error))
    return _settled(value, error, whole, terms)


def _prod(terms: Bounded) -> Bounded:
    value, size = terms.value.prod(-1), np.abs(terms.value)
    ones = np.isin(size, (0, 1)).all(-1) & (terms.error == 0).all(-1)
    relative = np.where(terms.error == 0, 0.0, terms.error / np.where(size > 0, size, 1))
    relative = np.where((size == 0) & (terms.error > 0), np.inf, relative)
    growth = np.prod(1 + relative + unit(terms.dtype) * 1.1, -1) - 1
    highest = np.where(size > 1, size + terms.error, 1).prod(-1)
    lowest = np.where((size < 1) & (size > 0), np.maximum(size - terms.error, 0), 1).prod(-1)
    limit = dtypes.limits(terms.dtype)[1]
    wild = (highest * 1.1 > limit) | (lowest * limit < 4)
    error = np.where(ones, 0.0, np.where(wild & np.isfinite(value), np.inf, np.abs(value) * growth))
    return _settled(value, error, ones, terms)


def _extreme(terms: Bounded, name: str) -> Bounded:
    value = (np.min if name == "min" else np.max)(terms.value, -1)
    nan = (np.isnan(terms.value) & (terms.error == 0)).any(-1)
    return Bounded(value, np.where(nan, 0.0, terms.error.max(-1)), terms.dtype)


def _settled(value: np.ndarray, error: Any, whole: Any, terms: Bounded) -> Bounded:
    """The result of a float reduction: what is not finite is known if all terms are."""
    sure, lost = (terms.error == 0).all(-1), np.isnan(terms.error).any(-1)
    zeros = terms.value.dtype.type(0)
    last = Bounded(np.where(sure, zeros, zeros), np.where(sure, 0.0, np.inf), terms.dtype)
    finite = np.isfinite(value)
    made = rounded(value, error, terms.dtype, last, whole=whole)
    size = np.abs(np.where(np.isfinite(terms.value), terms.value, 0)).sum(-1)
    calm = size * 1.01 < dtypes.limits(terms.dtype)[1]  # no overflow on the way
    total = np.where(finite, made.error, np.where(sure & calm, 0.0, np.inf))
    total = np.where(whole & finite, 0.0, total)
    return Bounded(made.value, np.where(lost, np.nan, total), terms.dtype)


def _execute(stmt: ir.Stmt, scope: _Scope) -> None:
    """A statement of an extern, one iteration after another."""
    match stmt:
        case ir.Seq(body):
            for one in body:
                _execute(one, scope)
        case ir.For(var, first, extent, body):
            begin, count = int(_now(scope, first).value), int(_now(scope, extent).value)
            for turn in range(count):
                scope.values[var] = exact(np.asarray(begin + turn), var.dtype)
                _execute(body, scope)
        case ir.If(condition, then, otherwise):
            if _now(scope, condition).value:
                _execute(then, scope)
            elif otherwise is not None:
                _execute(otherwise, scope)
        case ir.Let(var, value, body):
            scope.values[var] = _now(scope, value)
            _execute(body, scope)
        case ir.Allocate(buffer, body):
            shape = tuple(int(_now(scope, n).value) for n in buffer.shape)
            scope.memory[buffer] = _unwritten(shape, buffer.dtype)
            _execute(body, scope)
        case ir.Store(buffer, indices, value):
            made, target = _now(scope, value), scope.memory[buffer]
            place = tuple(int(_now(scope, i).value) for i in indices)
            if any(not 0 <= p < n for p, n in zip(place, target.value.shape, strict=True)):
                raise OutOfBounds(f"store to {buffer.name}{list(place)}")
            target.value[place], target.error[place] = made.value, made.error
        case _:
            raise AssertionError(f"{type(stmt).__name__} in an extern is not known to the fuzzer")


def _now(scope: _Scope, node: e.Expr) -> Bounded:
    scope.done = {}
    return scope.expr(node)
