"""Locations in Relay text: parsed nodes have line and columns, and errors show them."""

from __future__ import annotations

import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TypeInferError, UnsupportedError
from tvmlite.tvm import relay

TEXT = """\
def @twice(%y: int32) -> int32 { %y + %y }
def @main(%x: int32) {
  %0 = (@twice(%x), 2 * %x);
  let %z = %0.1;
  if (True) { add(%z,
    3) } else { %z }
}
"""


def written(span: tvm.ir.Span | None) -> str:
    """The part of TEXT at ``span``, which must be in one line."""
    assert span is not None
    assert (span.source_name.name, span.line) == ("a.rly", span.end_line)
    return TEXT.splitlines()[span.line - 1][span.column - 1 : span.end_column - 1]


def test_parsed_nodes_have_their_source_location() -> None:
    main = tvm.parser.parse(TEXT, "a.rly")["main"]
    pair = main.body.value.tuple_value
    branches = main.body.body

    assert [written(one.span) for one in (main.params[0], pair, *pair.fields, pair.fields[0].op)] == [
        "%x",
        "(@twice(%x), 2 * %x)",
        "@twice(%x)",
        "2 * %x",
        "@twice",
    ]
    assert [written(one.span) for one in (main.body.var, main.body.value, branches.cond)] == [
        "%z",
        "%0.1",
        "True",
    ]
    call = branches.true_branch.span
    assert (call.line, call.column, call.end_line, call.end_column) == (5, 15, 6, 7)
    assert isinstance(call, tvm.ir.Span)
    assert "span=" not in str(main)


def test_a_type_error_shows_line_and_column() -> None:
    with pytest.raises(TypeInferError, match=r"(?s)add: .*a\.rly:1:23: def @main"):
        tvm.parser.parse("def @main(%x: int8) { add(%x, 1f) }", "a.rly")


def test_a_vector_dtype_in_text_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match=r"(?s)'int8x4': tensors of vectors .*:1:11: .*last axis"):
        tvm.parser.parse_expr("let %_ : (int8x4,) = (); ()")
    read = tvm.parser.parse_expr("let %x : float = 1f; %x")
    assert read.var.type_annotation == relay.TensorType((), "float32")
