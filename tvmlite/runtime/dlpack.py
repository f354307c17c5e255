"""Import and export of arrays by DLPack without a copy, including bfloat16, which numpy's DLPack lacks."""

from __future__ import annotations

import ctypes
from typing import Any

import cffi
import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import InputError

CPU = (1, 0)
"""``__dlpack_device__`` of main memory."""

_ffi: Any = cffi.FFI()
_ffi.cdef(
    """
    typedef struct { int32_t device_type, device_id; } DLDevice;
    typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
    typedef struct {
        void *data; DLDevice device; int32_t ndim; DLDataType dtype;
        int64_t *shape, *strides; uint64_t byte_offset;
    } DLTensor;
    typedef struct DLManagedTensor {
        DLTensor tensor; void *context; void (*deleter)(struct DLManagedTensor *);
    } DLManagedTensor;
    """
)

_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6
_CODES = {
    name: (_BFLOAT if name == "bfloat16" else _BOOL if name == "bool" else code, dtypes.bits(name))
    for code, names in ((_FLOAT, dtypes.FLOATS), (_INT, dtypes.SIGNED), (_UINT, (*dtypes.UNSIGNED, "bool")))
    for name in names
}
_CODES |= {
    name: (code, 8)  # dtypes of one byte, which DLPack does not pack
    for code, name in (
        (10, "float8_e4m3fn"),
        (11, "float8_e4m3fnuz"),
        (12, "float8_e5m2"),
        (13, "float8_e5m2fnuz"),
        (14, "float8_e8m0fnu"),
    )
}
_DTYPES = {code: name for name, code in _CODES.items()}


def take(source: Any) -> np.ndarray:
    """A writable array that shares the memory of ``source``, an object with ``__dlpack__``.

    Raises InputError if it is not in main memory, or has a dtype that tvmlite lacks.
    """
    kind = type(source).__name__
    try:
        device = source.__dlpack_device__() if hasattr(source, "__dlpack_device__") else CPU
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"a {kind} is on no DLPack device: {error}") from error
    if int(device[0]) != CPU[0]:
        raise InputError(f"a {kind} is on DLPack device {tuple(map(int, device))}, expected the CPU {CPU}")
    try:
        capsule = source.__dlpack__()
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"a {kind} does not give its memory: {error}") from error
    return _from_capsule(capsule, kind)


def _from_capsule(capsule: Any, kind: str) -> np.ndarray:
    try:
        address = _get_pointer(id(capsule), b"dltensor")
    except ValueError as error:
        raise InputError(f"a {kind} gives a {type(capsule).__name__}, expected a DLPack capsule") from error
    managed = _ffi.cast("DLManagedTensor *", address)
    tensor = managed.tensor
    name = _DTYPES.get((tensor.dtype.code, tensor.dtype.bits))
    if name is None or tensor.dtype.lanes != 1:
        raise InputError(
            f"a {kind} has DLPack dtype (code {tensor.dtype.code}, {tensor.dtype.bits} bits, "
            f"{tensor.dtype.lanes} lanes), expected one of {', '.join(_CODES)}"
        )
    dtype = dtypes.array_dtype(name)
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    _set_name(id(capsule), b"used_dltensor")
    owner = _Owner(managed)
    if 0 in shape:
        return np.empty(shape, dtype)
    strides = _strides(tensor, shape)
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0) + 1
    start = int(_ffi.cast("uintptr_t", tensor.data)) + tensor.byte_offset + low * dtype.itemsize
    owner.__array_interface__ = {
        "version": 3,
        "data": (start, False),
        "shape": ((high - low) * dtype.itemsize,),
        "typestr": "|u1",
    }
    flat = np.asarray(owner)
    steps = tuple(s * dtype.itemsize for s in strides)
    return np.ndarray(shape, dtype, flat.data, -low * dtype.itemsize, steps)


def _strides(tensor: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    if tensor.strides != _ffi.NULL:
        return tuple(tensor.strides[i] for i in range(tensor.ndim))
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


class _Owner:
    """Keeps imported memory alive, and calls its deleter at the end."""

    __array_interface__: dict[str, Any]

    def __init__(self, managed: Any) -> None:
        self.managed = managed

    def __del__(self) -> None:
        if self.managed.deleter != _ffi.NULL:
            self.managed.deleter(self.managed)


def code_of(dtype: str) -> tuple[int, int]:
    """DLPack's code of ``dtype`` and its bits; dtypes that DLPack packs are uint8, one element per byte."""
    return _CODES.get(dtype, (_UINT, 8))


def give(array: np.ndarray) -> Any:
    """A ``dltensor`` capsule that shares the memory of ``array`` and keeps it alive."""
    name = dtypes.check(array.dtype)
    if name not in _CODES:
        raise InputError(f"an array of {name} cannot be given by DLPack, which packs its elements")
    managed = _ffi.new("DLManagedTensor *")
    extents = _ffi.new("int64_t[]", [*array.shape, 0])
    strides = _ffi.new("int64_t[]", [*(s // array.itemsize for s in array.strides), 0])
    tensor = managed.tensor
    tensor.data = _ffi.cast("void *", array.__array_interface__["data"][0])
    tensor.device.device_type, tensor.device.device_id = CPU
    tensor.ndim = array.ndim
    tensor.dtype.code, tensor.dtype.bits = _CODES[name]
    tensor.dtype.lanes = 1
    tensor.shape, tensor.strides, tensor.byte_offset = extents, strides, 0
    managed.deleter = _release
    address = int(_ffi.cast("uintptr_t", managed))
    _given[address] = (managed, extents, strides, array)
    return _new_capsule(address, b"dltensor", _destroy)


_given: dict[int, tuple[Any, ...]] = {}
"""The exported arrays by the address of their DLManagedTensor."""


@_ffi.callback("void(DLManagedTensor *)")
def _release(managed: Any) -> None:
    _given.pop(int(_ffi.cast("uintptr_t", managed)), None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _destroy(capsule: int) -> None:
    if _is_valid(capsule, b"dltensor"):  # else it was consumed, and the consumer calls the deleter
        _given.pop(_get_pointer(capsule, b"dltensor"), None)


def _python(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_get_pointer = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_set_name = _python("PyCapsule_SetName", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_new_capsule = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, type(_destroy))
