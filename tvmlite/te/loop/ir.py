"""The loop IR: explicit loops over buffers, between schedules and code generators.

It comes in two forms, both checked by ``verify`` and run by ``interpret``:

- *structured*, as ``te.lower`` returns it: buffers have their shape, ``Load`` and ``Store`` one index per
  axis, and the kind of a ``For`` says how to execute it (serial, parallel, vectorize, unroll).
- *legal*, as code generators expect it, after ``passes.legalize``: one flat element index per access
  (a vector for vectors), only serial and parallel loops, no parallel loop inside another, every
  ``Allocate`` on the stack and of constant size, larger scratch as views of the workspace parameter.

Loop variables, extents and indices are int64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tvmlite.core.node import Node, Printable
from tvmlite.te.expr import Expr, Var
from tvmlite.te.extensions import extended, extension

_set = object.__setattr__

PREFETCHES = {"prefetch": 3, "prefetch_l2": 2}
"""Hints that a cache line will be read, with their locality argument in LLVM and GCC: 3 fetches the line into
L1, 2 into L2."""


@dataclass(frozen=True, eq=False)
class Buffer(Node):
    """Memory for the elements of one array, dense and row-major unless ``strides`` says otherwise.

    Compared by identity: the same Buffer object is the same memory. ``scope`` is ``"param"`` (passed by
    the caller), ``"local"`` (an Allocate), ``"view"`` (part of the workspace, bound by a View) or
    ``"constant"`` (an external symbol of this name or, bound by a View, part of ``NAME_constants``).
    ``strides`` are in elements. ``narrow_dtype`` is the narrow dtype that the caller passes for a parameter
    whose ``dtype`` ``passes.narrow`` has changed to uint8; its bytes are the bits of that dtype.
    """

    name: str
    dtype: str
    shape: tuple[Expr, ...]
    scope: str = "local"
    strides: tuple[Expr, ...] = ()
    alignment: int = 0
    narrow_dtype: str = ""
    identity: ClassVar[bool] = True

    def __repr__(self) -> str:
        return f"Buffer({self.name}, {self.dtype})"

    def __getattr__(self, name: str) -> Any:
        """The methods of ``loop.buffer_access``, by which tensor intrinsics address a buffer."""
        return extended(self, name)


@dataclass(frozen=True, eq=False)
class Load(Expr):
    """A read of ``buffer``, with as many lanes as its (flat) index.

    In lanes where ``predicate`` is given and false, nothing is read and the result is 0.
    """

    buffer: Buffer
    indices: tuple[Expr, ...]
    predicate: Expr | None = None
    dtype: str = field(init=False)
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("indices", "predicate")

    def __init__(self, buffer: Buffer, indices: tuple[Expr, ...], predicate: Expr | None = None) -> None:
        _set(self, "buffer", buffer)
        _set(self, "indices", indices)
        _set(self, "predicate", predicate)
        _set(self, "dtype", buffer.dtype)
        lanes = indices[0].lanes if len(indices) == 1 else max([i.lanes for i in indices], default=1)
        _set(self, "lanes", lanes)

    def children(self) -> tuple[Expr, ...]:
        """The indices, then the predicate if there is one."""
        return self.indices if self.predicate is None else (*self.indices, self.predicate)

    def map_children(self, rule: Callable[[Any], Any]) -> Load:
        """The load with ``rule`` applied to each child; the same object if nothing changed."""
        if self.predicate is not None or len(self.indices) != 1:
            return super().map_children(rule)
        (old,) = self.indices
        new = rule(old)
        return self if new is old else Load(self.buffer, (new,))


class Stmt(Printable):
    """A statement."""

    def as_text(self) -> str:
        """The loops as readable lines; see ``loop.printer``."""
        return extension("printer").show(self)


@dataclass(frozen=True, eq=False, repr=False)
class Store(Stmt):
    """``buffer[indices] = value``; elements of lanes whose ``predicate`` is false are not written."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    predicate: Expr | None = None
    children_in: ClassVar[tuple[str, ...]] = ("indices", "value", "predicate")

    def children(self) -> tuple[Expr, ...]:
        """The indices, the value, then the predicate if there is one."""
        if self.predicate is None:
            return (*self.indices, self.value)
        return (*self.indices, self.value, self.predicate)

    def map_children(self, rule: Callable[[Any], Any]) -> Store:
        """The store with ``rule`` applied to each child; the same object if nothing changed."""
        if self.predicate is not None or len(self.indices) != 1:
            return super().map_children(rule)
        (old,) = self.indices
        new, value = rule(old), rule(self.value)
        return self if new is old and value is self.value else Store(self.buffer, (new,), value)


