"""Layout rules that programs register for operators (``relay.op.register_infer_correct_layout``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvmlite.core.errors import ConfigError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.ir.transform import called
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.graph.attrs import Attrs, plain_attrs
from tvmlite.tvm.relay.transform.layout.question import Answer, Question
from tvmlite.tvm.tir.data_layout import UNDEFINED, Layout, layout

RULE = "FInferCorrectLayout"
"""The operator attribute that holds such a rule."""


@dataclass(frozen=True, eq=False)
class InferCorrectLayoutOutput:
    """The layouts of an operator's operands and results (``tvm.tir.layout("NCHW")``), and its attributes in
    these layouts."""

    input_layouts: Sequence[Layout]
    output_layouts: Sequence[Layout]
    new_attrs: Mapping[str, Any]


def answer_of(rule: Any, question: Question) -> Answer:
    """The result of ``rule(attrs, new_in_layouts, old_in_layouts, old_in_types)``. ``new_in_layouts`` is None
    if nothing has changed yet; an unknown layout is TVM's undefined layout."""
    new = None if question.new is None else [layout(one) for one in question.new]
    old = [layout(UNDEFINED if one is None else one) for one in question.old]
    types = [ty.adopted(one) for one in question.types]
    given = called(rule, Attrs(nodes.canonical(dict(question.attrs))), new, old, types)
    if not isinstance(given, InferCorrectLayoutOutput):
        raise ConfigError(
            f"{question.op}: its rule of layouts gives {show(given)}, expected an InferCorrectLayoutOutput",
            Span.of_caller(),
        )
    inputs, results = (_names(question.op, one) for one in (given.input_layouts, given.output_layouts))
    return Answer(inputs, results, plain_attrs(given.new_attrs))


def _names(op: str, layouts: Sequence[Any]) -> list[str | None]:
    if not all(isinstance(one, Layout) for one in layouts):
        raise ConfigError(
            f"{op}: its rule of layouts gives {show(tuple(layouts))}, expected those of tvm.tir.layout",
            Span.of_caller(),
        )
    return [None if one.name == UNDEFINED else one.name for one in layouts]
