"""Element-wise and broadcasting functions of ``tvm.topi``, and reductions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np

from tvmlite import relay, te
from tvmlite.te import expr as e
from tvmlite.te.expr.operators import CONSTRUCTORS
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.runtime.convert import const
from tvmlite.tvm.te.tag import tag_of
from tvmlite.tvm.topi.operate import operate


def _unary(name: str, operator: str = "") -> Callable[..., t.Tensor]:
    make = getattr(relay, operator or name, None) or getattr(relay.nn, operator or name)

    def apply(x: t.Tensor) -> t.Tensor:
        return operate(name, make, x)

    apply.__name__, apply.__doc__ = name, make.__doc__
    return apply


UNARY = {
    **{name: name for name in "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor".split()},
    **{name: name for name in "isfinite isinf isnan log log2 round rsqrt sigmoid sign sin sinh".split()},
    **{name: name for name in "sqrt tan tanh trunc negative logical_not bitwise_not".split()},
    **{f"fast_{name}": name for name in ("exp", "tanh", "erf")},  # not less exact than TVM's
    "identity": "copy",
}
BINARY = {
    **{name: name for name in "add subtract multiply divide floor_divide mod floor_mod power".split()},
    **{name: name for name in "maximum minimum left_shift right_shift greater less equal".split()},
    **{name: name for name in "not_equal greater_equal less_equal logical_and logical_or".split()},
    **{name: name for name in "logical_xor bitwise_and bitwise_or bitwise_xor".split()},
}


def _floor_divide(a: Any, b: Any) -> e.Expr:
    """The quotient rounded down, for ints and floats."""
    return te.floor(te.div(a, b)) if _is_float(a, b) else te.floordiv(a, b)


def _floor_mod(a: Any, b: Any) -> e.Expr:
    """The remainder of the quotient rounded down, for ints and floats."""
    return a - _floor_divide(a, b) * b if _is_float(a, b) else te.floormod(a, b)


def _mod(a: Any, b: Any) -> e.Expr:
    """C's remainder, which has the sign of ``a``."""
    return te.fmod(a, b) if _is_float(a, b) else te.truncmod(a, b)


def _is_float(*operands: Any) -> bool:
    return any("float" in e.convert(one).dtype for one in operands)


_SCALARS: dict[str, Callable[[Any, Any], Any]] = {
    "add": CONSTRUCTORS["+"],
    "subtract": CONSTRUCTORS["-"],
    "multiply": CONSTRUCTORS["*"],
    "divide": te.div,
    "floor_divide": _floor_divide,
    "mod": _mod,
    "floor_mod": _floor_mod,
    "power": te.power,
    "maximum": te.max,
    "minimum": te.min,
    "left_shift": CONSTRUCTORS["<<"],
    "right_shift": CONSTRUCTORS[">>"],
    "greater": lambda a, b: e.convert(a) > b,
    "less": CONSTRUCTORS["<"],
    "equal": CONSTRUCTORS["=="],
    "not_equal": CONSTRUCTORS["!="],
    "greater_equal": lambda a, b: e.convert(a) >= b,
    "less_equal": CONSTRUCTORS["<="],
    "logical_and": te.all,
    "logical_or": te.any,
    "logical_xor": CONSTRUCTORS["!="],
    "bitwise_and": CONSTRUCTORS["&"],
    "bitwise_or": CONSTRUCTORS["|"],
    "bitwise_xor": CONSTRUCTORS["^"],
}


def _binary(name: str) -> Callable[..., Any]:
    make = getattr(relay, BINARY[name])

    def apply(lhs: Any, rhs: Any) -> Any:
        tensors = [one for one in (lhs, rhs) if isinstance(one, t.Tensor)]
        if not tensors:
            return _SCALARS[name](lhs, rhs)
        if (
            len(tensors) == 1
            and name in _SCALARS
            and not any(isinstance(one, np.ndarray) for one in (lhs, rhs))
        ):
            return _with_scalar(name, lhs, rhs)
        return _tagged_broadcast(operate(name, make, lhs, rhs))

    apply.__name__, apply.__doc__ = name, make.__doc__
    return apply


def _tagged_broadcast(made: t.Tensor) -> t.Tensor:
    """``made``, an operation of two tensors, with TVM's tag "broadcast" even if their shapes are equal."""
    op = made.op
    assert isinstance(op, t.ComputeOp)
    return replace(op, tag="broadcast").output(0) if op.tag == "elemwise" else made


