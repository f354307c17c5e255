"""``te.compute`` and others with TVM's parameters, tags of scopes, and intrinsics called on windows."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.intrin.ir_builder import IRBuilder
from tvmlite.te.loop import ir
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.ir.transform import PassContext
from tvmlite.tvm.marks import mark, with_marked_constants
from tvmlite.tvm.runtime.convert import const as constant
from tvmlite.tvm.runtime.convert import long_dtype
from tvmlite.tvm.te import intrinsic_call
from tvmlite.tvm.te.caching import AS_TVM
from tvmlite.tvm.te.op_attributes import with_attributes
from tvmlite.tvm.te.reads import computed
from tvmlite.tvm.te.tag import tag_of
from tvmlite.tvm.tir.parameters import reducer
from tvmlite.tvm.tir.types import variable
from tvmlite.tvm.written import WrittenCall, plain


def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Any = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """As ``tvmlite.te.compute``. Where ``fcompute`` takes fewer arguments than there are axes and gives a
    call of a tensor intrinsic on windows of tensors, the intrinsic computes the axes that are left.
    A read that is certainly outside its tensor is an error when the compute is lowered, not before."""
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    label = tag_of("compute", tag)
    if varargs_names is not None:
        fcompute = _with_names(fcompute, varargs_names)
    if _takes(fcompute) < len(extents):
        made = intrinsic_call.compute(extents, fcompute, name, label, attrs)
        if made is not None:
            return made
    return with_attributes(computed(extents, fcompute, name, label, attrs))


def _takes(fcompute: Any) -> float:
    if not callable(fcompute):
        return float("inf")
    parameters = inspect.signature(fcompute).parameters.values()
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return float("inf")
    return len([one for one in parameters if one.default is one.empty])


def _with_names(fcompute: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """``fcompute``, whose ``*indices`` are called so."""

    def named(*indices: Any) -> Any:
        return fcompute(*indices)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    named.__signature__ = inspect.Signature([inspect.Parameter(one, kind) for one in names])  # type: ignore[attr-defined]
    return named


def extern(
    shape: Any,
    inputs: Sequence[t.Tensor],
    fcompute: Callable[..., Any],
    name: str = "extern",
    dtype: Any = None,
    in_buffers: Any = None,
    out_buffers: Any = None,
    tag: str = "",
    attrs: Any = None,
) -> Any:
    """As ``tvmlite.te.extern``; one shape of ints or several shapes, as TVM takes them. Of one output the
    tensor is given, though its shape may be in a list."""
    if isinstance(shape, tuple) and shape and all(isinstance(one, (tuple, list)) for one in shape):
        shape = list(shape)
    elif isinstance(shape, (int, e.Expr)):
        shape = (shape,)
    label = tag_of("extern", tag)
    written = _plain_loops(fcompute)
    made = te.extern(shape, inputs, written, name, dtype, in_buffers, out_buffers, label, attrs)
    return with_attributes(_unless_one(made))


def _unless_one(made: Any) -> Any:
    """The tensors ``made``; of a list with one the tensor."""
    return made[0] if isinstance(made, list) and len(made) == 1 else made


def _plain_loops(function: Any) -> Any:
    """``function``, which gives statements or builders of them, giving statements of ours. The buffers that
    it is given are marked: they are a program's of TVM's."""
    if not callable(function):
        return function

    @functools.wraps(function)
    def apply(*given: Any) -> Any:
        for buffer in (one for several in given for one in several):
            mark(buffer)
        made = function(*given)
        several = made if isinstance(made, (list, tuple)) else [made]
        found = [_as_statement(one) for one in several]
        return found[0] if several is not made else tuple(found)

    return apply


def _as_statement(made: Any) -> Any:
    stmt = made.get() if isinstance(made, IRBuilder) else made
    return plain(ir.Evaluate(stmt) if isinstance(stmt, WrittenCall) else stmt)


def decl_tensor_intrin(
    op: t.Operation,
    fcompute: Callable[..., Any] | None = None,
    name: str = "tensor_intrin",
    binds: Any = None,
    scalar_params: Any = None,
    default_buffer_params: Any = None,
) -> Any:
    """As ``tvmlite.te.decl_tensor_intrin``."""
    return te.decl_tensor_intrin(
        op, _plain_loops(fcompute), name, binds, scalar_params, default_buffer_params
    )


def scan(
    init: Any,
    update: Any,
    state_placeholder: Any,
    inputs: Any = None,
    name: str = "scan",
    tag: str = "",
    attrs: Any = None,
) -> Any:
    """As ``tvmlite.te.scan``; of one state the tensor is given."""
    label = tag_of("scan", tag)
    given = () if inputs is None else (inputs,) if isinstance(inputs, t.Tensor) else tuple(inputs)
    return with_attributes(_unless_one(te.scan(init, update, state_placeholder, given, name, label, attrs)))


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "", span: Any = None) -> t.IterVar:
    """An axis to reduce over; ``thread_tag`` is for graphics processors and is an error."""
    if thread_tag:
        raise arguments.refused("reduce_axis: thread_tag", thread_tag, "none: there are CPUs only")
    made = te.reduce_axis(plain(dom), name)
    with_marked_constants(made.dom)
    return made


def create_schedule(ops: Any) -> Any:
    """The schedule of ``ops``, operations or tensors, which may be none. In a ``PassContext`` with
    ``"te.keep_schedule_record"`` it keeps what it was after each primitive, as ``schedule_record``."""
    nothing = isinstance(ops, (list, tuple)) and not ops
    made = Schedule([], []) if nothing else te.create_schedule(ops)
    vars(made)[AS_TVM] = True
    if PassContext.current().config.get("te.keep_schedule_record"):
        vars(made)["keeps_record"] = made.state
    return made


def comm_reducer(fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce") -> Any:
    """As ``tvmlite.te.comm_reducer``; the reducer called with values alone combines those."""
    return reducer(te.comm_reducer(fcombine, fidentity, name), fcombine, name)


def var(name: str = "tindex", dtype: Any = "int32", span: Any = None) -> e.Var:
    """A variable of ``dtype``, which may be a ``tvm.ir.PointerType``."""
    return variable(te.var, name, dtype)


def size_var(name: str = "size", dtype: str = "int32", span: Any = None) -> e.Var:
    """A variable that is at least 0."""
    return variable(te.size_var, name, dtype)


def placeholder(shape: Any, dtype: str | None = None, name: str = "placeholder") -> t.Tensor:
    """A tensor given from outside, of ``dtype`` float32 unless another is given."""
    made = te.placeholder(plain(shape), None if dtype is None else long_dtype(dtype), name)
    mark(made.op)
    return made


def const(value: Any, dtype: str | None = None, span: Any = None) -> e.Expr:
    """``value`` as a constant of ``dtype``, which may be a vector's: ``"int32x4"``; of a numpy number its
    own."""
    return constant(value, dtype)


def extern_primfunc(*args: Any, **named: Any) -> NoReturn:
    """An error: loops of TVMScript are not read."""
    raise UnsupportedError(
        "extern_primfunc: functions of TVMScript are not supported",
        Span.of_caller(),
        hint="te.extern with a tvm.tir.ir_builder, or te.hybrid.script, writes loops by hand",
    )
