"""Compute equal expressions once."""

from __future__ import annotations

from collections.abc import Hashable

from tvmlite.relay.ir.blocks import Block, blocks_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Tuple, TupleGetItem
from tvmlite.relay.passes.graph_pass import graph_pass, rebuild
from tvmlite.relay.text.literals import show_attribute

SMALL_BYTES = 4096
"""Constants up to this size are compared by value, larger ones by identity."""


@graph_pass
def eliminate_common_subexpr(body: Expr) -> Expr:
    """Merge all calls with the same operator, arguments and attributes into one node.

    A call in a branch or a loop is merged only with a call in the same block or a block around it: branches
    that are not taken are not computed.
    """
    blocks, _ = blocks_of(body, Block(body))
    first: dict[Hashable, list[tuple[Block, Expr]]] = {}

    def unified(node: Expr, new: Expr) -> Expr:
        key = _key(new)
        if key is None:
            return new
        made = first.setdefault(key, [])
        reusable = [one for block, one in made if _encloses(block, blocks[node])]
        if not reusable:
            made.append((blocks[node], new))
        return reusable[0] if reusable else new

    return rebuild(body, unified)


def _encloses(outer: Block, block: Block) -> bool:
    """Whether ``block`` is ``outer`` or inside it."""
    while block.depth > outer.depth:
        assert block.parent is not None
        block = block.parent
    return block is outer


def _key(node: Expr) -> Hashable | None:
    """A key that is equal for nodes that compute the same; the children of ``node`` are unified already."""
    match node:
        case Call(op, args, attrs):
            return "call", op, args, tuple((name, show_attribute(value)) for name, value in attrs)
        case Tuple(fields):
            return "tuple", fields
        case TupleGetItem(value, index):
            return "field", value, index
        case Constant() if node.nbytes <= SMALL_BYTES:
            return "constant", node.dtype.name, node.shape, node.data.tobytes()
    return None
