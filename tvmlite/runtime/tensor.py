"""Arrays for compiled code: aligned memory, bfloat16, and exchange with numpy and DLPack without a copy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cffi
import numpy as np

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.symbols import WORKSPACE_ALIGNMENT, align
from tvmlite.core.errors import BeyondMemory, InputError
from tvmlite.runtime import dlpack

_ffi: Any = cffi.FFI()
_ADDRESS = _ffi.typeof("uintptr_t")


class Tensor:
    """A dense or strided array in main memory, shared with the array that it was made from.

    ``dtype`` is a tvmlite dtype name. ``np.asarray(tensor)``, ``tensor.numpy()`` and
    ``torch.from_dlpack(tensor)`` share its memory.
    """

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray) -> None:
        arguments.instance("Tensor: array", array, np.ndarray, "a numpy array", InputError)
        dtypes.check(array.dtype)
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes."""
        return self._array.shape

    @property
    def dtype(self) -> str:
        """The tvmlite name of the elements' dtype."""
        return dtypes.check(self._array.dtype)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self._array.nbytes

    def numpy(self) -> np.ndarray:
        """A numpy array that shares the memory."""
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if dtype is not None and np.dtype(dtype) != self._array.dtype:
            if copy is False:
                raise ValueError(f"a {self.dtype} tensor cannot be seen as {np.dtype(dtype)} without a copy")
            return self._array.astype(dtype)
        return self._array.copy() if copy else self._array

    def __dlpack__(self, *, stream: Any = None, **_wishes: Any) -> Any:
        return dlpack.give(self._array)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CPU

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        return self._array[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._array[key] = value

    def __repr__(self) -> str:
        return f"Tensor({self._array!r})"


def tensor(source: Any, dtype: str | None = None) -> Tensor:
    """``source`` (a Tensor, numpy array, DLPack object, or nested numbers) as a Tensor.

    There is no copy if ``source`` is an array and ``dtype`` is None or its dtype.
    """
    array = as_array(source)
    if array is None:
        array = of_numbers("tensor", source, None if dtype is None else dtypes.numpy_of(dtypes.check(dtype)))
    if dtype is not None and dtypes.check(array.dtype) != dtypes.check(dtype):
        array = array.astype(dtypes.numpy_of(dtype))
    return Tensor(array)


def of_numbers(where: str, source: Any, dtype: np.dtype | None) -> np.ndarray:
    """Nested numbers or an array as a new array; raises InputError if ``source`` is neither, or ragged."""
    try:
        made = np.array(source, dtype)
    except (TypeError, ValueError, OverflowError, RecursionError):
        made = None
    if made is None or not (dtypes.is_known(made.dtype.name)):
        raise arguments.refused(where, source, "an array, or nested numbers that make one", InputError)
    return made


def as_array(source: Any) -> np.ndarray | None:
    """A numpy array that shares the memory of ``source``, or None if it is no array."""
    if isinstance(source, np.ndarray):
        return source
    if isinstance(source, Tensor):
        return source.numpy()
    if isinstance(source, type):
        return None
    if isinstance(source, np.generic):
        return np.asarray(source)
    if hasattr(source, "__dlpack__"):
        return dlpack.take(source)
    if hasattr(source, "__array__"):
        return np.asarray(source)
    return None


def empty(shape: Sequence[int], dtype: str = "float32", alignment: int = WORKSPACE_ALIGNMENT) -> Tensor:
    """An uninitialised dense tensor whose first element is aligned to ``alignment`` bytes."""
    alignment = arguments.whole("empty: alignment", alignment, InputError, least=1)
    if alignment & (alignment - 1):
        raise InputError(f"empty: alignment is {alignment}, expected a power of two")
    return Tensor(allocated(shape, dtype, alignment))


def allocated(shape: Any, dtype: str, alignment: int = WORKSPACE_ALIGNMENT) -> np.ndarray:
    """The array of ``empty``; raises BeyondMemory if there is not enough memory."""
    extents = arguments.extents("empty: shape", shape, InputError)
    kind = dtypes.numpy_of(dtypes.check(dtype))
    try:
        return empty_array(extents, kind, alignment)
    except (MemoryError, ValueError, OverflowError):
        raise BeyondMemory(f"empty: no memory for shape {extents} of {dtype}") from None


def empty_array(shape: tuple[int, ...], dtype: np.dtype, alignment: int = WORKSPACE_ALIGNMENT) -> np.ndarray:
    """An uninitialised dense numpy array whose first element is aligned to ``alignment`` bytes."""
    bytes_wanted = math.prod(shape) * dtype.itemsize
    memory = np.empty(bytes_wanted + alignment, np.uint8)
    address = int(_ffi.cast(_ADDRESS, _ffi.from_buffer(memory)))  # takes half the time of numpy's functions
    return np.ndarray(shape, dtype, memory.data, -address % alignment)


def copy_to_one_block(
    arrays: Sequence[np.ndarray], alignment: int = WORKSPACE_ALIGNMENT, least: int = 0
) -> list[np.ndarray]:
    """Copies of ``arrays``, each aligned, in one block of at least ``least`` bytes, aligned to ``alignment``.

    Large blocks get large pages, and arrays in the same page do not conflict with each other in a cache.
    """
    size = sum(align(one.nbytes) for one in arrays)
    block, at = empty_array((max(size, least),), np.dtype(np.uint8), alignment), 0
    copies: list[np.ndarray] = []
    for array in arrays:
        copy = block[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        copies.append(copy)
        at += align(array.nbytes)
    return copies
