"""Plans of calls with given sizes: the shapes of all arrays and the bytes of workspace, cached by sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cffi

from tvmlite.core.abi.signature import Signature
from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.runtime.call import arguments
from tvmlite.runtime.call.arguments import ArrayParameter

_ffi: Any = cffi.FFI()
_MOST_PLANS = 1024
_MOST_FREE = 2**48


@dataclass(frozen=True)
class Plan:
    """The ``shapes`` of all arrays in the signature's order, and the ``workspace`` in bytes."""

    shapes: tuple[tuple[int, ...], ...]
    workspace: int


class Planner:
    """Makes plans for one function, from its signature and, if it has sizes, its ``NAME_shapes``."""

    def __init__(self, signature: Signature, arrays: Sequence[ArrayParameter], shapes_address: int) -> None:
        self.signature = signature
        self.arrays = tuple(arrays)
        integers = ", int64_t" * (1 + len(signature.shape_sizes))
        self._shapes = (
            _ffi.cast(f"int32_t(*)(int64_t *{integers})", shapes_address) if shapes_address else None
        )
        self._plans: dict[tuple[int, ...], Plan] = {}
        tied = {d for a in arrays if not a.is_output for d in a.dims}
        self._free = [
            (i, p.name)
            for i, p in enumerate(signature.shape_sizes)
            if p.kind == "scalar" and p.name not in tied
        ]
        assert shapes_address or (signature.workspace is not None and not any(a.unread for a in arrays)), (
            f"{signature.name}: shapes depend on sizes and {signature.name}_shapes is not given"
        )

    def plan(self, sizes: tuple[int, ...], threads: int = 1) -> Plan:
        """The plan for ``sizes``, in the order of ``signature.shape_sizes``; InputError or BeyondMemory if
        shapes are negative or need too much memory."""
        key = (*sizes, threads)
        found = self._plans.get(key)
        if found is None:
            found = self._make(sizes, threads)
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = found
        return found

    def _make(self, sizes: tuple[int, ...], threads: int) -> Plan:
        name = self.signature.name
        shapes, workspace = self._shapes_and_workspace(sizes, threads)
        for array, shape in zip(self.arrays, shapes, strict=True):
            if any(extent < 0 for extent in shape):
                raise InputError(f"{name}: the shape of {array.name!r} would be {_shape_text(shape)}")
        wanted = [
            (f"output {a.name!r}", arguments.bytes_of(a, shape))
            for a, shape in zip(self.arrays, shapes, strict=True)
            if a.is_output
        ]
        if workspace < 0:
            raise InputError(f"{name}: the workspace would be larger than any machine's memory")
        arguments.check_memory(name, [*wanted, ("workspace", workspace)])
        return Plan(shapes, workspace)

    def _shapes_and_workspace(
        self, sizes: tuple[int, ...], threads: int
    ) -> tuple[tuple[tuple[int, ...], ...], int]:
        if self._shapes is None:
            named = dict(zip((p.name for p in self.signature.shape_sizes), sizes, strict=True))
            known = tuple(
                tuple(named[d] if isinstance(d, str) else int(d or 0) for d in a.dims) for a in self.arrays
            )
            return known, self.signature.workspace or 0
        self._refuse_beyond_memory(sizes)
        numbers = _ffi.new("int64_t[]", sum(len(a.dims) for a in self.arrays) + 1)
        check_code(self.signature, self._shapes(numbers, threads, *sizes))
        values = iter(list(numbers))
        return tuple(tuple(next(values) for _ in a.dims) for a in self.arrays), next(values)

    def _refuse_beyond_memory(self, sizes: tuple[int, ...]) -> None:
        """Raise InputError for scalars that are no extent of an input, and whose products could overflow."""
        if math.prod(max(abs(sizes[i]), 1) for i, _ in self._free) > _MOST_FREE:
            named = ", ".join(f"{name} = {sizes[i]}" for i, name in self._free)
            raise InputError(f"{self.signature.name}: {named}: larger than any machine's memory")


def _shape_text(shape: tuple[int, ...]) -> str:
    """The text of a shape, in which extents may have overflowed."""
    extents = ["more than 2**63 - 1" if extent == -(2**63) else str(extent) for extent in shape]
    return f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"


def check_code(signature: Signature, code: int, sizes: Sequence[tuple[str, Any]] = ()) -> None:
    """Raise an ExecutionError with the message of ``code``, a compiled function's result, if it is not 0.

    The error also names the ``sizes`` of the call, pairs of name and value.
    """
    if code:
        known = 0 < code <= len(signature.messages)
        message = signature.messages[code - 1] if known else f"stopped with code {code}"
        known = ", ".join(f"{name} is {size}" for name, size in sizes)
        raise ExecutionError(f"{signature.name}: {message}{f' ({known})' if known else ''}")
