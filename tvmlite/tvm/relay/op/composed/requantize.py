"""``qnn.requantize``, with TVM's configuration of its default rounding and compute dtype."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from tvmlite.core.errors import TvmliteError
from tvmlite.core.span import Span
from tvmlite.tvm.relay.op.builders import function

_KEYS = ("rounding", "compute_dtype")

_NONE: Mapping[str, str] = MappingProxyType({})
_current: contextvars.ContextVar[Mapping[str, str]] = contextvars.ContextVar(
    "requantize_config", default=_NONE
)


@contextlib.contextmanager
def requantize_config(**options: str) -> Iterator[None]:
    """A context that sets the defaults of ``rounding`` and ``compute_dtype`` for ``qnn.requantize``."""
    wrong = sorted(set(options) - set(_KEYS))
    if wrong:
        raise TvmliteError(
            f"requantize_config: no option {wrong[0]!r}, expected {' or '.join(_KEYS)}", Span.of_caller()
        )
    token = _current.set({**_current.get(), **options})
    try:
        yield
    finally:
        _current.reset(token)


def requantize(
    data: Any,
    input_scale: Any,
    input_zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
    axis: int = -1,
    rounding: str = "None",
    compute_dtype: str = "None",
    out_dtype: str = "int8",
) -> Any:
    """Convert the quantized ``data`` to another scale and zero point."""
    decided = {"rounding": rounding, "compute_dtype": compute_dtype}
    for key, value in _current.get().items():
        if decided[key] == "None":
            decided[key] = value
    scales = (data, input_scale, input_zero_point, output_scale, output_zero_point)
    return function("qnn.requantize")(*scales, axis, out_dtype=out_dtype, **decided)
