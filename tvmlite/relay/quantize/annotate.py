"""Mark the tensors that are to be read in 8 bits: the first of the three passes of quantization."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from tvmlite.core.node import reachable_from
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, Tuple, Var
from tvmlite.relay.ir.op import is_anchor, is_view, make
from tvmlite.relay.passes.graph_pass import graph_pass, readers_of, rebuild
from tvmlite.relay.passes.patterns import selects, through_views
from tvmlite.relay.quantize.layers import (
    ELEMENTWISE,
    OPERATORS,
    PRODUCTS,
    is_float32,
    is_fusible,
    is_memory_bound,
    is_product,
    names_of,
    outer_nodes,
    same_extents,
)
from tvmlite.relay.quantize.recurrent import LANES_AXIS, is_recurrent

MARK = "annotation.quantize"


def quantize_annotate(
    module: Module,
    keep_float: Collection[str] = (),
    operators: Collection[str] = OPERATORS,
    per_channel: bool = True,
) -> Module:
    """``module`` with an ``annotation.quantize`` before each tensor that a layer is to read in 8 bits.

    Products (convolutions, dense layers, products of batches) read their data as uint8 and their weights as
    int8, with a scale for each output channel if ``per_channel``; recurrent layers have int8 weights. The
    operators between them (sums, poolings, concatenations, resizes) read bytes if their results are only used
    as bytes and if their operands are stored in memory: an operand that is fused into the same kernel is not
    rounded. Biases, activation functions, normalizations and softmax stay in float32, as do branches and
    loops, whose values calibration does not see, layers whose names are in ``keep_float``, and operators that
    are not in ``operators``.
    """
    return _annotate(module, frozenset(keep_float), frozenset(operators), per_channel)


@graph_pass
def _annotate(body: Expr, keep_float: frozenset[str], wanted: frozenset[str], per_channel: bool) -> Expr:
    names = names_of(body)
    allowed = frozenset(node for node, name in names.items() if name not in keep_float)
    layers = _Layers(body, allowed, wanted).found
    marks: dict[tuple[Expr, str, str], Expr] = {}

    def mark(value: Expr, made: Expr, layer: Call, position: int) -> Expr:
        """``made``, the new form of the argument ``value``, with a mark below its views."""
        if isinstance(value, Constant):
            axis = (
                (LANES_AXIS if is_recurrent(layer) else PRODUCTS[str(layer.op)].channels(layer))
                if per_channel
                else None
            )
            tensor, dtype = f"{names[layer]}.weight", "int8"
            return _mark(made, layer, names[layer], tensor, dtype, axis)
        if is_view(value):
            assert isinstance(value, Call)
            assert isinstance(made, Call)
            return dataclasses.replace(made, args=(mark(value.args[0], made.args[0], layer, position),))
        dtype = "int8" if position and layer.op in PRODUCTS else "uint8"
        key = made, names[layer], dtype
        if key not in marks:
            source = value
            while isinstance(source, Call) and selects(source):
                source = through_views(source.args[0])  # whose range contains that of ``value``
            marks[key] = _mark(made, layer, names[layer], names.get(source, f"{names[layer]}.data"), dtype)
        return marks[key]

    def rule(node: Expr, made: Expr) -> Expr:
        positions = layers.get(node)
        if positions is None:
            return made
        assert isinstance(node, Call)
        assert isinstance(made, Call)
        values, args = _arguments(node), list(_arguments(made))
        for position in positions:
            args[position] = mark(values[position], args[position], node, position)
        return _with_arguments(made, args)

    return rebuild(body, rule)


def _mark(
    made: Expr, layer: Call, name: str, tensor: str, dtype: str, channel_axis: int | None = None
) -> Call:
    attrs = {"layer": name, "tensor": tensor, "dtype": dtype, "channel_axis": channel_axis}
    return make(MARK, made, span=layer.span, **attrs)


def _arguments(call: Call) -> Sequence[Expr]:
    """The arguments of ``call``, or the fields of its tuple if it takes one."""
    first = call.args[0]
    return first.fields if isinstance(first, Tuple) else call.args


def _with_arguments(call: Call, args: Sequence[Expr]) -> Call:
    first = call.args[0]
    if isinstance(first, Tuple):
        return dataclasses.replace(call, args=(dataclasses.replace(first, fields=tuple(args)),))
    return dataclasses.replace(call, args=tuple(args))


class _Layers:
    """The layers of ``body`` that are ``allowed`` and whose operator is ``wanted``; ``found`` maps each to
    the positions of the arguments that it reads as bytes."""

    def __init__(self, body: Expr, allowed: frozenset[Expr], wanted: frozenset[str]) -> None:
        self.found: dict[Expr, tuple[int, ...]] = {}
        self._readers = readers_of(body)
        nodes = list(outer_nodes(body))
        self._order = {node: position for position, node in enumerate(nodes)}
        self._marked: set[Expr] = set()
        self._bytes: set[Expr] = set()
        candidates = [
            node
            for node in nodes
            if isinstance(node, Call) and node in allowed and node.op in wanted and is_float32(node)
        ]
        for node in candidates:
            if is_product(node):
                self._add_layer(node, (0, 1))
        for node in nodes:
            if is_recurrent(node) and node in allowed and isinstance(node, Call) and node.op in wanted:
                self._add_layer(node, (1,))
        optional = {node for node in candidates if node.op in ELEMENTWISE or is_memory_bound(node)}
        for node in reversed(nodes):
            if not self._becomes_bytes(node):
                continue
            self._bytes.add(node)
            if node in optional:
                assert isinstance(node, Call)
                self._add_layer(
                    node,
                    self._stored_arguments(node) if node.op in ELEMENTWISE else self._moved_arguments(node),
                )

    def _add_layer(self, node: Call, positions: tuple[int, ...]) -> None:
        if not positions:
            return
        self.found[node] = positions
        for position in positions:
            value = _arguments(node)[position]
            self._marked.add(value)
            while is_view(value):
                assert isinstance(value, Call)
                value = value.args[0]
                self._marked.add(value)

    def _becomes_bytes(self, node: Expr) -> bool:
        """Whether ``node`` is stored as bytes, or is an intermediate value of kernels that store bytes."""
        return node in self._marked or (
            all(
                reader in self._bytes and is_fusible(reader)
                for reader in self._readers[node]
                if reader is not None
            )
            and None not in self._readers[node]
        )

    def _moved_arguments(self, node: Call) -> tuple[int, ...]:
        args = _arguments(node)
        count = len(args) if node.op == "concatenate" else 1
        if any(isinstance(through_views(arg), Constant) or not is_float32(arg) for arg in args[:count]):
            return ()
        return tuple(range(count))

    def _stored_arguments(self, node: Call) -> tuple[int, ...]:
        """The arguments that the kernel of ``node`` reads from memory and that have the shape of its result.

        There are none if an argument is a constant with several elements, such as scales of channels:
        rounding before it would be in other steps than rounding the result.
        """
        given = map(through_views, node.args)
        if any(isinstance(one, Constant) and one.size > 1 for one in given):
            return ()
        stored: list[int] = []
        anchors_of: dict[int, frozenset[Expr]] = {}
        for position, arg in enumerate(node.args):
            if isinstance(through_views(arg), Constant) or not is_float32(arg):
                continue
            if self._is_stored(arg, node):
                stored.append(position)
            elif anchors := self._anchors(arg):
                anchors_of[position] = anchors
        if anchors_of:
            # The sum is fused with one product: the first, which ``fuse`` processes first.
            first = min(anchors_of, key=lambda position: self._order[node.args[position]])
            stored += [position for position, anchors in anchors_of.items() if anchors - anchors_of[first]]
        wanted = sorted(stored)
        return tuple(position for position in wanted if same_extents(node.args[position], node))

    def _is_stored(self, value: Expr, node: Expr) -> bool:
        """Whether ``value`` has a use other than by element-wise operators on the way to ``node``."""
        if isinstance(value, Var):
            return True
        stack, seen = [value], {value}
        while stack:
            for reader in self._readers[stack.pop()]:
                if reader is node or reader in seen:
                    continue
                if reader is None or not is_fusible(reader):
                    return True
                seen.add(reader)
                stack.append(reader)
        return False

    def _anchors(self, value: Expr) -> frozenset[Expr]:
        """The products from which ``value`` is computed by element-wise operators only."""
        producers = reachable_from(
            [value], lambda one: one.children() if is_fusible(one) and not is_anchor(one) else ()
        )
        return frozenset(one for one in producers if is_anchor(one))
