"""ONNX's Resize and Upsample."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tvmlite.relay.frontend.onnx import antialias, dims
from tvmlite.relay.frontend.onnx.node import OnnxNode
from tvmlite.relay.frontend.onnx.registry import converter
from tvmlite.relay.ir import Expr
from tvmlite.relay.types import Dim

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}


@converter("Upsample", since=7)
def upsample(node: OnnxNode, data: Expr, scales: Expr | None = None) -> Expr:
    given = node.required("scales") if scales is None else _floats(node, scales, "scales")
    return upsample_by(node, data, given)


def upsample_by(node: OnnxNode, data: Expr, scales: list[Any]) -> Expr:
    """``data`` with each axis scaled."""
    return _resize(node, data, list(range(node.rank(data))), scales, None, None, "asymmetric", "floor")


@converter("Resize", since=10)
def resize_scales(node: OnnxNode, data: Expr, scales: Expr) -> Expr:
    given = _floats(node, scales, "scales")
    return _resize(node, data, list(range(node.rank(data))), given, None, None, "asymmetric", "floor")


@converter("Resize", since=11)
def resize(
    node: OnnxNode,
    data: Expr,
    roi: Expr | None = None,
    scales: Expr | None = None,
    sizes: Expr | None = None,
) -> Expr:
    rank = node.rank(data)
    axes = node.axes(node.attr("axes", list(range(rank))), rank)
    factors = _floats(node, scales, "scales") if _given(node, scales) else None
    extents = node.extents(sizes, "sizes") if sizes is not None and _given(node, sizes) else None
    if (factors is None) == (extents is None):
        node.bad("exactly one of scales and sizes must be given")
    mode = node.attr("coordinate_transformation_mode", "half_pixel")
    region = _floats(node, roi, "roi") if mode == "tf_crop_and_resize" and roi is not None else None
    nearest = node.attr("nearest_mode", "round_prefer_floor")
    return _resize(node, data, axes, factors, extents, region, mode, nearest)


def _given(node: OnnxNode, value: Expr | None) -> bool:
    if value is None:
        return False
    if node.rank(value) != 1:
        node.bad(f"scales and sizes must be vectors, one is of rank {node.rank(value)}")
    return not dims.equal(node.shape(value)[0], 0)


def _floats(node: OnnxNode, value: Expr | None, what: str) -> list[Any]:
    """Elements of a float tensor: numbers, or exact ratios of dimensions."""
    found = node.known(value)
    if found is None:
        node.unsupported(f"input {what!r} depends on the data; it must follow from the input shapes")
    return found.ravel().tolist()


def _resize(
    node: OnnxNode,
    data: Expr,
    axes: list[int],
    scales: list[Any] | None,
    sizes: list[Dim] | None,
    roi: list[Any] | None,
    mode: str,
    nearest: str,
) -> Expr:
    """Through image.resize2d and kin, on the axes that change (made spatial by a transpose)."""
    shape, rank = node.shape(data), node.rank(data)
    given = sizes if scales is None else scales
    if given is None or len(given) != len(axes):
        node.bad(f"scales or sizes for {len(axes)} axes: {given}")
    if any(isinstance(g, float) and not 0 < g < math.inf for g in given):
        node.bad(f"scales are {given}, expected positive numbers")
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if sizes is not None and policy != "stretch":
        scales, sizes = _kept_ratio(node, [shape[a] for a in axes], sizes, policy)
    if roi is not None and len(roi) != 2 * len(axes):
        node.bad(f"roi is {roi}, expected {2 * len(axes)} numbers")
    whole: dict[int, tuple[Dim, Any]] = {}
    for i, axis in enumerate(axes):
        factor = None if scales is None else scales[i]
        extent = _scaled(node, shape[axis], factor) if sizes is None else sizes[i]
        changes = not dims.equal(extent, shape[axis]) or (
            roi is not None and [roi[i], roi[i + len(axes)]] != [0, 1]
        )
        if changes or (isinstance(factor, float) and factor != 1.0):
            whole[axis] = (extent, factor)
    if not whole:
        return data
    method = _METHODS.get(node.attr("mode", "nearest"))
    if method is None:
        node.bad(f"mode is {node.attr('mode')!r}")
    if node.attr("antialias", 0) and method != "nearest_neighbor":
        if _shrinks(node, shape, whole):
            return antialias.resized(node, data, whole, method, mode)
    spatial = _spatial_axes(node, rank, list(whole))
    return _resized(node, data, spatial, whole, axes, roi, method, mode, nearest)


def _shrinks(node: OnnxNode, shape: tuple[Dim, ...], whole: dict[int, tuple[Dim, Any]]) -> bool:
    """Whether an axis becomes shorter: antialiasing changes nothing when growing."""
    pairs = [(shape[axis], extent) for axis, (extent, _) in whole.items()]
    if not all(isinstance(d, int) for pair in pairs for d in pair):
        node.unsupported("antialias=1 of a dynamic size")
    return any(int(extent) < int(have) for have, extent in pairs)  # type: ignore[arg-type]


def _kept_ratio(
    node: OnnxNode, have: list[Dim], sizes: list[Dim], policy: str
) -> tuple[list[float], list[Dim]]:
    if not all(isinstance(d, int) for d in (*have, *sizes)):
        node.unsupported(f"keep_aspect_ratio_policy {policy!r} of a dynamic size")
    if policy not in ("not_larger", "not_smaller"):
        node.bad(f"keep_aspect_ratio_policy is {policy!r}")
    pairs = [(int(n), int(d)) for n, d in zip(sizes, have, strict=True)]  # type: ignore[arg-type]
    pick = min if policy == "not_larger" else max
    scale = pick(Fraction(n, d) for n, d in pairs)
    return [float(scale)] * len(pairs), [int(scale * d + Fraction(1, 2)) for _, d in pairs]


def _scaled(node: OnnxNode, extent: Dim, factor: Any) -> Dim:
    """``floor(extent * factor)``."""
    if isinstance(extent, int) and isinstance(factor, float):
        return int(extent * factor)
    try:
        exact = dims.ratio(factor)
    except dims.Unknown:
        node.unsupported(f"a scale of {factor} of the dynamic extent {extent}")
    made = dims.simplify(extent * exact.num)
    return made if exact.den == 1 else dims.simplify(made // exact.den)


def _spatial_axes(node: OnnxNode, rank: int, changed: list[int]) -> list[int]:
    """Which axes to hand on as spatial: the last ones if they hold all that change."""
    first = min(changed)
    count = rank - first if first >= 2 else len(changed)
    if not 1 <= count <= 3:
        node.unsupported(f"of {count} axes at once; supported are 1 to 3")
    return list(range(first, rank)) if first >= 2 else sorted(changed)


def _aligned(
    node: OnnxNode, have: list[Dim], size: list[Dim], factors: list[Any]
) -> tuple[str, tuple[float, ...]]:
    """The specification aligns with the *unrounded* length: a crop whose end lies short of the corner."""
    ends: list[float] = []
    for extent, new, factor in zip(have, size, factors, strict=True):
        exact = factor * extent if isinstance(factor, float) and isinstance(extent, int) else factor
        if not isinstance(exact, float) or exact.is_integer():
            ends.append(1.0)
        elif isinstance(extent, int) and isinstance(new, int):
            ends.append((new - 1) / (extent * factor - 1) if new > 1 else 0.0)
        else:
            node.unsupported(f"align_corners with a scale of {factor} of the dynamic extent {extent}")
    if all(end == 1.0 for end in ends):
        return "align_corners", ()
    return "tf_crop_and_resize", (*(0.0,) * len(ends), *ends)


def _resized(
    node: OnnxNode,
    data: Expr,
    spatial: list[int],
    whole: dict[int, tuple[Dim, Any]],
    axes: list[int],
    roi: list[Any] | None,
    method: str,
    mode: str,
    nearest: str,
) -> Expr:
    shape, rank, count = node.shape(data), node.rank(data), len(spatial)
    others = [i for i in range(rank) if i not in spatial]
    order = others + spatial
    size = [whole[a][0] if a in whole else shape[a] for a in spatial]
    factors = [whole[a][1] if a in whole else 1.0 for a in spatial]
    moved = node.transpose(data, order)
    lead = [shape[i] for i in others]
    flat = lead if len(lead) == 2 else [1, node.product(lead)]
    moved = node.reshape(moved, [*flat, *(shape[a] for a in spatial)])
    region: tuple[float, ...] = ()
    if roi is not None:
        rows = {axis: (roi[i], roi[i + len(axes)]) for i, axis in enumerate(axes)}
        region = tuple(rows.get(a, (0.0, 1.0))[side] for side in (0, 1) for a in spatial)
    if mode == "align_corners":
        mode, region = _aligned(node, [shape[a] for a in spatial], size, factors)
    plain = all(isinstance(f, float) for f in factors)
    made = node.make(
        f"image.resize{count}d",
        moved,
        size=tuple(size),
        method=method,
        coordinate_transformation_mode=mode,
        rounding_method=nearest if method == "nearest_neighbor" else "",
        cubic_alpha=node.attr("cubic_coeff_a", -0.75),
        cubic_exclude=node.attr("exclude_outside", 0),
        extrapolation_value=node.attr("extrapolation_value", 0.0),
        roi=region,
        scales=tuple(factors) if plain else None,
    )
    made = node.reshape(made, [*lead, *size])
    return node.transpose(made, [order.index(i) for i in range(rank)])
