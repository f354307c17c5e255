"""The table of ONNX converters: by operator, the newest version not above the model's opset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.core.errors import TvmliteError
from tvmlite.core.span import Span

Converter = Callable[..., Any]
"""``converter(node, *inputs)``: an OnnxNode, Relay expressions (None: missing input) -> outputs."""

_converters: dict[tuple[str, str], list[tuple[int, Converter]]] = {}


def converter(*op_types: str, since: int = 1, domain: str = "") -> Callable[[Converter], Converter]:
    """Register the decorated function for ``op_types`` from opset ``since`` on, until a newer one.

    A second one for the same operator and opset is a TvmliteError.
    """

    def register(function: Converter) -> Converter:
        for op_type in op_types:
            versions = _converters.setdefault((domain, op_type), [])
            if since in [version for version, _ in versions]:
                name = f"{domain}.{op_type}" if domain else op_type
                raise TvmliteError(f"{name} has a converter since opset {since} already", Span.of_caller())
            versions.append((since, function))
            versions.sort(key=lambda pair: pair[0])
        return function

    return register


def find(domain: str, op_type: str, opset: int) -> Converter | None:
    """Return the converter for an operator of ``opset``, or None."""
    best = None
    for since, function in _converters.get((domain, op_type), ()):
        if since <= opset:
            best = function
    return best


def count() -> int:
    """Return the number of converters; it grows when one is registered."""
    return sum(map(len, _converters.values()))
