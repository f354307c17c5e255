"""The order of execution of a fused graph: its kernel calls in order, in blocks for branches and loops.

A value is evaluated in the innermost block around all its uses: in a branch if only that branch needs it,
before the branches if both do. Loop invariants are computed before the loop, unless they may stop a run and
the loop may make no iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, If, LetDims, Loop, Tuple, TupleGetItem, Var
from tvmlite.relay.ir.op import is_view
from tvmlite.relay.ir.types import dims_of
from tvmlite.relay.ir.verify import dimensions_of
from tvmlite.te.expr import SizeVar

__all__ = [
    "Bind",
    "Block",
    "Branch",
    "Repeat",
    "Run",
    "Step",
    "blocks_of",
    "inner_blocks",
    "order",
    "runs_of",
    "steps_of",
]


@dataclass(eq=False)
class Run:
    """A step that calls a kernel."""

    call: Call


@dataclass(eq=False)
class Bind:
    """A step that binds the dimensions of ``node``, until the end of the block."""

    node: LetDims


@dataclass(eq=False)
class Branch:
    """A step that runs one of two blocks, whose result is the value of ``node``."""

    node: If
    then: Block
    otherwise: Block


@dataclass(eq=False)
class Repeat:
    """A step that runs ``body`` in each iteration of the loop ``node``."""

    node: Loop
    body: Block


Step: TypeAlias = Run | Bind | Branch | Repeat


@dataclass(eq=False)
class Block:
    """A sequence of ``steps`` whose value is ``result``. ``parent`` is the enclosing block."""

    result: Expr
    parent: Block | None = None
    steps: list[Step] = field(default_factory=list)
    depth: int = 0

    def child(self, result: Expr) -> Block:
        """An empty block inside this one, with the value ``result``."""
        return Block(result, self, depth=self.depth + 1)


def order(function: Function) -> Block:
    """The steps of ``function``, whose body holds calls, tuples, branches and loops, but no functions."""
    root = Block(function.body)
    block_of, inner = blocks_of(function.body, root)
    for node in _in_order(function.body):
        match node:
            case _Binding(let):
                block_of[let].steps.append(Bind(let))
            case Call() if not is_view(node):
                block_of[node].steps.append(Run(node))
            case If():
                block_of[node].steps.append(Branch(node, inner[node, "then"], inner[node, "otherwise"]))
            case Loop():
                block_of[node].steps.append(Repeat(node, inner[node, "body"]))
            case Var() | Constant() | Tuple() | TupleGetItem() | LetDims() | Call():
                pass
            case _:
                raise UnsupportedError(
                    f"a {type(node).__name__} in a graph to plan, which may hold calls, tuples, projections, "
                    "branches and loops",
                    getattr(node, "span", None),
                )
    return root


def steps_of(block: Block) -> Iterator[tuple[Block, Step]]:
    """The steps of ``block`` and of the blocks in it, in order, each with the block that holds it."""
    for step in block.steps:
        yield block, step
        for inner in inner_blocks(step):
            yield from steps_of(inner)


def inner_blocks(step: Step) -> tuple[Block, ...]:
    """The blocks that ``step`` runs."""
    match step:
        case Branch(_, then, otherwise):
            return then, otherwise
        case Repeat(_, body):
            return (body,)
    return ()


def runs_of(block: Block) -> Iterator[Run]:
    """The kernel calls of ``block`` and the blocks in it, in order."""
    return (step for _, step in steps_of(block) if isinstance(step, Run))


def blocks_of(body: Expr, root: Block) -> tuple[dict[Expr, Block], dict[tuple[Expr, str], Block]]:
    """The block of each expression in ``body``, and the blocks of branches and loops, by node and name."""
    block_of: dict[Expr, Block] = {body: root}
    inner: dict[tuple[Expr, str], Block] = {}
    nodes = [node for node in _in_order(body) if isinstance(node, Expr)]
    loops = any(isinstance(node, Loop) for node in nodes)
    free, may_stop = (_free_binders(nodes), _nodes_that_may_stop(nodes)) if loops else ({}, set())
    loop_of_block: dict[Block, Loop] = {}
    for node in reversed(nodes):
        while (loop := loop_of_block.get(block_of[node])) and _is_invariant(node, block_of, loop, free):
            if node in may_stop and not _has_an_iteration(loop):
                break
            outer = block_of[node].parent
            assert outer is not None
            block_of[node] = outer
        for name, child in _edges(node):
            block = block_of[node]
            if name:
                block = inner[node, name] = block.child(child)
            if isinstance(node, Loop) and name:
                loop_of_block[block] = node
            known = block_of.get(child)
            block_of[child] = block if known is None else innermost(known, block)
    return block_of, inner


Free: TypeAlias = "frozenset[Loop | LetDims]"


def _is_invariant(node: Expr, block_of: dict[Expr, Block], loop: Loop, free: dict[Expr, Free]) -> bool:
    """Whether ``node``, in a block that ``loop`` repeats, can be computed before the loop: it is not the
    block's result, and depends on nothing that is bound in the block."""
    block = block_of[node]
    bound_inside = (one is loop or block_of.get(one) is block for one in free[node])
    return node is not block.result and not any(bound_inside)


