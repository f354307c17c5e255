"""The pass that decides which of two kernels adds their results, so that no floats need to be stored."""

from __future__ import annotations

import dataclasses

from tvmlite.core.node import postorder, substitute
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Var
from tvmlite.relay.ir.op import Fuse, fuse_class, is_anchor
from tvmlite.relay.ir.types import TensorType, same_shape
from tvmlite.relay.passes.graph_pass import graph_pass, readers_of, rebuild


@graph_pass
def add_where_wider(body: Expr) -> Expr:
    """If a group quantizes its product before it adds another group's result, let it return the codes, and
    let the other group compute the sum, so that no floats are stored::

        b = fn(y, v) { conv2d(y, v) }(y, v)                  a = fn(x, w) { q(conv2d(x, w)) }(x, w)
        fn(x, w, b) { dq(q(conv2d(x, w))) + b }(x, w, b) --> fn(y, v, a) { dq(a) + conv2d(y, v) }(y, v, a)

    The other group must have one reader and return floats; each of the two must have one product.
    """
    readers = readers_of(body)
    found: dict[Expr, tuple[int, Call]] = {}
    taken: set[Expr] = set()
    for node in postorder(body):
        match = _find_exchange(node, readers)
        if match is not None and node.args[match[0]] not in taken and node not in taken:  # type: ignore[union-attr]
            found[node] = match  # type: ignore[index]
            taken.update((node, node.args[match[0]]))  # type: ignore[union-attr]

    def rule(node: Expr, made: Expr) -> Expr:
        if node not in found:
            return made
        assert isinstance(made, Call)
        return _exchange(made, *found[node])

    return rebuild(body, rule) if found else body


def _find_exchange(node: object, readers: dict[Expr, list[Expr | None]]) -> tuple[int, Call] | None:
    """The position of the argument of ``node`` whose group can compute the sum, and the codes in the group of
    ``node``; None if there is none."""
    if not (isinstance(node, Call) and isinstance(node.op, Function) and _products(node.op) == 1):
        return None
    for position, (param, arg) in enumerate(zip(node.op.params, node.args, strict=True)):
        other = arg.op if isinstance(arg, Call) else None
        if not isinstance(other, Function) or _products(other) != 1 or readers[arg] != [node]:
            continue
        if not _is_float(arg) or not _has_elementwise_epilogue(other):
            continue
        codes = _codes_before(node.op, param)
        if codes is not None and not _depends(node, arg, position):
            return position, codes
    return None


def _products(group: Function) -> int:
    return sum(is_anchor(node) for node in postorder(group.body))


def _is_float(value: Expr) -> bool:
    type_ = type_of(value)
    return isinstance(type_, TensorType) and type_.dtype == "float32"


def _has_elementwise_epilogue(group: Function) -> bool:
    """Whether all operators after the product of ``group`` are element-wise, with the shape of the result."""
    calls = [node for node in postorder(group.body) if isinstance(node, Call)]
    first = next(k for k, call in enumerate(calls) if is_anchor(call))
    return all(_is_elementwise(call, group.body) for call in calls[first + 1 :])


def _is_elementwise(node: Call, like: Expr) -> bool:
    kind, shapes = fuse_class(node), (tensor_type_of(node).shape, tensor_type_of(like).shape)
    return kind is not None and kind <= Fuse.BROADCAST and (same_shape(*shapes) or _is_constant(node))


def _is_constant(value: Expr) -> bool:
    return all(not isinstance(node, Call) or not node.args for node in postorder(value))  # type: ignore[union-attr]


def _codes_before(group: Function, param: Var) -> Call | None:
    """The quantized product of ``group`` before ``param`` is read, if the rest is element-wise with one shape
    and reads no other computed value; else None."""
    depends: set[object] = {param}
    for node in postorder(group.body):
        if not depends.isdisjoint(node.children()):
            depends.add(node)
    inside = [node for node in postorder(group.body) if isinstance(node, Call) and node not in depends]
    codes = [node for node in inside if node.op == "qnn.quantize" and _has_product(node)]
    if not codes or group.body not in depends:
        return None
    last = codes[-1]
    before = set(postorder(last))
    rest = [node for node in postorder(group.body) if isinstance(node, Call) and node not in before]
    reads = {child for node in rest for child in node.children() if child in before and child is not last}
    same = same_shape(tensor_type_of(last).shape, tensor_type_of(group.body).shape)
    if not same or not all(_is_elementwise(node, group.body) for node in rest):
        return None
    return last if all(isinstance(child, (Constant, Var)) for child in reads) else None


def _has_product(value: Expr) -> bool:
    return any(is_anchor(node) for node in postorder(value))


def _depends(node: Call, arg: Expr, position: int) -> bool:
    """Whether another argument of ``node`` depends on ``arg``."""
    return any(arg in postorder(other) for k, other in enumerate(node.args) if k != position)


def _exchange(made: Call, position: int, codes: Call) -> Call:
    """The call of the group of the argument at ``position`` that computes the sum, from the ``codes`` of the
    group of ``made``."""
    group, other = made.op, made.args[position]
    assert isinstance(group, Function)
    assert isinstance(other, Call)
    assert isinstance(other.op, Function)
    given = dict(zip(group.params, made.args, strict=True))
    first = _group(codes, group, given)
    taken: dict[Expr, Expr] = {p: dataclasses.replace(p, name=f"p{k}") for k, p in enumerate(other.op.params)}
    params = dict(zip(taken.values(), other.args, strict=True))
    renamed: dict[Expr, Expr] = {group.params[position]: substitute(other.op.body, taken)}
    renamed[codes] = Var(f"p{len(params)}", type_of(codes), codes.span)
    params[renamed[codes]] = first
    rest = substitute(group.body, {codes: renamed[codes]})
    used = set(postorder(rest))
    for k, param in enumerate(group.params):
        if k != position and param in used:
            renamed[param] = dataclasses.replace(param, name=f"p{len(params)}")
            params[renamed[param]] = given[param]
    op = Function(tuple(params), substitute(rest, renamed), group.attrs, group.span)  # type: ignore[arg-type]
    return dataclasses.replace(made, op=op, args=tuple(params.values()))


def _group(codes: Call, group: Function, given: dict[Var, Expr]) -> Call:
    """The call of the part of ``group`` that computes ``codes``."""
    used = set(postorder(codes))
    params = tuple(param for param in group.params if param in used)
    op = Function(params, codes, group.attrs, codes.span)
    return Call(op, tuple(given[param] for param in params), span=codes.span)
