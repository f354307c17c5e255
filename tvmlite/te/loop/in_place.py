"""A function whose output lies where one of its inputs did."""

from __future__ import annotations

from dataclasses import replace

from tvmlite.core.alike import alike
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.node import Node, postorder, rewrite
from tvmlite.te.loop import ir

__all__ = ["in_place"]


def in_place(function: ir.Function, position: int) -> ir.Function:
    """``function`` with its one output in place of parameter ``position``, which goes::

        C[i] = A[i] + B[i]    -->    C[i] = C[i] + B[i]

    An element that would be stored as it is stays, and loops of nothing else go. Both become one buffer, so
    that nothing after this, from here to the machine, has to know of arrays that overlap. A
    TensorExpressionError unless the parameter is read only where the element of the output with the same
    index is stored, and the output not at all.
    """
    param, (output,) = function.params[position], function.outputs
    assert isinstance(param, ir.Buffer)
    if not _is_in_step(function.body, param, output):
        raise TensorExpressionError(
            f"{function.name}: {output.name} cannot take the place of {param.name}, of which elements are "
            f"read for other elements of {output.name}, or before it is complete"
        )

    def rule(node: Node) -> Node:
        match node:
            case ir.Load() if node.buffer is param:
                return ir.Load(output, node.indices, node.predicate)
            case ir.Store(buffer, value=ir.Load() as kept) if buffer is output is kept.buffer:
                return ir.Seq(()) if _same_index(kept, node) else node
            case ir.For(body=ir.Seq(())):
                return ir.Seq(())
        return node

    params = (*function.params[:position], *function.params[position + 1 :])
    return replace(function, params=params, body=rewrite(function.body, rule))


def _is_in_step(body: ir.Stmt, param: ir.Buffer, output: ir.Buffer) -> bool:
    """Whether ``output`` is never read, and ``param`` only to store the element of it at the same index."""
    allowed: set[Node] = set()
    for node in postorder(body):
        if isinstance(node, ir.Store) and node.buffer is output:
            allowed.update(
                load
                for load in postorder(node.value)
                if isinstance(load, ir.Load) and load.buffer is param and _same_index(load, node)
            )
    loads = [node for node in postorder(body) if isinstance(node, ir.Load)]
    return all(load.buffer is not output and (load.buffer is not param or load in allowed) for load in loads)


def _same_index(load: ir.Load, store: ir.Store) -> bool:
    return len(load.indices) == len(store.indices) and all(map(alike, load.indices, store.indices))
