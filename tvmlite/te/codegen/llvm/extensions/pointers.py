"""Generation of addresses of elements and of prefetches."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm import memory
from tvmlite.te.codegen.llvm.emitters import emits
from tvmlite.te.codegen.llvm.expr import Expressions
from tvmlite.te.codegen.llvm.text import literal
from tvmlite.te.loop.ir import PREFETCHES, Load


def _element(values: Expressions, node: e.Call) -> memory.Place:
    (load,) = node.args
    assert isinstance(load, Load), f"{node.name} is of a load"
    return memory.place(values, load.buffer, load.indices[0])


def _index(values: Expressions, node: e.Call) -> Sequence[e.Expr]:
    (load,) = node.args
    assert isinstance(load, Load), f"{node.name} is of a load"
    return values.index_operands(load)


@emits("address_of", operands=_index)
def _address_of(values: Expressions, node: e.Call) -> str:
    return memory.address(values.w, _element(values, node))


@emits(*PREFETCHES, operands=lambda values, node: (), reads=lambda node: None)
def _prefetch(values: Expressions, node: e.Call) -> str:
    """Prefetch the cache line of the first element; its locality is 3 (nearest) to 1 (farthest)."""
    w, place = values.w, _element(values, node)
    address = memory.address(w, place, inside=False)
    target = w.module.declare("llvm.prefetch.p0", "void", "ptr, i32 immarg, i32 immarg, i32 immarg")
    w.do(f"call void {target}(ptr {address}, i32 0, i32 {PREFETCHES[node.name]}, i32 1)")
    return literal(0, node.dtype, node.lanes)
