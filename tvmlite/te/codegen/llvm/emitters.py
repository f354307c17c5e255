"""The table of emitters, the functions that write the LLVM IR of a node of legal loop IR.

Its keys are classes of nodes, names of intrinsics and kinds of foreign calls. The core's modules register
their emitters on import; those in ``_EXTENSIONS`` are registered by modules that are loaded on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tvmlite.core.errors import UnsupportedError
from tvmlite.te import expr as e
from tvmlite.te.extensions import extension
from tvmlite.te.loop import ir

Reads = frozenset[ir.Buffer] | None
"""The buffers that a value depends on; None if it may depend on all memory, or (as for a prefetch) is
computed for its effect."""

NOTHING: frozenset[ir.Buffer] = frozenset()


def _children(values: Any, node: e.Expr) -> Sequence[e.Expr]:
    return node.children()  # type: ignore[return-value]


def _nothing(node: e.Expr) -> Reads:
    return NOTHING


class Emitter(NamedTuple):
    """The functions that write a node: ``emit(values, node)`` returns the operand with an expression's value.

    ``operands(values, node)`` are computed before it; ``reads(node)`` are the buffers that it reads itself.
    A statement has only ``emit(body, statement)``.
    """

    emit: Callable[[Any, Any], Any]
    operands: Callable[[Any, Any], Sequence[e.Expr]] = _children
    reads: Callable[[Any], Reads] = _nothing


_EMITTERS: dict[object, Emitter] = {}

RANGE_TEST = "range test"
"""The key of comparisons of ``base + lane`` with a bound common to all lanes, such as predicates of tails."""

_EXTENSIONS: dict[object, str] = {
    RANGE_TEST: "llvm.index_vectors",
    e.Ramp: "llvm.index_vectors",
    e.Cast: "llvm.casts",
    "if_then_else": "llvm.branches",
    **dict.fromkeys(("address_of", *ir.PREFETCHES), "llvm.pointers"),
    **dict.fromkeys(("llvm", "c", "packed", "bits"), "llvm.extern_calls"),
    "tile": "llvm.tiles",
    "packed_bytes": "llvm.packed_stores",
    **dict.fromkeys((ir.While, ir.Assert, ir.CallKernel), "llvm.statements"),
}
"""The extension that registers the emitter of each key; for other intrinsics it is ``llvm.intrinsics``."""


def emits(*keys: object, **how: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as the emitter of ``keys``; ``how`` are other fields of ``Emitter``."""

    def enter(emit: Callable[..., Any]) -> Callable[..., Any]:
        _EMITTERS.update(dict.fromkeys(keys, Emitter(emit, **how)))
        return emit

    return enter


def emitter_of(node: Any) -> Emitter:
    """The emitter of a statement or an expression; UnsupportedError for an intrinsic without one."""
    key: object = type(node)
    if key is e.Call:
        key = node.name
    elif key is e.Foreign:
        key = node.kind
    elif is_range_test(node):
        key = RANGE_TEST
    if key not in _EMITTERS:
        assert isinstance(key, str) or key in _EXTENSIONS, f"{key} does not belong in legal loop IR"
        extension(_EXTENSIONS.get(key, "llvm.intrinsics"))
        if key not in _EMITTERS:
            raise UnsupportedError(f"no code for the intrinsic {key} of {node.dtype}")
    return _EMITTERS[key]


def is_range_test(node: Any) -> bool:
    """Whether ``node`` compares indices, a ramp of stride 1 (< or <=) with a bound common to all lanes."""
    match node:
        case e.Less(e.Ramp() as ramp, bound) | e.LessEqual(e.Ramp() as ramp, bound):
            same = isinstance(bound, (e.Broadcast, e.Const))
            return same and ramp.dtype == e.INDEX and e.is_const(ramp.stride, 1)
        case _:
            return False