SERIAL, PARALLEL, VECTORIZE, UNROLL = "serial", "parallel", "vectorize", "unroll"

SWEEP = "sweep"
"""The pragma of a parallel loop that runs forwards and backwards alternately."""


@dataclass(frozen=True, eq=False, repr=False)
class For(Stmt):
    """Execute ``body`` for ``var`` in ``min .. min + extent - 1``; do nothing if ``extent`` <= 0.

    ``kind`` is serial, parallel (iterations independent, any order, any thread), vectorize or unroll
    (both need an extent that is constant once simplified). ``annotations`` are pragmas; in a parallel loop
    with ``SWEEP``, each thread executes its part from the end in every second run of the model.
    """

    var: Var
    min: Expr
    extent: Expr
    body: Stmt
    kind: str = SERIAL
    annotations: tuple[tuple[str, Any], ...] = ()
    children_in: ClassVar[tuple[str, ...]] = ("min", "extent", "body")
    binders: ClassVar[tuple[str, ...]] = ("var",)

    @property
    def alternates_direction(self) -> bool:
        """Whether each thread starts its part at alternate ends from run to run."""
        return self.kind == PARALLEL and any(key == SWEEP for key, _ in self.annotations)


@dataclass(frozen=True, eq=False, repr=False)
class While(Stmt):
    """Execute ``body`` while ``condition`` holds, tested before each iteration."""

    condition: Expr
    body: Stmt
    children_in: ClassVar[tuple[str, ...]] = ("condition", "body")


@dataclass(frozen=True, eq=False, repr=False)
class Allocate(Stmt):
    """Allocate ``buffer`` (scope local), uninitialised, for the duration of ``body``."""

    buffer: Buffer
    body: Stmt
    children_in: ClassVar[tuple[str, ...]] = ("body",)
    binders: ClassVar[tuple[str, ...]] = ("buffer",)


@dataclass(frozen=True, eq=False, repr=False)
class View(Stmt):
    """Bind ``buffer`` (scope view) to the memory at byte ``offset`` of the workspace, inside ``body``.

    A buffer of scope constant is bound to the function's constants instead, the symbol ``NAME_constants``.
    """

    buffer: Buffer
    offset: Expr
    body: Stmt
    children_in: ClassVar[tuple[str, ...]] = ("offset", "body")
    binders: ClassVar[tuple[str, ...]] = ("buffer",)


@dataclass(frozen=True, eq=False, repr=False)
class Let(Stmt):
    """Bind ``var`` to ``value`` inside ``body``."""

    var: Var
    value: Expr
    body: Stmt
    children_in: ClassVar[tuple[str, ...]] = ("value", "body")
    binders: ClassVar[tuple[str, ...]] = ("var",)


@dataclass(frozen=True, eq=False, repr=False)
class If(Stmt):
    """Execute ``then`` if the scalar ``condition`` holds, else ``otherwise``."""

    condition: Expr
    then: Stmt
    otherwise: Stmt | None = None
    children_in: ClassVar[tuple[str, ...]] = ("condition", "then", "otherwise")


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Stmt):
    """Execute ``special`` on targets that have all the instruction sets in ``needs``, else ``portable``.

    Both have the same effect. Legalisation chooses, or leaves the choice to the C compiler; the interpreter
    executes ``portable``.
    """

    needs: tuple[str, ...]
    special: Stmt
    portable: Stmt
    children_in: ClassVar[tuple[str, ...]] = ("special", "portable")


@dataclass(frozen=True, eq=False, repr=False)
class Seq(Stmt):
    """Execute statements in order; an empty sequence does nothing."""

    body: tuple[Stmt, ...]
    children_in: ClassVar[tuple[str, ...]] = ("body",)

    def children(self) -> tuple[Stmt, ...]:
        """The statements, in order of execution."""
        return self.body


