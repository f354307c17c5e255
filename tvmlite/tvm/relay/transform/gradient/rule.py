"""Helpers for the gradient rules of operators.

A rule takes a call and the gradient of its result, and returns the gradient of each argument, or None for
zero. The gradient of a tuple is a Python tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tvmlite.core.errors import UnsupportedError
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import same_type, tensor_type_of, type_of
from tvmlite.relay.ir.op import make

Rule: TypeAlias = "Callable[[nodes.Call, Any], Sequence[Any]]"


def summed_like(gradient: Any, argument: Any) -> Any:
    """``gradient`` summed over the axes along which ``argument`` was broadcast."""
    if same_type(type_of(gradient), type_of(argument)):
        return gradient
    return make("collapse_sum_like", gradient, argument)


def zeros_like(node: Any) -> Any:
    """Zeros of the shape and dtype of ``node``."""
    return make("zeros_like", node)


def whole_extents(call: nodes.Call, argument: Any) -> tuple[int, ...]:
    """The extents of ``argument``; an UnsupportedError that names ``call`` if one is unknown."""
    shape = tensor_type_of(argument).shape
    if not all(isinstance(extent, int) for extent in shape):
        raise UnsupportedError(f"gradient: {call.op} of an extent that is not known", call.span)
    return tuple(shape)  # type: ignore[arg-type]
