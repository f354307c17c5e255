"""The loops of a product with weights of few bits: panels of columns, divided among threads.

Where rows are few, each word of weights is read once, and made floats in registers: the time is that of
reading the words. Where rows are many, a part of a panel is made floats in a near cache, and multiplied with
all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvmlite.relay.ops import loops
from tvmlite.te import expr as e
from tvmlite.te.intrin.extern_calls import call_llvm_intrin
from tvmlite.te.loop import ir as loop
from tvmlite.techniques.group_weights.layout import WORD, code_positions

VECTORS = 4
"""Vectors of columns in a panel: as many independent sums hide the time of an addition."""

PAIR = 2
"""Rows that are multiplied with weights unpacked once: their sums, of a group and of all, are registers."""

FEW_ROWS = 4
"""With at most as many rows, unpacking weights for each pair takes less time than storing them as floats."""

TILE_ROWS = 6
"""Rows of a tile whose sums are registers, where rows are many."""

PART = 128
"""The terms of a part of a panel that is stored as floats, about: four vectors of it fit the first cache."""

STREAM = 4096
"""How many bytes before its use a word is asked for: a processor's own streams end with each page."""

TABLE = {16: ("avx512f", "llvm.x86.avx512.permvar.sf.512")}
"""By lanes: the instruction set, and the instruction that looks indices of 4 bits up in a vector."""


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


Read = Callable[[Any, Any], e.Expr]
"""The element of the data of a row and a term."""

Write = Callable[[Any, Any, e.Expr], loop.Stmt]
"""Stores the result of a row and a column."""


