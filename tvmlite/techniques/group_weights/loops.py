"""The loops of a product of float data and weights of few bits.

With few rows, each word of weights is read once and converted to floats in registers: reading the words
dominates. With many rows, a part of a panel is converted to floats in a near cache, and multiplied by all
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvmlite.relay.ops import loops
from tvmlite.te import expr as e
from tvmlite.te.intrin.extern_calls import call_llvm_intrin
from tvmlite.te.loop import ir as loop
from tvmlite.techniques.group_weights.layout import code_positions
from tvmlite.techniques.group_weights.panels import VECTORS, Lanes, Panels

PAIR = 2
"""The rows that share unpacked weights: their sums, of a group and in total, stay in registers."""

FEW_ROWS = 4
"""With at most this many rows, unpacking weights for each pair is faster than storing them as floats."""

TILE_ROWS = 6
"""With many rows, the rows of a tile whose sums stay in registers."""

PART_TERMS = 128
"""About the number of terms in a part of a panel that is stored as floats: its four vectors of columns fit in
the first cache."""

TABLE = {16: ("avx512f", "llvm.x86.avx512.permvar.sf.512")}
"""By number of lanes: the instruction that looks up 4-bit indices in a vector, and the set that has it."""


Read = Callable[[Any, Any], e.Expr]
"""A function that reads the data of a row and a term."""


@dataclass(frozen=True)
class Product(Panels):
    """The statements of a product of float data, which ``read`` reads."""

    read: Read

    def statements(self) -> loop.Stmt:
        """The whole product: loops for few or many rows, chosen at run time if the number is unknown."""
        rows = self.sizes.rows
        few, many = self._each_panel(self._few_rows), self._each_panel(self._many_rows)
        if isinstance(rows, int):
            return few if rows <= FEW_ROWS else many
        return loop.If(loops.index(rows) <= FEW_ROWS, few, many)

    def _each_panel(self, panel: Callable[[_Decoder, e.Expr], loop.Stmt]) -> loop.Stmt:
        """``panel`` for all panels, with table lookups of codes if the processor has the instruction."""

        def body(number: e.Expr) -> loop.Stmt:
            plain = panel(_Decoder(self.sizes, wide=False), number)
            if self.sizes.bits != 4 or self.sizes.lanes not in TABLE:
                return plain
            needs, _ = TABLE[self.sizes.lanes]
            return loop.Choice((needs,), panel(_Decoder(self.sizes, wide=True), number), plain)

        return self.over_panels(body)

    # --- few rows ---

    def _few_rows(self, lanes: _Decoder, panel: e.Expr) -> loop.Stmt:
        rows = self.sizes.rows
        if rows == 1:
            return self._rows_at_once(lanes, panel, loops.index(0), 1)
        pairs = loops.over(
            loops.index(rows) // PAIR, lambda n: self._rows_at_once(lanes, panel, n * PAIR, PAIR), "pair"
        )
        if isinstance(rows, int) and rows % PAIR == 0:
            return pairs
        last = self._rows_at_once(lanes, panel, loops.index(rows) - 1, 1)
        return loop.sequence(
            pairs, last if isinstance(rows, int) else loop.If((loops.index(rows) % PAIR).equal(1), last)
        )

    def _rows_at_once(self, lanes: _Decoder, panel: e.Expr, row: e.Expr, count: int) -> loop.Stmt:
        """Multiply ``count`` rows from ``row`` on by all columns of a panel."""
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
            cleared = [lanes.clear(one) for one in memory[1:]]
            return loop.sequence(
                *cleared, *words(begin, terms), *self._add_scaled(lanes, panel, g, memory, count)
            )

        body = [lanes.clear(totals), loops.over(whole, lambda g: group(g, sizes.group), "group")]
        body += [group(loops.index(whole), rest)] if rest else []
        body += [self.store(panel, row + r, totals, r) for r in range(count)]
        return loops.allocated(loop.sequence(*body), *memory)

    def _word(
        self,
        lanes: _Decoder,
        panel: e.Expr,
        word: e.Expr,
        row: e.Expr,
        count: int,
        terms: int,
        sums: loop.Buffer,
        data: loop.Buffer,
    ) -> loop.Stmt:
        """Add the products of the first ``terms`` codes of a word of each column."""
        made = [self.prefetch(panel, word, vector) for vector in range(VECTORS)]
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
                            lanes.accumulate(
                                sums,
                                r * VECTORS + vector,
                                j,
                                lanes.broadcast(value) * self._code(lanes, panel, word, vector, field, j),
                            )
                            for r, value in enumerate(values)
                        )
                    )
                )
                made.append(code)
        return loop.sequence(*made)

    def _code(
        self, lanes: _Decoder, panel: e.Expr, word: e.Expr, vector: int, field: int, j: e.Expr
    ) -> e.Expr:
        """The codes in ``field`` of a vector of words, minus the middle code, as floats."""
        words = loop.Load(self.weight, (panel, word, lanes.at(vector, j)))
        return lanes.decode(words, field)

    def _add_scaled(
        self, lanes: _Decoder, panel: e.Expr, group: e.Expr, memory: list[loop.Buffer], count: int
    ) -> list[loop.Stmt]:
        """Add the sums of a group, times its scales, to the totals."""
        totals, sums = memory[:2]

        def one(r: int, vector: int, j: e.Expr) -> loop.Stmt:
            place = (panel, group, lanes.at(vector, j))
            value = loop.Load(sums, lanes.place(r * VECTORS + vector, j))
            if self.offset is not None:
                of_data = loop.Load(memory[2], lanes.place(r, j))
                value = value - of_data * e.cast("float32", loop.Load(self.offset, place))
            return lanes.accumulate(
                totals, r * VECTORS + vector, j, value * e.cast("float32", loop.Load(self.scale, place))
            )

        return [
            lanes.each(lambda j, r=r, v=vector: one(r, v, j))
            for r in range(count)
            for vector in range(VECTORS)
        ]

    # --- many rows ---

    def _many_rows(self, lanes: _Decoder, panel: e.Expr) -> loop.Stmt:
        sizes = self.sizes
        length = _terms_of_part(sizes.group) if sizes.lanes > 1 else sizes.group  # no vectors: small stacks
        plain = loops.buffer("plain", (length, sizes.columns), "float32")
        count = loops.Cell("count")

        def part(n: e.Expr) -> loop.Stmt:
            begin = n * length
            set_count = count.set(e.Min(loops.index(length), loops.index(sizes.depth) - begin))
            return loop.sequence(
                set_count,
                self._dequantize(lanes, panel, begin, length, plain),
                self._rows(panel, begin, count.value, plain),
            )

        parts = loops.over(-(-sizes.depth // length), part, "part")
        return loops.allocated(parts, plain, count)

    def _dequantize(
        self, lanes: _Decoder, panel: e.Expr, begin: e.Expr, length: int, plain: loop.Buffer
    ) -> loop.Stmt:
        """Convert the weights of ``length`` terms from ``begin`` on, as far as there are words, to floats in
        ``plain[k, column]``."""
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
        """Multiply all rows by a part of a panel, in tiles; the remaining rows are a smaller tile."""
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
        lanes = _Decoder(sizes, wide=False)
        sums = loops.buffer("sums", (height * VECTORS, sizes.lanes), "float32")

        def term(k: e.Expr) -> loop.Stmt:
            made = []
            for r in range(height):
                value = self.read(row + r, begin + k)
                for v in range(VECTORS):
                    made.append(
                        lanes.each(
                            lambda j, r=r, v=v, value=value: lanes.accumulate(
                                sums, r * VECTORS + v, j, value * loop.Load(plain, (k, lanes.at(v, j)))
                            )
                        )
                    )
            return loop.sequence(*made)

        def earlier(r: int) -> loop.Stmt:
            return self.over_columns(
                panel,
                lambda v, j, column: loops.store(
                    sums, (r * VECTORS + v, j), self.stored_result(row + r, column)
                ),
            )

        resumed = loop.If(begin > 0, loop.sequence(*(earlier(r) for r in range(height))))
        stored = [self.store(panel, row + r, sums, r) for r in range(height)]
        body = loop.sequence(lanes.clear(sums), resumed, loops.over(count, term, "k"), *stored)
        return loops.allocated(body, sums)

    def stored_result(self, row: e.Expr, column: e.Expr) -> e.Expr:
        """The result of a row and a column that was stored for the parts before."""
        stored = self.write(row, column, e.const(0, "float32"))
        assert isinstance(stored, loop.Store)
        return loop.Load(stored.buffer, stored.indices)


@dataclass(frozen=True)
class _Decoder(Lanes):
    """Lanes that convert codes to floats."""

    def add(self, sums: loop.Buffer, row: int, value: e.Expr) -> loop.Stmt:
        """Add ``value`` to all lanes."""
        return self.each(lambda j: self.accumulate(sums, row, j, self.broadcast(value)))

    def decode(self, words: e.Expr, field: int) -> e.Expr:
        """Field ``field`` of words, minus the middle code, as a float."""
        bits, middle = self.sizes.bits, self.sizes.middle
        shift = e.const(field * bits, "uint32")
        moved = words if field == 0 else e.Call("shift_right", (words, self.broadcast(shift)), "uint32")
        if not self.wide:
            code = e.cast("int32", moved & e.const(2**bits - 1, "uint32"))
            return e.cast("float32", code - middle)
        lanes = self.sizes.lanes
        numbers = e.cast("float32", e.Ramp(e.const(0, "int32"), e.const(1, "int32"), lanes))
        table = numbers - e.const(float(middle), "float32", lanes)
        return call_llvm_intrin(
            f"float32x{lanes}", TABLE[lanes][1], table, e.Call("reinterpret", (moved,), "int32")
        )


def _terms_of_part(group: int) -> int:
    """The number of terms in a part: whole groups, or a part that divides a group."""
    if group <= PART_TERMS:
        return PART_TERMS // group * group
    return PART_TERMS if group % PART_TERMS == 0 else group
