"""Functions of ``tvm.tir`` for TVM's operators that tvmlite cannot compile: each returns an ``OpCall``.

Programs may build and inspect such expressions; compiling one raises an UnsupportedError. The bitwise
operators, ``address_of`` and ``likely``, which are also defined here, can be compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.expr.operators import CONSTRUCTORS
from tvmlite.te.loop import ir
from tvmlite.tvm.runtime.values import StringImm
from tvmlite.tvm.tir.uncompiled import OpCall
from tvmlite.tvm.written import Intrinsic

_SIGNATURES = """
    TVMBackendAllocWorkspace(device_type, device_id, nbytes, dtype_code_hint, dtype_bits_hint) -> handle
    TVMBackendFreeWorkspace(device_type, device_id, ptr) -> int32
    assume(cond) -> bool
    call_cpacked(name, *args) -> int32
    create_barriers(barrier_count) -> handle
    isnullptr(x) -> bool
    lookup_param(param_name) -> handle
    mma_fill(dtype, local_size, local_ptr, offset) -> dtype
    mma_store(dtype, m, n, dst_ptr, src_ptr, src_offset, dst_stride) -> dtype
    ptx_arrive_barrier(barrier_id) -> handle
    ptx_arrive_barrier_expect_tx(barrier_id, byte_count) -> handle
    ptx_commit_group() -> handle
    ptx_cp_async(dtype, shared_ptr, shared_offset, global_ptr, global_offset, bytes) -> dtype
    ptx_cp_async_barrier(barrier_id) -> handle
    ptx_init_barrier_thread_count(barrier_id, thread_count) -> handle
    ptx_ldmatrix(dtype, *args) -> dtype
    ptx_mma(dtype, *args) -> dtype
    ptx_mma_sp(dtype, *args) -> dtype
    ptx_wait_barrier(barrier_id) -> handle
    ptx_wait_group(num) -> handle
    tvm_access_ptr(ptype, data, offset, extent, rw_mask) -> handle
    tvm_bmma_sync(*args) -> handle
    tvm_check_return(expected, return_unexpected, nested_call) -> int32
    tvm_fill_fragment(*args) -> handle
    tvm_load_matrix_sync(*args) -> handle
    tvm_mma_sync(*args) -> handle
    tvm_stack_alloca(dtype_str, num) -> handle
    tvm_stack_make_array(data, shape, strides, ndim, arr_dtype, elem_offset) -> handle
    tvm_stack_make_shape(*args) -> handle
    tvm_store_matrix_sync(*args) -> handle
    tvm_struct_get(arr, index, field, dtype) -> dtype
    tvm_struct_set(arr, index, field, value) -> int32
    tvm_thread_allreduce(*freduce_args) -> handle
    tvm_throw_last_error() -> handle
    tvm_tuple(*value) -> handle
    type_annotation(dtype) -> dtype
    undef() -> int32
    vectorcombine(dtype, vec1, vec2) -> dtype
    vectorhigh(dtype, vec) -> dtype
    vectorlow(dtype, vec) -> dtype
"""


def _parsed(line: str) -> tuple[str, list[str], str]:
    """The name, the parameters and the result dtype of the signature ``line``."""
    head, dtype = line.strip().split(" -> ")
    name, parameters = head.rstrip(")").split("(")
    return name, [one for one in parameters.split(", ") if one], dtype


_TABLE = {
    name: (parameters, dtype) for name, parameters, dtype in map(_parsed, _SIGNATURES.split("\n")[1:-1])
}


def _shown(value: Any) -> Any:
    """``value`` as an argument of a call: a string as a ``StringImm``, a number as a constant, a buffer,
    expression or statement unchanged."""
    if isinstance(value, str):
        return StringImm(value)
    return value if isinstance(value, (e.Expr, ir.Buffer, ir.Stmt)) else e.convert(value)


def _operator(name: str) -> Callable[..., OpCall]:
    parameters, dtype = _TABLE[name]
    fixed = [one for one in parameters if one[0] != "*"]

    def apply(*args: Any, span: Any = None, **named: Any) -> OpCall:
        known = dict(zip(fixed, args, strict=False)) | named
        further = args[len(fixed) :]
        missing = [one for one in fixed if one not in known]
        if missing or (further and len(fixed) == len(parameters)) or named.keys() - set(fixed):
            raise TensorExpressionError(
                f"tir.{name} takes ({', '.join(parameters)}), given {len(args)} and {sorted(named)}",
                Span.of_caller(),
            )
        kind = arguments.text(f"tir.{name}: dtype", known.pop("dtype")) if dtype == "dtype" else dtype
        element, lanes = ("handle", 1) if kind == "handle" else e.lanes_of(kind)
        given = tuple(_shown(one) for one in (*known.values(), *further))
        return OpCall(Intrinsic(f"tir.{name}"), given, element, lanes)

    apply.__name__, apply.__doc__ = name, f"TVM's operator ``{name}``, which is not compiled here."
    return apply


def call_of(name: str, dtype: str, args: Any) -> e.Expr:
    """A call of the operator ``name`` with TVM's arguments ``args``, whose result has ``dtype``."""
    if name not in _TABLE:
        return FUNCTIONS[name](*args)
    element, lanes = ("handle", 1) if dtype == "handle" else e.lanes_of(dtype)
    return OpCall(Intrinsic(f"tir.{name}"), tuple(_shown(one) for one in args), element, lanes)


_BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "shift_left": "<<", "shift_right": ">>"}


def _of_bits(name: str) -> Callable[..., e.Expr]:
    def apply(x: Any, y: Any, span: Any = None) -> e.Expr:
        return CONSTRUCTORS[_BITS[name]](x, y)

    apply.__name__, apply.__doc__ = name, f"``x {_BITS[name]} y`` of ints."
    return apply


def bitwise_not(x: Any, span: Any = None) -> e.Expr:
    """Return ``x``, an int, with all bits inverted."""
    return CONSTRUCTORS["not"](x)


def address_of(buffer_load: Any, span: Any = None) -> e.Expr:
    """Return the address of the element that ``buffer_load`` reads, to pass to a C function."""
    arguments.instance("address_of: buffer_load", buffer_load, ir.Load, "an element, buffer[i]")
    return e.Call("address_of", (buffer_load,), "uint64")


def likely(cond: Any, span: Any = None) -> e.Expr:
    """Return ``cond`` with the hint that it usually holds."""
    value = e.scalar("likely: cond", cond)
    return value if isinstance(value, e.Const) else e.Call("likely", (value,), value.dtype)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _operator(name) for name in _TABLE},
    **{name: _of_bits(name) for name in _BITS},
    "address_of": address_of,
    "bitwise_not": bitwise_not,
    "likely": likely,
}
"""The functions of this module, by name."""
