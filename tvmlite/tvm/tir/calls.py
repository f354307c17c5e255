"""Calls of functions by name, with the arguments of TVM's calls; each stands for a call of tvmlite's."""

from __future__ import annotations

import re
from typing import Any

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.intrin.extern_calls import checked
from tvmlite.te.loop import ir
from tvmlite.te.tensor import intrinsics, registry
from tvmlite.tvm.runtime.convert import const
from tvmlite.tvm.runtime.values import StringImm
from tvmlite.tvm.tir.types import PointerType, PrimType, pointer_var
from tvmlite.tvm.written import Intrinsic, WrittenCall, plain


def call_extern(dtype: str, func_name: Any, *args: Any, span: Any = None) -> WrittenCall:
    """Call the C function ``func_name`` with ``args``; see ``te.call_extern``."""
    return _named("call_extern", dtype, func_name, args)


def call_pure_extern(dtype: str, func_name: Any, *args: Any, span: Any = None) -> WrittenCall:
    """Call the C function ``func_name``, which has no side effects; see ``call_extern``."""
    return _named("call_pure_extern", dtype, func_name, args)


def _named(op: str, dtype: str, name: Any, args: tuple[Any, ...]) -> WrittenCall:
    text = getattr(name, "value", name)
    meaning = te.call_extern("int32" if dtype == "handle" else dtype, text, *plain(args))
    shown = (StringImm(text), *(_shown(one) for one in args))
    return WrittenCall(Intrinsic(f"tir.{op}"), shown, meaning.dtype, meaning, meaning.lanes)


def call_packed(*args: Any, span: Any = None) -> WrittenCall:
    """Call the Python function registered under the name ``args[0]`` with the other arguments; see
    ``te.call_packed``."""
    name, *given = args
    text = getattr(name, "value", name)
    values = [getattr(one, "value", one) if isinstance(one, StringImm) else one for one in given]
    meaning = te.call_packed(text, *plain(tuple(values)))
    shown = (StringImm(text), *(_shown(one) for one in given))
    return WrittenCall(Intrinsic("tir.tvm_call_packed"), shown, "int32", meaning)


def call_llvm_intrin(dtype: str, name: str, *args: Any, span: Any = None) -> e.Expr:
    """Call the LLVM intrinsic ``name``; see ``te.call_llvm_intrin``. As in TVM, a first argument that is a
    uint32 constant is not passed on: it is the number of arguments whose types select the overload. If it is
    not 0 and ``name`` has no type suffix, the type of the next argument is appended: ``"llvm.sqrt"`` of a
    float32 calls ``llvm.sqrt.f32``."""
    given = [e.scalar("call_llvm_intrin: an argument", one) for one in plain(args)]
    if given and isinstance(given[0], e.Const) and given[0].dtype == "uint32":
        count, *given = given
        if count.value and given and not re.search(r"\.(v\d+)?(i|f|bf)\d+$", name):  # type: ignore[attr-defined]
            name = f"{name}.{_llvm_type(given[0])}"
    return te.call_llvm_intrin(dtype, name, *given)


call_llvm_pure_intrin = call_llvm_intrin


def _llvm_type(value: e.Expr) -> str:
    """The type suffix for ``value`` in names of LLVM intrinsics: ``i32``, ``v16f32``."""
    letter = "bf" if value.dtype == "bfloat16" else "f" if dtypes.is_float(value.dtype) else "i"
    width = 1 if value.dtype == "bool" else dtypes.width(value.dtype)
    return f"{f'v{value.lanes}' if value.lanes > 1 else ''}{letter}{width}"


def prefetch(address: Any, rw: Any = 0, locality: Any = 3, cache_type: Any = 1) -> e.Expr:
    """Prefetch the element at ``address``, a ``tir.address_of``, like LLVM's ``llvm.prefetch``: for a read,
    into all caches (``locality`` 3) or all but the first (2). Raises an UnsupportedError for other values."""
    names = {level: name for name, level in ir.PREFETCHES.items()}
    asked = tuple(int(getattr(one, "value", one)) for one in (rw, locality, cache_type))
    if asked[0] != 0 or asked[1] not in names or asked[2] != 1:
        raise UnsupportedError(
            f"prefetch: rw, locality and cache_type are {asked}, expected (0, 3, 1) or (0, 2, 1)",
            Span.of_caller(),
        )
    element = address.args[0] if isinstance(address, e.Call) and address.name == "address_of" else address
    return intrinsics.call(names[asked[1]], element)


def packed_call(called: e.Foreign) -> WrittenCall:
    """``called``, a call of a Python function in tvmlite's loop IR, in TVM's form: the address and extents of
    each array argument are replaced by the array's variable."""
    shown: list[Any] = [StringImm(called.name)]
    rest = list(called.args)
    for word in called.form.split(",") if called.form else ():
        if (text := registry.text_of(word)) is not None:
            shown.append(StringImm(text))
            continue
        first = rest.pop(0)
        _, array, rank = word.partition(":")
        del rest[: int(rank) if array else 0]
        shown.append(_pointer(first.args[0].buffer) if array else first)  # type: ignore[attr-defined]
    meaning = checked(called)
    return WrittenCall(Intrinsic("tir.tvm_call_packed"), tuple(shown), "int32", meaning)


def access_ptr(buffer: ir.Buffer, meaning: e.Expr, mask: int, offset: Any, extent: Any) -> WrittenCall:
    """The address ``meaning`` in ``buffer`` as a call of TVM's ``tvm_access_ptr``, whose arguments are the
    type, the pointer, the ``offset`` and ``extent`` of the access in elements, and the access ``mask``."""
    kind = e.Call("type_annotation", (), buffer.dtype)
    args = (kind, buffer.data, e.convert(offset), extent, e.const(mask))  # type: ignore[attr-defined]
    return WrittenCall(Intrinsic("tir.tvm_access_ptr"), args, meaning.dtype, meaning)


def _pointer(buffer: ir.Buffer) -> e.Var:
    return pointer_var(buffer.name, PointerType(PrimType(buffer.dtype)))


def _shown(value: Any) -> Any:
    """``value`` as an argument of a call: a string as a ``StringImm``, a number as a constant, anything else
    unchanged."""
    if isinstance(value, str):
        return StringImm(value)
    return const(value) if isinstance(value, (bool, int, float)) else value
