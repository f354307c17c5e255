"""Checks of arguments against a signature: an InputError, or memory that compiled code can use."""

from __future__ import annotations

import itertools
import math
import operator
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.signature import Parameter
from tvmlite.core.errors import BeyondMemory, ExecutionError, InputError
from tvmlite.runtime.tensor import as_array, empty_array

WORTH_ALIGNING = 16384
"""The bytes of an output from which on aligned vectors save more than alignment costs, a microsecond."""


class ArrayParameter:
    """An input or output, with data prepared for calls.

    ``shape`` is the shape if all extents are known, else None. ``unread``: an extent can only be computed by
    ``NAME_shapes``.
    """

    __slots__ = ("dims", "dtype", "is_output", "name", "parameter", "shape", "unread")

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter
        self.name = parameter.name
        self.dtype = dtypes.array_dtype(parameter.dtype)
        self.dims = parameter.shape
        known = tuple(d for d in parameter.shape if isinstance(d, int))
        self.shape = known if len(known) == len(parameter.shape) else None
        self.unread = None in parameter.shape
        self.is_output = parameter.kind == "output"

    @property
    def dtype_name(self) -> str:
        """The dtype's name; for dtypes of ml_dtypes without that package, also the dtype of their bits."""
        name = self.parameter.dtype
        return name if self.dtype == name else f"{name}: without the package ml_dtypes its bits, {self.dtype}"

    def describe(self) -> str:
        """The expected dtype and shape: ``float32 (n, 3)``."""
        dims = ", ".join("?" if d is None else str(d) for d in self.dims)
        return f"{self.parameter.dtype} ({dims}{',' if len(self.dims) == 1 else ''})"


def accept(function: str, expected: ArrayParameter, value: Any) -> np.ndarray:
    """``value`` as an array of the expected dtype and rank, without a copy if possible.

    Inputs may be read-only; strided, unaligned or byte-swapped ones are copied to a dense array.
    Outputs must be dense, native and writable, as results are written to the caller's memory.
    """
    try:
        array = as_array(value)
    except InputError as error:
        raise _refused(function, expected, f"cannot be used: {error.message}") from error
    if array is None:
        if isinstance(value, (bool, int, float)) and not expected.dims and not expected.is_output:
            return np.asarray(value, expected.dtype)
        raise _refused(function, expected, f"is a {type(value).__name__}, expected an array")
    if np.ma.is_masked(array):
        raise _refused(function, expected, "has masked elements, expected an array without")
    if array.dtype != expected.dtype:
        native = array.dtype.newbyteorder("=")
        if native != expected.dtype:
            kinds, sizes = array.dtype.kind + expected.dtype.kind, (array.itemsize, expected.dtype.itemsize)
            are_bits = kinds == "uV" and sizes[0] == sizes[1]
            hint = f"bits of such numbers: array.view(ml_dtypes.{expected.dtype})" if are_bits else None
            what = f"has dtype {array.dtype}, expected {expected.dtype_name}"
            raise _refused(function, expected, what, hint)
        if expected.is_output:
            raise _refused(function, expected, f"has dtype {array.dtype!s}, expected the native byte order")
    if array.ndim != len(expected.dims):
        raise wrong_shape(function, expected, array.shape)
    if not expected.is_output:
        if not array.flags.c_contiguous:
            check_memory(function, [(f"a dense copy of input {expected.name!r}", array.nbytes)])
        return np.require(array, expected.dtype, ["C", "A"]).view(np.ndarray)
    if not array.flags.writeable:
        raise _refused(function, expected, "is read-only, expected a writable array")
    if not array.flags.c_contiguous or not array.flags.aligned:
        raise _refused(function, expected, f"has strides {array.strides}, expected a dense array")
    return array


