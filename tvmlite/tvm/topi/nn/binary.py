"""Binary and bit-serial convolutions and matrix products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.nn.conv import conv2d_nchw, conv2d_nhwc
from tvmlite.tvm.topi.nn.layers import dense

_BITS = 32


def binarize_pack(data: Tensor, axis: int | None = None, name: str = "PackedInput") -> Tensor:
    """Pack the results of ``data >= 0`` as bits into uint32: each value holds 32 elements along ``axis`` (by
    default the last), the first element in the highest bit."""
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
    """Return the dot products of rows of ``data`` with rows of ``weight``, as float32. Both are packed bits
    that stand for 1 and -1."""
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


def _levels(data: Tensor, bits: int) -> Tensor:
    """The lowest ``bits`` bits of each element, as int32."""
    mask = (1 << bits) - 1
    return te.compute(
        data.shape, lambda *i: e.cast("int32", data(*i) & e.const(mask, data.dtype)), name="levels"
    )


def _weights(weight: Tensor, bits: int, unipolar: bool) -> Tensor:
    """The weights that the lowest ``bits`` bits encode; with ``unipolar``, a 0 bit counts as -1."""
    levels, most = _levels(weight, bits), (1 << bits) - 1
    if not unipolar:
        return levels
    return te.compute(levels.shape, lambda *i: 2 * levels(*i) - most, name="weights")


def _bitserial_convolution(layout: str) -> Callable[..., Tensor]:
    def apply(
        data: Tensor,
        kernel: Tensor,
        stride: Any,
        padding: Any,
        activation_bits: int,
        weight_bits: int,
        pack_dtype: str = "uint32",
        out_dtype: str = "int16",
        unipolar: bool = True,
    ) -> Tensor:
        if kernel.ndim != 4:
            raise UnsupportedError(
                f"topi.nn.bitserial_conv2d_{layout.lower()}: a packed kernel is not supported: "
                "give the weights themselves",
                Span.of_caller(),
            )
        given = _levels(data, activation_bits), _weights(kernel, weight_bits, unipolar)
        make = conv2d_nchw if layout == "NCHW" else conv2d_nhwc
        return _converted(make(*given, stride, padding, 1, "int32"), out_dtype)

    apply.__doc__ = f"""A convolution of {layout} images of ``activation_bits`` by kernels of ``weight_bits``,
    whose bits are 1 or -1 if ``unipolar``, else 1 or 0. It is computed in int32; ``pack_dtype`` has no
    effect."""
    return apply


bitserial_conv2d_nchw, bitserial_conv2d_nhwc = map(_bitserial_convolution, ("NCHW", "NHWC"))


def bitserial_dense(
    data: Tensor,
    weight: Tensor,
    data_bits: int,
    weight_bits: int,
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Tensor:
    """Return the dot products of rows of ``data`` (``data_bits`` bits) with rows of ``weight``
    (``weight_bits`` bits), encoded as for ``bitserial_conv2d_nchw``."""
    made = dense(_levels(data, data_bits), _weights(weight, weight_bits, unipolar), None, "int32")
    return _converted(made, out_dtype)


def _converted(data: Tensor, dtype: str) -> Tensor:
    return te.compute(data.shape, lambda *i: e.cast(dtype, data(*i)), name="converted", tag="elemwise")


__getattr__ = refusing(__name__)
