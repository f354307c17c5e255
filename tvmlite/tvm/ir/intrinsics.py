"""Registration of custom intrinsics and operator attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.relay.ir import op as table
from tvmlite.te.tensor import registry
from tvmlite.te.tensor.intrinsics import TABLE
from tvmlite.tvm.lazy import later
from tvmlite.tvm.target import described

__all__ = ["register_intrin_lowering", "register_op_attr"]

_of_relay = later("relay.op", "register_op_attr")


def register_intrin_lowering(
    op_name: str, target: str = "default", f: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """Like ``te.register_intrin_lowering``. A rule for a target that tvmlite does not generate code for, such
    as ``"cuda"``, is never applied, but declares the intrinsic: it may be used, but not built."""
    if target in described.KEYS:
        name = arguments.text("register_intrin_lowering: op_name", op_name).removeprefix("tir.")
        if name not in TABLE and registry.lowering_rule(name) is None:
            registry.register_intrin_lowering(op_name, "default", lambda call: call)
        return (lambda function: function) if f is None else f
    return registry.register_intrin_lowering(op_name, target, f, level)


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Set an attribute of an operator. For an intrinsic, the only one accepted is ``"TCallEffectKind"`` with
    the value ``Pure`` (no side effects), which all intrinsics have here; others raise an error. A Relay
    operator takes any attribute: see ``relay.op.register_op_attr``."""
    arguments.text("register_op_attr: op_name", op_name)
    arguments.text("register_op_attr: attr_key", attr_key)
    if attr_key != "TCallEffectKind" and table.is_known(op_name):
        return _of_relay(op_name, attr_key, value, level)
    given = getattr(value, "name", value)
    if attr_key != "TCallEffectKind" or not isinstance(given, str) or given != "Pure":
        raise TensorExpressionError(
            f"register_op_attr: {attr_key!r} of {op_name!r} cannot be {arguments.shown(given)}: intrinsics "
            "are pure, and have no other attributes",
            Span.of_caller(),
        )
    return None
