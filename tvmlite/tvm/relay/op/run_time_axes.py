"""Operators whose axes, strides, scales or steps are tensors: the result's shape is computed at run time.

Here the extents follow from the tensor's elements; ``run_time_sizes`` is for attributes that are extents.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core.errors import TypeInferError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType, show_type
from tvmlite.tvm.lazy import later
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.op.builders import function
from tvmlite.tvm.relay.op.run_time_sizes import known_numbers, tensor_type, with_sizes

find = later("relay.op.functions", "find")


def expand_dims(data: Any, axis: Any, num_newaxis: int = 1) -> Any:
    """Insert ``num_newaxis`` axes of extent 1 into ``data`` at ``axis``, an integer or a scalar tensor."""
    axis = known_numbers(axis)
    if not isinstance(axis, nodes.Expr):
        return function("expand_dims")(data, axis, num_newaxis)
    rank = tensor_type("expand_dims: data", data).ndim
    one = _counted_from_end(_scalar("expand_dims: axis", axis), rank + 1)
    shape, ones = _shape_of(data), _constant([1] * num_newaxis)
    place = _constant(range(rank + num_newaxis))
    behind = make("where", make("less", place, make("add", one, _constant(num_newaxis))), _ONE,
                  _joined(ones, shape))  # fmt: skip
    before = _joined(shape, ones)
    return function("reshape")(data, adopt(make("where", make("less", place, one), before, behind)))


def squeeze(data: Any, axis: Any = None) -> Any:
    """Remove the axes ``axis`` of extent 1 from ``data``; they are integers or a tensor of known shape. A run
    where such an axis has another extent fails."""
    axis = known_numbers(axis)
    if not isinstance(axis, nodes.Expr):
        return function("squeeze")(data, axis)
    rank = tensor_type("squeeze: data", data).ndim
    gone = _counted_from_end(_vector("squeeze: axis", axis), rank)
    place = range(rank)
    is_gone = make("any", make("equal", _constant([[one] for one in place]), gone), axis=(1,))
    order = make(
        "add", make("multiply", make("cast", is_gone, dtype="int64"), _constant(rank)), _constant(place)
    )
    kept = make(
        "strided_slice", make("argsort", order, dtype="int64"), begin=(0,), end=(rank - _count(gone),)
    )
    return function("reshape")(data, adopt(make("take", _shape_of(data), kept, axis=0)))


def strided_slice(data: Any, begin: Any, end: Any, strides: Any, slice_mode: str) -> Any:
    """``data[begin:end:strides]`` on the first axes, where ``strides`` is a tensor and ``begin`` and ``end``
    are numbers or tensors. In the mode ``"size"``, strides are 1."""
    shape, own = tensor_type("strided_slice: data", data).shape, _shape_of(data)
    first, last, step = (_vector("strided_slice", one) for one in (begin, end, strides))
    rest = len(shape) - _count(step)
    first = _joined(first, _constant([0] * rest))
    last = _joined(last, make("strided_slice", own, begin=(len(shape) - rest,), end=(len(shape),)))
    step = _joined(step, _constant([1] * rest))
    if slice_mode == "size":
        step = _constant([1] * len(shape))
        last = make("where", make("less", last, _ZERO), own, make("add", first, last))
    else:
        last = make("where", make("less", last, _ZERO), make("add", last, own), last)
    first = make("where", make("less", first, _ZERO), make("add", first, own), first)
    forward = make("greater", step, _ZERO)
    low = make("where", forward, _ZERO, _MINUS_ONE)
    high = make("where", forward, own, make("subtract", own, _ONE))
    first, last = (make("minimum", make("maximum", one, low), high) for one in (first, last))
    ahead = make("where", forward, _ONE, _MINUS_ONE)
    distance = make("subtract", make("add", make("subtract", last, first), step), ahead)
    extent = make("maximum", make("floor_divide", distance, step), _ZERO)
    start = make("maximum", first, _ZERO)
    back = make("maximum", make("negative", step), _ZERO)
    rows = nodes.Tuple((start, make("maximum", step, _ZERO), back, extent))
    table = make("stack", rows, axis=0)

    def window(sizes: Any) -> Any:
        starts, forth, backs, extents = sizes
        steps = tuple(a - b for a, b in zip(forth, backs, strict=True))
        known = len(shape) - rest
        last_ones = [own if isinstance(own, int) else n for own, n in zip(shape, extents, strict=True)][
            known:
        ]
        return make(
            "strided_window", data, begin=tuple(starts), strides=steps, shape=(*extents[:known], *last_ones)
        )

    return adopt(with_sizes("strided_slice: strides", table, window))


def arange(start: Any, stop: Any = None, step: Any = None, dtype: str = "float32") -> Any:
    """``start``, ``start + step``, ... up to but excluding ``stop``. A single argument is the stop. The
    arguments are numbers or tensors of one element."""
    if stop is None:
        start, stop = 0, start
    given = [known_numbers(one) for one in (start, stop, 1 if step is None else step)]
    if not any(isinstance(one, nodes.Expr) for one in (given[0], given[2])):
        return function("arange")(start, stop, step, dtype)
    begin, end, by = (
        _scalar("arange", one, None) if isinstance(one, nodes.Expr) else _constant(one)
        if isinstance(one, int) else _constant(one, np.float64) for one in given
    )  # fmt: skip
    distance = make("subtract", make("cast", end, dtype="float64"), make("cast", begin, dtype="float64"))
    count = make("ceil", make("divide", distance, make("cast", by, dtype="float64")))
    length = make("maximum", make("cast", count, dtype="int64"), _ZERO)
    first, each = (make("cast", one, dtype=dtype) for one in (begin, by))

    def numbers(size: Any) -> Any:
        places = make("arange", start=0, stop=size, step=1, dtype=dtype)
        return make("add", make("multiply", places, each), first)

    return adopt(with_sizes("arange", length, numbers))


def _upsampling(name: str, resize: str, axes: str) -> Callable[..., Any]:
    build = function(name)
    scales = [f"scale_{axis.lower()}" for axis in axes]

    def upsampling(data: Any, *args: Any, **options: Any) -> Any:
        order = ("data", *scales, "layout", "method")
        names = dict(zip(order[1:], args, strict=False)) | options
        given = [known_numbers(names.get(scale, 1)) for scale in scales]
        if not any(isinstance(one, nodes.Expr) for one in given) or len(args) >= len(order):
            return build(data, *args, **options)
        plain = build(data, **{**names, **dict.fromkeys(scales, 1)})
        layout, method = plain["layout"], plain["method"].removeprefix("bi").removeprefix("tri")
        if "align_corners" in dict(plain.attrs):
            mode = "align_corners" if plain["align_corners"] else "asymmetric"
        else:
            mode = plain["coordinate_transformation_mode"]
        factors = [
            make("reshape", make("cast", one, dtype="float64"), newshape=(1,))
            if isinstance(one, nodes.Expr) else _constant([one], np.float64) for one in given
        ]  # fmt: skip
        places = _constant([layout.index(axis) for axis in axes])
        extents = make("cast", make("take", _shape_of(data), places, axis=0), dtype="float64")
        scaled = make("round", make("multiply", extents, _joined(*factors)))
        size = adopt(make("cast", scaled, dtype="int64"))
        return find(resize)(
            data, size, layout=layout, method=method, coordinate_transformation_mode=mode, rounding_method=""
        )

    return functools.update_wrapper(upsampling, build)


def _constant(value: Any, dtype: Any = np.int64) -> nodes.Constant:
    return nodes.Constant(np.asarray(value, dtype))


_ZERO, _ONE, _MINUS_ONE = (_constant(one) for one in (0, 1, -1))


def _joined(*vectors: Any) -> Any:
    return make("concatenate", nodes.Tuple(vectors), axis=0)


def _shape_of(data: Any) -> Any:
    return make("shape_of", data, dtype="int64")


def _scalar(what: str, value: Any, dtype: str | None = "int64") -> Any:
    """The only element of ``value`` as a scalar, converted to ``dtype`` unless that is None."""
    type_ = tensor_type(what, value)
    if type_.ndim > 1 or any(extent != 1 for extent in type_.shape):
        raise TypeInferError(f"{what} is {show_type(type_)}, expected a scalar", Span.of_caller())
    one = make("reshape", value, newshape=())
    return one if dtype is None else make("cast", one, dtype=dtype)


def _vector(what: str, value: Any) -> Any:
    """``value``, a vector of known length, converted to int64."""
    if not isinstance(value, nodes.Expr):
        value = _constant(value)
    type_ = tensor_type(what, value)
    if type_.ndim != 1 or not type_.is_static:
        raise TypeInferError(
            f"{what} is {show_type(type_)}, expected a vector of known length",
            Span.of_caller(),
        )
    return make("cast", value, dtype="int64")


def _count(vector: Any) -> int:
    type_ = tensor_type("a vector", vector)
    assert isinstance(type_, TensorType)
    return int(type_.shape[0])  # type: ignore[arg-type]


def _counted_from_end(axis: Any, rank: int) -> Any:
    """``axis`` with negative axes, which count from the end, replaced by non-negative ones."""
    return make("where", make("less", axis, _ZERO), make("add", axis, _constant(rank)), axis)


FROM_TENSORS: dict[str, Callable[..., Any]] = {
    "arange": arange,
    "expand_dims": expand_dims,
    "squeeze": squeeze,
    "nn.upsampling": _upsampling("nn.upsampling", "image.resize2d", "HW"),
    "nn.upsampling3d": _upsampling("nn.upsampling3d", "image.resize3d", "DHW"),
}
"""The functions of this module by TVM's names."""
