"""Where a call in TVM's text is another than in our table: what is not written, and what is an argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_RESIZES = ("image.resize1d", "image.resize2d", "image.resize3d")

DEFAULTS: dict[str, dict[str, Any]] = {
    "image.crop_and_resize": {"layout": "NCHW"},
    "nn.batch_matmul": {"transpose_b": False},
    "nn.leaky_relu": {"alpha": 0.25},
    "nn.lrn": {"alpha": 0.0001},
    **{name: {"rounding_method": "round"} for name in _RESIZES},
}
"""The values of attributes that TVM's text leaves out, where ours are others."""

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "arange": ("start", "stop", "step"),
    "collapse_sum_to": ("data", "shape"),
    "nn.pad": ("data", "pad_value"),
    "strided_set": ("data", "v", "begin", "end", "strides"),
    "trilu": ("data", "k"),
}
"""The arguments of operators that have some of them as attributes here, by their names in ``relay``."""


_REDUCTIONS = (
    "all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "squeeze", "sum", "variance",
)  # fmt: skip
"""Operators whose ``axis`` is a list in TVM, where a program may have written a number."""

_FLOATS: dict[str, tuple[str, ...]] = {
    "clip": ("a_min", "a_max"),
    "nn.upsampling": ("scale_h", "scale_w"),
    "nn.upsampling3d": ("scale_d", "scale_h", "scale_w"),
}
"""Attributes that are floats in TVM, where a program may have written whole numbers."""

_FILLED: dict[str, dict[str, Any]] = {
    **{f"image.resize{rank}d": {"roi": {(): (0.0,) * (2 * rank)}} for rank in (1, 2, 3)},
    **{name: {"exclusive": {None: False}} for name in ("cumsum", "cumprod")},
    "strided_slice": {"strides": {None: (1,)}},
}
"""What TVM puts in the place of attributes that a program left out."""


def as_in_tvm(name: str, attrs: Iterable[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """The attributes of a call of the operator ``name`` in the form that TVM gives them."""
    floats, filled = _FLOATS.get(name, ()), _FILLED.get(name, {})

    def value_of(key: str, value: Any) -> Any:
        if key == "axis" and name in _REDUCTIONS and isinstance(value, int):
            return (value,)
        if key in floats and isinstance(value, int):
            return float(value)
        return filled[key].get(value, value) if key in filled else value

    return tuple((key, value_of(key, value)) for key, value in attrs)


def with_defaults(name: str, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a call of the operator ``name`` of whose text these are."""
    return {**DEFAULTS.get(name, {}), **attrs}


def is_left_out(name: str, key: str, value: Any) -> bool | None:
    """Whether TVM's text leaves ``value`` out; None where that is as in our table."""
    known = DEFAULTS.get(name, {})
    return value == known[key] if key in known else None
