"""Tensors share their memory with numpy and with any library that supports DLPack."""

from __future__ import annotations

import gc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.runtime import dlpack
from tvmlite.runtime.tensor import Tensor, copy_to_one_block, empty, tensor

KINDS = ("float16", "float32", "float64", "int8", "int64", "uint8", "uint16", "uint64", "bool")


@pytest.mark.parametrize("alignment", [1, 16, 64, 4096])
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (2, 3, 4)])
def test_memory_is_aligned(shape: tuple[int, ...], alignment: int) -> None:
    made = empty(shape, "float32", alignment)
    assert made.shape == shape
    assert made.dtype == "float32"
    assert made.numpy().__array_interface__["data"][0] % alignment == 0
    assert made.numpy().flags.c_contiguous
    assert made.numpy().flags.writeable


def test_copies_are_adjacent_and_each_is_aligned() -> None:
    given = [np.arange(5, dtype=np.float32), np.ones((2, 3), np.int8), np.float64(7)[...]]

    copies = copy_to_one_block(given, 4096, 1 << 16)

    first, second, third = (one.__array_interface__["data"][0] for one in copies)
    assert (first % 4096, second - first, third - second) == (0, 64, 64)
    for copy, array in zip(copies, given, strict=True):
        assert copy.dtype == array.dtype
        np.testing.assert_array_equal(copy, array)
        assert not np.shares_memory(copy, array)
    assert all(one.base is copies[0].base and one.base.nbytes >= 1 << 16 for one in copies)


def test_invalid_shapes_alignments_and_dtypes_are_refused() -> None:
    with pytest.raises(InputError, match="empty: shape: -1 given, expected an int of at least 0"):
        empty((2, -1))
    with pytest.raises(InputError, match="alignment is 3, expected a power of two"):
        empty((2,), alignment=3)
    with pytest.raises(UnsupportedError, match="complex64"):
        tensor(np.zeros(2, np.complex64))


def test_a_tensor_shares_memory_with_numpy() -> None:
    array = np.arange(6.0)
    shared = tensor(array)
    shared[1] = 9
    assert array[1] == 9
    assert np.shares_memory(np.asarray(shared), array)
    assert tensor(shared).numpy() is array
    assert np.asarray(shared, np.float32).dtype == np.float32
    assert not np.shares_memory(np.array(shared), array)


def test_lists_and_other_dtypes_are_copied() -> None:
    assert tensor([[1, 2], [3, 4]], "float32").numpy().tolist() == [[1, 2], [3, 4]]
    assert tensor(np.arange(3), "bfloat16").dtype == "bfloat16"
    assert "Tensor(array([1" in repr(tensor([1, 2]))
    assert len(tensor([1, 2])) == 2
    assert tensor(np.float32(3)).shape == ()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "form", [lambda x: x, lambda x: x[:, ::-1], lambda x: x.T, lambda x: x[:0], lambda x: x[0, 0]]
)
def test_dlpack_returns_the_same_memory(kind: str, form: Any) -> None:
    array = form(np.arange(12).reshape(3, 4).astype(kind))
    array = np.asarray(array)
    back = dlpack.take(Tensor(array))
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)
    if array.size:
        back[...] = 1
        assert (array == 1).all()


def test_dlpack_works_with_numpy_in_both_directions() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert np.shares_memory(np.from_dlpack(tensor(array)), array)
    assert np.shares_memory(dlpack.take(array), array)


def test_memory_taken_by_dlpack_lives_as_long_as_it_is_used() -> None:
    owner = tensor(np.full(1000, 7.0))
    taken = dlpack.take(owner)
    before = len(dlpack._given)
    del owner
    gc.collect()
    assert (taken == 7).all()
    del taken
    gc.collect()
    assert len(dlpack._given) == before - 1


def test_an_unused_capsule_is_freed() -> None:
    before = len(dlpack._given)
    capsule = tensor([1.0]).__dlpack__()
    assert len(dlpack._given) == before + 1
    del capsule
    assert len(dlpack._given) == before


def test_a_tensor_shares_memory_with_torch_in_both_directions() -> None:
    torch = pytest.importorskip("torch")
    for kind in ("float32", "int64", "bool", "bfloat16", "float16"):
        there = torch.ones(2, 3).to(getattr(torch, kind)).T
        here = tensor(there)
        assert here.dtype == kind
        assert here.shape == (3, 2)
        here.numpy()[...] = 0
        assert not there.any()
        again = torch.from_dlpack(here)
        assert again.dtype == there.dtype
        assert again.data_ptr() == there.data_ptr()


@pytest.mark.parametrize(
    "kind", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2fnuz, ml_dtypes.float8_e8m0fnu]
)
def test_dlpack_supports_floats_of_ml_dtypes(kind: Any) -> None:
    array = np.arange(1, 6).astype(np.float32).astype(kind)
    back = dlpack.take(tensor(array))
    assert back.dtype == array.dtype
    assert back.tolist() == array.tolist()


def test_dtypes_that_dlpack_would_pack_are_refused() -> None:
    with pytest.raises(
        InputError, match="an array of int4 cannot be given by DLPack, which packs its elements"
    ):
        dlpack.give(np.ones(3).astype(ml_dtypes.int4))


def test_memory_of_another_device_is_refused() -> None:
    class OnGpu:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

        def __dlpack__(self) -> object:
            raise AssertionError

    with pytest.raises(InputError, match=r"a OnGpu is on DLPack device \(2, 0\), expected the CPU"):
        tensor(OnGpu())
