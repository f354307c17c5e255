"""Parameters as bytes in TVM's format."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import numpy as np
import pytest

from tvmlite.core.errors import InputError
from tvmlite.tvm.runtime_params import load_param_dict, save_param_dict

ARRAYS = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "p.0/bias": np.array([-1, 2], np.int64),
    "scalar": np.array(2.5, np.float64),
    "half": np.linspace(0, 1, 5).astype(np.float16),
    "bytes": np.arange(4, dtype=np.uint8),
    "flags": np.array([[True, False]]),
    "nothing": np.zeros((0, 3), np.int8),
    "slice": np.arange(12, dtype=np.int32).reshape(3, 4)[:, ::2],
}


def by_hand(
    names: tuple[bytes, ...] = (b"w",),
    shape: tuple[int, ...] = (2,),
    code: int = 2,
    bits: int = 32,
    lanes: int = 1,
    device: int = 1,
    content: bytes = struct.pack("<2f", 1.5, -2.0),
    size: int | None = None,
) -> bytes:
    """Parameters as the format describes them, with each field under control."""
    made = struct.pack("<Q", 0xF7E58D4F05049CB7) + bytes(8) + struct.pack("<Q", len(names))
    for name in names:
        made += struct.pack("<Q", len(name)) + name
    made += struct.pack("<Q", len(names))
    for _ in names:
        made += struct.pack("<Q", 0xDD5E40F096B4A13F) + bytes(8)
        made += struct.pack("<iii", device, 0, len(shape)) + bytes([code, bits]) + struct.pack("<H", lanes)
        made += b"".join(struct.pack("<q", extent) for extent in shape)
        made += struct.pack("<q", len(content) if size is None else size) + content
    return made


def test_arrays_are_read_back_as_they_were_written() -> None:
    again = load_param_dict(save_param_dict(ARRAYS))

    assert list(again) == list(ARRAYS)
    for name, value in ARRAYS.items():
        assert again[name].dtype == value.dtype
        np.testing.assert_array_equal(again[name].numpy(), value)
        again[name][...] = 0  # the arrays own their memory


def test_bytes_written_by_hand_match_the_format() -> None:
    [(name, value)] = load_param_dict(by_hand()).items()

    assert name == "w"
    np.testing.assert_array_equal(value.numpy(), np.array([1.5, -2.0], np.float32))
    assert bytes(save_param_dict({"w": np.array([1.5, -2.0], np.float32)})) == by_hand()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (b"", "takes 8 bytes at 0, and 0 are left"),
        (b"\1" * 40, "wrong magic number"),
        (by_hand()[:-1], "takes 8 bytes at .*, and 7 are left"),
        (by_hand() + b"x", "1 bytes are left after the last array"),
        (by_hand((b"w", b"w")), "duplicate name"),
        (by_hand((b"\xff",)), "is not UTF-8"),
        (by_hand(device=2), "is of device 2"),
        (by_hand(lanes=4), "dtype 2:32x4"),
        (by_hand(code=9), "dtype 9:32x1"),
        (by_hand(shape=(3,)), r"of shape \(3,\) has 8 bytes of float32"),
        (by_hand(shape=(-2,), size=8), r"of shape \(-2,\)"),
        (by_hand(shape=(1 << 62, 1 << 62), size=8), "has 8 bytes"),
        (by_hand(shape=(1,) * 40), "40 axes"),
        (by_hand(size=-8, shape=(2,)), "has -8 bytes"),
        (by_hand()[:16] + struct.pack("<Q", 1 << 60), "names cannot be in the 0 bytes left"),
        (by_hand().replace(struct.pack("<Q", 0xDD5E40F096B4A13F), bytes(8)), "with its magic number"),
        (by_hand()[:33] + struct.pack("<Q", 2) + by_hand()[41:], "arrays"),
        ("text", "a str given, expected bytes"),
    ],
)
def test_error_of_damaged_bytes_says_what_is_wrong(given: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        load_param_dict(given)


def test_truncated_or_changed_bytes_never_crash() -> None:
    whole = bytes(save_param_dict({"w": np.arange(3, dtype=np.int16)}))
    for length in range(len(whole)):
        with pytest.raises(InputError):
            load_param_dict(whole[:length])
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 0x81
        with contextlib.suppress(InputError):
            load_param_dict(changed)


def test_an_unsupported_dtype_is_named() -> None:
    with pytest.raises(InputError, match="'z' is of complex64"):
        save_param_dict({"z": np.zeros(2, np.complex64)})
