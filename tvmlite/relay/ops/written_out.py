"""Operators defined by other operators: each has a rule that rewrites a call in terms of these.

``passes/write_out`` applies the rules at every opt level, and ``passes/qnn/canonicalize_qnn`` those of
quantized operators. Passes and techniques thus apply to what the rules give, and need not know the operators
themselves. Where a call is compiled alone, its compute is that of the rule's result.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TypeInferError
from tvmlite.core.node import postorder
from tvmlite.relay.ir import op
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Tuple, TupleGetItem, Var, constant
from tvmlite.relay.ir.op import Rounding, make, operator
from tvmlite.relay.ir.types import TensorType, TupleType, Type, num_elements
from tvmlite.relay.ops.shapes.reshape import has_codes, same_num_elements
from tvmlite.te import expr as e

Rule: TypeAlias = Callable[..., Expr]

RULES: dict[str, Rule] = {}
"""The rule of each operator, a function of a call and its arguments."""

LAYOUT_RULES: dict[str, Rule] = {}
"""The rules of operators that accept layouts in any order; a call in the plain layout is unchanged."""


def written_out(
    name: str,
    *,
    reference: Callable[..., Any],
    infer: Callable[..., Type] | None = None,
    attrs: Mapping[str, Any] | None = None,
    parameters: Sequence[str] = (),
    tuples: tuple[str, ...] = (),
    rounding: Rounding | None = None,
    quantized: bool = False,
    **columns: Any,
) -> Callable[[Rule], Rule]:
    """Register the decorated rule as the operator ``name``.

    Without ``infer``, the type is that of the rule's result, and type errors are those of the rule and of its
    result. A rule of ``*arguments`` makes a variadic operator.
    """

    def register(rule: Rule) -> Rule:
        def compute(call: Call, *tensors: Any) -> Any:
            return compute_from_rule(rule, call, tensors)

        compute.__signature__ = inspect.signature(rule)  # type: ignore[attr-defined]
        compute.__doc__ = rule.__doc__
        compute.__module__ = rule.__module__
        steps = rounding or (Rounding.STEPS if quantized else Rounding.MANY)
        more = {
            "attrs": attrs,
            "parameters": parameters,
            "rounding": steps,
            "quantized": quantized,
            **columns,
        }
        operator(name, infer=infer or infer_from_rule(rule), reference=reference, tuples=tuples, **more)(
            compute
        )
        RULES[name] = rule
        return rule

    return register


quantized = functools.partial(written_out, quantized=True)
"""``written_out`` for an operator on quantized tensors, whose rule ``canonicalize_qnn`` applies."""


def infer_from_rule(rule: Rule) -> Callable[..., Type]:
    """Return the type relation of ``rule``: the type of its result. Errors are reported for the call."""

    def infer(call: Call, *types: Any) -> Type:
        try:
            return type_of(rule(call, *map(_variable, types)))
        except TypeInferError as error:
            own = error.message.startswith(f"{call.op}: ")
            raise TypeInferError(error.message if own else f"{call.op}: {error.message}", call.span) from None

    return infer


def _variable(type_: Any) -> Expr:
    if isinstance(type_, tuple):
        return Tuple(tuple(map(_variable, type_)))
    return Var("x", TensorType(type_.shape, type_.dtype))


def compute_from_rule(rule: Rule, call: Call, tensors: Sequence[Any]) -> Any:
    """Return the stages of the expression that ``rule`` gives for ``call``."""
    done: dict[Expr, Any] = {}

    def argument(given: te.Tensor | Sequence[te.Tensor]) -> Expr:
        if not isinstance(given, te.Tensor):
            return Tuple(tuple(map(argument, given)))
        made = _variable(given)
        done[made] = given
        return made

    arguments = [argument(one) for one in tensors]
    given = set(done.values())
    body = rule(call, *arguments)
    for node in postorder(body):
        assert isinstance(node, Expr)
        if node in done:
            continue
        if isinstance(node, Constant):
            assert node.data.ndim == 0
            done[node] = te.compute((), _scalar(node), name="constant")
        elif isinstance(node, Tuple):
            done[node] = [done[one] for one in node.fields]
        elif isinstance(node, TupleGetItem):
            done[node] = done[node.value][node.index]
        else:
            assert isinstance(node, Call)
            row = op.get(str(node.op))
            read = done[node.args[0]] if row.num_inputs is None else [done[one] for one in node.args]
            done[node] = row.compute(node, *read)
    made = done[body] if isinstance(done[body], list) else [done[body]]
    results = [_copy(one) if one in given or len(one.op.outputs) > 1 else one for one in made]
    return results if isinstance(done[body], list) else results[0]


def _copy(data: te.Tensor) -> te.Tensor:
    """Copy ``data``: an argument, or one of several outputs of a stage, cannot be the result of a call."""
    return te.compute(data.shape, lambda *i: data[i], name="copy", tag="elemwise")


def _scalar(node: Constant) -> Callable[[], e.Expr]:
    return lambda: e.const(node.data.item(), dtypes.check(node.dtype))


# Helpers for rules; the pass gives new nodes the span of the node that they replace


def cast(value: Expr, dtype: str) -> Expr:
    """Convert ``value`` to ``dtype``, if it has another."""
    return value if tensor_type_of(value).dtype == dtype else make("cast", value, dtype=dtype)


def binary(name: str, left: Expr, right: Expr) -> Expr:
    """Call the operator ``name`` on both; if both are constants, return the result as a constant."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        call = make(name, left, right)
        return Constant(np.asarray(op.get(name).reference(call, left.data, right.data)))
    return make(name, left, right)


