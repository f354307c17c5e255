"""Simplifies chains of clips and casts: clips to a dtype's range, and casts that keep all clipped values."""

from __future__ import annotations

from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make


def without_clips(call: nodes.Call) -> Any:
    """``call``, a clip or cast, without a redundant clip or cast; None if there is none."""
    if call.op == "cast":
        return _cast(call)
    return _clip(call) if call.op == "clip" else None


def _dtype(node: Any) -> str:
    return tensor_type_of(node).dtype


def _holds(dtype: str, low: float, high: float) -> bool:
    """Whether ``dtype`` is an integer dtype whose range includes ``low`` to ``high``."""
    if not dtypes.is_int(dtype):
        return False
    least, greatest = dtypes.limits(dtype)
    return least <= low and high <= greatest


def _are_whole(*numbers: float) -> bool:
    return all(float(number).is_integer() for number in numbers)


def _clip(call: nodes.Call) -> Any:
    """The operand of a clip to its dtype's range, or one clip instead of two, even if a cast that keeps all
    values is between them; None otherwise."""
    (data,) = call.args
    low, high = call["a_min"], call["a_max"]
    if dtypes.is_int(_dtype(data)):
        least, greatest = dtypes.limits(_dtype(data))
        if low <= least and greatest <= high:
            return data
    inner = data.args[0] if isinstance(data, nodes.Call) and data.op == "cast" else data
    if not isinstance(inner, nodes.Call) or inner.op != "clip":
        return None
    first, own = _dtype(inner), (inner["a_min"], inner["a_max"])
    if inner is not data and not (_are_whole(low, high) and _holds(_dtype(data), *own)):
        return None
    bounds = {"a_min": max(low, own[0]), "a_max": min(high, own[1])}
    if bounds["a_min"] > bounds["a_max"]:
        return None
    if dtypes.is_int(first):  # bounds that the dtype does not have are rounded, differently for each dtype
        kept = inner is data or _holds(first, *bounds.values())
        if not (kept and _are_whole(low, high, *own)):
            return None
    made = make("clip", inner.args[0], span=call.span, **bounds)
    return made if inner is data else make("cast", made, dtype=_dtype(data), span=call.span)


def _cast(call: nodes.Call) -> Any:
    """One cast instead of two after a clip whose range the first cast keeps; None otherwise."""
    match call:
        case nodes.Call(args=(nodes.Call(op="cast", args=(nodes.Call(op="clip") as clip,)) as inner,)):
            bounds = clip["a_min"], clip["a_max"]
            wraps = dtypes.is_int(_dtype(clip))  # a cast from a float saturates instead
            if (wraps or _holds(call["dtype"], *bounds)) and _holds(inner["dtype"], *bounds):
                return make("cast", clip, dtype=call["dtype"], span=call.span)
    return None
