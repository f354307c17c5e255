"""The pass that replaces element-wise functions of one quantized tensor by lookup tables of 256 codes.

A gelu in a quantized model is a dozen operators, each quantized. Each code of the result depends on one
code of the data only: the table has the reference's result for each code.
"""

from __future__ import annotations

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder, substitute
from tvmlite.core.span import Span
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, var
from tvmlite.relay.ir.op import Fuse, Rounding, fuse_class, is_view, make
from tvmlite.relay.ir.types import TensorType, same_shape
from tvmlite.relay.passes.graph_pass import graph_pass, readers_of
from tvmlite.techniques.narrow_products.lookup import CODES

Sources = frozenset[Expr]
"""The tensors on whose element at the same position an element of a value depends."""


@graph_pass
def lookup_tables(body: Expr) -> Expr:
    """``body`` with lookups for bytes that are an element-wise, transcendental function of other bytes.

    Pure arithmetic is not replaced: in vectors it takes less time than a load per element.
    """
    sources: dict[Expr, Sources] = {}
    costly: dict[Expr, bool] = {}
    for node in postorder(body):
        assert isinstance(node, Expr)
        sources[node] = _sources(node, sources)
        costly[node] = _is_elementwise(node) and (
            _is_transcendental(node) or any(costly[arg] for arg in node.args)  # type: ignore[attr-defined]
        )
    readers = readers_of(body)
    tables: dict[Expr, tuple[Expr, Constant]] = {}
    for node in sources:
        if not _is_bytes(node) or sources[node] == {node} or not costly[node]:
            continue
        if any(reader is None or sources[reader] != sources[node] for reader in readers[node]):
            (source,) = sources[node]
            tables[node] = source, _table(node, source)
    return _with_tables(body, tables) if tables else body


def _with_tables(body: Expr, tables: dict[Expr, tuple[Expr, Constant]]) -> Expr:
    """``body`` with each node of ``tables`` replaced by a lookup of its source."""
    done: dict[Expr, Expr] = {}
    for node in postorder(body):
        assert isinstance(node, Expr)
        if node in tables:
            source, table = tables[node]
            shape, span = tensor_type_of(node).shape, _span(node)
            flat = make("reshape", done[source], newshape=(-1,), span=span)
            made = make("nn.contrib_lookup", flat, table, span=span)
            done[node] = make("reshape", made, newshape=shape, allowzero=True, span=span)
        else:
            done[node] = node.map_children(done.__getitem__)
    return done[body]


def _sources(node: Expr, known_sources: dict[Expr, Sources]) -> Sources:
    """The sources of ``node``. Bytes that depend on only one tensor of bytes have that as their source; other
    bytes are a source themselves."""
    if _is_scalar_constant(node):
        return frozenset()
    if not _is_elementwise(node):
        return frozenset((node,))
    assert isinstance(node, Call)
    found = frozenset[Expr]().union(*(known_sources[arg] for arg in node.args))
    if not _is_bytes(node):
        return found
    alone = len(found) == 1 and all(_is_bytes(one) and _have_same_shape(one, node) for one in found)
    return found if alone else frozenset((node,))


def _is_scalar_constant(node: Expr) -> bool:
    """Whether ``node`` is a constant of one element, perhaps cast or reshaped. The elements of others are not
    read: weights may be large, and in a file."""
    while isinstance(node, Call) and (node.op == "cast" or is_view(node)):
        (node,) = node.args
    return isinstance(node, Constant) and node.size == 1


def _is_elementwise(node: Expr) -> bool:
    kind = fuse_class(node)
    return kind is not None and kind <= Fuse.BROADCAST


def _is_transcendental(node: Expr) -> bool:
    assert isinstance(node, Call)
    return operators.get(str(node.op)).rounding is Rounding.MANY


def _is_bytes(node: Expr) -> bool:
    type_ = type_of(node)
    return isinstance(type_, TensorType) and type_.dtype in ("int8", "uint8")


def _have_same_shape(one: Expr, other: Expr) -> bool:
    return same_shape(tensor_type_of(one).shape, tensor_type_of(other).shape)


def _table(node: Expr, source: Expr) -> Constant:
    """The value of ``node`` for each code of ``source``, by the operators' references."""
    dtype = tensor_type_of(source).dtype
    codes = var("codes", (CODES,), dtype)
    given = np.arange(CODES) + int(dtypes.limits(dtype)[0])
    function = Function((codes,), substitute(node, {source: codes}))
    made = interpret(Module({"main": function}), [given.astype(dtype)])
    assert isinstance(made, np.ndarray)
    return Constant(made.reshape(-1), _span(node))


def _span(node: Expr) -> Span | None:
    return getattr(node, "span", None)
