"""The value of a computation from its definition alone: without schedule, loops or lowering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.fuzz.expected import scalars
from tvmlite.fuzz.expected.bounded import WIDE, Bounded, constant, error_masks, exact, unit
from tvmlite.fuzz.expected.totals import sums_exactly, total_extreme, total_product, total_sum, with_start
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.extern import ExternOp
from tvmlite.te.tensor.scan import ScanOp

LIMIT = 400_000
"""The largest number of iterations of a compute."""


class OutOfBounds(AssertionError):
    """The computation itself reads outside a tensor, and has no value."""


class TooLarge(AssertionError):
    """The computation has more iterations than can be evaluated quickly."""


def evaluate(
    tensors: Sequence[t.Tensor],
    given: Mapping[t.Tensor, np.ndarray],
    variables: Mapping[e.Var, int],
    predicates: Mapping[t.Operation, e.Expr] | None = None,
) -> list[Bounded]:
    """Return the values of ``tensors``, from those of the placeholders and of the size variables.

    Where one of ``predicates``, over an operation's axes, is false, an element is not set, or a value not
    reduced. Each value has a bound on the effect of rounding, contraction and the order of reductions. Raises
    OutOfBounds where an element depends on one that does not exist.
    """
    with np.errstate(all="ignore"):
        run = _Evaluation(given, variables, predicates or {})
        return [run.tensor(one) for one in tensors]


def shape_at(tensor: t.Tensor, variables: Mapping[e.Var, int]) -> tuple[int, ...]:
    """Return the shape of ``tensor`` for these values of the size variables."""
    run = _Evaluation({}, variables, {})
    return tuple(run.number(n) for n in tensor.shape)


class _Evaluation:
    def __init__(
        self,
        given: Mapping[t.Tensor, np.ndarray],
        variables: Mapping[e.Var, int],
        predicates: Mapping[t.Operation, e.Expr],
    ) -> None:
        self.predicates = predicates
        self.variables = {var: exact(np.asarray(value), var.dtype) for var, value in variables.items()}
        self.known = {tensor: exact(array, tensor.dtype) for tensor, array in given.items()}

    def tensor(self, tensor: t.Tensor) -> Bounded:
        if tensor not in self.known:
            op = tensor.op
            made = self.scan(op) if isinstance(op, ScanOp) else self.operation(op)
            for one in made:
                if np.isnan(one.error).any():
                    raise OutOfBounds(f"{op.name} reads outside a tensor")
        return self.known[tensor]

    def operation(self, op: t.Operation) -> list[Bounded]:
        """Return the results of ``op``, after those of the operations that it reads."""
        assert isinstance(op, (t.ComputeOp, ExternOp)), f"no value is given for {op.name}"
        for one in op.inputs:
            self.tensor(one)
        made = self.extern(op) if isinstance(op, ExternOp) else self.compute(op)
        self.known.update(zip(op.outputs, made, strict=True))
        return made

    def scan(self, op: ScanOp) -> list[Bounded]:
        """Evaluate a scan row by row.

        In each iteration the update is evaluated as a whole, with the rows known so far. One row of its
        result is used; the others read rows that do not exist yet.
        """
        rows, body = self.number(op.state[0].shape[0]), op.body()
        states = [_all_out_of_bounds(tuple(map(self.number, one.shape)), one.dtype) for one in op.state]
        order = [one for one in _producers_first(op.update) if one in body]
        begin = self.number(op.init[0].shape[0])
        for state, first in zip(states, op.init, strict=True):
            _set_rows(state, slice(0, begin), self.tensor(first))
        self.known.update(zip(op.state, states, strict=True))
        for row in range(begin, rows):
            for one in order:
                self.operation(one)
            for state, following in zip(states, op.update, strict=True):
                _set_rows(state, slice(row, row + 1), self.known[following])
        for one in (*op.state, *(made for made in order for made in made.outputs)):
            self.known.pop(one, None)
        self.known.update(zip(op.outputs, states, strict=True))
        return states

    def number(self, value: Any) -> int:
        """Evaluate an extent or a similar expression."""
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
        scope, result_shape = _Scope(self, values), tuple(extents[: len(op.axis)])
        stored = scope.expr(self.predicates[op]) if op in self.predicates else scalars.TRUE
        if not isinstance(op.body[0], t.Reduce):
            every = [_broadcast(scope.expr(body), result_shape) for body in op.body]
            return [_unknown_where_not_stored(stored, one) for one in every]
        reduced = _Reduction(scope, op.body[0], stored, result_shape, tuple(extents))
        every = reduced.run()
        return [every[body.value_index] for body in op.body if isinstance(body, t.Reduce)]

    def extern(self, op: ExternOp) -> list[Bounded]:
        memory: dict[ir.Buffer, Bounded] = {}
        for buffer, tensor in zip(op.input_buffers, op.input_tensors, strict=True):
            memory[buffer] = self.known[tensor]
        for buffer in op.output_buffers:
            shape = tuple(self.number(n) for n in buffer.shape)
            memory[buffer] = _uninitialized(shape, buffer.dtype)
        scope = _Scope(self, dict(self.variables))
        scope.memory = memory
        _execute(op.body, scope)
        return [memory[buffer] for buffer in op.output_buffers]


def _all_out_of_bounds(shape: tuple[int, ...], dtype: str) -> Bounded:
    """Return elements that nothing may depend on."""
    made = _uninitialized(shape, dtype)
    return Bounded(made.value, np.full(shape, np.nan), dtype)


def _set_rows(target: Bounded, rows: slice, source: Bounded) -> None:
    target.value[rows], target.error[rows] = source.value[rows], source.error[rows]


def _producers_first(tensors: Sequence[t.Tensor]) -> list[t.Operation]:
    """Return all operations that ``tensors`` need, each after those that it reads."""
    order: dict[t.Operation, None] = {}

    def visit(op: t.Operation) -> None:
        if op not in order:
            for one in op.inputs:
                visit(one.op)
            order[op] = None

    for tensor in tensors:
        visit(tensor.op)
    return list(order)


def _unknown_where_not_stored(stored: Bounded, made: Bounded) -> Bounded:
    """Return ``made``, unknown where it is not stored: it may be anything there, even out of bounds."""
    return Bounded(made.value, np.where(stored.value, made.error, np.inf), made.dtype)


def _uninitialized(shape: tuple[int, ...], dtype: str) -> Bounded:
    kind = WIDE if dtypes.is_float(dtype) else dtypes.numpy_of(dtype)
    return Bounded(np.zeros(shape, kind), np.full(shape, np.inf), dtype)


def _broadcast(part: Bounded, shape: tuple[int, ...]) -> Bounded:
    return Bounded(
        np.array(np.broadcast_to(part.value, shape)), np.array(np.broadcast_to(part.error, shape)), part.dtype
    )


class _Scope:
    """Evaluates expressions for all values of the axes at once."""

    def __init__(self, evaluation: _Evaluation, values: dict[e.Var, Bounded]) -> None:
        self.evaluation, self.values = evaluation, values
        self.memory: dict[ir.Buffer, Bounded] = {}
        self.cache: dict[e.Expr, Bounded] = {}

    def expr(self, node: e.Expr) -> Bounded:
        known = self.cache.get(node)
        if known is None:
            known = self.cache[node] = self.compute(node)
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
        """Read the elements at ``indices``; those out of bounds, and those at unknown indices, are marked."""
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
        all_exact, out_of_bounds = error_masks(*places) if places else (True, False)
        error = np.where(all_exact, array.error[tuple(clipped)], np.inf)
        error = np.where(inside & ~np.asarray(out_of_bounds), error, np.nan)
        value = np.asarray(array.value[tuple(clipped)])
        return Bounded(np.broadcast_to(value, shape), np.broadcast_to(error, shape), array.dtype)


class _Reduction:
    """A reduction over the last axes of its terms."""

    def __init__(
        self,
        scope: _Scope,
        node: t.Reduce,
        stored: Bounded,
        result_shape: tuple[int, ...],
        extents: tuple[int, ...],
    ) -> None:
        self.scope, self.node, self.result_shape = scope, node, result_shape
        flat = (*result_shape, int(np.prod(extents[len(result_shape) :], dtype=np.int64)))
        chosen = scalars.choose(stored, scope.expr(node.condition), scalars.FALSE, True)
        chosen = _broadcast(chosen, extents)
        self.terms: list[Bounded] = []
        for source, identity in zip(node.source, node.combiner.identity, strict=True):
            term = scalars.choose(
                chosen, _broadcast(scope.expr(source), extents), self.constant(identity), True
            )
            self.terms.append(Bounded(term.value.reshape(flat), term.error.reshape(flat), term.dtype))
        starts = [scope.expr(one) for one in node.init] or [self.constant(i) for i in node.combiner.identity]
        self.starts = [_broadcast(self.without_reduce_axes(one), result_shape) for one in starts]

    def constant(self, identity: e.Expr) -> Bounded:
        return self.scope.expr(identity)

    def without_reduce_axes(self, part: Bounded) -> Bounded:
        """Remove the reduce axes from ``part``, which does not depend on them."""
        extra = max(0, part.value.ndim - len(self.result_shape))
        shape = part.value.shape[: part.value.ndim - extra]
        return Bounded(part.value.reshape(shape), part.error.reshape(shape), part.dtype)

    def run(self) -> list[Bounded]:
        name, one = self.node.combiner.name, len(self.terms) == 1
        if one and self.terms[0].is_float and name in ("sum", "prod", "max", "min"):
            start = self.starts[0]
            both = with_start(self.terms[0], start)
            return [
                total_sum(both)
                if name == "sum"
                else total_product(both)
                if name == "prod"
                else total_extreme(both, name)
            ]
        return self.fold()

    def fold(self) -> list[Bounded]:
        """Combine one term after another; any order must give the same where terms are exact."""
        combiner = self.node.combiner
        state = self.starts
        for n in range(self.terms[0].value.shape[-1]):
            terms = [Bounded(x.value[..., n], x.error[..., n], x.dtype) for x in self.terms]
            values = dict(zip(combiner.left, state, strict=True)) | dict(
                zip(combiner.right, terms, strict=True)
            )
            inner = _Scope(self.scope.evaluation, {**self.scope.values, **values})
            state = [_broadcast(inner.expr(result), self.result_shape) for result in combiner.result]
        if any(x.is_float for x in self.terms):
            state = [_uncertain_if_nan(one, self.terms) for one in state]
            state = [_in_any_order(one, x) for one, x in zip(state, self.terms, strict=True)]
        return state


def _uncertain_if_nan(state: Bounded, terms: list[Bounded]) -> Bounded:
    """Mark ``state`` as unknown if a term is NaN: comparisons with NaN depend on the order of the terms."""
    nan: Any = False
    for term in terms:
        nan = nan | (np.isnan(term.value).any(-1) if term.is_float else False)
    return Bounded(state.value, np.where(nan & ~np.isnan(state.error), np.inf, state.error), state.dtype)


def _in_any_order(state: Bounded, terms: Bounded) -> Bounded:
    """Widen the error of ``state`` to that of any order of its terms.

    A result that is exact in one order may be rounded in another, by as much as a sum may; unless it is one
    of the terms, or all are multiples of one number that is large enough.
    """
    if not state.is_float:
        return state
    size = np.abs(terms.value).sum(-1)
    is_exact = sums_exactly(terms, size)
    chosen = (state.value[..., None] == terms.value).any(-1)
    slack = terms.value.shape[-1] * 2.2 * unit(terms.dtype) * size + terms.error.sum(-1)
    slack = np.where(np.isfinite(slack), slack, np.inf)
    stays_exact = (state.error == 0) & (is_exact | chosen | ~np.isfinite(state.value))
    return Bounded(
        state.value, np.asarray(np.where(stays_exact, 0.0, state.error + slack), np.float64), state.dtype
    )


def _execute(stmt: ir.Stmt, scope: _Scope) -> None:
    """Execute a statement of an extern, one iteration after another."""
    match stmt:
        case ir.Seq(body):
            for one in body:
                _execute(one, scope)
        case ir.For(var, first, extent, body):
            begin, count = int(_evaluate(scope, first).value), int(_evaluate(scope, extent).value)
            for value in range(begin, begin + count):
                scope.values[var] = exact(np.asarray(value), var.dtype)
                _execute(body, scope)
        case ir.If(condition, then, otherwise):
            if _evaluate(scope, condition).value:
                _execute(then, scope)
            elif otherwise is not None:
                _execute(otherwise, scope)
        case ir.Let(var, value, body):
            scope.values[var] = _evaluate(scope, value)
            _execute(body, scope)
        case ir.Allocate(buffer, body):
            shape = tuple(int(_evaluate(scope, n).value) for n in buffer.shape)
            scope.memory[buffer] = _uninitialized(shape, buffer.dtype)
            _execute(body, scope)
        case ir.Store(buffer, indices, value):
            made, target = _evaluate(scope, value), scope.memory[buffer]
            place = tuple(int(_evaluate(scope, i).value) for i in indices)
            if any(not 0 <= p < n for p, n in zip(place, target.value.shape, strict=True)):
                raise OutOfBounds(f"store to {buffer.name}{list(place)}")
            target.value[place], target.error[place] = made.value, made.error
        case _:
            raise AssertionError(f"{type(stmt).__name__} in an extern is not known to the fuzzer")


def _evaluate(scope: _Scope, node: e.Expr) -> Bounded:
    scope.cache = {}
    return scope.expr(node)
