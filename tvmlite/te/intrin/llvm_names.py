"""The intrinsics that LLVM has."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.text import register_type, symbol


def is_intrinsic(call: e.Foreign) -> bool:
    """Whether LLVM knows the intrinsic called, such as ``"llvm.sqrt"`` or ``"llvm.sqrt.f32"``."""
    types = [_type(one) for one in call.args]
    return _is_known(f"declare {_type(call)} {symbol(call.name)}({', '.join(types)})")


@cache
def _is_known(declaration: str) -> bool:
    """LLVM accepts any name that starts with ``llvm.``, but its printer marks unknown ones. The types must be
    right, because LLVM replaces intrinsics of older versions by their successors."""
    return "; Unknown intrinsic" not in str(llvm.parse_assembly(declaration))


def _type(value: e.Expr) -> str:
    is_address = isinstance(value, e.Call) and value.name == "address_of"
    return "ptr" if is_address else register_type(value.dtype, value.lanes)
