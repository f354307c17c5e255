"""The operators that can compute on bytes, and the names of their calls: the layers of a quantized model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tvmlite.core.node import Node, postorder_from
from tvmlite.relay import ops as _ops  # noqa: F401  (registers the operators)
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, If, Loop, TupleGetItem, Var
from tvmlite.relay.ir.op import OPERATORS as TABLE
from tvmlite.relay.ir.op import Fuse, fuse_class, is_selection, is_view
from tvmlite.relay.ir.types import TensorType, same_shape
from tvmlite.relay.passes.patterns import selects, through_views
from tvmlite.relay.quantize.recurrent import RECURRENT


@dataclass(frozen=True)
class Product:
    """An operator that sums products of its first two arguments; ``channels(call)`` is the axis of the output
    channels in the second."""

    channels: Callable[[Call], int]


PRODUCTS: Mapping[str, Product] = {
    "nn.conv1d": Product(lambda call: 0),
    "nn.conv2d": Product(lambda call: 0),
    "nn.conv3d": Product(lambda call: 0),
    "nn.conv2d_transpose": Product(lambda call: 1),
    "nn.dense": Product(lambda call: 0),
    "nn.matmul": Product(lambda call: 0 if call["transpose_b"] else 1),
    "nn.batch_matmul": Product(lambda call: 1 if call["transpose_b"] else 2),
}
"""The operators dominated by their products. Weights are constant; those of matrix products need not be."""

ELEMENTWISE = frozenset(("add", "subtract", "multiply", "maximum", "minimum"))
"""Operators on two tensors that read bytes if their results are used as bytes."""

AVERAGES = frozenset(
    ("nn.avg_pool1d", "nn.avg_pool2d", "nn.global_avg_pool2d", "nn.adaptive_avg_pool2d", "mean")
    + ("image.resize2d",)
)
"""Operators on one tensor whose results are in the range of its elements."""

DATA_MOVEMENT = AVERAGES | {
    name
    for name, row in TABLE.items()
    if row.fuse > Fuse.BROADCAST and ((is_selection(name) and not row.view) or name == "concatenate")
}
"""Operators that mostly move data (a quarter as much in bytes); they read bytes if their results are read as
bytes."""

OPERATORS = frozenset((*PRODUCTS, *ELEMENTWISE, *DATA_MOVEMENT, *RECURRENT))
"""All operators that may be layers."""


def outer_nodes(body: Expr) -> Iterator[Expr]:
    """The nodes that are evaluated once in each run, children before parents: nodes in branches and loops are
    not, unless something outside reads them as well."""
    return postorder_from([body], _evaluated_children)


def _evaluated_children(node: Expr) -> Iterable[Expr]:
    match node:
        case If(condition=condition):
            return (condition,)
        case Loop(condition=condition, initial=initial):
            return initial if condition is None else (condition, *initial)
    children: Iterable[Node] = node.children()
    return (child for child in children if isinstance(child, Expr))


def names_of(body: Expr) -> dict[Expr, str]:
    """The name of each call, parameter and field of a tuple: that of the model's node if it has one, else its
    operator and number. Names are unique, and depend only on the body."""
    names: dict[Expr, str] = {}
    used: set[str] = set()
    count = 0
    for node in outer_nodes(body):
        if isinstance(node, Var):
            name = node.name
        elif isinstance(node, Call):
            count += 1
            name = node.span.node if node.span is not None else ""
            if not name or name in used:
                name = f"{name or str(node.op).removeprefix('nn.')}_{count}"
        elif isinstance(node, TupleGetItem) and node.value in names:
            name = f"{names[node.value]}.{node.index}"
        else:
            continue
        used.add(name)
        names[node] = name
    return names


def is_float32(expr: Expr) -> bool:
    """Whether ``expr`` is a tensor of float32."""
    type_ = type_of(expr)
    return isinstance(type_, TensorType) and type_.dtype == "float32"


def is_product(node: Expr) -> bool:
    """Whether ``node`` is a float32 product that can be computed on bytes: its weights are constant, or it
    multiplies two batches of matrices."""
    if not (isinstance(node, Call) and node.op in PRODUCTS and is_float32(node)):
        return False
    if not all(map(is_float32, node.args)) or isinstance(through_views(node.args[0]), Constant):
        return False
    if node.op == "nn.matmul" and node["transpose_a"]:
        return False
    return isinstance(node.args[1], Constant) or node.op in ("nn.batch_matmul", "nn.matmul")


def is_memory_bound(node: Call) -> bool:
    """Whether ``node`` mostly moves data, and is not a view."""
    return node.op in DATA_MOVEMENT and (node.op in AVERAGES or node.op == "concatenate" or selects(node))


def is_fusible(node: Expr) -> bool:
    """Whether ``node`` is element-wise or a view, so that it can be fused into the kernel of an argument."""
    kind = fuse_class(node)
    return (kind is not None and kind <= Fuse.BROADCAST) or is_view(node)


def same_extents(one: Expr, other: Expr) -> bool:
    """Whether two tensors are known to have the same shape."""
    return same_shape(tensor_type_of(one).shape, tensor_type_of(other).shape)
