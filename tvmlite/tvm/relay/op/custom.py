"""User-defined operators: ``relay.op.op.register`` and the functions that set an operator's properties.

Each operator is a row of the operator table, whose columns are then set: the number of arguments, the type
relation, the compute in ``te``, the fusion pattern. A property that is missing when needed is an error.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core.errors import ConfigError, TypeInferError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.driver import build
from tvmlite.relay.ir import op as table
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import TensorType, broadcast_shapes
from tvmlite.te.templates.anchors import ELEMENTWISE
from tvmlite.tvm.ir.attrs import DictAttrs
from tvmlite.tvm.lazy import later
from tvmlite.tvm.relay import ty

_called = later("ir.transform", "called")

OpPattern = table.Fuse
"""The fusion pattern of an operator."""

_UNNAMED = "argument "
_COMPUTES: dict[str, Callable[..., Any]] = {}
_RELATIONS: dict[str, Callable[..., Any]] = {}


def register(op_name: str, describe: str = "") -> None:
    """Register a new operator ``op_name``; an error if the name exists."""
    if not isinstance(op_name, str) or not op_name or table.is_known(op_name):
        raise ConfigError(f"register: {show(op_name)} is an operator already, or no name", Span.of_caller())

    _COMPUTES.pop(op_name, None)
    _RELATIONS.pop(op_name, None)

    def compute(call: Call, *tensors: Any) -> Any:
        return _computed(call, tensors)

    def reference(call: Call, *arrays: np.ndarray) -> Any:
        return _evaluated(call, arrays)

    compute.__doc__, compute.__module__ = describe, "__main__"  # not a package: kernels are not cached
    table.OPERATORS[op_name] = table.Operator(
        name=op_name,
        infer=_typed,
        compute=compute,
        reference=reference,
        fuse=table.Fuse.OPAQUE,
        attrs=MappingProxyType({}),
        schedule=ELEMENTWISE,
        num_inputs=0,
        argument_names=(),
        parameters=(),
        field=None,
        kinds=(),
        any_attrs=True,
    )


def of_program(op_name: str, what: str) -> table.Operator:
    """The row of a user-defined operator. For other operators, an UnsupportedError that names ``what``."""
    row = table.get(str(op_name))
    if not row.any_attrs:
        raise UnsupportedError(
            f"{what} of {op_name}, an operator of the table, is not in tvmlite",
            Span.of_caller(),
            hint="relay.op.op.register begins an operator of one's own",
        )
    return row


def change(op_name: str, what: str, **columns: Any) -> None:
    """Change columns of a user-defined operator's row."""
    table.OPERATORS[str(op_name)] = dataclasses.replace(of_program(op_name, what), **columns)


def set_num_inputs(op_name: str, count: int) -> None:
    """Set the number of arguments. Arguments not named by ``add_argument`` are named by their position."""
    row = of_program(op_name, "set_num_inputs")
    named = (*row.argument_names, *(f"{_UNNAMED}{index}" for index in range(len(row.argument_names), count)))
    change(
        op_name, "set_num_inputs", num_inputs=count, argument_names=named[:count], parameters=named[:count]
    )


def add_argument(op_name: str, name: str) -> None:
    """Name the next argument."""
    row = of_program(op_name, "add_argument")
    count = row.num_inputs or 0
    taken = [one for one in row.argument_names if not one.startswith(_UNNAMED)]
    names = (*taken, name, *(f"{_UNNAMED}{index}" for index in range(len(taken) + 1, count)))
    change(op_name, "add_argument", num_inputs=len(names), argument_names=names, parameters=names)


