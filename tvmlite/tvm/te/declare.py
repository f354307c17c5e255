"""``te.compute`` and the other declarations with TVM's parameters, tag scopes and tensor intrinsic calls."""

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
    """Like ``tvmlite.te.compute``. If ``fcompute`` takes fewer arguments than there are axes and returns a
    call of a tensor intrinsic on slices of tensors, the intrinsic computes the remaining axes.
    A read that is certainly out of bounds raises an error when the compute is lowered, not before."""
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
    """``fcompute`` with its ``*indices`` named ``names``."""

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
    """Like ``tvmlite.te.extern``, but ``shape`` may be one extent, one shape or several shapes, as in TVM.
    For one output the tensor itself is returned, even if its shape is given in a list."""
    if isinstance(shape, tuple) and shape and all(isinstance(one, (tuple, list)) for one in shape):
        shape = list(shape)
    elif isinstance(shape, (int, e.Expr)):
        shape = (shape,)
    label = tag_of("extern", tag)
    written = _plain_loops(fcompute)
    made = te.extern(shape, inputs, written, name, dtype, in_buffers, out_buffers, label, attrs)
    return with_attributes(_unless_one(made))


def _unless_one(made: Any) -> Any:
    """``made``, or its only element if it is a list of one tensor."""
    return made[0] if isinstance(made, list) and len(made) == 1 else made


def _plain_loops(function: Any) -> Any:
    """``function``, which returns statements or IR builders, wrapped to return ``tvmlite.te``'s statements.
    The buffers passed to it are marked as objects of a TVM program."""
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
    """Like ``tvmlite.te.decl_tensor_intrin``."""
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
    """Like ``tvmlite.te.scan``; for one state the tensor itself is returned."""
    label = tag_of("scan", tag)
    given = () if inputs is None else (inputs,) if isinstance(inputs, t.Tensor) else tuple(inputs)
    return with_attributes(_unless_one(te.scan(init, update, state_placeholder, given, name, label, attrs)))


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "", span: Any = None) -> t.IterVar:
    """Return an axis to reduce over. ``thread_tag``, which is for graphics processors, is refused."""
    if thread_tag:
        raise arguments.refused("reduce_axis: thread_tag", thread_tag, "none: there are CPUs only")
    made = te.reduce_axis(plain(dom), name)
    with_marked_constants(made.dom)
    return made


def create_schedule(ops: Any) -> Any:
    """Return a schedule of ``ops``, a possibly empty list of operations or tensors. In a ``PassContext`` with
    ``"te.keep_schedule_record"``, its ``schedule_record`` holds its state after each primitive."""
    nothing = isinstance(ops, (list, tuple)) and not ops
    made = Schedule([], []) if nothing else te.create_schedule(ops)
    vars(made)[AS_TVM] = True
    if PassContext.current().config.get("te.keep_schedule_record"):
        vars(made)["keeps_record"] = made.state
    return made


def comm_reducer(fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce") -> Any:
    """Like ``tvmlite.te.comm_reducer``; called with several values and no axis, the reducer combines them."""
    return reducer(te.comm_reducer(fcombine, fidentity, name), fcombine, name)


def var(name: str = "tindex", dtype: Any = "int32", span: Any = None) -> e.Var:
    """Return a variable of ``dtype``, which may be a ``tvm.ir.PointerType``."""
    return variable(te.var, name, dtype)


def size_var(name: str = "size", dtype: str = "int32", span: Any = None) -> e.Var:
    """Return a variable whose value is at least 0, such as an extent."""
    return variable(te.size_var, name, dtype)


def placeholder(shape: Any, dtype: str | None = None, name: str = "placeholder") -> t.Tensor:
    """Return a tensor that is an input of the computation; ``dtype`` is float32 by default."""
    made = te.placeholder(plain(shape), None if dtype is None else long_dtype(dtype), name)
    mark(made.op)
    return made


def const(value: Any, dtype: str | None = None, span: Any = None) -> e.Expr:
    """Return ``value`` as a constant of ``dtype``, which may be a vector dtype (``"int32x4"``). A numpy
    number keeps its dtype by default."""
    return constant(value, dtype)


def extern_primfunc(*args: Any, **named: Any) -> NoReturn:
    """Raise an UnsupportedError: TVMScript is not supported."""
    raise UnsupportedError(
        "extern_primfunc: functions of TVMScript are not supported",
        Span.of_caller(),
        hint="te.extern with a tvm.tir.ir_builder, or te.hybrid.script, writes loops by hand",
    )
