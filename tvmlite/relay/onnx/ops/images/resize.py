"""ONNX's Resize and Upsample."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops.images import resize_axes
from tvmlite.relay.onnx.reading.registry import converter

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}


@converter("Upsample", since=7)
def upsample(node: OnnxNode, data: Expr, scales: Expr | None = None) -> Expr:
    """Upsample from opset 7, asymmetric; ``scales`` are an attribute, from opset 9 an input."""
    if scales is None:
        return upsample_by(node, data, node.required("scales"))
    return _resize(node, data, _all_axes(node, data), scales, None, None, "asymmetric", "floor")


def upsample_by(node: OnnxNode, data: Expr, scales: list[float]) -> Expr:
    """Resize ``data`` by a scale for each axis."""
    given = node.const(scales, "float32")
    return _resize(node, data, _all_axes(node, data), given, None, None, "asymmetric", "floor")


@converter("Resize", since=10)
def resize_scales(node: OnnxNode, data: Expr, scales: Expr) -> Expr:
    """Resize of opset 10: by ``scales`` only, asymmetric coordinates, nearest rounded down."""
    return _resize(node, data, _all_axes(node, data), scales, None, None, "asymmetric", "floor")


@converter("Resize", since=11)
def resize(
    node: OnnxNode,
    data: Expr,
    roi: Expr | None = None,
    scales: Expr | None = None,
    sizes: Expr | None = None,
) -> Expr:
    """Resize from opset 11, by ``scales`` or ``sizes``; coordinates and rounding by attribute."""
    axes = node.axes(node.attr("axes", _all_axes(node, data)), node.rank(data))
    factors = scales if _is_given(node, scales) else None
    extents = node.extents(sizes, "sizes") if sizes is not None and _is_given(node, sizes) else None
    if (factors is None) == (extents is None):
        node.bad("exactly one of scales and sizes must be given")
    mode = node.attr("coordinate_transformation_mode", "half_pixel")
    region = roi if mode == "tf_crop_and_resize" else None
    nearest = node.attr("nearest_mode", "round_prefer_floor")
    return _resize(node, data, axes, factors, extents, region, mode, nearest)


def _all_axes(node: OnnxNode, data: Expr) -> list[int]:
    return list(range(node.rank(data)))


def _is_given(node: OnnxNode, value: Expr | None) -> bool:
    if value is None:
        return False
    if node.rank(value) != 1:
        node.bad(f"scales and sizes must be vectors, one is of rank {node.rank(value)}")
    return not dims.equal(node.shape(value)[0], 0)


def _floats(node: OnnxNode, value: Expr | None) -> list[Any] | None:
    """The elements of a float tensor: numbers, or exact ratios of dimensions; None if not known at import."""
    found = node.known(value)
    return None if found is None else found.ravel().tolist()


def _resize(
    node: OnnxNode,
    data: Expr,
    axes: list[int],
    scales: Expr | None,
    sizes: list[Dim] | None,
    roi: Expr | None,
    mode: str,
    nearest: str,
) -> Expr:
    """Resize by image.resize if all is known at import, else axis by axis."""
    count = sizes if scales is None else node.shape(scales)
    if count is None or (len(sizes) if sizes is not None else count[0]) != len(axes):
        node.bad(f"scales or sizes for {len(axes)} axes: {_floats(node, scales) if sizes is None else sizes}")
    if roi is not None and node.product(node.shape(roi)) != 2 * len(axes):
        node.bad(f"roi is {node.type(roi)}, expected {2 * len(axes)} numbers")
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy not in ("stretch", "not_larger", "not_smaller"):
        node.bad(f"keep_aspect_ratio_policy is {policy!r}")
    method = _METHODS.get(node.attr("mode", "nearest"))
    if method is None:
        node.bad(f"mode is {node.attr('mode')!r}")
    factors, region = _floats(node, scales), _floats(node, roi)
    if any(isinstance(g, float) and not 0 < g < math.inf for g in factors or []):
        node.bad(f"scales are {factors}, expected positive numbers")
    rounding = nearest if method == "nearest_neighbor" else ""
    unknown = (scales is not None and factors is None) or (roi is not None and region is None)
    if not unknown:
        made = _static_resize(node, data, axes, factors, sizes, region, method, mode, rounding)
        if made is not None:
            return made
    return resize_axes.resized(node, data, axes, scales, sizes, roi, method, mode, rounding)


def _static_resize(
    node: OnnxNode,
    data: Expr,
    axes: list[int],
    scales: list[Any] | None,
    sizes: list[Dim] | None,
    roi: list[Any] | None,
    method: str,
    mode: str,
    rounding: str,
) -> Expr | None:
    """Resize by image.resize1d, 2d or 3d the axes that change; None if a parameter is not known."""
    shape, rank = node.shape(data), node.rank(data)
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if sizes is not None and policy != "stretch":
        if not all(isinstance(d, int) for d in (*(shape[a] for a in axes), *sizes)):
            return None
        scales, sizes = _kept_ratio([shape[a] for a in axes], sizes, policy)
    changed: dict[int, tuple[Dim, Any]] = {}
    for i, axis in enumerate(axes):
        factor = None if scales is None else scales[i]
        extent = _scaled(shape[axis], factor) if sizes is None else sizes[i]
        if extent is None:
            return None
        changes = not dims.equal(extent, shape[axis]) or (
            roi is not None and [roi[i], roi[i + len(axes)]] != [0, 1]
        )
        if changes or (isinstance(factor, float) and factor != 1.0):
            changed[axis] = (extent, factor)
    if not changed:
        return data
    if node.attr("antialias", 0) and method != "nearest_neighbor":
        if not all(
            isinstance(d, int) for axis, (extent, _) in changed.items() for d in (shape[axis], extent)
        ):
            return None
        if _shrinks(shape, changed):
            return resize_axes.resize_antialiased(node, data, changed, method, mode)
    spatial = _spatial_axes(rank, list(changed))
    if len(spatial) > 3:
        return None
    return _resized(node, data, spatial, changed, axes, roi, method, mode, rounding)


def _shrinks(shape: tuple[Dim, ...], changed: dict[int, tuple[Dim, Any]]) -> bool:
    """Whether an axis becomes shorter: antialiasing has no effect on enlarging."""
    pairs = [(shape[axis], extent) for axis, (extent, _) in changed.items()]
    return any(int(extent) < int(have) for have, extent in pairs)  # type: ignore[arg-type]


def _kept_ratio(have: list[Dim], sizes: list[Dim], policy: str) -> tuple[list[float], list[Dim]]:
    pairs = [(int(n), int(d)) for n, d in zip(sizes, have, strict=True)]  # type: ignore[arg-type]
    pick = min if policy == "not_larger" else max
    scale = pick(Fraction(n, d) for n, d in pairs)
    return [float(scale)] * len(pairs), [int(scale * d + Fraction(1, 2)) for _, d in pairs]


def _scaled(extent: Dim, factor: Any) -> Dim | None:
    """``floor(extent * factor)``; None if it is known only at run time."""
    if isinstance(extent, int) and isinstance(factor, float):
        return int(extent * factor)
    try:
        exact = dims.ratio(factor)
    except dims.Unknown:
        return None
    made = dims.simplify(extent * exact.num)
    return made if exact.den == 1 else dims.simplify(made // exact.den)


def _spatial_axes(rank: int, changed: list[int]) -> list[int]:
    """The axes to pass as spatial: the last ones if these include all that change."""
    first = min(changed)
    return list(range(first, rank)) if first >= 2 else sorted(changed)


def _align_corners(
    have: list[Dim], size: list[Dim], factors: list[Any]
) -> tuple[str, tuple[float, ...]] | None:
    """The specification aligns with the *unrounded* length: a crop whose end is short of the corner.

    None if that length is known only at run time.
    """
    ends: list[float] = []
    for extent, new, factor in zip(have, size, factors, strict=True):
        exact = factor * extent if isinstance(factor, float) and isinstance(extent, int) else factor
        if not isinstance(exact, float) or exact.is_integer():
            ends.append(1.0)
        elif isinstance(extent, int) and isinstance(new, int):
            ends.append((new - 1) / (extent * factor - 1) if new > 1 else 0.0)
        else:
            return None
    if all(end == 1.0 for end in ends):
        return "align_corners", ()
    return "tf_crop_and_resize", (*(0.0,) * len(ends), *ends)


def _resized(
    node: OnnxNode,
    data: Expr,
    spatial: list[int],
    changed: dict[int, tuple[Dim, Any]],
    axes: list[int],
    roi: list[Any] | None,
    method: str,
    mode: str,
    rounding: str,
) -> Expr | None:
    """Resize the axes ``spatial``, which a transpose makes the last."""
    shape, rank, count = node.shape(data), node.rank(data), len(spatial)
    others = [i for i in range(rank) if i not in spatial]
    order = others + spatial
    size = [changed[a][0] if a in changed else shape[a] for a in spatial]
    factors = [changed[a][1] if a in changed else 1.0 for a in spatial]
    moved = node.transpose(data, order)
    lead = [shape[i] for i in others]
    flat = lead if len(lead) == 2 else [1, node.product(lead)]
    moved = node.reshape(moved, [*flat, *(shape[a] for a in spatial)])
    region: tuple[float, ...] = ()
    if roi is not None:
        rows = {axis: (roi[i], roi[i + len(axes)]) for i, axis in enumerate(axes)}
        region = tuple(rows.get(a, (0.0, 1.0))[side] for side in (0, 1) for a in spatial)
    if mode == "align_corners":
        aligned = _align_corners([shape[a] for a in spatial], size, factors)
        if aligned is None:
            return None
        mode, region = aligned
    plain = all(isinstance(f, float) for f in factors)
    made = node.make(
        f"image.resize{count}d",
        moved,
        size=tuple(size),
        method=method,
        coordinate_transformation_mode=mode,
        rounding_method=rounding,
        cubic_alpha=node.attr("cubic_coeff_a", -0.75),
        cubic_exclude=node.attr("exclude_outside", 0),
        extrapolation_value=node.attr("extrapolation_value", 0.0),
        roi=region,
        scales=tuple(factors) if plain else None,
    )
    made = node.reshape(made, [*lead, *size])
    return node.transpose(made, [order.index(i) for i in range(rank)])
