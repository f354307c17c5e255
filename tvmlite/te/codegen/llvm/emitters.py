"""The table of emitters: which function writes the LLVM IR of a node of legal loop IR.

Its keys are classes of nodes, names of intrinsics and kinds of foreign calls. The core enters its own when it
is imported; what ``_EXTENSIONS`` names is entered by a module that is loaded when such a node is first met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tvmlite.core.errors import UnsupportedError
from tvmlite.te import expr as e
from tvmlite.te.extensions import extension
from tvmlite.te.loop import ir

Reads = frozenset[ir.Buffer] | None
"""The buffers that a value depends on; None if it may depend on all memory, or if (as for a prefetch)
computing it is the point."""

NOTHING: frozenset[ir.Buffer] = frozenset()


def _children(values: Any, node: e.Expr) -> Sequence[e.Expr]:
    return node.children()  # type: ignore[return-value]


def _nothing(node: e.Expr) -> Reads:
    return NOTHING


class Emitter(NamedTuple):
    """How a node is written: ``emit(values, node)`` gives the operand that holds an expression's value.

    ``operands(values, node)`` are computed before; ``reads(node)`` is what the value depends on beside those.
    Of a statement there is ``emit(body, statement)`` only.
    """

    emit: Callable[[Any, Any], Any]
    operands: Callable[[Any, Any], Sequence[e.Expr]] = _children
    reads: Callable[[Any], Reads] = _nothing


_EMITTERS: dict[object, Emitter] = {}

RANGE_TEST = "range test"
"""The key of comparisons of ``base + lane`` with the same bound in all lanes, as predicates of tails are."""

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
"""The extension that enters the emitter; that of other intrinsics is ``llvm.intrinsics``."""


def emits(*keys: object, **how: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated function as the emitter of ``keys``; ``how`` are other fields of ``Emitter``."""

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
    """Whether a comparison is ``ramp of stride 1 < the same for all lanes``, of indices."""
    match node:
        case e.Less(e.Ramp() as ramp, bound) | e.LessEqual(e.Ramp() as ramp, bound):
            same = isinstance(bound, (e.Broadcast, e.Const))
            return same and ramp.dtype == e.INDEX and e.is_const(ramp.stride, 1)
        case _:
            return False
