"""``tvm.parser``: a parser for Relay's text format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tvmlite.core.errors import ParseError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay.expr import const
from tvmlite.tvm.relay.text.comments import without_comments
from tvmlite.tvm.relay.text.parser import TvmParser
from tvmlite.tvm.relay.transform.infer_type import typed

__all__ = ["fromtext", "parse", "parse_expr"]


def parse(
    source: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: Mapping[str, Any] | None = None,
) -> IRModule:
    """Parse the text of a module and infer its types. ``init_meta_table`` has the constants that the text
    refers to (``{"relay.Constant": [...]}``); the functions of ``init_module`` are part of the result."""
    constants = (init_meta_table or {}).get("relay.Constant", ())
    arrays = [one.data if isinstance(one, nodes.Constant) else np.asarray(one) for one in constants]
    table = {f"given {position}": const(one, one.dtype) for position, one in enumerate(arrays)}
    functions = TvmParser(_text(source), source_name, table).functions()
    made = IRModule() if init_module is None else init_module.copy()
    made.update(functions)
    return typed(made)


def fromtext(data: str, source_name: str = "from_string") -> Any:
    """Parse the text of a module or of an expression."""
    body = without_comments(_text(data)).lstrip()
    if body.startswith("#["):
        body = body.partition("]")[2]
    return parse(data, source_name) if _is_module(body) else parse_expr(data)


def parse_expr(source: str) -> Any:
    """Parse the text of an expression. Types are not inferred: variables without an annotation have none."""
    return TvmParser(_text(source), "from_string").whole()


def _is_module(body: str) -> bool:
    words = body.split(None, 1)
    return not words or words[0] in ("def", "type", "extern")


def _text(source: Any) -> str:
    if not isinstance(source, str):
        raise ParseError(f"parse: source is {show(source)}, expected a string", Span.of_caller())
    return source


__getattr__ = refusing(__name__)
