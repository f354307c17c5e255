"""Operators on extents that are not known to match: as in TVM they are assumed to; each run checks it."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.equal_extents import with_equal_extents
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import Dim, Shape, normal_dim, same_dim
from tvmlite.relay.ops.shapes.reshape import same_num_elements
from tvmlite.tvm.relay.expr import Tuple, TupleWrapper, adopt
from tvmlite.tvm.relay.graph.attrs import plain_value
from tvmlite.tvm.relay.op import run_time_axes
from tvmlite.tvm.relay.op.arguments import known_shape, known_shapes
from tvmlite.tvm.relay.op.builders import function


def reshape(data: Any, newshape: Any, allowzero: bool = False) -> Any:
    """Reshape ``data`` to ``newshape``. A 0 copies the extent of ``data``, unless ``allowzero``, -1 is
    inferred, -2 copies the remaining axes, -3 merges two axes and -4 splits one."""
    made = function("reshape")(data, newshape, allowzero)
    if not isinstance(made, nodes.Call) or made.op != "reshape":
        return made
    shape, wanted = _open_shape(made.args[0]), made["newshape"]
    if shape is None or any(isinstance(extent, int) and extent < 0 for extent in wanted):
        return made
    if not made["allowzero"]:
        if any(extent == 0 for extent in wanted[len(shape) :] if isinstance(extent, int)):
            return made
        wanted = tuple(
            shape[place] if isinstance(extent, int) and extent == 0 else extent
            for place, extent in enumerate(wanted)
        )
    return made if same_num_elements(shape, wanted) else _assumed_reshape(made.args[0], wanted)


def reshape_like(
    data: Any,
    shape_like: Any,
    lhs_begin: int = 0,
    lhs_end: int | None = None,
    rhs_begin: int = 0,
    rhs_end: int | None = None,
) -> Any:
    """Reshape the axes ``lhs_begin`` to ``lhs_end`` of ``data`` to the extents of the axes ``rhs_begin`` to
    ``rhs_end`` of ``shape_like``; the ends are exclusive."""
    made = function("reshape_like")(data, shape_like, lhs_begin, lhs_end, rhs_begin, rhs_end)
    shapes = known_shapes(made.args)
    if shapes is None or all(map(_is_static, shapes)):
        return made
    shape, like = shapes
    first, last, _ = slice(lhs_begin, lhs_end).indices(len(shape))
    wanted = like[rhs_begin:rhs_end]
    if same_num_elements(shape[first:last], wanted):
        return made
    fitting = _assumed_reshape(made.args[0], (*shape[:first], *wanted, *shape[last:]))
    return function("reshape_like")(fitting, shape_like, first, first + len(wanted), rhs_begin, rhs_end)


def split(data: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Split ``data`` along ``axis`` into a number of equal pieces, or at indices; return them as a tuple."""
    shape, sections, build = _open_shape(data), plain_value(indices_or_sections), function("split")
    if shape is None or not -len(shape) <= axis < len(shape) or isinstance(shape[axis], int):
        return build(data, sections, axis)
    if isinstance(sections, int):
        if sections > 0:
            data = _assumed(data, _with(shape, axis, shape[axis] // sections * sections))
        return build(data, sections, axis)
    made, ends = build(data, sections, axis), pairwise((0, *sections, shape[axis]))
    pieces = [
        _assumed(piece, _with(shape, axis, last - first))
        for piece, (first, last) in zip(made, ends, strict=True)
    ]
    return TupleWrapper(Tuple(tuple(pieces)), len(pieces))


def _with(shape: Shape, axis: int, extent: Any) -> Shape:
    """``shape`` with the extent of ``axis`` replaced."""
    found = list(shape)
    found[axis] = normal_dim(extent)
    return tuple(found)


def squeeze(data: Any, axis: Any = None) -> Any:
    """Remove the axes ``axis`` of extent 1 from ``data``; they are integers or a tensor of integers."""
    shape, axes = _open_shape(data), (axis,) if isinstance(axis, int) else axis
    if shape is not None and isinstance(axes, (tuple, list)) and all(isinstance(one, int) for one in axes):
        gone = {one % len(shape) for one in axes if -len(shape) <= one < len(shape)}
        data = _assumed(data, [1 if place in gone else one for place, one in enumerate(shape)])
    return run_time_axes.squeeze(data, axis)


def concatenate(data: Any, axis: int) -> Any:
    """Concatenate the tensors ``data`` along ``axis``."""
    return function("concatenate")(_agreed(data, axis), axis)


def stack(data: Any, axis: int) -> Any:
    """Stack the tensors ``data``, which have one shape, along a new axis ``axis``."""
    return function("stack")(_agreed(data, None), axis)


def slice_like(data: Any, shape_like: Any, axes: Any = None) -> Any:
    """Slice ``data`` along ``axes``, from the start, to the extents of ``shape_like``. ``axes`` defaults to
    all axes of ``shape_like``."""
    made = function("slice_like")(data, shape_like, axes)
    shapes = known_shapes([*made.args, made])
    if shapes is None:
        return made
    shape, like, found = shapes
    chosen = {axis % len(shape) for axis in made["axes"] or range(len(like))}
    return _assumed(made, [like[place] if place in chosen else one for place, one in enumerate(found)])


def bias_add(data: Any, bias: Any, axis: int = 1) -> Any:
    """Add the vector ``bias`` to ``data`` along ``axis``."""
    return function("nn.bias_add")(data, _spread(data, bias, axis), axis)


def prelu(data: Any, alpha: Any, axis: int = 1) -> Any:
    """``data``, with negative elements multiplied by the element of the vector ``alpha`` along ``axis``."""
    return function("nn.prelu")(data, _spread(data, alpha, axis), axis)


def _with_equal_extents(name: str) -> Callable[..., Any]:
    """The function of the operator ``name``, with extents that must be equal assumed to be equal."""
    build = function(name)

    @functools.wraps(build)
    def fitted(*args: Any, **attrs: Any) -> Any:
        made = build(*args, **attrs)
        shapes = known_shapes(made.args)
        if shapes is None or all(map(_is_static, shapes)):
            return made
        return adopt(with_equal_extents(made))

    return fitted


def _spread(data: Any, vector: Any, axis: int) -> Any:
    """``vector``, broadcast along ``axis`` of ``data`` if it has one element and that extent is unknown."""
    shape, own = _open_shape(data), known_shape(vector)
    if shape is None or own != (1,) or not -len(shape) <= axis < len(shape) or isinstance(shape[axis], int):
        return vector
    return function("broadcast_to")(vector, (shape[axis],))


def _agreed(data: Any, axis: int | None) -> Any:
    """The tensors ``data`` with their extents assumed to be equal on all axes but ``axis``."""
    parts = data.fields if isinstance(data, nodes.Tuple) else data
    shapes = known_shapes(parts) if isinstance(parts, (tuple, list)) else None
    if not shapes or all(map(_is_static, shapes)) or len(set(map(len, shapes))) > 1:
        return data
    common = [
        next((one for one in extents if isinstance(one, int)), extents[0])
        for extents in zip(*shapes, strict=True)
    ]
    own = None if axis is None or not -len(common) <= axis < len(common) else axis % len(common)
    fitting = [
        _assumed(
            part,
            [
                have if place == own else want
                for place, (have, want) in enumerate(zip(shape, common, strict=True))
            ],
        )
        for part, shape in zip(parts, shapes, strict=True)
    ]
    return data if all(map(operator.is_, fitting, parts)) else fitting


def _assumed(data: Any, wanted: Sequence[Dim]) -> Any:
    """``data`` with its extents assumed to be ``wanted``; a known contradiction is left to type inference."""
    shape = tensor_type_of(data).shape
    clash = any(
        isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(shape, wanted, strict=True)
    )
    if clash or all(map(same_dim, shape, wanted)):
        return data  # type inference reports a contradiction
    return adopt(make("assume_shape", data, newshape=tuple(wanted)))


def _assumed_reshape(data: Any, wanted: Sequence[Dim]) -> Any:
    flat = make("reshape", data, newshape=(-1,))
    counted = make("assume_shape", flat, newshape=(normal_dim(math.prod(wanted)),))
    return adopt(make("reshape", counted, newshape=tuple(wanted), allowzero=True))


def _open_shape(data: Any) -> Shape | None:
    """The shape of ``data`` if it is a tensor with at least one unknown extent, else None."""
    shape = known_shape(data)
    return None if shape is None or _is_static(shape) else shape


def _is_static(shape: Shape) -> bool:
    return all(isinstance(extent, int) for extent in shape)


FROM_OPEN_SHAPES: dict[str, Callable[..., Any]] = {
    one.__name__: one for one in (concatenate, reshape, reshape_like, slice_like, split, squeeze, stack)
}
FROM_OPEN_SHAPES |= {"nn.bias_add": bias_add, "nn.prelu": prelu}
FROM_OPEN_SHAPES |= {
    name: _with_equal_extents(name)
    for name in (
        "nn.dense",
        "nn.matmul",
        *(f"nn.conv{rank}d{kind}" for rank in (1, 2, 3) for kind in ("", "_transpose")),
    )
}
"""The functions of this module by TVM's names."""
