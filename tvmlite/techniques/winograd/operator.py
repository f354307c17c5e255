"""Convolutions with windows of 3 x 3 by Winograd's minimal filtering: fewer multiplications, a larger error.

Relay's pair of operators: ``nn.contrib_conv2d_winograd_weight_transform`` transforms a weight, and
``nn.contrib_conv2d_winograd_without_weight_transform`` convolves with it. The latter reads and writes
channels in blocks (``NCHW16c``) and takes the transformed weight as ``OHWI16o``: for each position in a tile
and each input channel, a vector of output channels. ``matrices`` has the matrices and the errors.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Fuse, operator
from tvmlite.relay.ir.types import Shape, TensorType, same_dim, show_shape
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import fault, one_dtype
from tvmlite.relay.ops.convolutions.conv import conv_attrs, result_dtype
from tvmlite.te import expr as e
from tvmlite.te.templates.anchors import Anchor
from tvmlite.te.tensor import reducers
from tvmlite.techniques.blocked_conv.conv_blocked import written_block
from tvmlite.techniques.winograd.matrices import FILTERINGS, WINDOW, Filtering, array, product

WEIGHT_TRANSFORM = "nn.contrib_conv2d_winograd_weight_transform"
CONVOLUTION = "nn.contrib_conv2d_winograd_without_weight_transform"

WINOGRAD = Anchor("conv2d_winograd")
"""Convolutions by minimal filtering."""
OUTPUTS_AT_ONCE = 32
"""The number of output channels whose weights are transformed, and held in float64, at a time."""


def filtering(call: Call) -> Filtering:
    """The matrices for the ``tile_size`` of ``call``, the number of outputs of a tile along each axis."""
    size = call["tile_size"]
    if not isinstance(size, int) or size not in FILTERINGS:
        raise fault(call, f"tile_size is {size}, expected one of {', '.join(map(str, FILTERINGS))}")
    return FILTERINGS[size]


# --- the weight ---------------------------------------------------------------------------------


def weight_type(call: Call, weight: TensorType) -> TensorType:
    """The type relation: ``OIHW`` with windows of 3 x 3 gives ``HWOI``, whose first two axes are a tile's."""
    windows.check_rank(call, "weight", weight, 4)
    if not dtypes.is_float(weight.dtype):
        raise fault(call, f"weight is of {weight.dtype}, expected floats")
    if not all(same_dim(extent, WINDOW) for extent in weight.shape[2:]):
        raise fault(call, f"weight is {show_shape(weight.shape)}, expected windows of {WINDOW} x {WINDOW}")
    extent = filtering(call).extent
    return TensorType((extent, extent, *weight.shape[:2]), weight.dtype)


def weight_numpy(call: Call, weight: np.ndarray) -> np.ndarray:
    """``G g G^T`` in float64, rounded once."""
    matrix, extent = array(filtering(call).weight), filtering(call).extent
    outputs, inputs = weight.shape[:2]
    made = np.empty((extent, extent, outputs, inputs), weight.dtype)
    for start in range(0, outputs, OUTPUTS_AT_ONCE):
        part = slice(start, start + OUTPUTS_AT_ONCE)
        made[:, :, part] = np.einsum("ay,oiyx,bx->aboi", matrix, weight[part], matrix, optimize=True)
    return made


@operator(
    WEIGHT_TRANSFORM,
    infer=weight_type,
    reference=weight_numpy,
    fuse=Fuse.INJECTIVE,
    attrs={"tile_size": REQUIRED},
)
def weight_transform(call: Call, weight: te.Tensor) -> te.Tensor:
    """``G g G^T`` for the window ``g`` of each pair of channels."""
    matrix, extent = filtering(call).weight, filtering(call).extent

    def element(a: e.Expr, b: e.Expr, o: e.Expr, i: e.Expr) -> e.Expr:
        return product(matrix, a, lambda y: product(matrix, b, lambda x: weight[o, i, y, x]))

    return te.compute((extent, extent, *weight.shape[:2]), element, name="winograd_weight", tag="injective")


# --- the convolution ----------------------------------------------------------------------------