def minus(left: Expr, right: Expr) -> Expr:
    """Subtract ``right``; return ``left`` if it is a constant 0."""
    return left if isinstance(right, Constant) and not right.data.any() else binary("subtract", left, right)


def saturated(value: Expr, dtype: str) -> Expr:
    """Convert ``value``, an int32, to ``dtype``, saturating."""
    low, high = dtypes.limits(dtype)
    return cast(make("clip", value, a_min=low, a_max=high), dtype)


def fields_of(value: Expr) -> tuple[Expr, ...]:
    """Return the fields of a tuple."""
    if isinstance(value, Tuple):
        return value.fields
    type_ = type_of(value)
    assert isinstance(type_, TupleType)
    return tuple(TupleGetItem(value, index) for index in range(len(type_.fields)))


def number(value: float, dtype: str = "int32") -> Constant:
    """Return a scalar constant."""
    return constant(value, dtype)


def broadcast_along(value: Expr, axis: int, rank: int) -> Expr:
    """Reshape a vector to broadcast along ``axis`` of ``rank``; a vector of one element becomes a scalar."""
    shape = tensor_type_of(value).shape
    if not shape:
        return value
    if isinstance(shape[0], int) and shape[0] == 1:
        return reshaped(value, ())
    trailing = rank - 1 - axis % rank
    return reshaped(value, (shape[0], *(1,) * trailing)) if trailing else value


def reshaped(value: Expr, shape: Sequence[Any]) -> Expr:
    """Reshape ``value`` to ``shape``."""
    if isinstance(value, Constant):
        return Constant(value.data.reshape(tuple(shape)))
    return make("reshape", value, newshape=tuple(shape))


def requantized(data: Expr, parameters: Sequence[Expr], out_dtype: str = "int32", axis: int = -1) -> Expr:
    """Call ``qnn.requantize`` with TVM's defaults."""
    return make("qnn.requantize", data, *parameters, out_dtype=out_dtype, axis=axis)


def _checked_reshape(call: Call, data: Expr) -> Expr:
    """Write out a reshape by extents; check the number of elements at run time if it is unknown.

    The extent for -1 is a quotient, which would drop elements if it were not whole.
    """
    wanted = tensor_type_of(call).shape
    if not same_num_elements(tensor_type_of(data).shape, wanted):
        flat = make("reshape", data, newshape=(-1,))
        data = make("assume_shape", flat, newshape=(num_elements(wanted),))
    elif not has_codes(call):
        return call
    return make("reshape", data, newshape=wanted, allowzero=True)


RULES["reshape"] = _checked_reshape
