"""The values of expressions as LLVM IR, each shared node computed once where its value still holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import copysign
from typing import TypeGuard

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm import arith, calls, cast, extern_calls, memory
from tvmlite.te.codegen.llvm.address import Addresses
from tvmlite.te.codegen.llvm.contents import Contents, Span
from tvmlite.te.codegen.llvm.text import Writer, literal, register_type, vector
from tvmlite.te.codegen.math.expand import LIBRARY
from tvmlite.te.loop.ir import PREFETCHES, Buffer, Load, Store
from tvmlite.te.loop.walk import loads

_NOTHING: frozenset[Buffer] = frozenset()


class Expressions:
    """Values already computed, by node: ``known`` holds in the block being written and those it leads to."""

    def __init__(self, writer: Writer, pointer_of: Callable[[Buffer], str]) -> None:
        self.w = writer
        self._pointer_of = pointer_of
        self._known: dict[e.Expr, str] = {}
        self._order: list[e.Expr] = []
        self._from_memory: dict[e.Expr, frozenset[Buffer] | None] = {}
        self._readers: dict[Buffer, list[e.Expr]] = {}
        """The nodes that were entered there with a buffer: some may be gone by now."""
        self._unknown: list[e.Expr] = []
        """Those that were entered with None."""
        self._mask: str | None = None
        self._mask_lanes = 1
        self._holds: str | None = None
        """An i1: where it is false, so is the mask in all lanes."""
        self._steps = True
        self.several_tile_forms = False
        self.addresses = Addresses(writer, self.value)
        self._contents = Contents()

    def bind(self, var: e.Var, value: str, at_start: bool = False) -> None:
        """Let ``var`` stand for ``value`` in the current region."""
        self._order.append(var)
        self._known[var] = value
        self.addresses.bind(var, value, at_start)

    @contextmanager
    def loop(self, var: e.Var, counter: str) -> Iterator[None]:
        """The body of a loop, from its start on."""
        with self.region(), self.addresses.loop():
            self.bind(var, counter, at_start=True)
            yield

    @contextmanager
    def region(self) -> Iterator[None]:
        """What is computed inside is forgotten at the end: its blocks do not lead everywhere."""
        mark = len(self._order)
        yield
        self._contents.forget()
        for node in self._order[mark:]:
            self._known.pop(node, None)
            if isinstance(node, e.Var):
                self.addresses.forget(node)
            self._from_memory.pop(node, None)
        del self._order[mark:]

    def forget_loads(self, written: Buffer | None = None) -> None:
        """Memory, or just the buffer ``written``, may have changed: what was read there must be read again.

        Buffers do not overlap, so that what was read from others still holds after a store.
        """
        if self._unknown:
            if any(self._from_memory.get(node, _NOTHING) is None for node in self._unknown):
                written = None  # a call, which may write anywhere
            self._unknown.clear()
        if written is None:
            self._contents.forget()
            self._readers.clear()
            changed = list(self._from_memory)
        else:
            readers = dict.fromkeys(self._readers.pop(written, ()))
            changed = [node for node in readers if written in (self._from_memory.get(node) or ())]
        for node in changed:
            del self._known[node]
            del self._from_memory[node]

    def value(self, root: e.Expr) -> str:
        """The operand that holds ``root``."""
        known = self._known
        stack = [root]
        while stack:
            node = stack[-1]
            if node in known:
                stack.pop()
                continue
            operands = self._operands(node)
            todo = [operand for operand in operands if operand not in known]
            if todo:
                stack += todo[::-1]
                continue
            stack.pop()
            self._remember(node, self._compute(node), operands)
        return known[root]

    def store(self, stmt: Store) -> None:
        """Carry out a store.

        Where it is of one element, addresses are left whole: LLVM may make vectors of such loops, and wants
        to see how they go along.
        """
        self._steps = stmt.value.lanes > 1
        value = self.value(stmt.value)
        (index,) = stmt.indices
        if index.lanes == 1 and stmt.predicate is not None:
            with self._guarded(self.value(stmt.predicate)):
                memory.store(self.w, self._place(stmt.buffer, index, None), value)
            return
        value = self._widened(value, stmt.value, index.lanes)
        mask = self._mask_of(stmt.predicate, index.lanes)
        memory.store(self.w, self._place(stmt.buffer, index, mask), value)
        self._contents.stored(stmt.buffer, self._span(index), value if mask is None else None)

    def _remember(self, node: e.Expr, value: str, operands: Sequence[e.Expr]) -> None:
        self._known[node] = value
        self._order.append(node)
        read = self._read_by(node, operands)
        if read != _NOTHING:
            self._from_memory[node] = read
            if read is None:
                self._unknown.append(node)
            for buffer in read or ():
                self._readers.setdefault(buffer, []).append(node)

    def _read_by(self, node: e.Expr, operands: Sequence[e.Expr]) -> frozenset[Buffer] | None:
        """The buffers that the value of ``node``, computed of ``operands``, depends on; None if it may depend
        on all memory, or if (as for a prefetch) computing it is the point."""
        read = _NOTHING
        if not isinstance(node, e.Binary):
            inside = [one for side in node.args[1:] for one in postorder(side)] if _is_lazy(node) else [node]
            for one in inside:
                match one:
                    case Load():
                        read |= {one.buffer}
                    case e.Foreign(kind="c" | "packed" | "tile"):
                        return None
                    case e.Call(name) if name in PREFETCHES:
                        return None
        for operand in operands:
            other = self._from_memory.get(operand, _NOTHING)
            if other is None:
                return None
            read = read | other if read and other else read or other
        return read

    def _operands(self, node: e.Expr) -> Sequence[e.Expr]:
        """The children whose values ``node`` needs before it can be computed."""
        if isinstance(node, e.Binary) and not isinstance(node, e.Compare):  # most nodes are
            return node.children()
        match node:
            case Load():
                return self._index_operands(node)
            case e.Call(name) if name in PREFETCHES:
                return ()
            case e.Call("address_of", (Load() as load,)):
                return self._index_operands(load)
            case e.Call("if_then_else"):
                return node.args[:1]
            case e.Ramp(base, e.Const()):
                return (base,)
            case e.Compare() if _is_range_test(node):
                base = node.a.base  # type: ignore[attr-defined]
                return (base, node.b.value) if isinstance(node.b, e.Broadcast) else (base,)
            case _:
                return node.children()  # type: ignore[return-value]

    def _index_operands(self, node: Load) -> list[e.Expr]:
        """The part of a load's index that is computed; places know what to do with the rest."""
        found = [] if node.predicate is None else [node.predicate]
        (index,) = node.indices
        match index:
            case e.Ramp(first, e.Const()) | e.Broadcast(first):
                index = first
        if not isinstance(index, e.Const) and not (self._steps and self.addresses.sum_of(index) is not None):
            found.insert(0, index)
        return found

    def _compute(self, node: e.Expr) -> str:
        w, known, lanes = self.w, self._known, node.lanes
        match node:
            case e.Const(value, dtype):
                return literal(value, dtype, lanes)
            case e.Compare() if _is_range_test(node):
                return self._range_test(node)
            case e.Binary():
                return arith.binary(w, node, known[node.a], known[node.b])
            case Load():
                return self._load(node)
            case e.Cast(dtype, value):
                return cast.convert(w, known[value], value.dtype, dtype, lanes)
            case e.Select():
                return self._select(node, known[node.condition], known[node.a], known[node.b])
            case e.Not(a):
                return w.emit(f"xor {register_type('bool', lanes)} {known[a]}, {literal(1, 'bool', lanes)}")
            case e.Ramp():
                return self._ramp(node)
            case e.Broadcast(value):
                return w.splat(register_type(node.dtype), known[value], lanes)
            case e.Call("if_then_else", (condition, a, b)):
                return self._if_then_else(node, condition, a, b)
            case e.Foreign():
                return extern_calls.call(w, node, [known[a] for a in node.args], self.several_tile_forms)
            case e.Call("address_of", (Load() as load,)):
                return memory.address(w, self._place(load.buffer, load.indices[0], None))
            case e.Call(name, (Load() as load,)) if name in PREFETCHES:
                place = self._place(load.buffer, load.indices[0], None)
                memory.prefetch(w, place, PREFETCHES[name])
                return literal(0, node.dtype, lanes)
            case e.Call():
                return calls.call(w, node, [known[a] for a in node.args])
            case _:
                raise AssertionError(f"no value for {type(node).__name__} {getattr(node, 'name', '')}")

    def _place(self, buffer: Buffer, index: e.Expr, mask: str | None) -> memory.Place:
        return memory.place(buffer, index, self._pointer_of(buffer), self.value, mask, self._near, self.w)

    def _near(self, pointer: str, element: str, index: e.Expr) -> tuple[str, int] | None:
        if not self._steps or self.addresses.sum_of(index) is None:
            return None
        return self.addresses.step(pointer, element, index)

    def _span(self, index: e.Expr) -> Span | None:
        """The elements of an access, if they stand side by side."""
        lanes = index.lanes
        if lanes > 1:
            if not _is_side_by_side(index):
                return None
            index = index.base  # type: ignore[attr-defined]
        parts = self.addresses.sum_of(index)
        return None if parts is None else Span(*parts, lanes)

    def _load(self, node: Load) -> str:
        (index,) = node.indices
        mask = self._mask_of(node.predicate, index.lanes)
        if mask is None and (held := self._contents.get(node.buffer, self._span(index))) is not None:
            return held
        if mask is None or index.lanes > 1:
            place = self._place(node.buffer, index, mask)
            if mask is not None and node.buffer.scope != "local":  # what is on the stack is near
                holds = self._holds or self._any(mask, index.lanes)
                place = place._replace(holds=holds, elsewhere=self._pointer_of(node.buffer))
            return memory.load(self.w, place)
        before = self.w.block
        zero, type_ = literal(0, node.dtype), register_type(node.dtype)
        with self._guarded(mask) as after:
            value = memory.load(self.w, self._place(node.buffer, index, None))
            read = self.w.block
        assert self.w.block == after
        return self.w.emit(f"phi {type_} [ {value}, %{read} ], [ {zero}, %{before} ]")

    def _mask_of(self, predicate: e.Expr | None, lanes: int) -> str | None:
        """Which lanes to touch: the predicate's, and those of the vector branch we are in; None: all."""
        mask = None
        if predicate is not None and not e.is_const(predicate, 1):
            mask = self._widened(self.value(predicate), predicate, lanes)
        if self._mask is None:
            return mask
        branch, count = self._mask, self._mask_lanes
        if lanes == 1 and count > 1:  # one element for all lanes: read if any lane wants it
            branch = self._any(branch, count)
        return branch if mask is None else self.w.emit(f"and {vector('i1', lanes)} {mask}, {branch}")

    def _any(self, mask: str, lanes: int) -> str:
        """Whether the mask is true in some lane."""
        return self.w.call(f"llvm.vector.reduce.or.v{lanes}i1", "i1", [(vector("i1", lanes), mask)])

    def _widened(self, value: str, expr: e.Expr, lanes: int) -> str:
        if expr.lanes == lanes:
            return value
        return self.w.splat(register_type(expr.dtype), value, lanes)

    @contextmanager
    def _guarded(self, condition: str) -> Iterator[str]:
        """What is written inside runs only if the i1 ``condition`` holds; gives the label behind it."""
        inside, after = self.w.new_block(), self.w.new_block()
        self.w.branch(condition, inside, after)
        self.w.enter(inside)
        with self.region():
            yield after
        self.w.jump(after)
        self.w.enter(after)

    def _select(self, node: e.Select, condition: str, a: str, b: str) -> str:
        type_ = register_type(node.dtype, node.lanes)
        mask = vector("i1", node.condition.lanes)
        return self.w.emit(f"select {mask} {condition}, {type_} {a}, {type_} {b}")

    def _ramp(self, node: e.Ramp) -> str:
        lanes, type_ = node.lanes, register_type(node.dtype)
        wide = vector(type_, lanes)
        first = self.w.splat(type_, self._known[node.base], lanes)
        if isinstance(node.stride, e.Const):
            steps = (literal(node.stride.value * lane, node.dtype) for lane in range(lanes))
            return self.w.emit(f"add {wide} {first}, <{', '.join(f'{type_} {s}' for s in steps)}>")
        stride = self.w.splat(type_, self._known[node.stride], lanes)
        counts = ", ".join(f"{type_} {lane}" for lane in range(lanes))
        steps = self.w.emit(f"mul {wide} {stride}, <{counts}>")
        return self.w.emit(f"add {wide} {first}, {steps}")

    def _range_test(self, node: e.Compare) -> str:
        """``base + lane < bound`` for every lane: a count, clamped, against the lanes' numbers."""
        ramp, bound = node.a, node.b
        assert isinstance(ramp, e.Ramp)
        if isinstance(bound, e.Broadcast):
            limit = self._known[bound.value]
        else:
            assert isinstance(bound, e.Const)
            limit = literal(bound.value, bound.dtype)
        left = self.w.emit(f"sub i64 {limit}, {self._known[ramp.base]}")
        if isinstance(node, e.LessEqual):
            left = self.w.emit(f"add i64 {left}, 1")
        least = self.w.intrinsic("smax", "i64", left, "0")
        count = self.w.intrinsic("smin", "i64", least, str(node.lanes))
        narrow = self.w.splat("i32", self.w.emit(f"trunc i64 {count} to i32"), node.lanes)
        numbers = ", ".join(f"i32 {lane}" for lane in range(node.lanes))
        return self.w.emit(f"icmp sgt {vector('i32', node.lanes)} {narrow}, <{numbers}>")

    def _if_then_else(self, node: e.Call, condition: e.Expr, a: e.Expr, b: e.Expr) -> str:
        type_ = register_type(node.dtype, node.lanes)
        holds = self._known[condition]
        if condition.lanes > 1:
            then = self._masked(a, holds, condition.lanes, node.lanes, self._uniform_part(condition))
            negated = self.w.emit(
                f"xor {vector('i1', condition.lanes)} {holds}, {literal(1, 'bool', condition.lanes)}"
            )
            otherwise = self._masked(b, negated, condition.lanes, node.lanes)
            return self.w.emit(
                f"select {vector('i1', node.lanes)} {holds}, {type_} {then}, {type_} {otherwise}"
            )
        if _is_cheap(a) and _is_cheap(b):
            then, otherwise = self._side(a, node.lanes), self._side(b, node.lanes)
            return self.w.emit(f"select i1 {holds}, {type_} {then}, {type_} {otherwise}")
        if self._is_padding(a, b):
            return self._padded(node, holds, a, b)
        labels = [self.w.new_block() for _ in range(3)]
        self.w.branch(decided(self.w, condition, holds), labels[0], labels[1])
        arms = []
        for label, side in zip(labels, (a, b), strict=False):
            self.w.enter(label)
            with self.region():
                value = self._side(side, node.lanes)
            arms.append(f"[ {value}, %{self.w.block} ]")
            self.w.jump(labels[2])
        self.w.enter(labels[2])
        return self.w.emit(f"phi {type_} {', '.join(arms)}")

    def _is_padding(self, a: e.Expr, b: e.Expr) -> bool:
        """Whether ``a`` is a vector in memory, ``b`` a constant, and a masked load one instruction."""
        match a, b:
            case Load(predicate=None, indices=(e.Ramp(base, e.Const(1)),)), e.Const() | e.Broadcast(
                e.Const()
            ):
                needed = "avx" if dtypes.bits(a.dtype) >= 32 else "avx512bw"
                return _is_cheap(base) and self._mask is None and self.w.module.target.has(needed)
            case _:
                return False

    def _padded(self, node: e.Call, holds: str, a: e.Expr, b: e.Expr) -> str:
        """``a`` in all lanes or in none: unlike a branch, that leaves the code around it in one piece."""
        then = self._masked(a, self.w.splat("i1", holds, node.lanes), node.lanes, node.lanes, holds)
        other = b.value if isinstance(b, e.Broadcast) else b
        if isinstance(other, e.Const) and other.value == 0 and copysign(1, other.value) > 0:
            return then
        type_ = register_type(node.dtype, node.lanes)
        return self.w.emit(f"select i1 {holds}, {type_} {then}, {type_} {self._side(b, node.lanes)}")

    def _side(self, expr: e.Expr, lanes: int) -> str:
        return self._widened(self.value(expr), expr, lanes)

    def _uniform_part(self, condition: e.Expr) -> str | None:
        """The part of a conjunction that is the same in all lanes."""
        match condition:
            case e.And(a, b):
                return self._both(self._uniform_part(a), self._uniform_part(b))
            case e.Broadcast(value):
                return self.value(value)
            case _:
                return None

    def _both(self, a: str | None, b: str | None) -> str | None:
        """The i1 that both hold; None is true."""
        return self.w.emit(f"and i1 {a}, {b}") if a and b else a or b

    def _masked(
        self, expr: e.Expr, condition: str, count: int, lanes: int, uniform: str | None = None
    ) -> str:
        """``expr``, loaded in the lanes where ``condition`` holds alone: in none unless ``uniform`` does."""
        saved = self._mask, self._mask_lanes, self._holds
        both = condition
        if self._mask is not None:
            both = self.w.emit(f"and {vector('i1', count)} {self._mask}, {condition}")
        self._mask, self._mask_lanes = both, count
        self._holds = self._both(self._holds, uniform)
        try:
            with self.region():
                return self._side(expr, lanes)
        finally:
            self._mask, self._mask_lanes, self._holds = saved


