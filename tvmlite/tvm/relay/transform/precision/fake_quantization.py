"""``FakeQuantizationToInteger``: computes the operators between dequantize and quantize in integers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import is_known, make
from tvmlite.tvm.ir.transform import Pass, PassError, called
from tvmlite.tvm.relay.expr import adopt, expr_of
from tvmlite.tvm.relay.graph.visit import in_order, parts_of, rebuilt
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.transform.functions import over_functions
from tvmlite.tvm.relay.transform.precision.affine_type import (
    TensorAffineType,
    TupleAffineType,
    folded,
    same_type,
    uniform,
)
from tvmlite.tvm.relay.transform.precision.integer_rules import rule_of
from tvmlite.tvm.relay.transform.precision.integer_values import Made, Rule, Types, requantized

RULE = "FTVMFakeQuantizationToInteger"
"""The operator attribute that holds a rule of the program."""

OPTIONAL_RULE = "FTVMOptionalFakeQuantizationToInteger"
"""The operator attribute that holds a rule used only for operators in ``optional_qnn_ops``."""


def FakeQuantizationToInteger(
    hard_fail: bool = False, use_qat: bool = False, optional_qnn_ops: Sequence[str] | None = None
) -> Pass:
    """A pass that replaces the float operators between ``qnn.dequantize`` and ``qnn.quantize`` by integer
    operators, if all of them have a rule. Results may differ by one quantization step. ``relay.build`` does
    the same without this pass.

    With ``use_qat``, operators after a dequantize are also converted where no quantize follows, and the
    dequantize moves after them. ``optional_qnn_ops`` names operators to convert although their integer
    versions are less exact (``nn.softmax``). With ``hard_fail``, an operator that cannot be converted is an
    UnsupportedError; otherwise its region is not changed.
    """
    optional = tuple(map(str, optional_qnn_ops or ()))

    def integer(function: Any) -> Any:
        made = adopt(_Integers(hard_fail, optional).run(function))
        return adopt(_Outwards(optional).run(made)) if use_qat else made

    return over_functions(
        "FakeQuantizationToInteger", 0, integer, infer=True, required=("InferType", "DivToMul")
    )


def _is(node: Any, name: str) -> bool:
    return isinstance(node, nodes.Call) and node.op == name


def _rule_for(name: str, optional: tuple[str, ...]) -> Rule | None:
    known = [RULE, OPTIONAL_RULE] if name in optional else [RULE]
    own = next(filter(None, map(Op(name).get_attr, known)), None) if is_known(name) else None
    return rule_of(name, optional) if own is None else partial(_of_program, own)


def _of_program(rule: Any, call: Any, types: Types) -> Made:
    """The result of a rule of the program; None if it raises NotImplementedError."""
    given = adopt(call)
    known = {one: types[arg] for one, arg in zip(given.args, call.args, strict=True) if arg in types}
    known |= {given: types[call]} if call in types else {}
    try:
        made = called(rule, given, known)
    except PassError as error:
        if isinstance(error.__cause__, NotImplementedError):
            return None
        raise
    if made is None:
        return None
    expr, type_ = made
    return expr_of(f"{call.op}: the result of its rule", expr), type_


def _type(call: nodes.Call, dtype: str) -> TensorAffineType:
    """The affine type of the quantized tensor that ``call``, a quantize or dequantize, writes or reads."""
    scale, zero = uniform(call.args[1]), uniform(call.args[2])
    if tensor_type_of(zero).dtype != "int32":
        zero = folded(make("cast", zero, dtype="int32"))
    return TensorAffineType(scale, zero, dtype, call["axis"])


class _Integers:
    """Rewrites a function: converts the float operators before each quantize to integers."""

    def __init__(self, hard_fail: bool, optional: tuple[str, ...]) -> None:
        self._hard, self._optional = hard_fail, optional
        self._made: dict[Any, Any] = {}
        self._known: dict[Any, Made] = {}

    def run(self, function: Any) -> Any:
        return rebuilt(function, self._made, self._rule)

    def _rule(self, old: Any, new: Any) -> Any:
        inside = self._inside(old) if _is(old, "qnn.quantize") else []
        if not inside:
            return new
        wanted = _type(new, new["out_dtype"])
        for node in inside[:-1]:
            if self._shared(node) is None:
                return self._refused(node, new)
        made = self._value(inside[-1], wanted)
        if made is None or made[1] is not wanted:  # independent of ``wanted``: computed once for all readers
            made = self._shared(inside[-1]) or made
        if made is None:
            return self._refused(inside[-1], new)
        value, given = made
        if not isinstance(given, TensorAffineType) or not (wanted.is_scalar or same_type(given, wanted)):
            return self._refused(old, new)
        return requantized(value, given, wanted)

    def _shared(self, node: Any) -> Made:
        """``node`` in integers without a requested result type, computed once."""
        if node not in self._known:
            self._known[node] = self._value(node)
        return self._known[node]

    def _inside(self, end: Any) -> list[Any]:
        """The nodes between dequantize and ``end``, operands first; ``[]`` if one of them is neither a
        constant or tuple nor an operator with a rule."""
        parts = in_order(end.args[0], lambda one: [] if _is(one, "qnn.dequantize") else parts_of(one))
        found = [one for one in parts if not isinstance(one, Op)]
        if not any(_is(one, "qnn.dequantize") for one in found):
            return []
        for node in found:
            if isinstance(node, (nodes.Constant, nodes.Tuple, nodes.TupleGetItem)):
                continue
            if not isinstance(node, nodes.Call) or not isinstance(node.op, str):
                return []
            if node.op != "qnn.dequantize" and _rule_for(str(node.op), self._optional) is None:
                self._refused(node, end)
                return []
        return found

    def _value(self, node: Any, wanted: TensorAffineType | None = None) -> Made:
        """``node`` in integers with its affine type (None for a float); None if it cannot be converted."""
        match node:
            case nodes.Call(op="qnn.dequantize"):
                made = self._made[node]
                return made.args[0], _type(made, tensor_type_of(made.args[0]).dtype)
            case nodes.Call(op=op, args=args):
                given = [self._known[arg] for arg in args]
                call = node._with({"args": tuple(one[0] for one in given)})  # type: ignore[index]
                types = {one[0]: one[1] for one in given if one[1] is not None}  # type: ignore[index]
                types |= {call: wanted} if wanted is not None else {}
                rule = _rule_for(str(op), self._optional)
                return None if rule is None else rule(call, types)
            case nodes.Tuple(fields=fields):
                parts = [self._known[field] for field in fields]
                types = [one[1] for one in parts]  # type: ignore[index]
                whole = all(isinstance(one, TensorAffineType) for one in types)
                made = nodes.Tuple(tuple(one[0] for one in parts), node.span)  # type: ignore[index]
                return made, (TupleAffineType(tuple(types)) if whole else None)
            case nodes.TupleGetItem(value=value, index=index):
                made, type_ = self._known[value]  # type: ignore[misc]
                if isinstance(type_, TupleAffineType):
                    return nodes.TupleGetItem(made, index, span=node.span), type_.types[index]
                return None
        return node, None

    def _refused(self, node: Any, new: Any) -> Any:
        if self._hard:
            name = getattr(node, "op", "a tuple")
            raise UnsupportedError(
                f"FakeQuantizationToInteger: {name} cannot be done in integers here",
                node.span or Span.of_caller(),
                hint="hard_fail=False leaves it as it is",
            )
        return new


class _Outwards:
    """Rewrites a function: moves each dequantize after the operators that can be computed in integers."""

    def __init__(self, optional: tuple[str, ...]) -> None:
        self._optional = optional

    def run(self, function: Any) -> Any:
        return rebuilt(function, {}, self._rule)

    def _rule(self, old: Any, new: Any) -> Any:
        rule = None
        if isinstance(new, nodes.Call) and isinstance(new.op, str) and new.args:
            rule = _rule_for(str(new.op), self._optional) if all(map(_is_dequantized, new.args)) else None
        if rule is None:
            return new
        types: dict[Any, Any] = {}
        call = new._with({"args": tuple(_stripped(arg, types) for arg in new.args)})
        made = rule(call, types)
        if made is None or not isinstance(made[1], TensorAffineType):
            return new
        value, given = made
        return make("qnn.dequantize", value, given.scale, given.zero_point, axis=given.axis, span=new.span)


def _is_dequantized(arg: Any) -> bool:
    fields = arg.fields if isinstance(arg, nodes.Tuple) else (arg,)
    return bool(fields) and all(_is(one, "qnn.dequantize") for one in fields)


def _stripped(arg: Any, types: dict[Any, Any]) -> Any:
    """``arg`` without its dequantize; its affine type is entered in ``types``."""
    if isinstance(arg, nodes.Tuple):
        made: Any = nodes.Tuple(tuple(_stripped(one, types) for one in arg.fields), arg.span)
        types[made] = TupleAffineType(tuple(types[one] for one in made.fields))
        return made
    types[arg.args[0]] = _type(arg, tensor_type_of(arg.args[0]).dtype)
    return arg.args[0]
