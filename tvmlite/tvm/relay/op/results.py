"""The number of results of an operator call, so that the call can be unpacked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.core.errors import TvmliteError
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.types import TupleType

_FIXED = {
    "nn.batch_norm": 3,
    "nn.dropout": 2,
    "sparse_reshape": 2,
    "vision.all_class_non_max_suppression": 2,
    "vision.get_valid_counts": 3,
    "vision.multibox_transform_loc": 2,
}

_BY_ATTRIBUTE: dict[str, Callable[[Any], int | None]] = {
    "topk": lambda call: 2 if call["ret_type"] == "both" else None,
    "unique": lambda call: 5 if call["return_counts"] else 4,
    "vision.non_max_suppression": lambda call: 2 if call["return_indices"] else None,
}


def results_of(call: Any) -> int | None:
    """The number of results of a call that has several; None if it is a tensor."""
    if not isinstance(call, nodes.Call) or not isinstance(call.op, str):
        return None
    name = str(call.op)
    if name in _FIXED:
        return _FIXED[name]
    if name == "split":
        sections = call["indices_or_sections"]
        return len(sections) + 1 if isinstance(sections, tuple) else int(sections)
    if name in _BY_ATTRIBUTE:
        return _BY_ATTRIBUTE[name](call)
    fields = [field for arg in call.args if isinstance(arg, nodes.Tuple) for field in arg.fields]
    if not all(isinstance(one, nodes.Expr) for one in (*call.args, *fields)):
        return None  # an operator as a value, which patterns may match, has no type
    try:
        type_ = type_of(call)
    except TvmliteError:  # an operand has no type yet, or an error that type inference will report
        return None
    return len(type_.fields) if isinstance(type_, TupleType) else None