def _nodes_that_may_stop(nodes: list[Expr]) -> set[Expr]:
    """The nodes that may stop a run or depend on one that may. Before a loop without iterations they would
    stop a valid run. A loop's results are assumed not to stop a run: otherwise an invariant inner loop would
    have to run in each iteration of the outer one. ``nodes`` are in order."""
    found: set[Expr] = set()
    for node in nodes:
        depends = not isinstance(node, Loop) and any(child in found for child in node.children())
        if depends or _may_stop(node):
            found.add(node)
    return found


def _may_stop(node: Expr) -> bool:
    """Whether ``node`` may stop a run, because an assumption that it makes does not hold."""
    match node:
        case Call(Function(body=body)):
            return any(_may_stop(one) for one in postorder(body) if isinstance(one, Call))
        case Call(op=str() as name):
            return operators.get(name).may_stop
    return False


def _has_an_iteration(loop: Loop) -> bool:
    """Whether ``loop`` is known to make at least one iteration."""
    begins = loop.condition is None or (isinstance(loop.condition, Constant) and bool(loop.condition.data))
    return begins and isinstance(loop.trip_count, int) and loop.trip_count > 0


def _free_binders(nodes: list[Expr]) -> dict[Expr, Free]:
    """The binders that each of ``nodes`` depends on: enclosing loops, by their index or states, and LetDims.
    ``nodes`` are in order."""
    binders: dict[object, Loop | LetDims] = {}
    for node in nodes:
        if isinstance(node, Loop):
            binders |= dict.fromkeys((node.index, *node.states), node)
        elif isinstance(node, LetDims):
            binders |= dict.fromkeys(node.dims, node)
    free: dict[Expr, Free] = {}
    for node in nodes:
        found = {binders[node]} if node in binders else set()
        found |= {binders[dim] for dim in _mentioned(node) if dim in binders}
        free[node] = frozenset(found.union(*(free[child] for child in node.children())) - {node})  # type: ignore[index]
    return free


def _mentioned(node: Expr) -> list[SizeVar]:
    """The dimensions in the attributes of ``node``."""
    match node:
        case Call(Function() as group):
            return dimensions_of(group)
        case Call(attrs=attrs):
            return dims_of([value for _, value in attrs])
        case Loop(trip_count=trip_count):
            return dims_of(trip_count)
    return []


def _edges(node: Expr) -> list[tuple[str, Expr]]:
    """The children of ``node``. Each has the name of the block whose result it is, or an empty name."""
    match node:
        case If(condition, then, otherwise):
            return [("", condition), ("then", then), ("otherwise", otherwise)]
        case Loop(body=body):
            return [("body" if child is body else "", child) for child in node.children()]  # type: ignore[list-item]
    return [("", child) for child in node.children()]  # type: ignore[misc]


class Nested(Protocol):
    """A block inside others, of a graph or of text; ``depth`` is the number of blocks around it."""

    depth: int
    parent: Any


Inner = TypeVar("Inner", bound=Nested)


def innermost(a: Inner, b: Inner) -> Inner:
    """The innermost block that contains both ``a`` and ``b``."""
    while a is not b:
        if a.depth >= b.depth:
            assert a.parent is not None
            a = a.parent
        else:
            assert b.parent is not None
            b = b.parent
    return a


@dataclass(frozen=True)
class _Binding:
    """The point between the evaluation of a LetDims' value and that of its body."""

    node: LetDims


def _in_order(root: Expr) -> Iterator[Expr | _Binding]:
    """Every expression after those it depends on, and a ``_Binding`` between each LetDims' value and body."""
    done: set[Expr] = set()
    stack: list[tuple[Expr | _Binding, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready or isinstance(node, _Binding):
            yield node
        elif node not in done:
            done.add(node)
            stack.append((node, True))
            if isinstance(node, LetDims):
                stack += [(node.body, False), (_Binding(node), True), (node.value, False)]
            else:
                stack.extend((child, False) for child in reversed(node.children()))  # type: ignore[arg-type]
