"""The parameters that the caller of a compiled function passes, and their positions in the C call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvmlite.core.abi.signature import C_TYPES, Parameter, Signature
from tvmlite.core.errors import InputError
from tvmlite.runtime.call.arguments import ArrayParameter


@dataclass(frozen=True)
class Slot:
    """A parameter that the caller passes: its position in the C call, and the expected argument.

    ``array`` is None for a scalar; ``number`` is the array's position among the arrays.
    """

    place: int
    parameter: Parameter
    array: ArrayParameter | None
    number: int = -1


def slots_of(signature: Signature) -> tuple[Slot, ...]:
    """The slots of all arrays and scalars; the other parameters are known without the caller."""
    slots: list[Slot] = []
    arrays = 0
    for place, parameter in enumerate(signature.c_parameters):
        if parameter.kind in ("input", "output"):
            slots.append(Slot(place, parameter, ArrayParameter(parameter), arrays))
            arrays += 1
        elif parameter.kind == "scalar":
            slots.append(Slot(place, parameter, None))
    return tuple(slots)


def in_order(
    function: str,
    slots: Sequence[Slot],
    inputs: Sequence[Slot],
    args: tuple[Any, ...],
    named: Mapping[str, Any],
) -> tuple[Any, ...]:
    """Arguments by position and name as a tuple in order: for all ``slots``, or only for the ``inputs``."""
    known = [s.parameter.name for s in slots]
    for name in named:
        if name not in known:
            raise InputError(f"{function}: there is no parameter {name!r}; there are {', '.join(known)}")
    least = [s.parameter.name for s in inputs]
    complete = not set(known) - set(least) <= set(known) - named.keys()
    names = known if complete or len(args) + len(named) == len(known) else least
    for name in names[: len(args)]:
        if name in named:
            raise InputError(f"{function}: parameter {name!r} is given twice")
    missing = [n for n in names[len(args) :] if n not in named]
    if missing:
        raise InputError(f"{function}: parameter {', '.join(map(repr, missing))} is not given")
    return (*args, *(named[n] for n in names[len(args) :]))


def wrong_count(function: str, slots: Sequence[Slot], inputs: Sequence[Slot], count: int) -> InputError:
    """The error for ``count`` arguments, which fit neither all ``slots`` nor the ``inputs``."""
    every = ", ".join(s.parameter.name for s in slots)
    least = ", ".join(s.parameter.name for s in inputs) or "none"
    return InputError(
        f"{function}: {count} arguments, expected {len(slots)} ({every}), "
        f"or {len(inputs)} without the outputs ({least})"
    )


def c_type(signature: Signature) -> str:
    """The function's C type, with ``void *`` for every pointer, which cffi converts fastest."""
    types = []
    for parameter in signature.c_parameters:
        match parameter.kind:
            case "input" | "output" | "workspace" | "dynamic_outputs" | "profile":
                types.append("void *")
            case "scalar":
                types.append(C_TYPES[parameter.dtype])
            case _:
                types.append("int64_t")
    return f"int32_t(*)({', '.join(types) or 'void'})"
