"""The companion function ``NAME_shapes`` of a function whose shapes or workspace depend on sizes."""

from __future__ import annotations

from typing import Any

from tvmlite.core.node import substitute
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.overflow import or_overflow
from tvmlite.te.loop.signature import signature_of


def shapes_function(function: ir.Function) -> ir.Function | None:
    """A legal function that computes the extents of ``function``'s arrays and its workspace in bytes.

    Its one array, an int64 output, receives the extents of all inputs and outputs, in order, and
    then the workspace; its sizes are ``THREADS`` and those of ``Signature.shape_sizes``, all int64.
    A number too large for an int64 is written as ``overflow.OVERFLOW``, which is negative.
    None if the signature is static. ``function`` has to be legal, with its workspace planned.
    """
    if signature_of(function).is_static:
        return None
    mapping: dict[Any, Any] = {}
    sizes: list[e.Var] = [ir.THREADS]
    for param in function.params:
        if isinstance(param, e.Var) and param.dtype in ("int32", "int64"):
            size = e.Var(param.name, e.INDEX)
            mapping[param] = e.cast(param.dtype, size)
            sizes.append(size)
    sizes += function.sizes
    extents = [x for buffer in function.buffers for x in buffer.shape]
    extents.append(function.workspace if function.workspace is not None else e.const(0, e.INDEX))
    out = ir.Buffer("out", e.INDEX, (e.const(len(extents), e.INDEX),), "param")
    stores = tuple(
        ir.Store(out, (e.const(k, e.INDEX),), or_overflow(e.cast(e.INDEX, substitute(x, mapping))))
        for k, x in enumerate(extents)
    )
    return ir.Function(f"{function.name}_shapes", (out,), (out,), tuple(sizes), ir.Seq(stores))
