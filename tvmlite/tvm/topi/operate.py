"""Makes the computes of TOPI's functions from those of the Relay operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tvmlite import relay, te
from tvmlite.core import arguments
from tvmlite.core.node import rewrite, substitute
from tvmlite.relay.entry.lower import tensors_of
from tvmlite.relay.ir.infer import type_of
from tvmlite.te import arith
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.te.tag import TagScope

_sizes: WeakKeyDictionary[e.Var, e.SizeVar] = WeakKeyDictionary()
"""Maps a variable that is an extent to the dimension that stands for it in Relay types."""


def operate(name: str, make: Callable[..., Any], *tensors: Any) -> Any:
    """The tensor, or list of tensors, that the Relay expression ``make(*vars)`` computes from ``tensors``.
    Numpy arrays become constants. ``name`` is used in the error for an operand that is not a tensor."""
    params: dict[Any, t.Tensor] = {}
    args: list[Any] = []
    dims: dict[Any, e.Expr] = {}
    inputs: dict[t.Tensor, t.Tensor] = {}
    for one in tensors:
        if isinstance(one, np.ndarray):
            args.append(relay.const(one))
            continue
        arguments.instance(f"topi.{name}", one, t.Tensor, "a tensor")
        shape = tuple(_dimension(n, dims) for n in one.shape)
        var = relay.var(one.name, shape=shape, dtype=one.dtype)
        # Relay types are also made from the extents of tensors.
        typed = te.placeholder(shape, one.dtype, one.name) if dims else one
        params[var], inputs[typed] = typed, one
        args.append(var)
    body = make(*args)
    type_of(body)  # an error unless the operators take these shapes and options
    made = tensors_of(relay.Function(tuple(params), body), params)
    if dims:
        made = _with_own_extents(made, inputs, dims)
    scope = TagScope.get_current()
    if scope is not None:
        made = tuple(replace(one.op, tag=scope.tag).output(one.value_index) for one in made)  # type: ignore[call-arg]
    return made[0] if len(made) == 1 else list(made)


def _dimension(extent: Any, dims: dict[Any, e.Expr]) -> Any:
    """``extent`` for use in a Relay type: a number or a dimension. Equal extents get the same dimension."""
    if not isinstance(extent, e.Expr):
        return int(extent)
    if isinstance(extent, e.SizeVar):
        return extent
    if isinstance(extent, e.Var):
        size = _sizes.setdefault(extent, e.SizeVar(extent.name, e.INDEX))
    else:
        size = next((one for one, own in dims.items() if arith.equal(own, extent)), None)
        if size is None:
            size = e.SizeVar("extent", e.INDEX)
    dims[size] = extent
    return size


def _with_own_extents(
    made: Sequence[t.Tensor], inputs: Mapping[t.Tensor, t.Tensor], dims: Mapping[Any, e.Expr]
) -> tuple[t.Tensor, ...]:
    """``made`` with the keys of ``inputs`` replaced by the values, and dimensions by the original extents."""
    known = dict(inputs)
    values: dict[Any, Any] = {size: e.cast(size.dtype, own) for size, own in dims.items()}

    def tensor(one: t.Tensor) -> t.Tensor:
        if one not in known:
            known.update(zip(one.op.outputs, operation(one.op).outputs, strict=True))
        return known[one]

    def operation(op: Any) -> t.Operation:
        return computed(op) if isinstance(op, t.ComputeOp) else written(op)

    def written(op: Any) -> t.Operation:
        """A loop nest with the original extents in its buffers."""
        buffers: dict[loop.Buffer, loop.Buffer] = {}

        def buffer(one: loop.Buffer) -> loop.Buffer:
            if one not in buffers:
                buffers[one] = replace(one, shape=tuple(substitute(n, values) for n in one.shape))
            return buffers[one]

        def rule(node: Any) -> Any:
            if isinstance(node, (loop.Load, loop.Store, loop.Allocate)):
                return replace(node, buffer=buffer(node.buffer))
            return values.get(node, node)

        given = op.reading({one: tensor(one) for one in op.inputs})
        return replace(
            given,
            input_buffers=tuple(map(buffer, op.input_buffers)),
            output_buffers=tuple(map(buffer, op.output_buffers)),
            body=rewrite(op.body, rule),
        )

    def computed(op: t.ComputeOp) -> t.ComputeOp:
        axes = {a: t.IterVar(_own(a.dom, dims), a.var, a.kind) for a in (*op.axis, *op.reduce_axis)}

        def rule(node: Any) -> Any:
            if isinstance(node, t.TensorRead):
                return tensor(node.tensor)[node.indices]
            if isinstance(node, t.Reduce):
                return replace(node, axis=tuple(axes.get(a, a) for a in node.axis))
            return node

        body = tuple(substitute(rewrite(one, rule), values) for one in op.body)
        return replace(
            op,
            axis=tuple(axes[a] for a in op.axis),
            reduce_axis=tuple(axes[a] for a in op.reduce_axis),
            body=body,
        )

    return tuple(tensor(one) for one in made)


def _own(extents: Any, dims: Mapping[Any, e.Expr]) -> Any:
    """``extents``, with dimensions replaced by the original extents and in their dtype."""
    dtype = next(iter(dims.values())).dtype

    def rule(node: Any) -> Any:
        if node in dims:
            return dims[node]
        return replace(node, dtype=dtype) if getattr(node, "dtype", "") == e.INDEX else node

    return rewrite(extents, rule)