def convolution_type(call: Call, data: TensorType, weight: TensorType) -> TensorType:
    """The type relation: data and result have the same blocks of channels and floating-point dtype."""
    block = _block(call, data, weight)
    extent = filtering(call).extent
    if not all(same_dim(given, extent) for given in weight.shape[1:3]):
        raise fault(
            call, f"weight is {show_shape(weight.shape)}, tile_size {call['tile_size']} has tiles of {extent}"
        )
    _check_window(call)
    dtype = one_dtype(call, data, weight)
    if not dtypes.is_float(dtype) or result_dtype(call, dtype) != dtype:
        raise fault(
            call,
            f"dtype is {dtype}, out_dtype {call['out_dtype']!r}: expected floats, and the same as result",
        )
    if not same_dim(data.shape[1], (weight.shape[3] + (block - 1)) // block):
        raise fault(
            call,
            f"data is {show_shape(data.shape)}, weight is {show_shape(weight.shape)}: "
            "the channels do not fit",
        )
    made, stated = weight.shape[0] * block, call["channels"]
    if stated is not None and not (isinstance(made, int) and made - block < stated <= made):
        raise fault(call, f"channels is {stated}, weight is {show_shape(weight.shape)}")
    shape = _extents(call, data.shape)
    windows.check_extents(call, shape, data)
    return TensorType((data.shape[0], weight.shape[0], *shape, block), data.dtype)


def _block(call: Call, data: TensorType, weight: TensorType) -> int:
    """The block of channels, which must be the same in all layouts."""
    block = windows.check_data(call, data, "data_layout", 2)
    written = written_block(call, 2)
    found = re.fullmatch(r"OHWI([1-9]\d*)o", call["kernel_layout"])
    if not block or found is None or not block == written == int(found[1]):
        raise UnsupportedError(
            f"{call.op}: data_layout is {call['data_layout']!r}, kernel_layout {call['kernel_layout']!r}, "
            f"out_layout {call['out_layout']!r}; supported are such as 'NCHW16c', 'OHWI16o' and 'NCHW16c'",
            call.span,
        )
    windows.check_rank(call, "weight", weight, 5)
    if not same_dim(weight.shape[4], block):
        raise fault(call, f"weight is {show_shape(weight.shape)}, kernel_layout is {call['kernel_layout']}")
    return block


def _check_window(call: Call) -> None:
    """Raise an error unless windows are 3 x 3 with strides and dilation 1, in one group."""
    expected = {"kernel_size": WINDOW, "strides": 1, "dilation": 1}
    for name, value in expected.items():
        if call[name] is not None and windows.spatial_attr(call, name, 2) != (value, value):
            raise fault(call, f"{name} is {call[name]}, expected {(value, value)}")
    if call["groups"] != 1:
        raise fault(call, f"groups is {call['groups']}, expected 1")


def _extents(call: Call, data: Shape) -> Shape:
    """Height and width of the result."""
    begins, ends = windows.padding_of(call, 2)
    return tuple(
        windows.window_extent(size, WINDOW, 1, 1, b, f)
        for size, b, f in zip(data[2:4], begins, ends, strict=True)
    )


def convolution_numpy(call: Call, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Tile by tile in float64: transform, multiply channel by channel, transform back."""
    matrices, step = filtering(call), call["tile_size"]
    forward, back = array(matrices.data), array(matrices.result)
    height, width = windows.as_ints(_extents(call, data.shape))
    rows, columns = -(-height // step), -(-width // step)
    begins, _ = windows.padding_of(call, 2)
    plain = np.moveaxis(data, -1, 2).reshape(data.shape[0], -1, *data.shape[2:4])[:, : weight.shape[3]]
    ends = [
        n * step + 2 - b - size for n, b, size in zip((rows, columns), begins, data.shape[2:4], strict=True)
    ]
    source = windows.padded_numpy(plain.astype("float64"), begins, ends, 0)
    tiles = np.lib.stride_tricks.sliding_window_view(source, forward.shape, (2, 3))[:, :, ::step, ::step]
    transformed = np.einsum("ay,ncpqyx,bx->ncpqab", forward, tiles, forward, optimize=True)
    products = np.einsum("ncpqab,oabcv->nopqabv", transformed, weight.astype("float64"), optimize=True)
    made = np.einsum("ia,nopqabv,jb->nopiqjv", back, products, back, optimize=True)
    made = made.reshape(*made.shape[:2], rows * step, columns * step, -1)[:, :, :height, :width]
    return np.ascontiguousarray(made, data.dtype)


def _tiles(data: te.Tensor, shape: Shape, call: Call) -> te.Tensor:
    """``tiles[n, c, p, i, j, lane]``: the inputs of tile ``p``, zero outside ``data``."""
    step, extent = call["tile_size"], filtering(call).extent
    (top, left), _ = windows.padding_of(call, 2)
    rows, columns = ((size + (step - 1)) // step for size in shape)
    height, width = data.shape[2:4]

    def element(n: Any, c: Any, p: Any, i: Any, j: Any, lane: Any) -> e.Expr:
        y, x = p // columns * step + i - top, p % columns * step + j - left
        inside = e.all_of([y >= 0, y < height, x >= 0, x < width])
        return e.Call("if_then_else", (inside, data[n, c, y, x, lane], e.const(0, data.dtype)), data.dtype)

    return te.compute(
        (*data.shape[:2], rows * columns, extent, extent, data.shape[-1]),
        element,
        name="tiles",
        tag="winograd_tiles",
    )


def _transformed(tiles: te.Tensor, matrices: Filtering) -> te.Tensor:
    """``transformed[n, a, b, p, c, lane]``: the transformed tiles, transformed along the height first."""
    batch, blocks, count, extent, _, lanes = tiles.shape
    high = te.compute(
        tiles.shape,
        lambda n, c, p, a, j, lane: product(matrices.data, a, lambda i: tiles[n, c, p, i, j, lane]),
        name="tiles_high",
        tag="winograd_halfway",
    )
    return te.compute(
        (batch, extent, extent, count, blocks, lanes),
        lambda n, a, b, p, c, lane: product(matrices.data, b, lambda j: high[n, c, p, a, j, lane]),
        name="there",
        tag="winograd_there",
    )


def _inverse(products: te.Tensor, matrices: Filtering) -> te.Tensor:
    """``back[n, o, p, i, j, lane]``: the products transformed back, along the height first."""
    batch, blocks, count, _, extent, lanes = products.shape
    step = matrices.outputs
    high = te.compute(
        (batch, blocks, count, step, extent, lanes),
        lambda n, o, p, i, b, lane: product(matrices.result, i, lambda a: products[n, o, p, a, b, lane]),
        name="products_high",
        tag="winograd_back",
    )
    return te.compute(
        (batch, blocks, count, step, step, lanes),
        lambda n, o, p, i, j, lane: product(matrices.result, j, lambda b: high[n, o, p, i, b, lane]),
        name="back",
        tag="winograd_pixels",
    )


@operator(
    CONVOLUTION,
    infer=convolution_type,
    reference=convolution_numpy,
    fuse=Fuse.OUT_ELEMWISE_FUSABLE,
    attrs={
        "tile_size": REQUIRED,
        **conv_attrs(2),
        "data_layout": "NCHW16c",
        "kernel_layout": "OHWI16o",
    },
    schedule=WINOGRAD,
)
def convolution(call: Call, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """``A^T [(G g G^T) * (B^T d B)] A`` for each tile ``d``, summed up over the input channels."""
    matrices, step, lanes = filtering(call), call["tile_size"], data.shape[-1]
    shape = _extents(call, data.shape)
    transformed = _transformed(_tiles(data, shape, call), matrices)
    channel = te.reduce_axis(weight.shape[3], name="ic")
    products = te.compute(
        (data.shape[0], weight.shape[0], transformed.shape[3], matrices.extent, matrices.extent, lanes),
        lambda n, o, p, a, b, lane: reducers.sum(
            transformed[n, a, b, p, channel // lanes, channel % lanes] * weight[o, a, b, channel, lane],
            channel,
        ),
        name="products",
        tag="winograd_products",
    )
    back = _inverse(products, matrices)
    columns = (shape[1] + (step - 1)) // step
    return te.compute(
        (data.shape[0], weight.shape[0], *shape, lanes),
        lambda n, o, y, x, lane: back[n, o, y // step * columns + x // step, y % step, x % step, lane],
        name="conv_blocked",
        tag="winograd_result",
        attrs={"tile_size": step},
    )