def add_type_rel(op_name: str, rel_name: str, type_rel_func: Callable[..., Any] | None = None) -> None:
    """Set the type relation: ``"Identity"``, ``"Broadcast"``, or ``type_rel_func(arg_types, attrs)``, which
    returns the type of the result."""
    of_program(op_name, "add_type_rel")
    found = type_rel_func or _KNOWN.get(rel_name)
    if found is None:
        raise ConfigError(
            f"add_type_rel: {show(rel_name)} is no relation known here; expected one of {', '.join(_KNOWN)}, "
            "or a function",
            Span.of_caller(),
        )
    _RELATIONS[str(op_name)] = found


def register_compute(op_name: str, compute: Callable[..., Any] | None = None, level: int = 10) -> Any:
    """Set the compute: ``compute(attrs, inputs, out_type)`` returns a tensor of ``te`` or a list of tensors.
    Without ``compute``, return a decorator."""
    of_program(op_name, "register_compute")

    def enter(given: Callable[..., Any]) -> Callable[..., Any]:
        _COMPUTES[str(op_name)] = given
        return given

    return enter if compute is None else enter(compute)


def register_pattern(op_name: str, pattern: int, level: int = 10) -> None:
    """Set the fusion pattern, one of ``OpPattern``."""
    change(op_name, "register_pattern", fuse=OpPattern(int(pattern)))


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> None:
    """Declare whether the operator has side effects; True is an UnsupportedError."""
    of_program(op_name, "register_stateful")
    if stateful:
        raise UnsupportedError(
            f"register_stateful: {op_name} has side effects, which is not supported", Span.of_caller()
        )


def register_schedule(op_name: str, schedule: Any = None, level: int = 10) -> Any:
    """Do nothing: the kernels of operators are scheduled by templates."""
    of_program(op_name, "register_schedule")
    return schedule


def _identity(arg_types: Sequence[Any], attrs: Any) -> Any:
    return arg_types[0]


def _broadcast(arg_types: Sequence[Any], attrs: Any) -> Any:
    shape = arg_types[0].shape
    for other in arg_types[1:]:
        shape = broadcast_shapes(shape, other.shape, "Broadcast", None)
    return ty.TensorType(shape, arg_types[0].dtype)


_KNOWN: dict[str, Callable[..., Any]] = {"Identity": _identity, "Broadcast": _broadcast}


def _typed(call: Call, *types: Any) -> Any:
    relation = _RELATIONS.get(str(call.op))
    if relation is None:
        raise TypeInferError(
            f"{call.op}: it has no type relation", call.span, hint="op.add_type_rel gives one"
        )
    found = _called(relation, [ty.adopted(one) for one in types], DictAttrs(dict(call.attrs)))
    if not isinstance(found, ty.types.TensorType | ty.types.TupleType):
        raise TypeInferError(f"{call.op}: its type relation gives {show(found)}, expected a type", call.span)
    return found


def _computed(call: Call, tensors: Sequence[Any]) -> Any:
    compute = _COMPUTES.get(str(call.op))
    if compute is None:
        raise UnsupportedError(
            f"{call.op} has no compute", call.span, hint="relay.op.op.register_compute gives it one"
        )
    out_type = _typed(call, *(TensorType(tuple(one.shape), one.dtype) for one in tensors))
    found = compute(DictAttrs(dict(call.attrs)), list(tensors), out_type)
    made = list(found) if isinstance(found, (list, tuple)) else [found]
    return made if isinstance(out_type, ty.types.TupleType) else made[0]


def _evaluated(call: Call, arrays: Sequence[np.ndarray]) -> Any:
    """Compile the compute of ``call`` and run it on ``arrays``."""
    inputs = [te.placeholder(one.shape, one.dtype.name, f"data_{index}") for index, one in enumerate(arrays)]
    found = _computed(call, inputs)
    results = found if isinstance(found, list) else [found]
    run = build(te.create_schedule([one.op for one in results]), [*inputs, *results])
    outs = [np.empty(tuple(map(int, one.shape)), one.dtype) for one in results]
    run(*(np.ascontiguousarray(one) for one in arrays), *outs)
    return tuple(outs) if isinstance(found, list) else outs[0]
