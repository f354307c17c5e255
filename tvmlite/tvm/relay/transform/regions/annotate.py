"""``AnnotateTarget``: marks the calls that other compilers support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.tvm.ir.transform import FunctionPass, Pass, PassContext, PassInfo, Sequential, called
from tvmlite.tvm.relay.expr import Call, Function, If, Let, Tuple, TupleGetItem
from tvmlite.tvm.relay.graph.regions import BEGIN, DEFAULT, END, compiler_of, is_mark, marked
from tvmlite.tvm.relay.graph.visit import in_order, rebuilt
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.transform.functions import is_for_another_compiler
from tvmlite.tvm.relay.transform.infer_type import InferType, typed


def AnnotateTarget(targets: str | Sequence[str], include_non_call_ops: bool = True) -> Pass:
    """A pass that inserts ``compiler_begin`` and ``compiler_end`` around each call.

    The marks name the first of ``targets`` that supports the call: the predicate in the operator attribute
    ``target.NAME`` returns True for it, or a function's ``Composite`` name begins with ``NAME.``; else
    ``default``. With ``include_non_call_ops``, tuples and their fields get the target that their parts share;
    otherwise they are not marked. Calls already marked for a compiler are not changed.
    """
    names = [targets] if isinstance(targets, str) else list(map(str, targets))

    def run(mod: Any, context: PassContext) -> Any:
        made = typed(mod)
        for var, function in made.functions.items():
            if isinstance(function, nodes.Function) and not is_for_another_compiler(function):
                made[var] = _Annotator(names, include_non_call_ops).annotated(function)
        return made

    annotate = FunctionPass(PassInfo(0, "AnnotateTarget"), run)
    return Sequential([annotate, InferType()], name="AnnotateTarget")


class _Annotator:
    """Inserts marks in a function, and records the compiler of each new node."""

    def __init__(self, targets: list[str], with_tuples: bool) -> None:
        self._targets, self._with_tuples = targets, with_tuples
        self._target_of: dict[Any, str] = {}

    def annotated(self, function: Any) -> Any:
        """``function`` with marks. A composite function counts as one operator and is not changed."""
        whole = [one for one in in_order(function) if _composite(one)]
        if function in whole:
            return function
        made = {part: part for one in whole for part in (one, *one.params)}
        return rebuilt(function, made, self._rule)

    def _rule(self, old: Any, new: Any) -> Any:
        match new:
            case nodes.Call():
                return self._call(old, new)
            case nodes.Function():
                return new._with({"body": self._ended(new.body)})
            case nodes.If():
                return If(*map(self._ended, new.children()), span=new.span)
            case nodes.Let():
                return self._let(new)
            case nodes.Tuple():
                return self._same_as_parts(new, new.fields, lambda parts: Tuple(parts, span=new.span))
            case nodes.TupleGetItem():
                return self._same_as_parts(
                    new, (new.value,), lambda parts: TupleGetItem(parts[0], new.index, span=new.span)
                )
        return new

    def _call(self, old: Any, new: Any) -> Any:
        if is_mark(new, BEGIN):
            return new
        if is_mark(new, END):
            target = self._target_of.setdefault(new.args[0], compiler_of(new))
            return new if target == compiler_of(new) else marked(END, new.args[0], target)
        if new.args and is_mark(new.args[0], BEGIN) and compiler_of(new.args[0]) != DEFAULT:
            return new
        if isinstance(new.op, nodes.Var) and not self._with_tuples:
            return Call(new.op, map(self._ended, new.args), new.attrs, span=new.span)
        target = next((one for one in self._targets if _takes(one, old)), DEFAULT)
        made = Call(new.op, [self._begun(arg, target) for arg in new.args], new.attrs, span=new.span)
        self._target_of[made] = target
        return made

    def _let(self, new: Any) -> Any:
        value = new.value
        if self._with_tuples and not isinstance(value, nodes.Function):
            value = self._begun(value, self._common([value]))
        elif not isinstance(value, nodes.Function):
            value = self._ended(value)
        return Let(new.var, value, self._ended(new.body), span=new.span)

    def _same_as_parts(self, new: Any, parts: Sequence[Any], build: Any) -> Any:
        if not self._with_tuples:
            return build([self._ended(part) for part in parts])
        if not parts:
            return new
        target = self._common(parts)
        made = build([self._begun(part, target) for part in parts])
        self._target_of[made] = target
        return made

    def _common(self, parts: Sequence[Any]) -> str:
        """The compiler of all ``parts``, or ``default`` if they differ."""
        found = {self._target_of.get(_unmarked(part), DEFAULT) for part in parts}
        return found.pop() if len(found) == 1 else DEFAULT

    def _begun(self, value: Any, target: str) -> Any:
        """``value`` with a begin mark, as an argument of a node for ``target``."""
        if is_mark(value, BEGIN):
            if compiler_of(value) != DEFAULT:
                return value
            value = value.args[0]
        return marked(BEGIN, self._ended(value), target)

    def _ended(self, value: Any) -> Any:
        """``value`` with an end mark, if it is a node that has a compiler."""
        without_args = isinstance(value, nodes.Call) and not value.args
        if value not in self._target_of or without_args or is_mark(value):
            return value
        return marked(END, value, self._target_of[value])


def _composite(node: Any) -> str | None:
    return dict(node.attrs).get("Composite") if isinstance(node, Function) else None


def _unmarked(node: Any) -> Any:
    while is_mark(node):
        node = node.args[0]
    return node


def _takes(target: str, call: Any) -> bool:
    """Whether the compiler ``target`` supports ``call``."""
    if isinstance(call.op, Op):
        asked = call.op.get_attr(f"target.{target}")
        return asked is not None and bool(called(asked, call))
    name = _composite(call.op)
    return name is not None and "." in name and name.partition(".")[0] == target
