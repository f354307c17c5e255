"""Calls of external functions under TVM's names: LLVM intrinsics, C functions, Python functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr, Value
from tvmlite.te.intrin.llvm_names import is_intrinsic
from tvmlite.te.loop import ir
from tvmlite.te.tensor import intrinsics, registry


def call_llvm_intrin(dtype: str, name: str, *args: Value) -> Expr:
    """Call the LLVM intrinsic ``name`` (``"llvm.x86.avx512.vpdpbusd.512"``) with exactly these arguments.

    ``dtype`` is the result's, including its lanes: ``"int32x16"``. Only LLVM targets have these intrinsics;
    to support others, use it in the special body of a tensor intrinsic. Wrong types are reported when LLVM
    parses the code.
    """
    arguments.text("call_llvm_intrin: name", name)
    if not name.startswith("llvm."):
        raise TensorExpressionError(
            f"call_llvm_intrin: {name!r} is no LLVM intrinsic: their names start with 'llvm.'",
            Span.of_caller(),
        )
    made = _foreign("llvm", dtype, name, args)
    if not is_intrinsic(made):
        raise TensorExpressionError(f"call_llvm_intrin: LLVM has no intrinsic {name!r}", Span.of_caller())
    return made


call_llvm_pure_intrin = call_llvm_intrin


def call_extern(dtype: str, name: str, *args: Any) -> Expr:
    """Call the C function ``name`` with ``args``: scalars, and ``buffer.access_ptr("r")`` for addresses.

    It must be visible in the process that runs the code (the C library's functions are; another library's if
    loaded with ``ctypes.CDLL(path, ctypes.RTLD_GLOBAL)``), or available when the exported library is linked.
    In a vectorized loop it is called for each lane.
    """
    made = _foreign("c", dtype, arguments.text("call_extern: name", name), args)
    if any(a.lanes > 1 for a in (made, *made.args)):
        raise TensorExpressionError(
            f"call_extern: C functions take and give scalars, {name!r} was given vectors", Span.of_caller()
        )
    return made


call_pure_extern = call_extern


def call_intrin(dtype: str, name: str, *args: Value) -> Expr:
    """Call tvmlite's intrinsic ``name``, ``"exp"`` or, in TVM's spelling, ``"tir.exp"``.

    An intrinsic declared with ``te.register_intrin_lowering`` is replaced by the result of its rule.
    ``"reinterpret"`` reads the bits of a value as ``dtype``, of any lanes: a ``uint8x4`` as an int32.
    """
    short = arguments.text("call_intrin: name", name).removeprefix("tir.")
    if short == "reinterpret" and len(args) == 1:
        return reinterpret(dtype, *args)
    rule = registry.lowering_rule(short)
    if rule is not None:
        element, lanes = e.lanes_of(dtype)
        made = e.convert(rule(e.Call(short, tuple(e.convert(a) for a in args), element)))
        return made if (made.dtype, made.lanes) == (element, lanes) else e.cast(dtype, made)
    made = intrinsics.call(short, *args)
    kind, lanes = e.lanes_of(dtype)
    if (made.dtype, made.lanes) != (kind, lanes):
        raise TensorExpressionError(
            f"call_intrin: {short} of these arguments is {_type_name(made.dtype, made.lanes)}, not {dtype}",
            Span.of_caller(),
        )
    return made


call_pure_intrin = call_intrin


def reinterpret(dtype: str, x: Value) -> Expr:
    """The bits of ``x`` read as ``dtype``, possibly a vector such as ``"int8x64"``, of the same width."""
    value, (kind, lanes) = e.scalar("reinterpret: x", x), e.lanes_of(dtype)
    if (value.dtype, value.lanes) == (kind, lanes):
        return value
    if dtypes.bits(value.dtype) * value.lanes != dtypes.bits(kind) * lanes:
        raise TensorExpressionError(
            f"reinterpret: {_type_name(value.dtype, value.lanes)} is not as wide as {dtype}", Span.of_caller()
        )
    if value.lanes == lanes:
        return e.Call("reinterpret", (value,), kind)
    return e.Foreign("bits", "reinterpret", (value,), kind, lanes)


def call_packed(name: str, *args: Any) -> ir.Stmt:
    """A statement for ``te.extern`` that calls the Python function registered as ``name``.

    ``args`` are buffers, which the function receives as numpy arrays, numbers, and strings. If it raises, or
    is not registered by then, the compiled function stops with an ExecutionError. In C, ``name`` becomes a
    function pointer that must be set first.
    """
    arguments.text("call_packed: name", name)
    values: list[Expr] = []
    form: list[str] = []
    for arg in args:
        buffer = getattr(arg, "buffer", arg)
        if isinstance(arg, str):
            form.append(registry.word_of(arg))
        elif isinstance(buffer, ir.Buffer):
            values += [buffer.access_ptr(), *buffer.shape]
            form.append(f"{buffer.dtype}:{len(buffer.shape)}")
        else:
            value = e.scalar(f"call_packed: {name}", arg)
            values.append(value)
            form.append(value.dtype)
    return checked(e.Foreign("packed", name, tuple(values), "int32", form=",".join(form)))


def checked(called: e.Foreign) -> ir.Stmt:
    """A statement that makes the call ``called`` of a Python function, and an ExecutionError if it fails."""
    why = f"the function {called.name!r}, called by name, failed or is not registered"
    return ir.Assert(e.Equal(called, e.const(0)), why)


def trace(args: Sequence[Value], trace_action: str = registry.TRACE) -> Expr:
    """Trace scalars: each time that compiled code gets here, the Python function registered as
    ``trace_action`` is called with ``args``. It returns the value to use in place of the last one, or None to
    keep it. By default it prints them. An exception in it is printed, and the value is kept."""
    arguments.text("trace: trace_action", trace_action)
    given = arguments.listed("trace: args", args, "scalar expressions")
    if not given:
        raise TensorExpressionError("trace: args is empty, expected the value to trace", Span.of_caller())
    values = tuple(e.scalar("trace: args", one) for one in given)
    form = ",".join(["=", *(value.dtype for value in values)])
    return e.Foreign("packed", trace_action, values, values[-1].dtype, form=form)


def _foreign(kind: str, dtype: str, name: str, args: tuple[Any, ...]) -> e.Foreign:
    element, lanes = e.lanes_of(dtype)
    return e.Foreign(kind, name, tuple(e.scalar(name, a) for a in args), element, lanes)


def _type_name(dtype: str, lanes: int) -> str:
    return dtype if lanes == 1 else f"{dtype}x{lanes}"
