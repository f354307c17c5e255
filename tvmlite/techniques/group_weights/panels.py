"""Common parts of the products with weights of few bits: panels of columns, divided among threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvmlite.relay.ops import loops
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.techniques.group_weights.layout import WORD

VECTORS = 4
"""The vectors of columns in a panel: their independent sums hide the latency of an addition."""

PREFETCH_BYTES = 4096
"""The prefetch distance of words in bytes: the hardware prefetcher stops at the end of each page."""


@dataclass(frozen=True)
class Sizes:
    """The extents of a product: ``rows`` (perhaps symbolic) of ``depth`` terms, by ``units`` columns."""

    rows: Any
    depth: int
    units: int
    columns: int
    bits: int
    group: int

    @property
    def lanes(self) -> int:
        """The number of columns in a vector."""
        return self.columns // VECTORS

    @property
    def codes(self) -> int:
        """The number of codes in a word."""
        return WORD // self.bits

    @property
    def middle(self) -> int:
        """The code that represents 0 if there is no offset."""
        return 1 << (self.bits - 1)


Write = Callable[[Any, Any, e.Expr], loop.Stmt]
"""A function of (row, column, value) that makes the statement that stores a result."""


@dataclass(frozen=True)
class Lanes:
    """How the columns of a vector are processed: by a vectorized loop, or by explicit vectors if ``wide``."""

    sizes: Sizes
    wide: bool

    def each(self, body: Callable[[e.Expr], loop.Stmt]) -> loop.Stmt:
        """``body(lane)`` in a loop over lanes, or once for all lanes."""
        if self.wide:
            return body(loops.index(0))
        return loops.over(self.sizes.lanes, body, "j", kind=loop.VECTORIZE)

    def at(self, vector: int, j: e.Expr) -> e.Expr:
        """The column, or columns, of a vector in a panel."""
        first = loops.index(vector * self.sizes.lanes)
        return e.Ramp(first, loops.index(1), self.sizes.lanes) if self.wide else j + first

    def place(self, row: int, j: e.Expr) -> tuple[e.Expr, e.Expr]:
        """The indices of a vector of sums."""
        return loops.index(row), self.at(0, j)

    def broadcast(self, value: e.Expr) -> e.Expr:
        """``value``, broadcast to all lanes if ``wide``."""
        return e.broadcast(value, self.sizes.lanes) if self.wide else value

    def accumulate(self, sums: loop.Buffer, row: int, j: e.Expr, value: e.Expr) -> loop.Stmt:
        """Add ``value`` to a vector of sums; if it is a product, a multiply-add may round once."""
        place = self.place(row, j)
        return loop.Store(sums, place, e.ContractedAdd(loop.Load(sums, place), value))

    def clear(self, sums: loop.Buffer) -> loop.Stmt:
        """Set all of ``sums`` to zero."""
        rows = int(sums.shape[0].value)  # type: ignore[attr-defined]
        zero = self.broadcast(e.const(0.0, "float32"))
        return loop.sequence(
            *(self.each(lambda j, r=r: loop.Store(sums, self.place(r, j), zero)) for r in range(rows))
        )


@dataclass(frozen=True)
class Panels:
    """A product's weight and the function that writes its results. ``offset``, if there is one, holds zero
    points minus ``Sizes.middle``."""

    sizes: Sizes
    write: Write
    weight: loop.Buffer
    scale: loop.Buffer
    offset: loop.Buffer | None

    def over_panels(self, body: Callable[[e.Expr], loop.Stmt]) -> loop.Stmt:
        """``body(panel)`` for the number of each panel, divided among threads."""
        number = e.Var("panel", e.INDEX)
        extent = loops.index(self.weight.shape[0])
        pragmas = ((loop.SWEEP, True),)
        return loop.For(number, loops.index(0), extent, body(number), loop.PARALLEL, pragmas)

    def prefetch(self, panel: e.Expr, word: e.Expr, vector: int) -> loop.Stmt:
        """Prefetch the vector of words ``PREFETCH_BYTES`` after this one, which may be in the next panel, or
        past the last one."""
        ahead = PREFETCH_BYTES // (self.sizes.columns * WORD // 8)
        place = (panel, word + ahead, loops.index(vector * self.sizes.lanes))
        return loop.Evaluate(e.Call("prefetch", (loop.Load(self.weight, place),), "int32"))

    def store(self, panel: e.Expr, row: e.Expr, totals: loop.Buffer, first: int) -> loop.Stmt:
        """Store a row's totals, from ``totals[first * VECTORS]`` on, as results."""
        return self.over_columns(
            panel, lambda v, j, column: self.write(row, column, loops.load(totals, first * VECTORS + v, j))
        )

    def over_columns(self, panel: e.Expr, body: Callable[[int, e.Expr, e.Expr], loop.Stmt]) -> loop.Stmt:
        """``body(vector, lane, column)`` for the columns of a panel that exist, in vectors."""
        sizes = self.sizes

        def one(vector: int, j: e.Expr) -> loop.Stmt:
            column = panel * sizes.columns + (j + vector * sizes.lanes)
            made = body(vector, j, column)
            return made if sizes.units % sizes.columns == 0 else loop.If(column < sizes.units, made)

        return loop.sequence(
            *(
                loops.over(sizes.lanes, lambda j, v=v: one(v, j), "j", kind=loop.VECTORIZE)
                for v in range(VECTORS)
            )
        )
