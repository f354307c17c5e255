"""Image operators as in TVM: crop and resize, morphological dilation, affine grids, correlation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.attributes import INTEGER, INTEGERS, Attribute
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Rounding, choice
from tvmlite.relay.ir.types import TensorType, normal_dim, show_shape
from tvmlite.relay.ops import common, loops, windows
from tvmlite.relay.ops.common import FLOAT, NUMBERS, clamp, expect, expect_extent, fault, one_dtype
from tvmlite.relay.ops.convolutions import any_layout
from tvmlite.relay.ops.register import Indices, anchored, injective
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers

# --- crops ------------------------------------------------------------------------------------------


def _pair(call: Call, name: str, least: int = 1) -> tuple[int, int]:
    value = call[name] if isinstance(call[name], tuple) else (call[name],) * 2
    value = value * 2 if len(value) == 1 else value
    if len(value) != 2 or any(not isinstance(one, int) or one < least for one in value):
        raise fault(call, f"{name} is {call[name]}, expected 2 numbers of at least {least}")
    return value


def _crop_type(call: Call, data: TensorType, boxes: TensorType, box_indices: TensorType) -> TensorType:
    windows.check_layout(call, "layout", 2)
    windows.check_rank(call, "data", data, 4)
    windows.check_rank(call, "boxes", boxes, 2)
    windows.check_rank(call, "box_indices", box_indices, 1)
    expect(call, "data is", data.dtype, NUMBERS)
    expect(call, "boxes are", boxes.dtype, FLOAT)
    expect(call, "box_indices are", box_indices.dtype, common.INTEGERS)
    expect_extent(call, "the second axis of boxes", boxes.shape[1], 4)
    expect_extent(call, "the number of box_indices", box_indices.shape[0], boxes.shape[0])
    dtype = dtypes.check(call["out_dtype"] or data.dtype)
    return TensorType((boxes.shape[0], data.shape[1], *_pair(call, "crop_size")), dtype)


def _crop_numpy(call: Call, data: np.ndarray, boxes: np.ndarray, box_indices: np.ndarray) -> np.ndarray:
    size, f32 = _pair(call, "crop_size"), np.float32
    result = np.full((len(boxes), data.shape[1], *size), call["extrapolation_value"], f32)
    for n, (box, batch) in enumerate(zip(boxes.astype(f32), box_indices, strict=True)):
        plane = data[batch].astype(f32, copy=False)
        for y, x in np.ndindex(*size):
            at = []
            for i, low, high, cuts, extent in zip(
                (y, x), box[:2], box[2:], size, data.shape[2:], strict=True
            ):
                last = f32(extent - 1)
                at.append(
                    low * last + f32(i) * ((high - low) * last / f32(cuts - 1))
                    if cuts > 1
                    else f32(0.5) * (low + high) * last
                )
            if any(not 0 <= p <= n - 1 for p, n in zip(at, data.shape[2:], strict=True)):
                continue
            if call["method"] == "nearest_neighbor":
                places = [int(np.floor(p + f32(0.5))) for p in at]
                result[n, :, y, x] = plane[:, places[0], places[1]]
                continue
            (top, left), (bottom, right) = ([int(r(p)) for p in at] for r in (np.floor, np.ceil))
            dy, dx = at[0] - f32(top), at[1] - f32(left)
            above = plane[:, top, left] + (plane[:, top, right] - plane[:, top, left]) * dx
            below = plane[:, bottom, left] + (plane[:, bottom, right] - plane[:, bottom, left]) * dx
            result[n, :, y, x] = above + (below - above) * dy
    return common.convert_numpy(result, call["out_dtype"] or dtypes.check(data.dtype))


@injective(
    "image.crop_and_resize",
    infer=_crop_type,
    reference=_crop_numpy,
    rounding=Rounding.STEPS,
    attrs={
        "crop_size": Attribute(REQUIRED, lambda _: INTEGERS),
        "layout": "NHWC",
        "method": choice("bilinear", "nearest_neighbor"),
        "extrapolation_value": 0.0,
        "out_dtype": None,
    },
)
def crop_and_resize(
    call: Call, i: Indices, data: te.Tensor, boxes: te.Tensor, box_indices: te.Tensor
) -> e.Expr:
    """Resize a part ``(y0, x0, y1, x1)`` of an image to ``crop_size``, for each of ``boxes``.

    ``box_indices`` selects the image of each box. Coordinates are relative: 0 is the first pixel, 1 the last.
    Positions outside the image give ``extrapolation_value``. A crop of one pixel along an axis samples the
    middle of the box.
    """
    n, c, *at = i
    size, work = _pair(call, "crop_size"), "float32"
    batch = clamp(e.cast(loops.INT, box_indices[n]), loops.index(data.shape[0]))
    places, inside = [], []
    for axis, (index, cuts, extent) in enumerate(zip(at, size, data.shape[2:], strict=True)):
        low, high = (e.cast(work, boxes[n, axis + side]) for side in (0, 2))
        last = e.cast(work, extent - 1) if isinstance(extent, e.Expr) else e.const(float(extent - 1), work)
        if cuts > 1:
            place = low * last + e.cast(work, index) * ((high - low) * last / e.const(float(cuts - 1), work))
        else:
            place = e.const(0.5, work) * (low + high) * last
        inside += [place >= 0.0, place <= last]
        places.append(place)
    outside = e.const(float(call["extrapolation_value"]), work)

    def pixel(*rounded: Any) -> e.Expr:
        places = [
            clamp(e.cast("int32", spot), extent) for spot, extent in zip(rounded, data.shape[2:], strict=True)
        ]
        return e.cast(work, data[(batch, c, *places)])

    if call["method"] == "nearest_neighbor":
        value = pixel(*(e.Call("floor", (place + 0.5,), work) for place in places))
    else:
        (top, left), (bottom, right) = (
            [e.Call(name, (place,), work) for place in places] for name in ("floor", "ceil")
        )
        dy, dx = places[0] - top, places[1] - left
        above = pixel(top, left) + (pixel(top, right) - pixel(top, left)) * dx
        below = pixel(bottom, left) + (pixel(bottom, right) - pixel(bottom, left)) * dx
        value = above + (below - above) * dy
    chosen = e.Select(e.all_of(inside), value, outside)
    return e.cast(dtypes.check(call["out_dtype"] or data.dtype), chosen)


any_layout.accept_layouts(
    "image.crop_and_resize", any_layout.Layouts({"layout": "NCHW"}, ("layout", None, None), None)
)

# --- dilation ---------------------------------------------------------------------------------------


def _dilation_geometry(call: Call, kernel: Any) -> windows.Geometry:
    begins, ends = windows.padding_of(call, 2)
    steps = windows.spatial_attr(call, "strides", 2), windows.spatial_attr(call, "dilations", 2)
    return windows.Geometry(tuple(kernel), *steps, begins, ends)


def _dilation_type(call: Call, data: TensorType, weight: TensorType) -> TensorType:
    windows.check_layout(call, "data_layout", 2)
    if call["kernel_layout"] != "IHW":
        raise fault(call, f"kernel_layout is {call['kernel_layout']!r}, expected the axes of 'IHW'")
    windows.check_rank(call, "data", data, 4)
    windows.check_rank(call, "weight", weight, 3)
    expect(call, "data is", one_dtype(call, data, weight), NUMBERS)
    expect_extent(call, "the number of channels of the weight", weight.shape[0], data.shape[1])
    if any(not isinstance(k, int) for k in weight.shape[1:]):
        raise fault(call, f"weight is {show_shape(weight.shape)}, expected a kernel of known extents")
    shape = _dilation_geometry(call, weight.shape[1:]).extents(data.shape[2:])
    windows.check_extents(call, shape, data)
    return TensorType((*data.shape[:2], *shape), dtypes.check(call["out_dtype"] or data.dtype))


def _dilation_numpy(call: Call, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    geometry = _dilation_geometry(call, weight.shape[1:])
    shape = windows.as_ints(geometry.extents(data.shape[2:]))
    dtype = dtypes.numpy_of(call["out_dtype"] or data.dtype.name)
    source = windows.padded_numpy(data, geometry.begins, geometry.ends, 0).astype(dtype)
    taps = [
        windows.strided_windows(source, position, shape, geometry.strides)
        + weight[(slice(None), *tap)].astype(dtype)[:, None, None]
        for tap, position in geometry.taps()
    ]
    return np.max(taps, axis=0)


@anchored(
    "image.dilation2d",
    infer=_dilation_type,
    reference=_dilation_numpy,
    schedule=anchors.PLANE_REDUCTION,
    attrs={
        "strides": (1, 1),
        "padding": (0, 0),
        "dilations": Attribute((1, 1), lambda _: INTEGERS),
        "data_layout": "NCHW",
        "kernel_layout": "IHW",
        "out_dtype": "",
    },
)
def dilation2d(call: Call, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """Morphological dilation: the maximum over each window of data plus ``weight``, per channel.

    Padding is 0, as in TVM.
    """
    geometry = _dilation_geometry(call, weight.shape[1:])
    dtype = dtypes.check(call["out_dtype"] or data.dtype)
    source = windows.padded(data, geometry.begins, geometry.ends, 0)
    taps = [te.reduce_axis(k, name=f"k{n}") for n, k in enumerate(geometry.kernel)]

    def element(n: Any, c: Any, *at: Any) -> e.Expr:
        value = e.cast(dtype, source[(n, c, *geometry.positions(at, taps))])
        return reducers.max_reduce(value + e.cast(dtype, weight[(c, *taps)]), taps)

    shape = (*data.shape[:2], *geometry.extents(data.shape[2:]))
    return te.compute(shape, element, name="dilation2d", tag="reduce")


any_layout.accept_layouts(
    "image.dilation2d",
    any_layout.Layouts(
        {"data_layout": "NCHW", "kernel_layout": "IHW"}, ("data_layout", "kernel_layout"), None
    ),
)

# --- grids ------------------------------------------------------------------------------------------


def _grid_type(call: Call, data: TensorType) -> TensorType:
    height, width = _pair(call, "target_shape")
    expect(call, "data is", data.dtype, FLOAT)
    windows.check_rank(call, "data", data, 3)
    expect_extent(call, "the rows of data", data.shape[1], 2)
    expect_extent(call, "the columns of data", data.shape[2], 3)
    return TensorType((data.shape[0], 2, height, width), data.dtype)


def _grid_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    height, width = _pair(call, "target_shape")
    y, x = (np.linspace(-1, 1, n) for n in (height, width))
    corners = np.stack([*np.meshgrid(x, y), np.ones((height, width))]).reshape(3, -1)
    return (data.astype(np.float64) @ corners).reshape(-1, 2, height, width).astype(data.dtype)


@injective(
    "image.affine_grid",
    rounding=Rounding.MANY,
    infer=_grid_type,
    reference=_grid_numpy,
    attrs={"target_shape": Attribute(REQUIRED, lambda _: INTEGERS)},
)
def affine_grid(call: Call, i: Indices, data: te.Tensor) -> e.Expr:
    """The points for ``image.grid_sample``: a grid over -1 .. 1 of ``target_shape``, mapped affinely.

    ``data`` holds the maps, (batch, 2, 3). The result is ``(batch, (x, y), height, width)``.
    """
    (n, row, *at), size, dtype = i, _pair(call, "target_shape"), data.dtype
    value = data[n, row, 2]
    for column, axis in ((0, 1), (1, 0)):
        step = e.const(2.0 / (size[axis] - 1) if size[axis] > 1 else 0.0, dtype)
        place = e.cast(dtype, at[axis]) * step - e.const(1.0, dtype)
        value = value + data[n, row, column] * place
    return value


# --- correlation ------------------------------------------------------------------------------------


def _correlated(call: Call, data: TensorType) -> tuple[tuple[int, int], tuple[int, int], int, list[Any]]:
    """Padding before and after, the radius of displacements, and the extents of the result."""
    begins, ends = windows.padding_of(call, 2)
    border = call["max_displacement"] + (call["kernel_size"] - 1) // 2
    extents = [
        normal_dim((size + (b + f - 2 * border + call["stride1"] - 1)) // call["stride1"])
        for size, b, f in zip(data.shape[2:], begins, ends, strict=True)
    ]
    return begins, ends, call["max_displacement"] // call["stride2"], extents  # type: ignore[return-value]


def _correlation_type(call: Call, data1: TensorType, data2: TensorType) -> TensorType:
    windows.check_layout(call, "layout", 2)
    expect(call, "data1 is", one_dtype(call, data1, data2), FLOAT)
    windows.check_rank(call, "data1", data1, 4)
    windows.check_rank(call, "data2", data2, 4)
    for axis in range(4):
        expect_extent(call, f"the extent {axis} of data2", data2.shape[axis], data1.shape[axis])
    size = call["kernel_size"]
    if size < 1 or size % 2 == 0 or min(call["stride1"], call["stride2"]) < 1 or call["max_displacement"] < 0:
        raise fault(
            call,
            f"kernel_size is {size}, strides are {call['stride1']} and {call['stride2']}, max_displacement "
            f"is {call['max_displacement']}, expected an odd kernel_size, strides of at "
            "least 1, and a max_displacement of at least 0",
        )
    _, _, radius, extents = _correlated(call, data1)
    windows.check_extents(call, extents, data1)
    return TensorType((data1.shape[0], (2 * radius + 1) ** 2, *extents), data1.dtype)


def _correlation_numpy(call: Call, data1: np.ndarray, data2: np.ndarray) -> np.ndarray:
    begins, ends, radius, extents = _correlated(call, TensorType(data1.shape, "float32"))
    widths = [(0, 0), (0, 0), *zip(begins, ends, strict=True)]
    reach = call["max_displacement"] + call["kernel_size"] + call["stride1"]
    widths = [(a, b + (reach if k > 1 else 0)) for k, (a, b) in enumerate(widths)]
    one, two = (np.pad(x.astype(np.float64), widths) for x in (data1, data2))
    side, size = 2 * radius + 1, call["kernel_size"]
    result = np.zeros((len(data1), side * side, *extents))
    for q, y, x in np.ndindex(*result.shape[1:]):
        y1, x1 = (p * call["stride1"] + call["max_displacement"] for p in (y, x))
        y2, x2 = (p + (d - radius) * call["stride2"] for p, d in zip((y1, x1), divmod(q, side), strict=True))
        a, b = one[:, :, y1 : y1 + size, x1 : x1 + size], two[:, :, y2 : y2 + size, x2 : x2 + size]
        result[:, q, y, x] = (a * b if call["is_multiply"] else np.abs(a - b)).sum(axis=(1, 2, 3))
    return (result / (size * size * data1.shape[1])).astype(data1.dtype)


def _natural(default: int) -> Attribute:
    return Attribute(default, lambda _: INTEGER)


@anchored(
    "nn.correlation",
    infer=_correlation_type,
    reference=_correlation_numpy,
    schedule=anchors.PLANE_REDUCTION,
    attrs={
        **{name: _natural(1) for name in ("kernel_size", "max_displacement", "stride1", "stride2")},
        "padding": 0,
        "is_multiply": True,
        "layout": "NCHW",
    },
)
def correlation(call: Call, data1: te.Tensor, data2: te.Tensor) -> te.Tensor:
    """Correlate patches of ``data1`` with patches of ``data2`` displaced by up to ``max_displacement``.

    An element is the mean over ``kernel_size`` squared pixels and all channels of products, or of absolute
    differences without ``is_multiply``. Channel q of the result is displacement q, in row-major order.
    ``stride1`` is the step between patches, ``stride2`` that between displacements.
    """
    begins, ends, radius, extents = _correlated(call, TensorType(data1.shape, data1.dtype))
    side, size = 2 * radius + 1, call["kernel_size"]
    work = "float32" if data1.dtype in ("float16", "bfloat16") else data1.dtype
    reach = tuple(f + call["stride1"] for f in ends)  # for a last patch if the stride does not divide
    one, two = (
        windows.padded(x, begins, reach, 0, name) for x, name in ((data1, "padded1"), (data2, "padded2"))
    )
    channel = te.reduce_axis(data1.shape[1], "c")
    taps = [te.reduce_axis(size, f"k{k}") for k in range(2)]

    def element(n: Any, q: Any, *at: Any) -> e.Expr:
        first = [p * call["stride1"] + call["max_displacement"] + k for p, k in zip(at, taps, strict=True)]
        moves = q // side, q % side
        far = [place + (move - radius) * call["stride2"] for place, move in zip(first, moves, strict=True)]
        a, b = e.cast(work, one[(n, channel, *first)]), e.cast(work, two[(n, channel, *far)])
        value = a * b if call["is_multiply"] else e.Call("abs", (a - b,), work)
        return reducers.sum(value, [channel, *taps])

    shape = (data1.shape[0], side * side, *extents)
    total = te.compute(shape, element, name="correlation", tag="reduce")
    count = e.cast(work, data1.shape[1] * (size * size))
    mean = te.compute(shape, lambda *i: total[i] / count, name="correlation_mean", tag="elemwise")
    if work == data1.dtype:
        return mean
    return te.compute(shape, lambda *i: e.cast(data1.dtype, mean[i]), name="converted", tag="elemwise")
