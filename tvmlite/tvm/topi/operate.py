"""One compute for one operator: TOPI's functions are our relay operators', of tensors instead of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tvmlite import relay, te
from tvmlite.core import arguments
from tvmlite.core.node import postorder, rewrite, substitute
from tvmlite.relay.entry.lower import tensors_of
from tvmlite.relay.ir.infer import type_of
from tvmlite.te import expr as e
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.te.tag import TagScope

_sizes: WeakKeyDictionary[e.Var, e.SizeVar] = WeakKeyDictionary()
"""For a variable that is an extent, the dimension that types of relay know it by."""


def operate(name: str, make: Callable[..., Any], *tensors: Any) -> Any:
    """The tensor, or the list of several, that the relay expression ``make(*vars)`` computes of ``tensors``.
    Numpy arrays become constants. An error of relay's names the operator."""
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
        # Types of relay are made of the extents of tensors, too.
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
    if not isinstance(extent, e.Expr):
        return int(extent)
    replaced: dict[Any, Any] = {}
    for node in postorder(extent):
        if isinstance(node, e.Var) and not isinstance(node, e.SizeVar):
            size = _sizes.setdefault(node, e.SizeVar(node.name, node.dtype))
            replaced[node] = size
            dims[size] = node
    return substitute(extent, replaced) if replaced else extent


def _with_own_extents(
    made: Sequence[t.Tensor], inputs: Mapping[t.Tensor, t.Tensor], dims: Mapping[Any, e.Expr]
) -> tuple[t.Tensor, ...]:
    """``made`` of the values of ``inputs`` in place of its keys, with their extents."""
    known = dict(inputs)

    def tensor(one: t.Tensor) -> t.Tensor:
        if one not in known:
            assert isinstance(one.op, t.ComputeOp), f"{one.name} is no compute"
            known.update(zip(one.op.outputs, operation(one.op).outputs, strict=True))
        return known[one]

    def operation(op: t.ComputeOp) -> t.ComputeOp:
        axes = {
            a: t.IterVar(substitute(a.dom, dict(dims)), a.var, a.kind) for a in (*op.axis, *op.reduce_axis)
        }

        def rule(node: Any) -> Any:
            if isinstance(node, t.TensorRead):
                return tensor(node.tensor)[node.indices]
            if isinstance(node, t.Reduce):
                return replace(node, axis=tuple(axes.get(a, a) for a in node.axis))
            return node

        body = tuple(substitute(rewrite(one, rule), dict(dims)) for one in op.body)
        return replace(
            op,
            axis=tuple(axes[a] for a in op.axis),
            reduce_axis=tuple(axes[a] for a in op.reduce_axis),
            body=body,
        )

    return tuple(tensor(one) for one in made)
