"""What runs where: the calls of a fused graph in order, in blocks for branches and loops.

A value is evaluated in the innermost block around all its uses: what only one branch needs is computed in
that branch, what two share before them. What is the same in every iteration of a loop is computed before
it, unless it may stop a run in which the loop makes no iteration.
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

"""Operators that stop a run in which what they say does not hold."""


@dataclass(eq=False)
class Run:
    """A kernel is called."""

    call: Call


@dataclass(eq=False)
class Bind:
    """The dimensions of ``node`` get their values; they have them to the end of the block."""

    node: LetDims


@dataclass(eq=False)
class Branch:
    """One of two blocks runs, whose results are those of ``node``."""

    node: If
    then: Block
    otherwise: Block


@dataclass(eq=False)
class Repeat:
    """``body`` runs iteration after iteration."""

    node: Loop
    body: Block


Step: TypeAlias = Run | Bind | Branch | Repeat


@dataclass(eq=False)
class Block:
    """``steps`` in order; ``result`` is the value of the whole. ``parent`` is the block around it."""

    result: Expr
    parent: Block | None = None
    steps: list[Step] = field(default_factory=list)
    depth: int = 0

    def child(self, result: Expr) -> Block:
        """An empty block inside this one, whose value is ``result``."""
        return Block(result, self, depth=self.depth + 1)


def order(function: Function) -> Block:
    """The calls of ``function``, in whose body are calls, tuples, branches and loops, and no functions."""
    root = Block(function.body)
    places, inner = blocks_of(function.body, root)
    for node in _in_order(function.body):
        match node:
            case _Binding(let):
                places[let].steps.append(Bind(let))
            case Call() if not is_view(node):
                places[node].steps.append(Run(node))
            case If():
                places[node].steps.append(Branch(node, inner[node, "then"], inner[node, "otherwise"]))
            case Loop():
                places[node].steps.append(Repeat(node, inner[node, "body"]))
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
    """The steps of ``block`` and of the blocks in it, in order, each with its own block."""
    for step in block.steps:
        yield block, step
        for inner in inner_blocks(step):
            yield from steps_of(inner)


def inner_blocks(step: Step) -> tuple[Block, ...]:
    """The blocks that run within ``step``."""
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
    """The block of each expression in ``body``, and the blocks of branches and loops by their nodes."""
    places: dict[Expr, Block] = {body: root}
    inner: dict[tuple[Expr, str], Block] = {}
    nodes = [node for node in _in_order(body) if isinstance(node, Expr)]
    loops = any(isinstance(node, Loop) for node in nodes)
    free, stopping = (_free(nodes), _stopping(nodes)) if loops else ({}, set())
    turning: dict[Block, Loop] = {}
    for node in reversed(nodes):
        while (loop := turning.get(places[node])) and _is_invariant(node, places, loop, free):
            if node in stopping and not _iterates_at_least_once(loop):
                break
            outer = places[node].parent
            assert outer is not None
            places[node] = outer
        for name, child in _edges(node):
            block = places[node]
            if name:
                block = inner[node, name] = block.child(child)
            if isinstance(node, Loop) and name:
                turning[block] = node
            known = places.get(child)
            places[child] = block if known is None else innermost(known, block)
    return places, inner


Free: TypeAlias = "frozenset[Loop | LetDims]"


def _is_invariant(node: Expr, places: dict[Expr, Block], loop: Loop, free: dict[Expr, Free]) -> bool:
    """Whether ``node``, in the block that ``loop`` repeats, is the same in each iteration and can stand
    before the loop: it is not the block's result, and what it is made of is not bound in the block."""
    block = places[node]
    bound = (one is loop or places.get(one) is block for one in free[node])
    return node is not block.result and not any(bound)


def _stopping(nodes: list[Expr]) -> set[Expr]:
    """Those of ``nodes``, in order, that may stop a run, or are made of what may: before a loop that makes no
    iteration they would stop one that is right. What another loop gives is taken to be there: one that is
    read in a loop but does not depend on its iterations would have to run once an iteration."""
    found: set[Expr] = set()
    for node in nodes:
        made_of = not isinstance(node, Loop) and any(child in found for child in node.children())
        if made_of or _may_stop(node):
            found.add(node)
    return found


def _may_stop(node: Expr) -> bool:
    """Whether a run may end at ``node``, as what it assumes does not hold."""
    match node:
        case Call(Function(body=body)):
            return any(_may_stop(one) for one in postorder(body) if isinstance(one, Call))
        case Call(op=str() as name):
            return operators.get(name).may_stop
    return False


def _iterates_at_least_once(loop: Loop) -> bool:
    """Whether ``loop`` makes an iteration in every run."""
    begins = loop.condition is None or (isinstance(loop.condition, Constant) and bool(loop.condition.data))
    return begins and isinstance(loop.turns, int) and loop.turns > 0


def _free(nodes: list[Expr]) -> dict[Expr, Free]:
    """The loops around each of ``nodes``, in order, whose iterations it depends on, and the bindings of
    dimensions that it is made of."""
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
        case Loop(turns=turns):
            return dims_of(turns)
    return []


def _edges(node: Expr) -> list[tuple[str, Expr]]:
    """The children of ``node``, each with the name of the block it is the result of, if it is one's."""
    match node:
        case If(condition, then, otherwise):
            return [("", condition), ("then", then), ("otherwise", otherwise)]
        case Loop(body=body):
            return [("body" if child is body else "", child) for child in node.children()]  # type: ignore[list-item]
    return [("", child) for child in node.children()]  # type: ignore[misc]


class Nested(Protocol):
    """A block, of a graph or of text, in another; ``depth`` counts those around it."""

    depth: int
    parent: Any


Inner = TypeVar("Inner", bound=Nested)


def innermost(a: Inner, b: Inner) -> Inner:
    """The innermost block around both."""
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
    """The moment between the value and the body of a LetDims."""

    node: LetDims


def _in_order(root: Expr) -> Iterator[Expr | _Binding]:
    """Every expression after those it needs, and each ``_Binding`` in its place."""
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
