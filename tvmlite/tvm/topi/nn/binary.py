"""Products of bits."""

from __future__ import annotations

from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing

_BITS = 32


def binarize_pack(data: Tensor, axis: int | None = None, name: str = "PackedInput") -> Tensor:
    """Whether elements are at least 0, as bits of uint32: 32 elements along ``axis``, by default the last,
    are one, the first its highest bit."""
    place = data.ndim - 1 if axis is None else axis
    if isinstance(data.shape[place], int) and data.shape[place] % _BITS:
        raise arguments.refused("binarize_pack: the extent", data.shape[place], f"a multiple of {_BITS}")
    shape = tuple(te.floordiv(n, _BITS) if k == place else n for k, n in enumerate(data.shape))

    def element(*i: Any) -> Any:
        made: Any = e.const(0, "uint32")
        for bit in range(_BITS):
            read = data(*(n * _BITS + bit if k == place else n for k, n in enumerate(i)))
            made = (made << e.const(1, "uint32")) | e.cast("uint32", read >= 0)
        return made

    return te.compute(shape, element, name=name, tag="binarize_pack")


def binary_dense(data: Tensor, weight: Tensor) -> Tensor:
    """Rows of bits of ``data`` times those of ``weight``, where a bit is 1 or -1, as float32."""
    words = data.shape[1]
    k = te.reduce_axis((0, words), name="k")
    differ = te.compute(
        (data.shape[0], weight.shape[0]),
        lambda i, j: te.sum(e.cast("float32", te.popcount(data[i, k] ^ weight[j, k])), axis=k),
        name="tensor",
        tag="binary_dense",
    )
    return te.compute(
        differ.shape, lambda i, j: _BITS * words - 2.0 * differ(i, j), name="T_binary_dense", tag="elemwise"
    )


__getattr__ = refusing(__name__)
