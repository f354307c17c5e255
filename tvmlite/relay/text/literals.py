"""Convert constants and attributes to text and back: small arrays in full, large ones by their hash."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ParseError, TvmliteError
from tvmlite.relay.ir.dims import show_dim
from tvmlite.relay.ir.nodes import Constant
from tvmlite.te import expr as te

INLINE_ELEMENTS = 16
"""The maximum number of elements of an array that is printed in full."""

SUFFIXES = {
    "float32": "f", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int32": "i32", "int64": "i64",
    "int16": "i16", "int8": "i8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip
"""The suffix of a scalar's digits, by dtype; an int32 needs none."""

METADATA = "#[metadata]"

_by_hash: WeakValueDictionary[str, Constant] = WeakValueDictionary()
_hashes: WeakKeyDictionary[Constant, str] = WeakKeyDictionary()


# --- constants ----------------------------------------------------------------------------------


def show_constant(constant: Constant) -> str:
    """A constant as Relay text; a large one is remembered so that ``recall`` finds it by its hash."""
    text = inline(constant)
    return f'meta[relay.Constant]["{remember(constant)}"]' if text is None else text


def inline(constant: Constant) -> str | None:
    """A constant with its elements as text; None if it is too large or text does not reproduce its bytes."""
    return _inline(constant.data) if constant.size <= INLINE_ELEMENTS else None


def remember(constant: Constant) -> str:
    """The hash of the constant's dtype, shape and bytes, for ``recall`` while the constant is alive."""
    key = _hashes.get(constant)
    if key is None:
        key = _hashes[constant] = _hash(constant.data)
    _by_hash.setdefault(key, constant)
    return key


def recall(key: str) -> Constant | None:
    """The constant that was printed under ``key`` in this process, if it is still alive."""
    return _by_hash.get(key)


def array_of(items: Any, dtype: str, shape: Iterable[int] | None = None) -> np.ndarray:
    """The array of a literal: nested lists of numbers, with a shape if the lists do not determine it."""
    array = np.asarray(items, dtype=object if items and not dtypes.is_float(dtype) else None)
    if array.dtype == object and dtypes.is_narrow(dtype):
        array = array.astype(np.int64)  # ml_dtypes does not convert objects
    array = array.astype(dtypes.numpy_of(dtype))
    return array if shape is None else array.reshape(tuple(shape))


def _inline(data: np.ndarray) -> str | None:
    """The literal of a small array; None if the text would not reproduce its bytes (unusual NaNs)."""
    dtype = dtypes.check(data.dtype)
    numbers = [_number_text(v, dtype) for v in data.reshape(-1)]
    parsed = [v if isinstance(v, (bool, int)) else float(v) for v in map(_parsed_number, numbers)]
    if array_of(parsed, dtype, data.shape).tobytes() != data.tobytes():
        return None
    if data.ndim == 0 and dtypes.is_narrow(dtype):
        return f"const({numbers[0]}, {dtype})"
    if data.ndim == 0:
        return numbers[0] + ("" if dtype in ("bool", "int32") else SUFFIXES[dtype])
    if data.size == 0:
        shape = f"({data.shape[0]},)" if data.ndim == 1 else str(data.shape)
        return f"const([], {dtype}, shape={shape})"
    return f"const({_nested(numbers, data.shape)}, {dtype})"


def _nested(texts: list[str], shape: tuple[int, ...]) -> str:
    for extent in reversed(shape):
        texts = [f"[{', '.join(texts[i : i + extent])}]" for i in range(0, len(texts), extent)]
    return texts[0]


def _number_text(value: Any, dtype: str) -> str:
    if dtype == "bool":
        return str(bool(value))
    if not dtypes.is_float(dtype):
        return str(int(value))
    text = str(value) if dtype in ("float16", "float32") else repr(float(value))
    return text.removesuffix(".0")


def _parsed_number(text: str) -> bool | int | float:
    if text in ("True", "False"):
        return text == "True"
    return int(text) if re.fullmatch(r"-?\d+", text) and text != "-0" else float(text)


def _hash(data: np.ndarray) -> str:
    digest = hashlib.sha256(f"{dtypes.check(data.dtype)} {data.shape} ".encode())
    digest.update(np.ascontiguousarray(data).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]


# --- the metadata section -----------------------------------------------------------------------


def metadata_section(constants: Mapping[str, Constant]) -> str:
    """The section of a text that holds its large constants by hash, so that any process can read it."""
    table = {
        key: {
            "dtype": dtypes.check(constant.data.dtype),
            "shape": list(constant.data.shape),
            "data": base64.b64encode(np.ascontiguousarray(constant.data).tobytes()).decode("ascii"),
        }
        for key, constant in constants.items()
    }
    return f"{METADATA}\n{json.dumps(table, indent=0)}\n"


def read_metadata(section: str) -> dict[str, Constant]:
    """The constants in a metadata section; a ParseError says which of them is damaged."""
    try:
        table = json.loads(section)
        rows = {key: (row["dtype"], tuple(row["shape"]), row["data"]) for key, row in table.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ParseError(f"the metadata section is damaged: {error}") from error
    return {key: _read_constant(key, *row) for key, row in rows.items()}


def _read_constant(key: str, dtype: Any, shape: Any, data: Any) -> Constant:
    try:
        raw = base64.b64decode(data, validate=True)
        array = np.frombuffer(raw, dtypes.numpy_of(dtypes.check(str(dtype)))).reshape(shape)
    except (ValueError, TypeError, TvmliteError) as error:
        raise ParseError(f"the metadata of constant {key!r} is damaged: {error}") from error
    if _hash(array) != key:
        raise ParseError(f"the metadata of constant {key!r} is damaged: its content has another hash")
    constant = Constant(array)
    remember(constant)
    return constant


# --- attributes ---------------------------------------------------------------------------------


def show_attribute(value: Any) -> str:
    """An attribute's value as text: numbers, strings, None, lists of these, dimension expressions."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(show_attribute, value))}]"
    if isinstance(value, te.Expr):
        return show_dim(value)
    if isinstance(value, str):
        return json.dumps(value)
    assert value is None or isinstance(value, (bool, int, float)), f"an attribute is a {type(value).__name__}"
    return repr(value)