@dataclass(frozen=True, eq=False, repr=False)
class Assert(Stmt):
    """Return from the function with the code of ``message`` unless ``condition`` holds."""

    condition: Expr
    message: str
    children_in: ClassVar[tuple[str, ...]] = ("condition",)


@dataclass(frozen=True, eq=False, repr=False)
class Evaluate(Stmt):
    """Evaluate ``value`` for its effect, such as a ``prefetch`` call."""

    value: Expr
    children_in: ClassVar[tuple[str, ...]] = ("value",)


@dataclass(frozen=True, eq=False, repr=False)
class CallKernel(Stmt):
    """Call another compiled function, and return at once with its result if that is not zero.

    The arguments are the addresses of ``buffers``, then ``sizes``. If ``workspace`` is given, the address at
    that byte offset of the caller's workspace follows, as the callee's workspace, and then ``THREADS``.
    ``messages_from`` is added to the callee's non-zero codes. If ``profile_slot`` >= 0 and the profile
    pointer of the entry is not null, the nanoseconds taken are written to that slot. Only in entries.
    """

    symbol: str
    buffers: tuple[Buffer, ...]
    sizes: tuple[Expr, ...]
    workspace: Expr | None = None
    messages_from: int = 0
    profile_slot: int = -1
    children_in: ClassVar[tuple[str, ...]] = ("sizes", "workspace")


@dataclass(frozen=True, eq=False, repr=False)
class Function(Printable):
    """A function in loop IR; ``signature.signature_of`` gives its calling convention.

    ``params`` are buffers and scalar variables in the caller's order; ``sizes`` are the further size
    variables (int64) that shapes mention, passed after them. ``outputs`` are the params that are
    written (and may be read back); the others are only read. ``workspace`` (in bytes, a function of sizes and
    ``THREADS``) is set by legalisation; if it is not None, the function takes a workspace and a threads
    parameter after the sizes. ``messages`` are the texts of its Asserts, code 1 first, also set by
    legalisation. An entry has ``kernels``, and a profile parameter last.

    An entry whose kernels alternate in direction has ``counts_runs``: it passes them the number of the run.

    An entry with data-dependent extents has ``dynamic_outputs``, an array of int64 that it writes: the bytes
    of workspace that it needs and, for every output that is a view and not a parameter, its byte offset in
    the workspace and its extents. The parameters ``dynamic_outputs`` and ``CAPACITY`` follow the workspace's.
    The attribute ``constants_of`` names the function whose constants it uses, if not its own.
    """

    name: str
    params: tuple[Buffer | Var, ...]
    outputs: tuple[Buffer, ...]
    sizes: tuple[Var, ...]
    body: Stmt
    workspace: Expr | None = None
    messages: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    attrs: tuple[tuple[str, Any], ...] = ()
    dynamic_outputs: Buffer | None = None
    counts_runs: bool = False
    children_in: ClassVar[tuple[str, ...]] = ("body", "workspace")
    binders: ClassVar[tuple[str, ...]] = ("params", "sizes")

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The array parameters, in order."""
        return tuple(p for p in self.params if isinstance(p, Buffer))

    @property
    def constants_symbol(self) -> str:
        """The symbol of its constants, named after the attribute ``constants_of``, else the function."""
        return f"{dict(self.attrs).get('constants_of', self.name)}_constants"

    def as_text(self) -> str:
        """The function as readable lines; see ``loop.printer``."""
        return extension("printer").show(self)


THREADS = Var("threads", "int64")
"""The number of threads the workspace was sized for: a parameter of functions that use a workspace."""

CAPACITY = Var("capacity", "int64")
"""The size in bytes of the given workspace: a parameter of entries whose need for it depends on the data."""

THREAD = Var("thread", "int64")
"""The number of the running thread, 0 <= thread < threads, in the body of a parallel loop; 0 outside."""


def sequence(*statements: Stmt) -> Stmt:
    """A ``Seq`` of ``statements``, nested ones flattened; a single statement is returned unchanged."""
    flat: list[Stmt] = []
    for one in statements:
        flat.extend(one.body if isinstance(one, Seq) else (one,))
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))
