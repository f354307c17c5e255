"""TVM's ``tvm.ir``: modules, types, operators, equality, passes, and intrinsics of one's own."""

from __future__ import annotations

import importlib
from typing import Any

from tvmlite.tvm.absent import lacking

_PLACES: dict[str, tuple[str, str]] = {
    "FuncType": ("tvmlite.tvm.relay.ty", "FuncType"),
    "GlobalVar": ("tvmlite.tvm.relay.expr", "GlobalVar"),
    "IRModule": ("tvmlite.tvm.ir.module", "IRModule"),
    "IncompleteType": ("tvmlite.tvm.relay.ty", "IncompleteType"),
    "Op": ("tvmlite.tvm.relay.op.op", "Op"),
    "PointerType": ("tvmlite.tvm.tir.types", "PointerType"),
    "PrimType": ("tvmlite.tvm.tir.types", "PrimType"),
    "PrimExpr": ("tvmlite.te.expr", "Expr"),
    "Range": ("tvmlite.tvm.tir.axis", "Range"),
    "Array": ("tvmlite.tvm.container", "Array"),
    "Map": ("tvmlite.tvm.container", "Map"),
    "PassContext": ("tvmlite.tvm.ir.transform", "PassContext"),
    "RelayExpr": ("tvmlite.tvm.relay.expr", "RelayExpr"),
    "SourceName": ("tvmlite.tvm.ir.source", "SourceName"),
    "Span": ("tvmlite.tvm.ir.source", "Span"),
    "TensorType": ("tvmlite.tvm.relay.ty", "TensorType"),
    "TupleType": ("tvmlite.tvm.relay.ty", "TupleType"),
    "Type": ("tvmlite.tvm.relay.ty", "Type"),
    "TypeVar": ("tvmlite.tvm.relay.ty", "TypeVar"),
    "assert_structural_equal": ("tvmlite.tvm.ir.structural", "assert_structural_equal"),
    "make_node": ("tvmlite.tvm.relay.graph.attrs", "make_node"),
    "load_json": ("tvmlite.tvm.ir.json", "load_json"),
    "register_intrin_lowering": ("tvmlite.tvm.ir.intrinsics", "register_intrin_lowering"),
    "register_op_attr": ("tvmlite.tvm.ir.intrinsics", "register_op_attr"),
    "save_json": ("tvmlite.tvm.ir.json", "save_json"),
    "structural_equal": ("tvmlite.tvm.ir.structural", "structural_equal"),
    "structural_hash": ("tvmlite.tvm.ir.structural", "structural_hash"),
}
"""Names of functions and classes: the module that has each, and its name there."""

__all__ = [*_PLACES, "instrument", "transform"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in ("instrument", "transform", "module"):
        return importlib.import_module(f"tvmlite.tvm.ir.{name}")
    if name == "container":
        return importlib.import_module("tvmlite.tvm.container")
    if name in _PLACES:
        module, own = _PLACES[name]
        return getattr(importlib.import_module(module), own)
    return lacking("tvmlite.tvm.ir", name)


def __dir__() -> list[str]:
    return __all__
