"""Changes the layouts of calls, and propagates the new layouts through operators that support them.

A value whose layout has changed is recorded with its old and new layout (``Laid``). Where the old layout is
needed, a ``layout_transform`` restores it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tvmlite.core.errors import UnsupportedError
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType, TupleType
from tvmlite.relay.ops.shapes.layout import layout as layout_of
from tvmlite.tvm.relay.graph.attrs import Attrs
from tvmlite.tvm.relay.graph.visit import in_order, with_parts
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.transform.layout import names
from tvmlite.tvm.relay.transform.layout.question import Answer, Question
from tvmlite.tvm.relay.transform.layout.rules import answer
from tvmlite.tvm.relay.ty import adopted

Alter: TypeAlias = "Callable[[nodes.Call, dict[str, Any], list[Any]], Any]"
"""Returns a replacement for a call, given its attributes and new arguments, or None to keep it."""


@dataclass(frozen=True, eq=False)
class Laid:
    """``value`` in layout ``new``, whose original layout is ``old``."""

    value: Any
    old: str
    new: str


@dataclass(frozen=True, eq=False)
class LaidTuple:
    """The fields of a tuple; ``whole`` is the expression of the tuple, None if there is no single one."""

    fields: list[Any]
    whole: Any = None


class LayoutRewriter:
    """Rewrites a function, replacing calls by the results of ``alter`` and propagating layouts."""

    def __init__(self, alter: Alter) -> None:
        self._alter = alter
        self._made: dict[Any, Any] = {}
        self._transformed: dict[tuple[Any, str, str], Any] = {}

    def run(self, function: Any) -> Any:
        """The rewritten function, or ``function`` itself if nothing changes."""
        for node in in_order(function):
            if not isinstance(node, Op):
                self._made[node] = self._visited(node)
        return self._plain(self._made[function])

    def _visited(self, node: Any) -> Any:
        match node:
            case nodes.Call(op=str()):
                return self._call(node)
            case nodes.Tuple(fields=fields):
                made = [self._made[one] for one in fields]
                if any(isinstance(one, (Laid, LaidTuple)) for one in made):
                    unchanged = all(
                        _is_unchanged(one, field) for one, field in zip(made, fields, strict=True)
                    )
                    return LaidTuple(made, node if unchanged else None)
            case nodes.TupleGetItem(value=value, index=index):
                made = self._made[value]
                if isinstance(made, LaidTuple):
                    found = made.fields[index]
                    if isinstance(found, Laid) and made.whole is value:
                        return Laid(node, found.old, found.new)
                    return found
        return with_parts(node, lambda part: self._plain(self._made[part]))

    def _plain(self, made: Any) -> Any:
        """The rewritten value ``made`` as an expression in its original layout."""
        if isinstance(made, LaidTuple):
            fields = tuple(self._plain(field) for field in made.fields)
            kept = all(not isinstance(one, Laid) or one.old == one.new for one in made.fields)
            return made.whole if made.whole is not None and kept else nodes.Tuple(fields)
        return self._transform(made.value, made.new, made.old) if isinstance(made, Laid) else made

    def _call(self, call: nodes.Call) -> Any:
        found = self._laid_out(call)
        return self._in_place(call) if found is None else found

    def _in_place(self, call: nodes.Call) -> Any:
        """``call`` on operands in their original layouts."""
        return with_parts(call, lambda part: self._plain(self._made[part]))

    def _altered_in_place(self, call: nodes.Call) -> Any:
        """``call``, which does not propagate layouts, replaced by ``alter``; the type must not change."""
        plain = self._in_place(call)
        altered = self._alter(call, dict(call.attrs), list(plain.args))
        if altered is None:
            return plain
        made, wanted = adopted(type_of(altered)), adopted(type_of(call))
        if made != wanted:
            raise UnsupportedError(
                f"{call.op}: its rule gives {made} for {wanted}, and no layout passes through it",
                call.span,
                hint="a rule of such an operator keeps the type",
            )
        return altered

    def _laid_out(self, call: nodes.Call) -> Any:
        """``call`` with layouts, replaced by ``alter`` or in its operands' new layouts; None if it does not
        support these."""
        operands, args, types = self._operands(call)
        if operands is None:
            return self._altered_in_place(call)
        old = [one.old if isinstance(one, Laid) else None for one in operands]
        attrs = dict(call.attrs)
        before = answer(Question(str(call.op), attrs, None, old, types))
        if before is None or len(before.inputs) != len(operands):
            return self._altered_in_place(call)
        new = [
            one.new if isinstance(one, Laid) else before.inputs[index] or ""
            for index, one in enumerate(operands)
        ]
        altered = self._alter(call, attrs, args)
        made: Any = call if altered is None else altered
        if altered is None and new == list(before.inputs) and _are_children(operands, call):
            return _results(call, before.results, before.results, call)
        asked = Question(str(made.op), dict(made.attrs), new, list(before.inputs), types, altered is not None)
        after = answer(asked)
        if after is None or len(after.inputs) != len(operands) or len(after.results) != len(before.results):
            return None
        return self._rewritten(call, made, (args, new), before, after)

    def _rewritten(
        self, call: nodes.Call, made: Any, given: tuple[list[Any], list[str]], before: Answer, after: Answer
    ) -> Any:
        args, new = given
        altered = list(made.args) if made is not call else args
        flat = [field for arg in altered for field in (arg.fields if isinstance(arg, nodes.Tuple) else [arg])]
        if len(flat) != len(new):
            return None
        wanted = [one or "" for one in after.inputs]
        if not all(map(_can_become, flat, new, wanted)):
            return None
        left = iter([self._transform(*one) for one in zip(flat, new, wanted, strict=True)])
        full = tuple(
            nodes.Tuple(tuple(next(left) for _ in arg.fields), arg.span)
            if isinstance(arg, nodes.Tuple)
            else next(left)
            for arg in altered
        )
        changes = {"args": full, "attrs": Attrs(nodes.canonical(dict(after.attrs))), "span": call.span}
        return _results(made._with(changes), before.results, after.results)

    def _operands(self, call: nodes.Call) -> tuple[list[Any] | None, list[Any], list[Any]]:
        """The rewritten operands, with the fields of tuples separate, the arguments, and the operands'
        original types. The operands are None if one is not a tensor, or a tuple that has no separate
        fields."""
        operands: list[Any] = []
        args: list[Any] = []
        types: list[Any] = []
        for arg in call.args:
            made = self._made[arg]
            fields = list(made.fields) if isinstance(made, (LaidTuple, nodes.Tuple)) else [made]
            values = [one.value if isinstance(one, Laid) else one for one in fields]
            args.append(values[0] if fields == [made] else nodes.Tuple(tuple(values), call.span))
            operands += fields
            type_ = type_of(arg)
            types += type_.fields if isinstance(type_, TupleType) else [type_]
        simple = all(isinstance(one, TensorType) for one in types) and len(types) == len(operands)
        return (operands if simple else None), args, types

    def _transform(self, value: Any, source: str, target: str) -> Any:
        """``value`` converted from layout ``source`` to ``target``; missing axes are added at the front."""
        if source == target or _is_of_ones(value, target):
            return value
        key = (value, source, target)
        if key not in self._transformed:
            full, made = _expanded(source, target), value
            more = len(names.whole(full)) - len(names.whole(source))
            if more:
                made = make("expand_dims", made, axis=0, num_newaxis=more, span=value.span)
            if full != target:
                made = make("layout_transform", made, src_layout=full, dst_layout=target, span=value.span)
            self._transformed[key] = made
        return self._transformed[key]


def _expanded(source: str, target: str) -> str:
    """``source`` with the axes of ``target`` that it does not have added at the front."""
    missing = [axis for axis in names.whole(target) if axis not in names.whole(source)]
    return "".join(missing) + source


def _is_of_ones(value: Any, layout: str) -> bool:
    """Whether ``value`` has one element and fewer axes than ``layout``, so that it broadcasts unchanged."""
    shape = tensor_type_of(value).shape
    return all(extent == 1 for extent in shape) and len(shape) < max(len(names.whole(layout)), 1)


def _can_become(value: Any, source: str, target: str) -> bool:
    """Whether ``value`` can be converted to layout ``target``: axes correspond, and blocks divide extents."""
    type_ = tensor_type_of(value)
    if source == target or _is_of_ones(value, target):
        return True
    full = _expanded(source, target)
    if sorted(names.whole(full)) != sorted(names.whole(target)) or not names.parts(target):
        return False
    shape = [1] * (len(names.parts(full)) - len(names.parts(source))) + list(type_.shape)
    if len(shape) != len(names.parts(full)) or not type_.is_static:
        return False
    extents = layout_of(full).extents(shape)
    return all(extents[axis] % (names.block(target, axis) or 1) == 0 for axis in names.whole(target))


def _is_unchanged(made: Any, node: Any) -> bool:
    if isinstance(made, LaidTuple):
        return made.whole is node
    return made is node or (isinstance(made, Laid) and made.value is node and made.old == made.new)


def _are_children(operands: Sequence[Any], call: nodes.Call) -> bool:
    """Whether ``operands`` are the unchanged operands of ``call`` in their original layouts."""
    read = [field for arg in call.args for field in (arg.fields if isinstance(arg, nodes.Tuple) else [arg])]
    return len(read) == len(operands) and all(map(_is_unchanged, operands, read))


def _results(made: Any, old: Sequence[Any], new: Sequence[Any], whole: Any = None) -> Any:
    """``made`` as a ``Laid``, or as a ``LaidTuple`` if it has several results."""
    if not isinstance(type_of(whole if whole is not None else made), TupleType):
        return Laid(made, old[0], new[0])
    fields = [
        Laid(nodes.TupleGetItem(made, index), *pair) for index, pair in enumerate(zip(old, new, strict=True))
    ]
    return LaidTuple(fields, made)
