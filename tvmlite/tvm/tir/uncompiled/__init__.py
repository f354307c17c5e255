"""TVM's nodes that tvmlite cannot compile: programs may make, read and traverse them; compiling one raises an
UnsupportedError."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tvmlite.core import arguments
from tvmlite.core.node import Node
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.written import Intrinsic, Uncompiled

_set = object.__setattr__
_BY_HAND = "a tvm.tir.ir_builder writes loops, and its allocate gives scratch memory"
_NO_SCHEDULE = "s = te.create_schedule(C.op) schedules tensor expressions"
_NO_POINTERS = "there are no pointers among expressions: a buffer's access_ptr() is given to call_extern"


def _statement(where: str, value: Any) -> ir.Stmt:
    return arguments.instance(where, value, ir.Stmt, "a statement")


def _range(value: Any) -> t.Range:
    return arguments.instance("tir: bounds", value, t.Range, "a tvm.ir.Range")


@dataclass(frozen=True, eq=False)
class AttrStmt(ir.Stmt, Uncompiled):
    """``body``, in which the attribute ``attr_key`` of ``node`` is ``value``."""

    node: Any
    attr_key: str
    value: Any
    body: ir.Stmt
    span: Any = None
    children_in: ClassVar[tuple[str, ...]] = ("value", "body")
    instead = "s[C].pragma(axis, key, value) notes something of a loop; For has annotations"

    def __post_init__(self) -> None:
        _set(self, "value", e.scalar("tir.AttrStmt: value", self.value))
        _statement("tir.AttrStmt: body", self.body)


@dataclass(frozen=True, eq=False)
class Allocate(ir.Stmt, Uncompiled):
    """Allocates memory of the shape ``extents`` at ``buffer_var``, for use inside ``body``."""

    buffer_var: e.Var
    dtype: str
    extents: tuple[Any, ...]
    condition: Any
    body: ir.Stmt
    annotations: Mapping[str, Any] | None = None
    span: Any = None
    children_in: ClassVar[tuple[str, ...]] = ("extents", "condition", "body")
    binders: ClassVar[tuple[str, ...]] = ("buffer_var",)
    instead = _BY_HAND

    def __post_init__(self) -> None:
        arguments.instance("tir.Allocate: buffer_var", self.buffer_var, e.Var, "a te.var of a pointer type")
        _set(self, "extents", _scalars("tir.Allocate: extents", self.extents))
        _set(self, "condition", e.scalar("tir.Allocate: condition", self.condition))
        _set(self, "annotations", dict(self.annotations or {}))
        _statement("tir.Allocate: body", self.body)


@dataclass(frozen=True, eq=False)
class AllocateConst(ir.Stmt, Uncompiled):
    """The constant array ``data`` at ``buffer_var``, for use inside ``body``."""

    buffer_var: Any
    dtype: str
    extents: tuple[Any, ...]
    data: Any
    body: ir.Stmt
    annotations: Mapping[str, Any] | None = None
    span: Any = None
    children_in: ClassVar[tuple[str, ...]] = ("extents", "body")
    binders: ClassVar[tuple[str, ...]] = ("buffer_var",)
    instead = "give the numbers as an argument"

    def __post_init__(self) -> None:
        _set(self, "extents", _scalars("tir.AllocateConst: extents", self.extents))
        _set(self, "annotations", dict(self.annotations or {}))
        _statement("tir.AllocateConst: body", self.body)


@dataclass(frozen=True, eq=False)
class Shuffle(e.Expr, Uncompiled):
    """A vector of the elements ``indices`` of the concatenated ``vectors``."""

    vectors: tuple[Any, ...]
    indices: tuple[Any, ...]
    span: Any = None
    dtype: str = field(init=False)
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("vectors", "indices")
    instead = "load the elements one by one"

    def __post_init__(self) -> None:
        _set(self, "vectors", _scalars("tir.Shuffle: vectors", self.vectors))
        _set(self, "indices", _scalars("tir.Shuffle: indices", self.indices))
        self._typed(self.vectors[0].dtype, len(self.indices))


@dataclass(frozen=True, eq=False)
class Prefetch(ir.Stmt, Uncompiled):
    """A hint that the region ``bounds`` of ``buffer`` will be read."""

    buffer: Any
    bounds: tuple[t.Range, ...]
    span: Any = None
    instead = "s[C].prefetch(tensor, axis, offset)"

    def __post_init__(self) -> None:
        _set(self, "bounds", tuple(map(_range, self.bounds)))


@dataclass(frozen=True, eq=False)
class BufferRealize(ir.Stmt, Uncompiled):
    """The region ``bounds`` of ``buffer`` is in memory inside ``body``."""

    buffer: Any
    bounds: tuple[t.Range, ...]
    condition: Any
    body: ir.Stmt
    span: Any = None
    children_in: ClassVar[tuple[str, ...]] = ("condition", "body")
    instead = _BY_HAND

    def __post_init__(self) -> None:
        _set(self, "bounds", tuple(map(_range, self.bounds)))
        _set(self, "condition", e.scalar(f"tir.{type(self).__name__}: condition", self.condition))
        _statement(f"tir.{type(self).__name__}: body", self.body)


@dataclass(frozen=True, eq=False)
class ProducerRealize(ir.Stmt, Uncompiled):
    """The region ``bounds`` of the tensor ``producer`` is in memory inside ``body``."""

    producer: Any
    bounds: tuple[t.Range, ...]
    condition: Any
    body: ir.Stmt
    storage_scope: str = ""
    span: Any = None
    children_in: ClassVar[tuple[str, ...]] = ("condition", "body")
    instead = _BY_HAND
    __post_init__ = BufferRealize.__post_init__


@dataclass(frozen=True, eq=False)
class ProducerStore(ir.Stmt, Uncompiled):
    """Stores ``value`` as the element at ``indices`` of the tensor ``producer``."""

    producer: Any
    value: Any
    indices: tuple[Any, ...]
    span: Any = None
    children_in: ClassVar[tuple[str, ...]] = ("value", "indices")
    instead = "te.compute says what is stored where; BufferStore stores in a buffer"

    def __post_init__(self) -> None:
        _set(self, "value", e.scalar("tir.ProducerStore: value", self.value))
        _set(self, "indices", _scalars("tir.ProducerStore: indices", self.indices))


@dataclass(frozen=True, eq=False)
class DeclBuffer(ir.Stmt, Uncompiled):
    """Declares ``buffer`` for use inside ``body``."""

    buffer: Any
    body: ir.Stmt
    span: Any = None
    children_in: ClassVar[tuple[str, ...]] = ("body",)
    instead = "tvm.tir.decl_buffer declares a buffer"

    def __post_init__(self) -> None:
        _statement("tir.DeclBuffer: body", self.body)


@dataclass(frozen=True, eq=False)
class BufferRegion(Node, Uncompiled):
    """The part ``region`` of ``buffer``, given as one range per axis."""

    buffer: Any
    region: tuple[t.Range, ...]
    instead = _NO_SCHEDULE

    def __post_init__(self) -> None:
        _set(self, "region", tuple(map(_range, self.region)))


@dataclass(frozen=True, eq=False)
class MatchBufferRegion(Node, Uncompiled):
    """Declares ``buffer`` as a view of ``source``, a region of another buffer."""

    buffer: Any
    source: BufferRegion
    instead = _NO_SCHEDULE


@dataclass(frozen=True, eq=False)
class Block(ir.Stmt, Uncompiled):
    """A block of computation with its own axes and declared regions that it reads and writes."""

    iter_vars: tuple[Any, ...]
    reads: tuple[BufferRegion, ...]
    writes: tuple[BufferRegion, ...]
    name_hint: str
    body: ir.Stmt
    init: ir.Stmt | None = None
    alloc_buffers: tuple[Any, ...] = ()
    match_buffers: tuple[MatchBufferRegion, ...] = ()
    annotations: Mapping[str, Any] | None = None
    span: Any = None
    children_in: ClassVar[tuple[str, ...]] = ("init", "body")
    instead = _NO_SCHEDULE

    def __post_init__(self) -> None:
        for name in ("iter_vars", "reads", "writes", "alloc_buffers", "match_buffers"):
            _set(self, name, tuple(getattr(self, name) or ()))
        _set(self, "annotations", dict(self.annotations or {}))
        _statement("tir.Block: body", self.body)


@dataclass(frozen=True, eq=False)
class BlockRealize(ir.Stmt, Uncompiled):
    """Executes ``block`` with ``iter_values`` as the values of its axes, if ``predicate`` holds."""

    iter_values: tuple[Any, ...]
    predicate: Any
    block: Block
    span: Any = None
    children_in: ClassVar[tuple[str, ...]] = ("iter_values", "predicate", "block")
    instead = _NO_SCHEDULE

    def __post_init__(self) -> None:
        _set(self, "iter_values", _scalars("tir.BlockRealize: iter_values", self.iter_values))
        _set(self, "predicate", e.scalar("tir.BlockRealize: predicate", self.predicate))
        arguments.instance("tir.BlockRealize: block", self.block, Block, "a Block")


@dataclass(frozen=True, eq=False)
class OpCall(e.Expr, Uncompiled):
    """A call of a TVM operator that tvmlite cannot compile."""

    op: Intrinsic
    args: tuple[Any, ...]
    dtype: str
    lanes: int = 1
    instead = _NO_POINTERS

    @property
    def title(self) -> str:
        """The name of the operator."""
        return self.op.name.removeprefix("tir.")

    def children(self) -> Sequence[e.Expr]:
        """The arguments that are expressions."""
        return [one for one in self.args if isinstance(one, e.Expr)]

    def map_children(self, rule: Callable[[Any], Any]) -> OpCall:
        """The call with ``rule`` applied to the arguments; the same object if none changes."""
        args = tuple(rule(one) if isinstance(one, e.Expr) else one for one in self.args)
        same = all(a is b for a, b in zip(args, self.args, strict=True))
        return self if same else OpCall(self.op, args, self.dtype, self.lanes)


@dataclass(frozen=True, eq=False)
class NoReducer(e.Expr, Uncompiled):
    """``Reduce`` without a combiner."""

    combiner: None
    source: tuple[e.Expr, ...]
    axis: tuple[t.IterVar, ...]
    condition: e.Expr
    value_index: int
    init: tuple[e.Expr, ...]
    dtype: str = field(init=False)
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("source", "condition", "init")
    title: ClassVar[str] = "Reduce without a combiner"
    instead = "te.comm_reducer makes one"

    def __post_init__(self) -> None:
        self._typed(self.source[self.value_index].dtype, 1)


def _scalars(where: str, values: Any) -> tuple[e.Expr, ...]:
    given = values if isinstance(values, (list, tuple)) else (values,)
    return tuple(e.scalar(where, one) for one in given)
