"""Move a final ``qnn.dequantize`` from a kernel to the kernels that read it, so that codes are stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tvmlite.core.node import substitute
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Var
from tvmlite.relay.passes.graph_pass import graph_pass, readers_of, rebuild
from tvmlite.relay.passes.precision.narrow_links import reads_elementwise


@graph_pass
def dequantize_late(body: Expr) -> Expr:
    """Let a group (``fuse``) that ends in a ``qnn.dequantize`` by constants return the codes, a quarter of
    the memory, and let its readers dequantize; only if all readers are groups that read it in element-wise or
    injective operators."""
    readers = readers_of(body)
    late: dict[Expr, Call] = {}
    for node, found in readers.items():
        last = _dequantization(node)
        if last is not None and all(reads_elementwise(reader, node) for reader in found):
            late[node] = last

    def moved(node: Expr, made: Expr) -> Expr:
        if not (isinstance(node, Call) and isinstance(node.op, Function)):
            return made
        assert isinstance(made, Call)
        dequantized = {p: late[arg] for p, arg in zip(node.op.params, node.args, strict=True) if arg in late}
        if not dequantized and node not in late:
            return made
        return dataclasses.replace(made, op=_function(node.op, dequantized, node in late))

    return rebuild(body, moved) if late else body


def _dequantization(node: Expr) -> Call | None:
    """The last operator of the group that ``node`` calls, if it dequantizes by constants a value that is
    computed in the group."""
    if not (isinstance(node, Call) and isinstance(node.op, Function)):
        return None
    match node.op.body:
        case Call("qnn.dequantize", (Call(), Constant(), Constant())) as last:
            return last
    return None


def _function(group: Function, dequantized: Mapping[Var, Call], is_late: bool) -> Function:
    """``group`` with the parameters ``dequantized`` as codes, and, if it ``is_late``, its result as well."""
    params, dequantizations = {param: param for param in group.params}, {}
    for param, last in dequantized.items():
        codes, *parameters = last.args
        params[param] = dataclasses.replace(param, type=type_of(codes))
        dequantizations[param] = dataclasses.replace(last, args=(params[param], *parameters))
    body = substitute(group.body, dequantizations) if dequantizations else group.body
    if is_late:
        assert isinstance(body, Call)
        body = body.args[0]
    return dataclasses.replace(group, params=tuple(params.values()), body=body)
