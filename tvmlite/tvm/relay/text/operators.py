"""Differences between calls in TVM's text and in our operator table: default values, and arguments."""

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
"""TVM's default values, which its text omits, for attributes whose default here differs."""

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "arange": ("start", "stop", "step"),
    "collapse_sum_to": ("data", "shape"),
    "nn.pad": ("data", "pad_value"),
    "strided_set": ("data", "v", "begin", "end", "strides"),
    "trilu": ("data", "k"),
}
"""TVM's arguments of operators for which some of them are attributes here, by name."""


_REDUCTIONS = (
    "all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "squeeze", "sum", "variance",
)  # fmt: skip
"""Operators whose ``axis`` is always a list in TVM, even if the program gave a number."""

_FLOATS: dict[str, tuple[str, ...]] = {
    "clip": ("a_min", "a_max"),
    "nn.upsampling": ("scale_h", "scale_w"),
    "nn.upsampling3d": ("scale_d", "scale_h", "scale_w"),
}
"""Attributes that are always floats in TVM, even if the program gave integers."""

_FILLED: dict[str, dict[str, Any]] = {
    **{f"image.resize{rank}d": {"roi": {(): (0.0,) * (2 * rank)}} for rank in (1, 2, 3)},
    **{name: {"exclusive": {None: False}} for name in ("cumsum", "cumprod")},
    "strided_slice": {"strides": {None: (1,)}},
}
"""For attributes that a program may omit: the value that TVM substitutes, by ours."""


def as_in_tvm(name: str, attrs: Iterable[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """The attributes of a call of the operator ``name`` in TVM's form."""
    floats, filled = _FLOATS.get(name, ()), _FILLED.get(name, {})

    def value_of(key: str, value: Any) -> Any:
        if key == "axis" and name in _REDUCTIONS and isinstance(value, int):
            return (value,)
        if key in floats and isinstance(value, int):
            return float(value)
        return filled[key].get(value, value) if key in filled else value

    return tuple((key, value_of(key, value)) for key, value in attrs)


def with_defaults(name: str, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes ``attrs`` of a call of the operator ``name`` in TVM's text, with TVM's defaults."""
    return {**DEFAULTS.get(name, {}), **attrs}


def is_left_out(name: str, key: str, value: Any) -> bool | None:
    """Whether TVM's text omits ``value`` because it is the default; None if our table decides."""
    known = DEFAULTS.get(name, {})
    return value == known[key] if key in known else None
