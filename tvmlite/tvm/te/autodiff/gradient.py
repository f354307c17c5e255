"""``te.gradient``: reverse-mode derivatives of a tensor with respect to the tensors it is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.te.autodiff.contribution import contributions


def gradient(output: t.Tensor, inputs: Any, head: t.Tensor | None = None) -> list[t.Tensor]:
    """Return the derivative of ``output`` with respect to each of ``inputs``, multiplied by ``head`` and
    summed over the elements of ``output``. ``head`` has the shape ``prefix + output.shape``, each result
    ``prefix + input.shape``. Without ``head`` the results are the Jacobians, with ``prefix = output.shape``.

    Elements that an ``if_then_else`` does not read are not read by the derivatives either. At a tie of
    ``max`` or ``min`` one of the equal elements gets the whole derivative. Raises an UnsupportedError for
    hand-written loops, scans, reductions of several values, and functions without a known derivative.
    """
    arguments.instance("gradient: output", output, t.Tensor, "a tensor")
    wanted = [inputs] if isinstance(inputs, t.Tensor) else list(inputs)
    arguments.all_instances("gradient: inputs", wanted, t.Tensor, "a tensor")
    given = _identity(output) if head is None else head
    arguments.instance("gradient: head", given, t.Tensor, "a tensor")
    rank = len(given.shape) - len(output.shape)
    if rank < 0:
        raise TensorExpressionError(
            f"gradient: head has {len(given.shape)} axes, expected at least {len(output.shape)}",
            Span.of_caller(),
        )
    prefix = tuple(given.shape[:rank])
    adjoints: dict[t.Tensor, list[t.Tensor]] = {output: [given]}
    for op in _operations(output, wanted):
        heads = [_sum(adjoints[one], one.name) if one in adjoints else None for one in op.outputs]
        for one, found in zip(op.outputs, heads, strict=True):
            if found is not None:
                adjoints[one] = [found]
        if isinstance(op, t.PlaceholderOp) or all(one is None for one in heads):
            continue
        for tensor, made in contributions(op, heads, prefix):
            adjoints.setdefault(tensor, []).append(made)
    return [_sum(adjoints[one], one.name) if one in adjoints else _zeros(prefix, one) for one in wanted]


def _operations(output: t.Tensor, wanted: Sequence[t.Tensor]) -> list[Any]:
    """The operations on paths from ``output`` to the tensors ``wanted``, each before the ones it reads."""
    order: list[Any] = []
    leads: dict[Any, bool] = {}
    stack: list[tuple[Any, bool]] = [(output.op, False)]
    targets = {one.op for one in wanted}
    while stack:
        op, ready = stack.pop()
        if ready:
            leads[op] = op in targets or any(leads[one.op] for one in op.inputs)
            order.append(op)
        elif op not in leads:
            leads[op] = False
            stack.append((op, True))
            stack += [(one.op, False) for one in op.inputs]
    used = [op for op in reversed(order) if leads[op]]
    for op in used:
        if not isinstance(op, (t.ComputeOp, t.PlaceholderOp)):
            raise UnsupportedError(
                f"te.gradient: {op.name} is computed by loops or a scan, which are not differentiated",
                Span.of_caller(),
                "write it with te.compute",
            )
    return list(dict.fromkeys(used))


def _sum(parts: Sequence[t.Tensor], name: str) -> t.Tensor:
    if len(parts) == 1:
        return parts[0]

    def element(*i: Any) -> Any:
        total = parts[0](*i)
        for one in parts[1:]:
            total = total + one(*i)
        return total

    return te.compute(tuple(parts[0].shape), element, name=f"{name}_grad")


def _identity(output: t.Tensor) -> t.Tensor:
    rank = len(output.shape)

    def element(*i: Any) -> Any:
        pairs = [e.Equal(a, b) for a, b in zip(i[:rank], i[rank:], strict=True)]
        one = e.const(1.0, output.dtype)
        return te.select(te.all(*pairs), one, e.const(0.0, output.dtype)) if pairs else one

    return te.compute((*output.shape, *output.shape), element, name="identity")


def _zeros(prefix: tuple[Any, ...], tensor: t.Tensor) -> t.Tensor:
    zero = e.const(0.0, tensor.dtype)
    return te.compute((*prefix, *tensor.shape), lambda *i: zero, name=f"{tensor.name}_grad")