def _with_scalar(name: str, lhs: Any, rhs: Any) -> t.Tensor:
    """The operation ``name`` of a tensor and a scalar, which becomes part of the formula: an expression or a
    number, which is an int32 or a float32."""
    tensor, scalar = (lhs, rhs) if isinstance(lhs, t.Tensor) else (rhs, lhs)
    e.scalar(f"topi.{name}: a tensor or a number", scalar)
    value = scalar if isinstance(scalar, e.Operators) else const(scalar)

    def element(*i: Any) -> Any:
        return _SCALARS[name](*(one(*i) if isinstance(one, t.Tensor) else value for one in (lhs, rhs)))

    return te.compute(tensor.shape, element, name=f"T_{name}", tag=tag_of(f"topi.{name}", "") or "elemwise")


functions: dict[str, Any] = {
    **{name: _unary(name, operator) for name, operator in UNARY.items()},
    **{name: _binary(name) for name in BINARY},
}


def _reduction(name: str) -> Callable[..., t.Tensor]:
    make = getattr(relay, name)

    def apply(data: t.Tensor, axis: Any = None, keepdims: bool = False) -> t.Tensor:
        return operate(name, partial(make, axis=axis, keepdims=keepdims), data)

    apply.__name__, apply.__doc__ = name, make.__doc__
    return apply


def _index_of(name: str) -> Callable[..., t.Tensor]:
    make = getattr(relay, name)

    def apply(
        data: t.Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False
    ) -> t.Tensor:
        chosen = {"axis": axis, "keepdims": keepdims, "select_last_index": select_last_index}
        return operate(name, lambda x: make(x, **chosen), data)

    apply.__name__, apply.__doc__ = name, make.__doc__
    return apply


functions |= {name: _reduction(name) for name in ("sum", "max", "min", "prod", "all", "any", "mean")}
functions |= {name: _index_of(name) for name in ("argmax", "argmin")}


def _abs(x: t.Tensor) -> t.Tensor:
    """Return the absolute value of each element."""
    if "float" not in getattr(x, "dtype", ""):
        return operate("abs", relay.abs, x)
    return te.compute(x.shape, lambda *i: e.Call("fabs", (x(*i),), x.dtype), name="T_abs", tag="elemwise")


_abs.__name__ = "abs"
functions["abs"] = _abs


def log10(x: t.Tensor) -> t.Tensor:
    """Return the logarithm of each element to the base 10."""
    return te.compute(x.shape, lambda *i: te.log10(x(*i)), name="T_log10", tag="elemwise")


def clip(x: t.Tensor, a_min: float, a_max: float) -> t.Tensor:
    """Return ``x`` with elements clipped to ``a_min`` to ``a_max``."""
    return operate("clip", lambda v: relay.clip(v, a_min, a_max), x)


def ceil_log2(x: t.Tensor) -> t.Tensor:
    """Return the base-2 logarithm of each element, computed in float32, rounded up, in the dtype of ``x``."""

    def element(*i: Any) -> Any:
        return e.cast(x.dtype, te.ceil(te.log2(e.cast("float32", x(*i)))))

    return te.compute(x.shape, element, name="T_ceil_log2", tag="elemwise")


def cast(x: Any, dtype: str, span: Any = None) -> Any:
    """Return ``x``, a tensor or a scalar expression, converted to ``dtype``."""
    if not isinstance(x, t.Tensor):
        return e.cast(dtype, e.convert(x))
    return operate("cast", lambda v: relay.cast(v, dtype), x)


def reinterpret(x: t.Tensor, dtype: str) -> t.Tensor:
    """Return the bits of ``x`` reinterpreted as ``dtype``."""
    return operate("reinterpret", lambda v: relay.reinterpret(v, dtype), x)


def full(shape: Any, dtype: str, fill_value: Any) -> t.Tensor:
    """Return a tensor of ``shape`` whose elements are all ``fill_value``."""
    return te.compute(shape, lambda *_: e.cast(dtype, e.convert(fill_value)), name="T_full", tag="elemwise")


def full_like(x: t.Tensor, fill_value: Any) -> t.Tensor:
    """Return a tensor of the shape and dtype of ``x`` whose elements are all ``fill_value``."""
    return full(x.shape, x.dtype, fill_value)


def elemwise_sum(xs: Any) -> t.Tensor:
    """Return the sum of the tensors ``xs``, which have the same shape; a copy if there is only one."""
    first, *others = xs
    return reduce(functions["add"], others, first) if others else functions["identity"](first)


def broadcast_to(data: t.Tensor, shape: Any) -> t.Tensor:
    """Return ``data`` broadcast to ``shape``."""
    return operate("broadcast_to", lambda v: relay.broadcast_to(v, tuple(shape)), data)


_others = refusing(__name__)


def __getattr__(name: str) -> Any:
    return functions[name] if name in functions else _others(name)