def read_sizes(
    function: str, expected: ArrayParameter, shape: tuple[int, ...], sizes: dict[str, int]
) -> None:
    """Check ``shape`` against the expected one, and store the sizes in it in ``sizes``."""
    if len(shape) != len(expected.dims):
        raise wrong_shape(function, expected, shape)
    for given, wanted in zip(shape, expected.dims, strict=True):
        if isinstance(wanted, int):
            if given != wanted:
                raise wrong_shape(function, expected, shape)
        elif wanted is not None and sizes.setdefault(wanted, given) != given:
            error = wrong_shape(function, expected, shape)
            raise InputError(
                f"{error.message}, where {wanted} is {sizes[wanted]} already",
                hint=f"if the model uses {wanted} for two different extents, rename one when compiling: "
                "from_onnx(model, shapes) or --input-shapes",
            )


def wrong_shape(
    function: str, expected: ArrayParameter, given: tuple[int, ...], wanted: tuple[int, ...] | None = None
) -> InputError:
    """The error for a shape that does not fit."""
    expectation = expected.describe() if wanted is None else f"{expected.parameter.dtype} {wanted}"
    return _refused(function, expected, f"has shape {given}, expected {expectation}")


def _refused(function: str, expected: ArrayParameter, what: str, hint: str | None = None) -> InputError:
    kind = "output" if expected.is_output else "input"
    return InputError(f"{function}: {kind} {expected.name!r} {what}", hint=hint)


def scalar(function: str, parameter: Parameter, value: Any) -> int | float:
    """``value`` as the number to pass for a scalar parameter (halves as their bits)."""
    name, dtype = parameter.name, parameter.dtype
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    try:
        if dtypes.is_float(dtype):
            number = float(value)
            return number if dtypes.bits(dtype) > 16 else _half_bits(number, dtype)
        whole = int(bool(value)) if dtype == "bool" else operator.index(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{function}: scalar {name!r} is a {type(value).__name__}, expected a number of {dtype}"
        ) from None
    low, high = dtypes.limits(dtype)
    if not low <= whole <= high:
        raise InputError(f"{function}: scalar {name!r} is {whole}, expected {dtype}: {low} to {high}")
    return whole


def _half_bits(number: float, dtype: str) -> int:
    with np.errstate(over="ignore"):
        return int(np.asarray(number, dtypes.numpy_of(dtype)).view(np.uint16))


def check_memory(function: str, wanted: Sequence[tuple[str, int]]) -> None:
    """Raise BeyondMemory if ``wanted``, pairs of (purpose, bytes), is more than this machine's memory."""
    total = sum(count for _, count in wanted)
    most = _physical_memory()
    if total > most:
        parts = ", ".join(f"{count:,} for {what}" for what, count in wanted if count)
        raise BeyondMemory(f"{function}: needs {total:,} bytes ({parts}), this machine has {most:,}")


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2**47  # unknown: the limit of processors' address spaces


def bytes_of(expected: ArrayParameter, shape: tuple[int, ...]) -> int:
    """The bytes of an array of this shape."""
    return math.prod(shape) * expected.dtype.itemsize


def allocate(function: str, expected: ArrayParameter, shape: tuple[int, ...]) -> np.ndarray:
    """Allocate an output; raises ExecutionError if there is not enough memory."""
    try:
        if bytes_of(expected, shape) < WORTH_ALIGNING:
            return np.empty(shape, expected.dtype)
        return empty_array(shape, expected.dtype)
    except (MemoryError, ValueError) as error:
        count = bytes_of(expected, shape)
        raise ExecutionError(
            f"{function}: no memory for output {expected.name!r} of {count:,} bytes"
        ) from error


def refuse_overlap(function: str, arrays: Sequence[tuple[ArrayParameter, np.ndarray]]) -> None:
    """Raise InputError if an output shares memory with another array; all are dense."""
    spans = sorted((array.__array_interface__["data"][0], array.nbytes) for _, array in arrays if array.size)
    if all(start + size <= behind for (start, size), (behind, _) in itertools.pairwise(spans)):
        return
    for position, (expected, array) in enumerate(arrays):
        if expected.is_output:
            for other_position, (other, memory) in enumerate(arrays):
                if other_position != position and np.may_share_memory(array, memory):
                    raise _refused(function, expected, f"overlaps {other.name!r}, expected memory of its own")