def decided(w: Writer, condition: e.Expr, value: str) -> str:
    """``value``, that of ``condition``, to branch by: of elements that nothing was written to it is some
    truth, where LLVM would be free to take the branch, and with it the function, for one that never runs."""
    own = any(one.buffer.scope != "param" for one in loads(condition))
    return w.emit(f"freeze i1 {value}") if own else value


def _is_side_by_side(index: e.Expr) -> bool:
    return isinstance(index, e.Ramp) and e.is_const(index.stride, 1)


def _is_lazy(node: e.Expr) -> TypeGuard[e.Call]:
    """Whether parts of ``node`` are computed only as it is."""
    return isinstance(node, e.Call) and node.name == "if_then_else"


def _is_range_test(node: e.Expr) -> bool:
    """Whether a comparison is ``ramp of stride 1 < the same for all lanes``, of indices."""
    match node:
        case e.Less(e.Ramp(_, e.Const(1)) as ramp, e.Broadcast() | e.Const()) | e.LessEqual(
            e.Ramp(_, e.Const(1)) as ramp, e.Broadcast() | e.Const()
        ):
            return ramp.dtype == e.INDEX
        case _:
            return False


def _is_cheap(expr: e.Expr) -> bool:
    """Whether evaluating in vain does no harm: no memory is read, no library called, not much done."""
    for count, node in enumerate(postorder(expr)):
        slow = isinstance(node, e.Call) and (node.name in LIBRARY or node.name == "if_then_else")
        if slow or isinstance(node, (Load, e.Foreign)) or count > 16:
            return False
    return True
