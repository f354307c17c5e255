"""Where a call in TVM's text is another than in our table: what is not written, and what is an argument."""

from __future__ import annotations

from collections.abc import Mapping
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


def with_defaults(name: str, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a call of the operator ``name`` of whose text these are."""
    return {**DEFAULTS.get(name, {}), **attrs}


def is_left_out(name: str, key: str, value: Any) -> bool | None:
    """Whether TVM's text leaves ``value`` out; None where that is as in our table."""
    known = DEFAULTS.get(name, {})
    return value == known[key] if key in known else None
