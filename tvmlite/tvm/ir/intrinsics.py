"""Intrinsics of one's own, as ``tvm.ir`` declares them."""

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
    """As ``te.register_intrin_lowering``. A rule for a target that there is no code for, such as ``"cuda"``,
    is never applied: it declares the intrinsic, which may then be written, but not built."""
    if target in described.KEYS:
        name = arguments.text("register_intrin_lowering: op_name", op_name).removeprefix("tir.")
        if name not in TABLE and registry.lowering_rule(name) is None:
            registry.register_intrin_lowering(op_name, "default", lambda call: call)
        return (lambda function: function) if f is None else f
    return registry.register_intrin_lowering(op_name, target, f, level)


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """That the intrinsic ``op_name`` has no effect but its value (``"TCallEffectKind"``), as all have here;
    any other attribute that TVM knows is an error. An operator of relay takes any: see
    ``relay.op.register_op_attr``."""
    arguments.text("register_op_attr: op_name", op_name)
    arguments.text("register_op_attr: attr_key", attr_key)
    if attr_key != "TCallEffectKind" and table.is_known(op_name):
        return _of_relay(op_name, attr_key, value, level)
    given = getattr(value, "name", value)
    if attr_key != "TCallEffectKind" or not isinstance(given, str) or given != "Pure":
        raise TensorExpressionError(
            f"register_op_attr: {attr_key!r} of {op_name!r} cannot be {arguments.shown(given)}: intrinsics "
            "are pure, and nothing else is known of them",
            Span.of_caller(),
        )
    return None
