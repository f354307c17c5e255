"""The drawing of a graph: a box for each operator or group, input and output, and edges between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder
from tvmlite.relay.entry import labels
from tvmlite.relay.entry.lower import anchor, group_outputs
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, If, Module, Tuple, TupleGetItem, Var
from tvmlite.relay.ir.op import Fuse
from tvmlite.relay.ir.types import TensorType, TupleType, Type, dims_of, evaluate_dim, show_shape
from tvmlite.relay.text import printer
from tvmlite.te.expr import SizeVar
from tvmlite.te.tensor import work

KINDS = {
    Fuse.ELEMWISE: "elementwise",
    Fuse.BROADCAST: "elementwise",
    Fuse.INJECTIVE: "movement",
    Fuse.COMM_REDUCE: "reduction",
    Fuse.OUT_ELEMWISE_FUSABLE: "contraction",
}
"""The kind of a box, which determines its colour, by its anchor's fusion class; others are "other"."""

REDUCING = ("norm", "pool", "reduce", "softmax")
"""Kinds of anchors that have the fusion class of contractions, but are drawn as reductions."""

Sizes = Mapping[str, int]


@dataclass
class Box:
    """One box. Numbers are None if they depend on an open dimension whose size is not given.

    ``bytes`` are those it reads and writes, including constants, which ``weights`` counts; ``flops`` the
    arithmetic of its formulas; ``nodes`` the nodes of the model it comes from. ``label`` is its name for
    people (``relay.entry.labels``), whose parts are ``title`` and ``node``.
    """

    title: str
    kind: str
    result: str = ""
    operators: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    text: str = ""
    bytes: int | None = None
    weights: int = 0
    flops: int | None = None
    microseconds: float | None = None
    label: str = ""
    node: str = ""


@dataclass
class Drawing:
    """Boxes in topological order, edges between their indices, and blocks.

    An edge is (from, to, type of the value). ``widely_read`` are boxes whose value is read all over the
    graph, such as an attention mask. ``blocks`` are sets of boxes with one input and one output,
    ``widely_read`` values aside: the repeated parts of deep models. They do not overlap, and have several
    boxes each.
    """

    boxes: list[Box] = field(default_factory=list)
    edges: list[tuple[int, int, str]] = field(default_factory=list)
    widely_read: set[int] = field(default_factory=set)
    blocks: list[list[int]] = field(default_factory=list)


def draw(module: Module, sizes: Sizes | None = None, microseconds: Sequence[float] = ()) -> Drawing:
    """Return the drawing of ``module``'s main function.

    ``sizes`` has sizes of open dimensions, so that bytes and operations can be counted. ``microseconds`` are
    the times of the kernels of a fused module, in the order in which the entry calls them.
    """
    sizes = dict(sizes or {})
    known = {size.name for size in dims_of([p.type for p in module.main.params])}
    if wrong := sorted(sizes.keys() - known):
        raise InputError(
            f"there is no open dimension {wrong[0]!r}; there are {', '.join(sorted(known)) or 'none'}"
        )
    drawing, number = Drawing(), {}
    times = iter(microseconds)
    for node in [*module.main.params, *postorder(module.main.body)]:
        assert isinstance(node, Expr)
        if node in number or not _is_drawn(node):
            continue
        number[node] = len(drawing.boxes)
        box = _box(node, sizes)
        if isinstance(node, Call) and isinstance(node.op, Function):
            box.microseconds = next(times, None)
        drawing.boxes.append(box)
        for source, what in _operands(node):
            drawing.edges.append((number[source], number[node], what))
    for index, value in enumerate(_outputs(module.main.body)):
        name = module.output_names[index] if index < len(module.output_names) else f"output{index}"
        drawing.boxes.append(Box(name, "output", _show_type(type_of(value))))
        for source, what in _sources(value):
            drawing.edges.append((number[source], len(drawing.boxes) - 1, what))
    drawing.widely_read = _widely_read(drawing)
    drawing.blocks = _blocks(drawing)
    return drawing


def _is_drawn(node: Expr) -> bool:
    """Whether ``node`` has its own box: nodes inside groups and those that only pass values on have none."""
    return not isinstance(node, (Constant, Function, Tuple, TupleGetItem)) and not (
        isinstance(node, Var) and node.name == ""
    )


def _operands(node: Expr) -> Iterator[tuple[Expr, str]]:
    for child in node.children():
        yield from _sources(child)  # type: ignore[arg-type]


def _sources(value: object) -> Iterator[tuple[Expr, str]]:
    """The drawn nodes that compute ``value``, and the types of their values."""
    assert isinstance(value, Expr)
    match value:
        case Tuple(fields):
            for one in fields:
                yield from _sources(one)
        case TupleGetItem(inner):
            for source, _ in _sources(inner):
                yield source, _show_type(type_of(value))
        case Constant() | Function():
            return
        case _:
            yield value, _show_type(type_of(value))


def _outputs(body: Expr) -> tuple[Expr, ...]:
    return body.fields if isinstance(body, Tuple) else (body,)


# --- one box ----------------------------------------------------------------------------------------


def _box(node: Expr, sizes: Sizes) -> Box:
    result = _show_type(type_of(node))
    match node:
        case Var(name):
            return Box(name, "input", result)
        case Call(op=Function() as group):
            return _group(node, group, result, sizes)
        case Call(op=str() as name):
            params: list[Var] = []
            args = tuple(_parameter(type_of(arg), params) for arg in node.args)
            single_call = Function(tuple(params), Call(node.op, args, node.attrs, node.span))
            box = _labelled(single_call, _kind(operators.get(name)), result, (name,), _nodes([node]))
            return _counted(box, node, single_call, sizes)
        case If():
            return Box("if", "other", result, ("if",), _nodes([node]))
    return Box(type(node).__name__.lower(), "other", result, (), _nodes([node]))