@dataclass(frozen=True)
class Product:
    """Statements of one product. ``offset``, if there is one, holds zero points less ``Sizes.middle``."""

    sizes: Sizes
    read: Read
    write: Write
    weight: loop.Buffer
    scale: loop.Buffer
    offset: loop.Buffer | None

    def statements(self) -> loop.Stmt:
        """All of it: the loops for few rows or for many, or a choice of them where the rows are open."""
        rows = self.sizes.rows
        few, many = self._each_panel(self._few), self._each_panel(self._many)
        if isinstance(rows, int):
            return few if rows <= FEW_ROWS else many
        return loop.If(loops.index(rows) <= FEW_ROWS, few, many)

    def _each_panel(self, panel: Callable[[_Lanes, e.Expr], loop.Stmt]) -> loop.Stmt:
        """``panel`` of all panels, by vectors of a processor that looks codes up, where it does."""
        number = e.Var("panel", e.INDEX)
        body = panel(_Lanes(self.sizes, wide=False), number)
        if self.sizes.bits == 4 and self.sizes.lanes in TABLE:
            needs, _ = TABLE[self.sizes.lanes]
            body = loop.Choice((needs,), panel(_Lanes(self.sizes, wide=True), number), body)
        extent = loops.index(self.weight.shape[0])
        pragmas = ((loop.SWEEP, True),)
        return loop.For(number, loops.index(0), extent, body, loop.PARALLEL, pragmas)

    # --- few rows ---

    def _few(self, lanes: _Lanes, panel: e.Expr) -> loop.Stmt:
        rows = self.sizes.rows
        if rows == 1:
            return self._together(lanes, panel, loops.index(0), 1)
        pairs = loops.over(
            loops.index(rows) // PAIR, lambda n: self._together(lanes, panel, n * PAIR, PAIR), "pair"
        )
        if isinstance(rows, int) and rows % PAIR == 0:
            return pairs
        last = self._together(lanes, panel, loops.index(rows) - 1, 1)
        return loop.sequence(
            pairs, last if isinstance(rows, int) else loop.If((loops.index(rows) % PAIR).equal(1), last)
        )

    def _together(self, lanes: _Lanes, panel: e.Expr, row: e.Expr, count: int) -> loop.Stmt:
        """``count`` rows from ``row`` on, by all columns of a panel."""
        sizes = self.sizes
        totals = loops.buffer("totals", (count * VECTORS, sizes.lanes), "float32")
        sums = loops.buffer("sums", (count * VECTORS, sizes.lanes), "float32")
        data = loops.buffer("data_sums", (count, sizes.lanes), "float32")
        memory = [totals, sums, *([] if self.offset is None else [data])]
        whole, rest = divmod(sizes.depth, sizes.group)

        def words(begin: e.Expr, terms: int) -> list[loop.Stmt]:
            full, part = divmod(terms, sizes.codes)

            def step(n: e.Expr, terms: int = sizes.codes) -> loop.Stmt:
                return self._word(lanes, panel, begin + n, row, count, terms, sums, data)

            return [loops.over(full, step, "word"), *([step(loops.index(full), part)] if part else [])]

        def group(g: e.Expr, terms: int) -> loop.Stmt:
            begin = g * (sizes.group // sizes.codes)
            cleared = [_clear(lanes, one) for one in memory[1:]]
            return loop.sequence(
                *cleared, *words(begin, terms), *self._scaled(lanes, panel, g, memory, count)
            )

        body = [_clear(lanes, totals), loops.over(whole, lambda g: group(g, sizes.group), "group")]
        body += [group(loops.index(whole), rest)] if rest else []
        body += [self._stored(panel, row + r, totals, r) for r in range(count)]
        return loops.allocated(loop.sequence(*body), *memory)

    def _word(
        self,
        lanes: _Lanes,
        panel: e.Expr,
        word: e.Expr,
        row: e.Expr,
        count: int,
        terms: int,
        sums: loop.Buffer,
        data: loop.Buffer,
    ) -> loop.Stmt:
        """The products of the first ``terms`` codes of a word of each column."""
        made = [self._asked_for(panel, word, vector) for vector in range(VECTORS)]
        for field, position in enumerate(code_positions(self.sizes.bits)):
            if position >= terms:
                continue
            values = [self.read(row + r, word * self.sizes.codes + position) for r in range(count)]
            if self.offset is not None:
                made += [lanes.add(data, r, value) for r, value in enumerate(values)]
            for vector in range(VECTORS):
                code = lanes.each(
                    lambda j, vector=vector, field=field, values=values: loop.sequence(
                        *(
                            lanes.added(
                                sums,
                                r * VECTORS + vector,
                                j,
                                lanes.lift(value) * self._code(lanes, panel, word, vector, field, j),
                            )
                            for r, value in enumerate(values)
                        )
                    )
                )
                made.append(code)
        return loop.sequence(*made)

    def _asked_for(self, panel: e.Expr, word: e.Expr, vector: int) -> loop.Stmt:
        """A hint that a vector of words, ``STREAM`` bytes behind this one, is read soon: of the next panel
        where this one ends, behind the last panel of none."""
        ahead = STREAM // (self.sizes.columns * WORD // 8)
        place = (panel, word + ahead, loops.index(vector * self.sizes.lanes))
        return loop.Evaluate(e.Call("prefetch", (loop.Load(self.weight, place),), "int32"))

    def _code(self, lanes: _Lanes, panel: e.Expr, word: e.Expr, vector: int, field: int, j: e.Expr) -> e.Expr:
        """Codes of a vector of words less the middle, as floats."""
        words = loop.Load(self.weight, (panel, word, lanes.at(vector, j)))
        return lanes.decoded(words, field)

    def _scaled(
        self, lanes: _Lanes, panel: e.Expr, group: e.Expr, memory: list[loop.Buffer], count: int
    ) -> list[loop.Stmt]:
        """The sums of a group, times its scales, added to the totals."""
        totals, sums = memory[:2]

        def one(r: int, vector: int, j: e.Expr) -> loop.Stmt:
            place = (panel, group, lanes.at(vector, j))
            value = loop.Load(sums, lanes.place(r * VECTORS + vector, j))
            if self.offset is not None:
                of_data = loop.Load(memory[2], lanes.place(r, j))
                value = value - of_data * e.cast("float32", loop.Load(self.offset, place))
            return lanes.added(
                totals, r * VECTORS + vector, j, value * e.cast("float32", loop.Load(self.scale, place))
            )

        return [
            lanes.each(lambda j, r=r, v=vector: one(r, v, j))
            for r in range(count)
            for vector in range(VECTORS)
        ]

    def _stored(self, panel: e.Expr, row: e.Expr, totals: loop.Buffer, first: int) -> loop.Stmt:
        """A row's totals, from place ``first * VECTORS`` on, as results."""
        return self._columns(
            panel, lambda v, j, column: self.write(row, column, loops.load(totals, first * VECTORS + v, j))
        )

    def _columns(self, panel: e.Expr, body: Callable[[int, e.Expr, e.Expr], loop.Stmt]) -> loop.Stmt:
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

    # --- many rows ---

    def _many(self, lanes: _Lanes, panel: e.Expr) -> loop.Stmt:
        sizes = self.sizes
        length = _part(sizes.group) if sizes.lanes > 1 else sizes.group  # without vectors, stacks are small
        plain = loops.buffer("plain", (length, sizes.columns), "float32")
        count = loops.Cell("count")

        def part(n: e.Expr) -> loop.Stmt:
            begin = n * length
            set_count = count.set(e.Min(loops.index(length), loops.index(sizes.depth) - begin))
            return loop.sequence(
                set_count,
                self._made_plain(lanes, panel, begin, length, plain),
                self._rows(panel, begin, count.value, plain),
            )

        parts = loops.over(-(-sizes.depth // length), part, "part")
        return loops.allocated(parts, plain, count)

    def _made_plain(
        self, lanes: _Lanes, panel: e.Expr, begin: e.Expr, length: int, plain: loop.Buffer
    ) -> loop.Stmt:
        """``plain[k, column]``, the weights of ``length`` terms from ``begin`` on, where there are words."""
        sizes = self.sizes

        def step(n: e.Expr) -> loop.Stmt:
            word = begin // sizes.codes + n
            group = word * sizes.codes // sizes.group

            def one(vector: int, j: e.Expr) -> loop.Stmt:
                place = (panel, group, lanes.at(vector, j))
                scale, made = e.cast("float32", loop.Load(self.scale, place)), []
                for field, position in enumerate(code_positions(sizes.bits)):
                    value = self._code(lanes, panel, word, vector, field, j)
                    if self.offset is not None:
                        value = value - e.cast("float32", loop.Load(self.offset, place))
                    at = (loops.index(n * sizes.codes + position), lanes.at(vector, j))
                    made.append(loop.Store(plain, at, value * scale))
                return loop.sequence(*made)

            return loop.sequence(*(lanes.each(lambda j, v=v: one(v, j)) for v in range(VECTORS)))

        total = -(-sizes.depth // sizes.group) * sizes.group // sizes.codes
        words = e.Min(loops.index(length // sizes.codes), loops.index(total) - begin // sizes.codes)
        return loops.over(words, step, "word")

    def _rows(self, panel: e.Expr, begin: e.Expr, count: e.Expr, plain: loop.Buffer) -> loop.Stmt:
        """All rows by a part of a panel, in tiles; those left over are a tile of fewer rows."""
        rows = loops.index(self.sizes.rows)

        def tile(row: e.Expr, height: int) -> loop.Stmt:
            return self._tile(panel, begin, count, plain, row, height)

        tiles = loops.over(rows // TILE_ROWS, lambda n: tile(n * TILE_ROWS, TILE_ROWS), "tile")
        left = rows % TILE_ROWS
        if isinstance(self.sizes.rows, int):
            over = self.sizes.rows % TILE_ROWS
            return loop.sequence(tiles, *([tile(rows - over, over)] if over else []))
        rest = [loop.If(left.equal(n), tile(rows - n, n)) for n in range(1, TILE_ROWS)]
        return loop.sequence(tiles, *rest)

    def _tile(
        self, panel: e.Expr, begin: e.Expr, count: e.Expr, plain: loop.Buffer, row: e.Expr, height: int
    ) -> loop.Stmt:
        sizes = self.sizes
        lanes = _Lanes(sizes, wide=False)
        sums = loops.buffer("sums", (height * VECTORS, sizes.lanes), "float32")

        def term(k: e.Expr) -> loop.Stmt:
            made = []
            for r in range(height):
                value = self.read(row + r, begin + k)
                for v in range(VECTORS):
                    made.append(
                        lanes.each(
                            lambda j, r=r, v=v, value=value: lanes.added(
                                sums, r * VECTORS + v, j, value * loop.Load(plain, (k, lanes.at(v, j)))
                            )
                        )
                    )
            return loop.sequence(*made)

        def earlier(r: int) -> loop.Stmt:
            return self._columns(
                panel,
                lambda v, j, column: loops.store(sums, (r * VECTORS + v, j), self.earlier(row + r, column)),
            )

        resumed = loop.If(begin > 0, loop.sequence(*(earlier(r) for r in range(height))))
        stored = [self._stored(panel, row + r, sums, r) for r in range(height)]
        body = loop.sequence(_clear(lanes, sums), resumed, loops.over(count, term, "k"), *stored)
        return loops.allocated(body, sums)

    def earlier(self, row: e.Expr, column: e.Expr) -> e.Expr:
        """What was written as the result of a row and a column before."""
        stored = self.write(row, column, e.const(0, "float32"))
        assert isinstance(stored, loop.Store)
        return loop.Load(stored.buffer, stored.indices)


@dataclass(frozen=True)
class _Lanes:
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

    def add(self, sums: loop.Buffer, row: int, value: e.Expr) -> loop.Stmt:
        """A number added to all lanes."""
        return self.each(lambda j: self.added(sums, row, j, self.lift(value)))

    def decoded(self, words: e.Expr, field: int) -> e.Expr:
        """Field ``field`` of words, less the middle, as a float."""
        bits, middle = self.sizes.bits, self.sizes.middle
        shift = e.const(field * bits, "uint32")
        moved = words if field == 0 else e.Call("shift_right", (words, self.lift(shift)), "uint32")
        if not self.wide:
            code = e.cast("int32", moved & e.const(2**bits - 1, "uint32"))
            return e.cast("float32", code - middle)
        lanes = self.sizes.lanes
        numbers = e.cast("float32", e.Ramp(e.const(0, "int32"), e.const(1, "int32"), lanes))
        table = numbers - e.const(float(middle), "float32", lanes)
        return call_llvm_intrin(
            f"float32x{lanes}", TABLE[lanes][1], table, e.Call("reinterpret", (moved,), "int32")
        )


def _clear(lanes: _Lanes, sums: loop.Buffer) -> loop.Stmt:
    """Zero in all of ``sums``."""
    rows = int(sums.shape[0].value)  # type: ignore[attr-defined]
    zero = lanes.lift(e.const(0.0, "float32"))
    return loop.sequence(
        *(lanes.each(lambda j, r=r: loop.Store(sums, lanes.place(r, j), zero)) for r in range(rows))
    )


def _part(group: int) -> int:
    """The terms of a part: whole groups, or a whole part of one."""
    if group <= PART:
        return PART // group * group
    return PART if group % PART == 0 else group
