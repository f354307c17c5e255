"""``tvm.lower`` and ``tvm.build``, with TVM's parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tvmlite import driver, te
from tvmlite.core import arguments
from tvmlite.core.errors import InputError, TensorExpressionError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.model.artifact import CompiledKernelFunction
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes import legalize
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor.scan import ScanOp
from tvmlite.te.tensor.tensor import PlaceholderOp, Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.absent.script import Unread
from tvmlite.tvm.driver.added_passes import with_added_passes
from tvmlite.tvm.driver.broadcast import with_broadcasts
from tvmlite.tvm.driver.given import with_arguments
from tvmlite.tvm.driver.imported import imported_objects
from tvmlite.tvm.driver.lowered import LoweredModule
from tvmlite.tvm.driver.rules import with_rules
from tvmlite.tvm.runtime.module import Module, of_functions
from tvmlite.tvm.target import plain
from tvmlite.tvm.te.declare import create_schedule
from tvmlite.tvm.te.intrinsic_call import tensorized
from tvmlite.tvm.te.reads import check_reads_of
from tvmlite.tvm.te.threads import refuse_threads, without_predicates_of_threads
from tvmlite.tvm.tir.function import lowered


def lower(
    inp: Any,
    args: Sequence[Any] | None = None,
    name: str = "main",
    binds: Mapping[Tensor, ir.Buffer] | None = None,
    simple_mode: bool = False,
) -> LoweredModule:
    """Lower ``inp``, a schedule with its ``args`` (or a function already lowered), to a module with the
    function ``name``. Outputs that are not among ``args`` are appended to them. ``binds`` may declare the
    buffers of arguments, which must be dense. Passes that the ``PassContext`` adds run last."""
    if isinstance(inp, LoweredModule):
        return inp
    inp = lowered(inp)
    if isinstance(inp, ir.Function):
        return LoweredModule({inp.name: inp})
    if isinstance(inp, Unread):
        inp()
    if not isinstance(inp, Schedule):
        raise arguments.refused("lower: inp", inp, "a schedule", InputError)
    if args is None:
        raise InputError("lower: args must be given for lowering from schedule")
    _check_binds(binds)
    check_reads_of(inp)
    whole = with_broadcasts(without_predicates_of_threads(tensorized(inp)))
    schedule, params = with_arguments(whole, args)
    function = te.lower(schedule, params, arguments.text("lower: name", name, InputError))
    return with_added_passes(LoweredModule({name: function}))


def schedule_to_module(
    sch: Schedule, args: Sequence[Any] | None = None, name: str = "main", binds: Any = None
) -> LoweredModule:
    """``lower`` under TVM's older name."""
    return lower(sch, args, name, binds)


class NoFunction(TensorExpressionError, TypeError):
    """An operation that ``create_prim_func`` does not support. It is also a TypeError, as in TVM."""


def create_prim_func(ops: Sequence[Any], index_dtype_override: str | None = None) -> ir.Function:
    """Return the loops of a function with the parameters ``ops``, for ``tvm.build``; each intermediate tensor
    is computed completely before its consumers. Unlike in TVM the function has no blocks and cannot be
    scheduled further: use ``te.create_schedule`` for that. Indices are always int64. A scan is an error, as
    in TVM."""
    tensors = [
        one for one in arguments.listed("create_prim_func: ops", ops, "tensors") if isinstance(one, Tensor)
    ]
    outputs = [one.op for one in tensors if not isinstance(one.op, PlaceholderOp)]
    schedule = create_schedule(list(dict.fromkeys(outputs)))
    for stage in schedule.stages:
        if isinstance(stage.op, ScanOp):
            raise NoFunction(
                "create_prim_func: Unsupported Operation: ScanOp. tvm.lower gives the loops of its schedule",
                Span.of_caller(),
            )
    return lower(schedule, ops)["main"]


def build(
    inputs: Any,
    args: Sequence[Any] | None = None,
    target: Any = None,
    target_host: Any = None,
    runtime: Any = None,
    name: str = "default_function",
    binds: Mapping[Tensor, ir.Buffer] | None = None,
) -> Module:
    """Compile a schedule with its ``args``, a result of ``lower``, a list of these, or a dict of them by
    target into a module of functions. The targets must be CPUs.

    ``target`` defaults to that of ``with tvm.target.Target(...)``, else ``"llvm"``; ``target_host`` must be a
    CPU too. A loop that is bound to a thread axis is a TargetError.
    """
    if runtime is not None:
        raise UnsupportedError("build: runtime= is not supported: there is one runtime", Span.of_caller())
    if isinstance(inputs, Mapping) and not isinstance(inputs, LoweredModule):
        if len(inputs) != 1:
            raise UnsupportedError(
                f"build: {len(inputs)} targets in one module, expected one", Span.of_caller()
            )
        ((target, inputs),) = inputs.items()
    where = plain(target, target_host)
    functions: dict[str, ir.Function] = {}
    for one in inputs if isinstance(inputs, (list, tuple)) else [inputs]:
        for function in _functions(one, args, name, binds):
            if function.name in functions:
                raise InputError(f"build: two functions are called {function.name!r}")
            functions[function.name] = function
    if not functions:
        raise InputError("build: no functions given")
    if len(functions) == 1 and not isinstance(inputs, (list, tuple)):
        ((old, function),) = functions.items()
        named = name if old == "main" else old
        functions = {named: dataclasses.replace(function, name=named)}
    for function in functions.values():
        refuse_threads(function)
    return of_functions({key: _compiled(one, where) for key, one in functions.items()}, where)


def _compiled(function: ir.Function, target: Target) -> CompiledKernelFunction:
    function = with_rules(function)
    objects = imported_objects(function, target)
    if not objects:
        return driver.build(function, target=target)
    return CompiledKernelFunction.link(function, legalize(function, target), target, objects)


def _functions(given: Any, args: Any, name: str, binds: Any) -> list[ir.Function]:
    if isinstance(given, Schedule):
        if args is None:
            raise InputError("build: args must be given for build from schedule")
        return [lower(given, args, name, binds)[name]]
    given = lowered(given)
    if isinstance(given, ir.Function):
        return [given]
    functions = [lowered(one) for one in getattr(given, "functions", {}).values()]
    if hasattr(given, "functions") and all(isinstance(one, ir.Function) for one in functions):
        return functions
    raise arguments.refused("build: inputs", given, "a schedule, or what tvm.lower gave", InputError)


def _check_binds(binds: Any) -> None:
    """Raise an error unless ``binds`` only declares dense buffers."""
    for tensor, buffer in arguments.mapping("lower: binds", binds, InputError).items():
        arguments.instance("lower: binds", tensor, Tensor, "a tensor", InputError)
        arguments.instance("lower: binds", buffer, ir.Buffer, "a buffer", InputError)
        if buffer.strides:
            raise UnsupportedError(
                f"lower: binds gives {tensor.name} a buffer with strides: arguments are dense",
                Span.of_caller(),
            )


__getattr__ = refusing(__name__)