def _parameter(type_: Type, params: list[Var]) -> Expr:
    """A parameter of this type; for a tuple one for each field. Parameters are added to ``params``."""
    if isinstance(type_, TupleType):
        return Tuple(tuple(_parameter(one, params) for one in type_.fields))
    params.append(Var(f"p{len(params)}", type_))
    return params[-1]


def _group(call: Call, group: Function, result: str, sizes: Sizes) -> Box:
    calls = [n for n in postorder(group.body) if isinstance(n, Call) and isinstance(n.op, str)]
    if not calls:
        return Box("group", "other", result, text=printer.show(group))
    names = tuple(str(n.op) for n in calls)
    anchor_row = anchor(group)
    box = _labelled(group, _kind(anchor_row), result, names, _nodes(calls))
    return _counted(box, call, group, sizes)


def _labelled(group: Function, kind: str, result: str, names: tuple[str, ...], nodes: tuple[str, ...]) -> Box:
    """The box of ``group``, labelled as elsewhere."""
    text, node = printer.show(group), labels.node(group)
    title = labels.operators(names)
    return Box(title, kind, result, names, nodes, text, label=labels.label(group), node=node)


def _kind(row: operators.Operator) -> str:
    return "reduction" if row.schedule.name in REDUCING else KINDS.get(row.fuse, "other")


def _counted(box: Box, call: Call, group: Function, sizes: Sizes) -> Box:
    """Set the bytes and operations of ``box``, if the sizes they depend on are known."""
    constants = [n for n in postorder(group.body) if isinstance(n, Constant)]
    constants += [n for arg in call.args for n in _constants(arg)]
    box.weights = sum(n.nbytes for n in constants)
    moved = [_bytes(type_of(arg), sizes) for arg in call.args if not isinstance(arg, Constant)]
    moved.append(_bytes(type_of(call), sizes))
    if None not in moved:
        box.bytes = box.weights + sum(one for one in moved if one is not None)
    if all(isinstance(size, SizeVar) and size.name in sizes for size in _dimensions(group)):
        outputs = group_outputs(group)
        box.flops = work.operations([tensor.op for tensor in outputs], sizes)
    return box


def _constants(value: Expr) -> Iterator[Constant]:
    if isinstance(value, Constant):
        yield value
    elif isinstance(value, Tuple):
        for one in value.fields:
            yield from _constants(one)


def _dimensions(group: Function) -> list[SizeVar]:
    nodes = [n for n in postorder(group.body) if isinstance(n, Expr)]
    attrs = [value for n in nodes if isinstance(n, Call) for _, value in n.attrs]
    return dims_of([[type_of(n) for n in nodes], [p.type for p in group.params], attrs])


def _bytes(type_: Type, sizes: Sizes) -> int | None:
    if isinstance(type_, TupleType):
        fields = [_bytes(one, sizes) for one in type_.fields]
        return None if None in fields else sum(one for one in fields if one is not None)
    if not isinstance(type_, TensorType):
        return 0
    if any(size.name not in sizes for size in dims_of(type_)):
        return None
    binding = {size: sizes[size.name] for size in dims_of(type_)}
    return dtypes.bytes_of(type_.dtype) * prod(evaluate_dim(extent, binding) for extent in type_.shape)


def _nodes(calls: Sequence[Expr]) -> tuple[str, ...]:
    """The origins of ``calls``: names of a model's nodes, or lines of a program."""
    spans = [getattr(one, "span", None) for one in calls]
    texts = [re.sub(r'^node "(.*)" \((\w+)\)$', r"\1", s.note) if s.note else str(s) for s in spans if s]
    return tuple(dict.fromkeys(texts))


def _show_type(type_: Type) -> str:
    """Format a type: ``float32 (1, 64, 56, 56)``, or several for a tuple."""
    if isinstance(type_, TensorType):
        return f"{type_.dtype} {show_shape(type_.shape)}"
    if isinstance(type_, TupleType):
        return ", ".join(map(_show_type, type_.fields))
    return str(type_)


# --- blocks -----------------------------------------------------------------------------------------


MANY_READERS = 4
"""A value with this many readers, over a third of the graph, is read all over it."""


def _widely_read(drawing: Drawing) -> set[int]:
    readers: dict[int, list[int]] = {}
    for source, target, _ in drawing.edges:
        readers.setdefault(source, []).append(target)
    third = len(drawing.boxes) / 3
    return {s for s, all_ in readers.items() if len(all_) >= MANY_READERS and max(all_) - s > third}


def _blocks(drawing: Drawing) -> list[list[int]]:
    """The boxes between cuts of the graph that only one value crosses.

    Boxes are in the order of evaluation, so the values that cross a cut between two of them are those
    computed before it and read after it. Boxes that serve only values read all over the graph are in no
    block.
    """
    readers: dict[int, set[int]] = {}
    for source, target, _ in drawing.edges:
        readers.setdefault(source, set()).add(target)
    outputs = {i for i, box in enumerate(drawing.boxes) if box.kind == "output"}
    outside = {i for i, box in enumerate(drawing.boxes) if box.kind == "input"} | drawing.widely_read
    for i in reversed(range(len(drawing.boxes))):
        if readers.get(i) and readers[i] <= outside:
            outside.add(i)
    found: list[list[int]] = []
    block: list[int] = []
    live: set[int] = set()
    for i in range(len(drawing.boxes)):
        if i in outside | outputs:
            continue
        block.append(i)
        live = {one for one in (*live, i) if max(readers.get(one, {0})) > i}
        if len(live) <= 1:
            found += [block] if len(block) > 1 else []
            block = []
    return found if len(found) > 1 else []
