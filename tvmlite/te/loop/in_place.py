"""Rewrite a function to write its output in place of one of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tvmlite.core.alike import alike
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.node import Node, postorder, rewrite
from tvmlite.te import expr as e
from tvmlite.te.loop import ir

__all__ = ["in_place"]


def in_place(function: ir.Function, position: int) -> ir.Function:
    """``function`` with its one output also taking the place of parameter ``position``, which is removed::

        C[i] = A[i] + B[i]    -->    C[i] = C[i] + B[i]

    Stores of an element to itself are removed, and loops of nothing else. Both arrays become one buffer, so
    that no later stage has to handle arrays that overlap. The output must not be read, and the parameter must
    be read only to store the output's element with the same index, or slice by slice, each slice before it
    is stored; else a TensorExpressionError is raised::

        for i: for j: T[j] = A[i, j]             for i: for j: T[j] = C[i, j]
               for j: C[i, j] = sum(T) + j  -->         for j: C[i, j] = sum(T) + j
    """
    param, (output,) = function.params[position], function.outputs
    assert isinstance(param, ir.Buffer)
    if not (
        _is_elementwise(function.body, param, output) or _is_slice_by_slice(function.body, param, output)
    ):
        raise TensorExpressionError(
            f"{function.name}: {output.name} cannot overwrite {param.name}, whose elements are read for "
            f"other elements of {output.name}, or before it is complete"
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


def _is_elementwise(body: ir.Stmt, param: ir.Buffer, output: ir.Buffer) -> bool:
    """Whether ``output`` is never read, and ``param`` only for stores to ``output`` at the same index."""
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


def _is_slice_by_slice(body: ir.Stmt, param: ir.Buffer, output: ir.Buffer) -> bool:
    """Whether ``body`` is a nest of serial loops around statements of which the first ones read ``param`` and
    later ones store ``output``, both in a slice of the current iteration only: the variable of each of these
    loops is by itself the index of one axis."""
    around: list[e.Var] = []
    while True:
        match body:
            case ir.For(var=var, body=inner) if body.kind == ir.SERIAL:
                around.append(var)
                body = inner
            case ir.Allocate(body=inner) | ir.Seq(body=(inner,)):
                body = inner
            case ir.Seq(body=statements):
                return _reads_before_stores(statements, param, output, around)
            case _:
                return False


def _reads_before_stores(
    statements: Sequence[ir.Stmt], param: ir.Buffer, output: ir.Buffer, around: Sequence[e.Var]
) -> bool:
    """Whether all ``statements`` that read ``param`` come before those that store ``output``, nothing reads
    ``output``, and each variable of ``around`` is the index of the same axis in all accesses of both."""
    accesses = [list(_accesses(one, param, output)) for one in statements]
    reads = [k for k, found in enumerate(accesses) if any(one.buffer is param for one in found)]
    stores = [k for k, found in enumerate(accesses) if any(one.buffer is output for one in found)]
    every = [one for found in accesses for one in found]
    if any(isinstance(one, ir.Load) and one.buffer is output for one in every):
        return False
    if reads and stores and max(reads) >= min(stores):
        return False
    rank = len(output.shape)
    return all(
        any(all(len(one.indices) == rank and one.indices[k] is var for one in every) for k in range(rank))
        for var in around
    )


def _accesses(statement: ir.Stmt, *buffers: ir.Buffer) -> Iterator[ir.Load | ir.Store]:
    """The loads and stores of ``buffers`` in ``statement``."""
    for node in postorder(statement):
        if isinstance(node, (ir.Load, ir.Store)) and node.buffer in buffers:
            yield node


def _same_index(load: ir.Load, store: ir.Store) -> bool:
    return len(load.indices) == len(store.indices) and all(map(alike, load.indices, store.indices))
