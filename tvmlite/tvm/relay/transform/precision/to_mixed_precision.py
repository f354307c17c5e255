"""``ToMixedPrecision``: products and the operators after them in a narrow dtype, by TVM's rules."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tvmlite.core.errors import ConfigError, UnsupportedError
from tvmlite.core.span import Span, warn
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType, TupleType
from tvmlite.tvm.ir.transform import Pass, PassContext, called
from tvmlite.tvm.relay.expr import Function, Var, adopt
from tvmlite.tvm.relay.graph.attrs import Attrs
from tvmlite.tvm.relay.graph.visit import in_order, rebuilt
from tvmlite.tvm.relay.transform.functions import over_functions
from tvmlite.tvm.relay.transform.mixed_precision import (
    MIXED_PRECISION_ALWAYS,
    MIXED_PRECISION_FOLLOW,
    MIXED_PRECISION_NEVER,
    rule_of,
)

DTYPES = ("float16", "bfloat16", "float32", "float64")
_WIDE = "float32"
_KEEP = "relay.ToMixedPrecision.keep_orig_output_dtype"
_CREATING = ("zeros", "ones", "full")
"""Operators whose attribute ``dtype`` is the dtype of their result."""


def ToMixedPrecision(mixed_precision_type: str = "float16", missing_op_mode: int = 1) -> Pass:
    """A pass that converts operators to ``mixed_precision_type`` by the rules of
    ``transform.mixed_precision``: those in the "always" category, and those in the "follow" category whose
    operands all have the narrow dtype.

    An operator without a rule is in the "follow" category; ``missing_op_mode`` 0 makes it an error, 1 a
    warning, 2 neither. The dtypes of the function's results may change, unless the option
    ``relay.ToMixedPrecision.keep_orig_output_dtype`` of the ``PassContext`` is set.
    """
    if mixed_precision_type not in DTYPES:
        raise ConfigError(
            f"ToMixedPrecision: mixed_precision_type is {show(mixed_precision_type)}, expected one of "
            + ", ".join(DTYPES),
            Span.of_caller(),
        )
    if missing_op_mode not in (0, 1, 2):
        raise ConfigError(
            f"ToMixedPrecision: missing_op_mode is {show(missing_op_mode)}, expected 0, 1 or 2",
            Span.of_caller(),
        )

    def narrow(function: Any) -> Any:
        rewriting = _Narrowing(function, mixed_precision_type)
        made = rewriting.run(bool(PassContext.current().config.get(_KEEP)))
        _report(rewriting.missing, missing_op_mode)
        return adopt(made)

    return over_functions("ToMixedPrecision", 0, narrow, infer=True, required=())


def _report(missing: Counter[str], mode: int) -> None:
    if not missing or mode == 2:
        return
    found = ", ".join(f"{name} ({count} times)" for name, count in sorted(missing.items()))
    if mode == 0:
        raise UnsupportedError(
            f"ToMixedPrecision: there is no rule for {found}",
            Span.of_caller(),
            hint="relay.op.register_mixed_precision_conversion enters one",
        )
    warn(f"ToMixedPrecision: there is no rule for {found}: narrow where all operands are")


class _Narrowing:
    """Rewrites a function with mixed precision."""

    def __init__(self, function: Any, dtype: str) -> None:
        self.function, self.dtype = function, dtype
        self.missing: Counter[str] = Counter()
        self._casts: dict[tuple[Any, str], Any] = {}
        self._values = {let.var: let.value for let in in_order(function) if isinstance(let, nodes.Let)}
        self._made: dict[Any, Any] = {}

    def run(self, keep: bool) -> Any:
        """The rewritten function; with ``keep``, its result is cast back to the original type."""
        made = rebuilt(self.function, self._made, self._rule)
        if keep and made is not self.function:
            wanted = type_of(self.function.body)
            body = self._as_type(made.body, wanted)
            made = made if body is made.body else made._with({"body": body})
        return made

    def _rule(self, old: Any, new: Any) -> Any:
        if old in self._values:
            type_ = type_of(self._made[self._values[old]])
            return old if type_ == type_of(old) else Var(old.name, type_, old.span)
        if isinstance(new, nodes.Function) and new is not old:  # the annotated result type may be wrong now
            return Function(new.params, new.body, attrs=dict(new.attrs), span=new.span)
        return self._call(old, new) if isinstance(old, nodes.Call) else new

    def _call(self, old: Any, new: Any) -> Any:
        category, accumulated, result = self._described(old)
        if category == MIXED_PRECISION_FOLLOW:
            follows = all(self._may_be_narrow(arg) for arg in new.args)
            category = MIXED_PRECISION_ALWAYS if follows else MIXED_PRECISION_NEVER
        narrow = category == MIXED_PRECISION_ALWAYS
        args = tuple(self._cast(arg, type_of(arg), self.dtype if narrow else _WIDE) for arg in new.args)
        attrs = _attrs(new, accumulated) if narrow else new.attrs
        if any(a is not b for a, b in zip(args, new.args, strict=True)) or attrs != new.attrs:
            new = new._with({"args": args, "attrs": attrs})
        return self._cast(new, type_of(new), result) if narrow and accumulated != result else new

    def _described(self, call: Any) -> list[Any]:
        if not isinstance(call.op, str):  # a function keeps its signature
            return [MIXED_PRECISION_NEVER, _WIDE, _WIDE]
        rule = rule_of(str(call.op))
        if rule is None:
            self.missing[str(call.op)] += 1
            return [MIXED_PRECISION_FOLLOW, self.dtype, self.dtype]
        found = list(called(rule, adopt(call), self.dtype))
        if len(found) != 3:
            raise ConfigError(
                f"ToMixedPrecision: the rule of {call.op} gives {show(found)}, "
                "expected a category and two dtypes"
            )
        return found

    def _may_be_narrow(self, arg: Any) -> bool:
        """Whether ``arg`` is in the narrow dtype or not a float, or can be cast: a variable or a constant."""
        return isinstance(arg, (nodes.Var, nodes.Constant)) or self._is_narrow(type_of(arg))

    def _is_narrow(self, type_: Any) -> bool:
        if isinstance(type_, TupleType):
            return all(map(self._is_narrow, type_.fields))
        return not _is_float(type_) or type_.dtype == self.dtype

    def _cast(self, value: Any, type_: Any, dtype: str) -> Any:
        """``value`` with its floats cast to ``dtype``; a cast to a dtype and back cancels."""
        if isinstance(type_, TupleType):
            fields = [_field(value, index) for index in range(len(type_.fields))]
            made = [self._cast(one, kind, dtype) for one, kind in zip(fields, type_.fields, strict=True)]
            same = all(a is b for a, b in zip(fields, made, strict=True))
            return value if same else nodes.Tuple(tuple(made), value.span)
        if not _is_float(type_) or type_.dtype == dtype:
            return value
        if (value, dtype) not in self._casts:
            made = make("cast", value, dtype=dtype, span=value.span)
            self._casts[value, dtype] = made
            self._casts[made, type_.dtype] = value
        return self._casts[value, dtype]

    def _as_type(self, value: Any, wanted: Any) -> Any:
        """``value`` with its floats cast to the dtypes in the type ``wanted``."""
        if isinstance(wanted, TupleType):
            fields = [_field(value, index) for index in range(len(wanted.fields))]
            made = [self._as_type(one, kind) for one, kind in zip(fields, wanted.fields, strict=True)]
            return value if made == fields else nodes.Tuple(tuple(made), value.span)
        return self._cast(value, type_of(value), wanted.dtype) if _is_float(wanted) else value


def _is_float(type_: Any) -> bool:
    return isinstance(type_, TensorType) and "float" in type_.dtype


def _field(value: Any, index: int) -> Any:
    return value.fields[index] if isinstance(value, nodes.Tuple) else nodes.TupleGetItem(value, index)


def _attrs(call: Any, dtype: str) -> Any:
    """The attributes of ``call`` with the result dtype ``dtype``, if they have a float result dtype."""
    attrs = dict(call.attrs)
    names = ["out_dtype"] if "out_dtype" in attrs else ["dtype"] if call.op in _CREATING else []
    for name in names:
        if not attrs[name] or "float" in attrs[name]:
            attrs[name] = dtype
    return Attrs(nodes.canonical(attrs))
