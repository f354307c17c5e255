"""Store results of groups with 16-bit products in 16 bits if element-wise kernels read them: half the memory.

``to_mixed_precision`` rounds what products read. Only after fusion is it known which other values are stored
between kernels, such as the sum of a residual connection. Reductions, including norms, read float32.
"""

from __future__ import annotations

import dataclasses

from tvmlite.core.node import postorder, substitute
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Expr, Function, Var
from tvmlite.relay.ir.op import Fuse, fuse_class, is_anchor, make
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.passes.graph_pass import graph_pass, readers_of, rebuild


@graph_pass
def narrow_links(body: Expr, dtype: str = "bfloat16") -> Expr:
    """Store results of groups (``fuse``) with products of ``dtype`` in ``dtype`` for element-wise readers."""
    links = {
        node
        for node, readers in readers_of(body).items()
        if _has_narrow_product(node, dtype) and all(reads_elementwise(reader, node) for reader in readers)
    }

    def narrowed(node: Expr, made: Expr) -> Expr:
        if not (isinstance(node, Call) and isinstance(node.op, Function)):
            return made
        narrow = {param for param, arg in zip(node.op.params, node.args, strict=True) if arg in links}
        if not narrow and node not in links:
            return made
        assert isinstance(made, Call)
        return dataclasses.replace(made, op=_function(node.op, narrow, dtype, node in links))

    return rebuild(body, narrowed)


def _has_narrow_product(node: Expr, dtype: str) -> bool:
    """Whether ``node`` calls a group with a float32 result and a float32 sum of products in ``dtype``."""
    if not (isinstance(node, Call) and isinstance(node.op, Function)) or _dtype(node) != "float32":
        return False
    return any(
        _dtype(one) == "float32" and dtype in map(_dtype, one.args)
        for one in postorder(node.op.body)
        if isinstance(one, Call) and is_anchor(one)
    )


def reads_elementwise(reader: Expr | None, value: Expr) -> bool:
    """Whether ``reader`` is a group in which only element-wise and injective operators read ``value``."""
    if not (isinstance(reader, Call) and isinstance(reader.op, Function)):
        return False
    params = {param for param, arg in zip(reader.op.params, reader.args, strict=True) if arg is value}
    using = [one for one in postorder(reader.op.body) if not params.isdisjoint(one.children())]
    classes = map(fuse_class, using)
    return reader.op.body not in params and all(one is not None and one <= Fuse.INJECTIVE for one in classes)


def _function(group: Function, narrow: set[Var], dtype: str, is_link: bool) -> Function:
    """``group`` with the parameters ``narrow`` in ``dtype``, and, if it ``is_link``, its result as well."""
    params = {param: param for param in group.params}
    widened: dict[Expr, Expr] = {}
    for param in narrow:
        assert isinstance(param.type, TensorType)
        params[param] = dataclasses.replace(param, type=dataclasses.replace(param.type, dtype=dtype))
        widened[param] = make("cast", params[param], dtype="float32", span=param.span)
    body = substitute(group.body, widened) if widened else group.body
    if is_link:
        body = make("cast", body, dtype=dtype, span=group.span)
    return dataclasses.replace(group, params=tuple(params.values()), body=body)


def _dtype(value: Expr) -> str:
    type_ = type_of(value)
    return type_.dtype if isinstance(type_, TensorType) else ""
