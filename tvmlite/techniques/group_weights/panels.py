"""What all products with weights of few bits share: panels of columns, divided among threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvmlite.relay.ops import loops
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.techniques.group_weights.layout import WORD

VECTORS = 4
"""Vectors of columns in a panel: as many independent sums hide the time of an addition."""

STREAM = 4096
"""How many bytes before its use a word is asked for: a processor's own streams end with each page."""


@dataclass(frozen=True)
class Sizes:
    """The extents of a product: ``rows`` (perhaps open) of ``depth`` terms, by ``units`` columns."""

    rows: Any
    depth: int
    units: int
    columns: int
    bits: int
    group: int

    @property
    def lanes(self) -> int:
        """The columns of a vector."""
        return self.columns // VECTORS

    @property
    def codes(self) -> int:
        """The codes of a word."""
        return WORD // self.bits

    @property
    def middle(self) -> int:
        """The code that stands for 0 where there is no offset."""
        return 1 << (self.bits - 1)


Write = Callable[[Any, Any, e.Expr], loop.Stmt]
"""Stores the result of a row and a column."""


@dataclass(frozen=True)
class Lanes:
    """How the columns of a vector are gone over: by a vectorized loop, or written as vectors if ``wide``."""

    sizes: Sizes
    wide: bool

    def each(self, body: Callable[[e.Expr], loop.Stmt]) -> loop.Stmt:
        """``body`` of the lane, or of all lanes."""
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

    def lift(self, value: e.Expr) -> e.Expr:
        """A number for all lanes."""
        return e.broadcast(value, self.sizes.lanes) if self.wide else value

    def added(self, sums: loop.Buffer, row: int, j: e.Expr, value: e.Expr) -> loop.Stmt:
        """``value`` added to a vector of sums, with a product of it rounded once."""
        place = self.place(row, j)
        return loop.Store(sums, place, e.ContractedAdd(loop.Load(sums, place), value))

    def clear(self, sums: loop.Buffer) -> loop.Stmt:
        """Zero in all of ``sums``."""
        rows = int(sums.shape[0].value)  # type: ignore[attr-defined]
        zero = self.lift(e.const(0.0, "float32"))
        return loop.sequence(
            *(self.each(lambda j, r=r: loop.Store(sums, self.place(r, j), zero)) for r in range(rows))
        )


@dataclass(frozen=True)
class Panels:
    """The weight of a product and its results. ``offset``, if there is one, holds zero points less
    ``Sizes.middle``."""

    sizes: Sizes
    write: Write
    weight: loop.Buffer
    scale: loop.Buffer
    offset: loop.Buffer | None

    def over_panels(self, body: Callable[[e.Expr], loop.Stmt]) -> loop.Stmt:
        """``body`` of each panel's number, by threads."""
        number = e.Var("panel", e.INDEX)
        extent = loops.index(self.weight.shape[0])
        pragmas = ((loop.SWEEP, True),)
        return loop.For(number, loops.index(0), extent, body(number), loop.PARALLEL, pragmas)

    def asked_for(self, panel: e.Expr, word: e.Expr, vector: int) -> loop.Stmt:
        """A hint that a vector of words, ``STREAM`` bytes behind this one, is read soon: of the next panel
        where this one ends, behind the last panel of none."""
        ahead = STREAM // (self.sizes.columns * WORD // 8)
        place = (panel, word + ahead, loops.index(vector * self.sizes.lanes))
        return loop.Evaluate(e.Call("prefetch", (loop.Load(self.weight, place),), "int32"))

    def stored(self, panel: e.Expr, row: e.Expr, totals: loop.Buffer, first: int) -> loop.Stmt:
        """A row's totals, from place ``first * VECTORS`` on, as results."""
        return self.over_columns(
            panel, lambda v, j, column: self.write(row, column, loops.load(totals, first * VECTORS + v, j))
        )

    def over_columns(self, panel: e.Expr, body: Callable[[int, e.Expr, e.Expr], loop.Stmt]) -> loop.Stmt:
        """``body(vector, lane, column)`` of a panel's columns that there are, in vectors."""
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
