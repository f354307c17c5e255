"""The node classes of ``tvm.tir``. Each makes tvmlite's node from TVM's arguments, and tvmlite's nodes are
instances of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.core.node import Node
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.intrinsics import TABLE
from tvmlite.tvm import written
from tvmlite.tvm.absent import instead_of
from tvmlite.tvm.attributes import is_packed_call
from tvmlite.tvm.marks import mark
from tvmlite.tvm.runtime.convert import const
from tvmlite.tvm.runtime.values import Extent
from tvmlite.tvm.tir import calls, uncompiled
from tvmlite.tvm.tir.uncompiled import OpCall
from tvmlite.tvm.tir.uncompiled.op_calls import FUNCTIONS, call_of


class ForKind:
    """The kinds of loops, by how their iterations are executed."""

    SERIAL, PARALLEL, VECTORIZED, UNROLLED = ir.SERIAL, ir.PARALLEL, ir.VECTORIZE, ir.UNROLL
    THREAD_BINDING = "thread_binding"


class Named(type):
    """The metaclass of a TVM class that stands for a class of tvmlite: it makes tvmlite's nodes and
    recognizes them as instances."""

    ours: Any
    make: Callable[..., Any]

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.matches(instance)

    def matches(cls, instance: Any) -> bool:
        """Whether ``instance`` is an instance of this class."""
        return isinstance(instance, cls.ours) and cls.accepts(instance)

    def accepts(cls, instance: Any) -> bool:
        """Whether ``instance``, an object of the class ``ours``, is also an instance of this class."""
        check = cls.__dict__.get("check")
        return True if check is None else bool(check(instance))

    def __call__(cls, *args: Any, **named: Any) -> Any:
        """Make tvmlite's node from TVM's arguments."""
        named.pop("span", None)
        try:
            bound = inspect.signature(cls.make).bind(*args, **named)
        except TypeError as error:
            raise TensorExpressionError(f"tir.{cls.__name__}: {error}", Span.of_caller()) from None
        for name, value in bound.arguments.items() if cls.__dict__.get("checks", True) else ():
            _check(f"tir.{cls.__name__}: {name}", name, value)
        made = cls.make(*bound.args, **bound.kwargs)
        for child in made.children() if isinstance(made, Node) else ():
            if isinstance(child, e.Const):
                mark(child)
        return made


_SCALARS = ("a", "b", "condition", "value", "base", "stride", "true_value", "false_value", "min", "extent")
_KINDS: dict[str, tuple[Any, str]] = {
    "body": (ir.Stmt, "a statement"),
    "then_case": (ir.Stmt, "a statement"),
    "else_case": ((ir.Stmt, type(None)), "a statement or None"),
    "var": (e.Var, "a te.var"),
    "loop_var": (e.Var, "a te.var"),
    "buffer": (ir.Buffer, "a buffer"),
    "producer": (t.Tensor, "a tensor"),
    "dtype": (str, "a dtype"),
    "indices": ((list, tuple), "a list of expressions"),
    "args": ((list, tuple), "a list of expressions"),
    "seq": ((list, tuple), "a list of statements"),
    "params": ((list, tuple), "a list of buffers and te.vars"),
}


def _check(where: str, name: str, value: Any) -> None:
    """Raise an error that names ``where`` if ``value`` is not valid for the parameter ``name``."""
    if name in _SCALARS:
        e.scalar(where, value)
    elif name == "lanes":
        arguments.whole(where, _number(value), least=1)
    elif name in _KINDS:
        arguments.instance(where, value, *_KINDS[name])
        if name == "seq":
            arguments.all_instances(where, value, ir.Stmt, "a statement")
        elif name == "indices":
            for one in value:
                e.scalar(where, one)


def _number(value: Any) -> Any:
    """``value``, or its number if it is a scalar constant."""
    return value.value if isinstance(value, e.Const) and value.lanes == 1 else value


def _named(name: str, ours: Any, make: Callable[..., Any], check: Any = None, **more: Any) -> Any:
    doc = f"TVM's ``{name}``: builds tvmlite's equivalent node, which is an instance of it."
    body = {"ours": ours, "make": staticmethod(make), "check": check, "__doc__": doc, **more}
    return Named(name, (), {**body, "__module__": __name__})


def _expr(value: Any) -> e.Expr:
    return e.convert(value)


def _binary(kind: type[e.Binary]) -> Callable[..., e.Expr]:
    def make(a: Any, b: Any) -> e.Expr:
        return kind(*e.match(a, b))

    return make


def _either(of_floats: type[e.Binary], of_ints: type[e.Binary]) -> Callable[..., e.Expr]:
    def make(a: Any, b: Any) -> e.Expr:
        x, y = e.match(a, b)
        return (of_floats if dtypes.is_float(x.dtype) else of_ints)(x, y)

    return make


Add, Sub, Mul = (_named(k.__name__, k, _binary(k)) for k in (e.Add, e.Sub, e.Mul))
Min, Max = (_named(k.__name__, k, _binary(k)) for k in (e.Min, e.Max))
And, Or = (_named(k.__name__, k, _binary(k)) for k in (e.And, e.Or))
FloorDiv, FloorMod = (_named(k.__name__, k, _binary(k)) for k in (e.FloorDiv, e.FloorMod))
Div = _named("Div", (e.Div, e.TruncDiv), _either(e.Div, e.TruncDiv))
Mod = _named("Mod", e.TruncMod, _binary(e.TruncMod))
EQ, NE = _named("EQ", e.Equal, _binary(e.Equal)), _named("NE", e.NotEqual, _binary(e.NotEqual))
LT, LE = _named("LT", e.Less, _binary(e.Less)), _named("LE", e.LessEqual, _binary(e.LessEqual))
GT, GE = _named("GT", (written.GT, e.Less), written.GT), _named("GE", (written.GE, e.LessEqual), written.GE)
Not = _named("Not", e.Not, lambda a: e.Not(_expr(a)))
Cast = _named("Cast", e.Cast, lambda dtype, value: e.Cast(dtype, _expr(value)))
Select = _named(
    "Select",
    e.Select,
    lambda condition, true_value, false_value: te.select(condition, true_value, false_value),
)
Ramp = _named("Ramp", e.Ramp, lambda base, stride, lanes: e.Ramp(*e.match(base, stride), _number(lanes)))
Broadcast = _named("Broadcast", e.Broadcast, lambda value, lanes: e.Broadcast(_expr(value), _number(lanes)))


def _int_imm(dtype: str, value: Any) -> e.Expr:
    if dtypes.is_float(dtypes.check(dtype)):
        raise TensorExpressionError(f"IntImm: dtype {dtype!r} is not an int's", Span.of_caller())
    return const(value, dtype)


def _float_imm(dtype: str, value: Any) -> e.Expr:
    if not dtypes.is_float(dtypes.check(dtype)):
        raise TensorExpressionError(f"FloatImm: dtype {dtype!r} is not a float's", Span.of_caller())
    return const(float(value), dtype)


IntImm = _named(
    "IntImm",
    (e.Const, Extent),
    _int_imm,
    lambda x: isinstance(x, Extent) or (not dtypes.is_float(x.dtype) and x.lanes == 1),
)
FloatImm = _named("FloatImm", e.Const, _float_imm, lambda x: dtypes.is_float(x.dtype) and x.lanes == 1)


def _call(dtype: str, op: Any, args: Sequence[Any]) -> Any:
    name = str(getattr(op, "name", op)).removeprefix("tir.")
    if name in ("call_extern", "call_pure_extern"):
        return calls.call_extern(dtype, *_name_first(name, args))
    if name in ("call_packed", "tvm_call_packed"):
        return calls.call_packed(*_name_first(name, args))
    if name == "prefetch":
        return calls.prefetch(*args)
    if name in TABLE:
        return te.call_intrin(dtype, name, *args)
    if name in FUNCTIONS:
        return call_of(name, dtype, args)
    raise UnsupportedError(
        f"Call: the operator {name!r} is not supported", Span.of_caller(), instead_of(f"tir.{name}") or None
    )


def _name_first(name: str, args: Sequence[Any]) -> tuple[Any, ...]:
    if not args:
        raise TensorExpressionError(f"tir.Call: {name} of nothing, expected a name first", Span.of_caller())
    return (getattr(args[0], "value", args[0]), *args[1:])


Call = _named("Call", (e.Call, e.Foreign, written.WrittenCall, OpCall), _call)
ProducerLoad = _named("ProducerLoad", t.TensorRead, lambda producer, indices: producer[tuple(indices)])
BufferLoad = _named("BufferLoad", ir.Load, lambda buffer, indices: ir.Load(buffer, _indices(indices)))
Load = BufferLoad


def _indices(values: Sequence[Any]) -> tuple[e.Expr, ...]:
    return tuple(e.cast(e.INDEX, _expr(one)) for one in values)


def _for(loop_var: Any, min: Any, extent: Any, kind: Any, body: ir.Stmt, *rest: Any, **_: Any) -> ir.For:
    if kind not in (ir.SERIAL, ir.PARALLEL, ir.VECTORIZE, ir.UNROLL):
        raise UnsupportedError(f"For: kind {kind!r} is not supported", Span.of_caller())
    return ir.For(loop_var, _expr(min), _expr(extent), body, kind)


def _assert(condition: Any, message: Any, body: ir.Stmt | None = None) -> ir.Stmt:
    check, text = _expr(condition), getattr(message, "value", message)
    return ir.Assert(check, str(text)) if body is None else written.AssertStmt(check, message, body)


def _buffer_store(buffer: ir.Buffer, value: Any, indices: Sequence[Any]) -> ir.Store:
    return ir.Store(buffer, _indices(indices), e.cast(buffer.dtype, value))


For = _named(
    "For", ir.For, _for, Serial=ir.SERIAL, Parallel=ir.PARALLEL, Vectorized=ir.VECTORIZE, Unrolled=ir.UNROLL
)
While = _named("While", ir.While, lambda condition, body: ir.While(_expr(condition), body))
IfThenElse = _named(
    "IfThenElse",
    ir.If,
    lambda condition, then_case, else_case=None: ir.If(_expr(condition), then_case, else_case),
)
LetStmt = _named(
    "LetStmt",
    ir.Let,
    lambda var, value, body: ir.Let(var, written.bound_value("tir.LetStmt", var, value), body),
)
SeqStmt = _named("SeqStmt", ir.Seq, lambda seq: ir.Seq(tuple(seq)))
Evaluate = _named(
    "Evaluate",
    (ir.Evaluate, ir.Assert),
    lambda value: value if is_packed_call(value) else ir.Evaluate(e.scalar("tir.Evaluate: value", value)),
    lambda stmt: isinstance(stmt, ir.Evaluate) or is_packed_call(stmt),
    checks=False,
)
BufferStore = _named("BufferStore", ir.Store, _buffer_store)
Store = BufferStore
AssertStmt = _named("AssertStmt", (ir.Assert, written.AssertStmt), _assert)


def _reduce(combiner: Any, src: Any, rdom: Any, condition: Any, value_index: int, init: Any = None) -> Any:
    if combiner is not None:
        what = "a reducer, as te.comm_reducer makes"
        arguments.instance("tir.Reduce: combiner", combiner, t.CommReducer, what)
    values = arguments.listed("tir.Reduce: src", src, "expressions")
    axes = arguments.all_instances(
        "tir.Reduce: rdom", arguments.listed("tir.Reduce: rdom", rdom, "axes"), t.IterVar, "an axis"
    )
    when = _expr(True if condition is None else condition)
    starts = tuple(map(_expr, init or ()))
    made = tuple(map(_expr, values)), tuple(axes), when, value_index
    if combiner is None:
        return uncompiled.NoReducer(None, *made, starts)
    return t.Reduce(combiner, *made, starts, combiner.free)


def _comm_reducer(lhs: Any, rhs: Any, result: Any, identity_element: Any) -> t.CommReducer:
    left, right, results, starts = (
        tuple(arguments.listed(f"tir.CommReducer: {name}", one, "expressions"))
        for name, one in (
            ("lhs", lhs),
            ("rhs", rhs),
            ("result", result),
            ("identity_element", identity_element),
        )
    )
    if not len(left) == len(right) == len(results) == len(starts):
        raise TensorExpressionError("tir.CommReducer: its lists differ in length", Span.of_caller())
    arguments.all_instances("tir.CommReducer: lhs and rhs", (*left, *right), e.Var, "a te.var")
    return t.CommReducer("reduce", left, right, tuple(map(_expr, results)), tuple(map(_expr, starts)))


CommReducer = _named("CommReducer", t.CommReducer, _comm_reducer, checks=False)
Reduce = _named("Reduce", (t.Reduce, uncompiled.NoReducer), _reduce, checks=False)


def _own(kind: type, *more: type) -> Any:
    """The class for the nodes ``kind``, whose instances include those of the classes ``more``."""
    return _named(kind.__name__, (kind, *more), kind, checks=False)


Let = _own(written.Let)
Allocate = _own(uncompiled.Allocate, ir.Allocate)
AllocateConst, AttrStmt, Block, BlockRealize, BufferRealize, BufferRegion = map(
    _own,
    (
        uncompiled.AllocateConst,
        uncompiled.AttrStmt,
        uncompiled.Block,
        uncompiled.BlockRealize,
        uncompiled.BufferRealize,
        uncompiled.BufferRegion,
    ),
)
DeclBuffer, MatchBufferRegion, Prefetch, ProducerRealize, ProducerStore, Shuffle = map(
    _own,
    (
        uncompiled.DeclBuffer,
        uncompiled.MatchBufferRegion,
        uncompiled.Prefetch,
        uncompiled.ProducerRealize,
        uncompiled.ProducerStore,
        uncompiled.Shuffle,
    ),
)
