"""Resizing of images, signals and volumes: nearest neighbour, linear and cubic interpolation.

Each output element has a source coordinate along each axis (``coordinate_transformation_mode``), and from
it a few taps: source indices with weights. It is the weighted sum over the taps of all axes.
The same formulas build te expressions and, on numpy arrays, the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Fuse, choice, operator
from tvmlite.relay.ir.types import Shape, TensorType, normal_dim, same_dim, show_shape
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import clamp, fault, unless_empty
from tvmlite.relay.ops.images.resize_taps import NumpyNumbers, Tap, TeNumbers, taps_of
from tvmlite.te import expr as e

COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
)


def resize_type(rank: int) -> Callable[..., TensorType]:
    """The type relation: the spatial extents become ``size``."""

    def infer(call: Call, data: TensorType) -> TensorType:
        windows.check_data(call, data, "layout", rank)
        size = _size(call, rank)
        if call["scales"] is not None and len(call["scales"]) != rank:
            raise fault(call, f"scales is {call['scales']}, expected {rank} values")
        if call["roi"] and len(call["roi"]) != 2 * rank:
            raise fault(call, f"roi is {call['roi']}, expected {2 * rank} values")
        for have, want in zip(data.shape[2 : 2 + rank], size, strict=True):
            if isinstance(have, int) and have == 0 and not (isinstance(want, int) and want == 0):
                raise fault(
                    call,
                    f"data is {show_shape(data.shape)}: cannot resize an empty axis to {show_shape(size)}",
                )
        if not dtypes.is_float(data.dtype) and call["method"] != "nearest_neighbor":
            raise fault(call, f"data is {data.dtype}, method {call['method']!r} expects a float")
        return TensorType((*data.shape[:2], *size, *data.shape[2 + rank :]), call["out_dtype"] or data.dtype)

    return infer


def _size(call: Call, rank: int) -> Shape:
    size = call["size"] if isinstance(call["size"], tuple) else (call["size"],) * rank
    if len(size) != rank:
        raise fault(call, f"size is {size}, expected {rank} values")
    return size


def resize_compute(rank: int) -> Callable[..., te.Tensor]:
    """Return the tensor expression: an unrolled sum over the taps."""

    def compute(call: Call, data: te.Tensor) -> te.Tensor:
        size = _size(call, rank)
        work = "float64" if data.dtype == "float64" else "float32"
        numbers = TeNumbers(work)

        def element(n: Any, c: Any, *at: Any) -> e.Expr:
            taps: list[tuple[list[Tap], Any]] = []
            for axis, x in enumerate(at[:rank]):
                sizes = data.shape[axis + 2], size[axis]
                times = _repeats(call, axis, sizes)
                if times is None:
                    taps.append(taps_of(call, numbers, axis, x.astype(work), sizes))
                else:
                    taps.append(([Tap(x // times, inside=True)], None))
            value = _sum_of_taps(data, (n, c), [t for t, _ in taps], at[rank:], work)
            outside = [o for _, o in taps if o is not None]
            if outside:
                fill = e.const(call["extrapolation_value"], value.dtype)
                value = e.Select(e.any_of(outside), fill, value)
            read = [d for d, (t, _) in zip(data.shape[2:], taps, strict=False) if not t[0].inside]
            return e.cast(call["out_dtype"] or data.dtype, unless_empty(read, value))

        shape = (*data.shape[:2], *size, *data.shape[2 + rank :])
        return te.compute(shape, element, name=f"resize{rank}d", tag="injective")

    return compute


def _repeats(call: Call, axis: int, sizes: tuple[Any, Any]) -> int | None:
    """The factor by which elements are repeated along ``axis``, or None if the resize does more than that.

    The source index is then an integer quotient. It equals the float32 quotient rounded down for any index
    below 2 ** 24.
    """
    size, out_size = sizes
    if call["scales"] is not None:
        factor = call["scales"][axis]
    else:
        factor = out_size / size if isinstance(size, int) and isinstance(out_size, int) and size else 0
    rounding = call["rounding_method"] or "floor"
    kind = (call["method"], call["coordinate_transformation_mode"], rounding)
    if kind != ("nearest_neighbor", "asymmetric", "floor") or factor < 1 or factor != int(factor):
        return None
    return int(factor) if same_dim(out_size, normal_dim(size * int(factor))) else None


def _sum_of_taps(
    data: te.Tensor, lead: tuple[Any, ...], taps: list[list[Tap]], lane: tuple[Any, ...], work: str
) -> e.Expr:
    total: e.Expr | None = None
    extents = data.shape[2 : 2 + len(taps)]
    for combination in product(*taps):
        places = [
            tap.index if tap.inside else clamp(tap.index, extent)
            for tap, extent in zip(combination, extents, strict=True)
        ]
        value = data[(*lead, *places, *lane)]
        weights = [tap.weight for tap in combination if tap.weight is not None]
        for weight in weights:
            value = value.astype(work) * weight
        total = value if total is None else total + value
    assert total is not None
    return total


def resize_numpy(rank: int) -> Callable[..., np.ndarray]:
    """Return the reference, which resizes one axis after the other."""

    def reference(call: Call, data: np.ndarray) -> np.ndarray:
        size = windows.as_ints(_size(call, rank))
        numbers = NumpyNumbers(np.dtype("float64" if data.dtype == np.float64 else "float32"))
        result, masks = data, []
        for i in range(rank):
            axis, sizes = i + 2, (data.shape[i + 2], size[i])
            x = np.arange(sizes[1]).astype(numbers.dtype)
            taps, outside = taps_of(call, numbers, i, x, sizes)
            result = _along(result, axis, taps, numbers.dtype)
            if outside is not None:
                masks.append(outside.reshape([-1 if a == axis else 1 for a in range(data.ndim)]))
        for mask in masks:
            result = np.where(mask, np.asarray(call["extrapolation_value"], result.dtype), result)
        return result.astype(dtypes.numpy_of(call["out_dtype"] or data.dtype.name))

    return reference


def _along(data: np.ndarray, axis: int, taps: list[Tap], work: np.dtype) -> np.ndarray:
    shape = [-1 if a == axis else 1 for a in range(data.ndim)]
    total: Any = None
    for tap in taps:
        value = np.take(data, np.clip(tap.index, 0, data.shape[axis] - 1), axis=axis)
        if tap.weight is not None:
            value = value.astype(work) * np.broadcast_to(tap.weight, tap.index.shape).reshape(shape)
        total = value if total is None else total + value
    return total


for _rank in (1, 2, 3):
    operator(
        f"image.resize{_rank}d",
        infer=resize_type(_rank),
        reference=resize_numpy(_rank),
        fuse=Fuse.INJECTIVE,
        attrs={
            "size": REQUIRED,
            "roi": (),
            "layout": windows.LAYOUTS[_rank],
            "method": choice("linear", "nearest_neighbor", "cubic"),
            "coordinate_transformation_mode": choice(*COORDINATES),
            "rounding_method": choice(
                "", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"
            ),
            "cubic_alpha": -0.5,
            "cubic_exclude": 0,
            "extrapolation_value": 0.0,
            "out_dtype": None,
            "scales": None,
        },
        doc=f"""``data`` resized to ``size`` along its last {_rank} axes, channels first.

        As in TVM, except for ``scales``: factors of the extents, which coordinates are computed from instead
        of the quotients of the extents.
        """,
        open_attrs=("size",),
    )(resize_compute(_rank))
