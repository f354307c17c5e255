"""The loops of a product of quantized data and weights of few bits: dot products of four bytes.

Masking a word of weights, or shifting and masking it, gives four consecutive codes of a column as bytes; four
codes of the data are another word, which all columns share. Sums of a group are integers, which start with
the contribution of the zero points. They are converted to floats once per group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvmlite.machine.target import Target
from tvmlite.relay.ir.types import Shape
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import unravelled
from tvmlite.te import expr as e
from tvmlite.te.intrin.extern_calls import reinterpret
from tvmlite.te.loop import ir as loop
from tvmlite.techniques.common import arm, x86
from tvmlite.techniques.common.quads import QUAD, QuadInstruction
from tvmlite.techniques.group_weights.panels import VECTORS, Lanes, Panels

TILE_ROWS = {16: 6}
"""By an instruction's number of lanes: the rows of a tile whose sums stay in registers; AVX-512 has 32."""

OTHER_ROWS = 2
"""The rows of a tile with narrower vectors, of which there may be 16 registers, and with plain loops."""

QUADS = (*x86.QUADS, *arm.QUADS)
"""The instructions for four products of bytes, the preferred ones of each architecture first."""

SIGN_BITS = 0x80808080

HIGH_PART_FACTOR = 256
"""The factor of the second part of a code."""


def multiplies_bytes(target: Target) -> bool:
    """Whether ``target`` has an instruction for four products of bytes in each lane of its vectors."""
    return any(row.lanes == target.lanes("float32") and row.is_supported_by(target) for row in QUADS)


@dataclass(frozen=True)
class IntegerProduct(Panels):
    """The statements of a product of the int8 codes ``data (..., parts * groups * group)``. Each group has a
    ``data_scale`` and the sum of its codes, ``data_sum``, both ``(..., groups)``; ``lead`` are the leading
    extents. If there are two ``parts``, the second counts 256 times."""

    data: loop.Buffer
    data_scale: loop.Buffer
    data_sum: loop.Buffer
    lead: Shape
    parts: int

    def statements(self) -> loop.Stmt:
        """The whole product: rows in tiles, the remaining rows in a smaller tile."""
        return self.over_panels(self._panel)

    def _panel(self, panel: e.Expr) -> loop.Stmt:
        """Multiply all rows by a panel, with the best instruction that the processor has."""
        made = self._rows(_DotLanes(self.sizes, wide=False), panel)
        for row in reversed(QUADS):
            if row.lanes == self.sizes.lanes:
                needs = tuple(row.needs.split(","))
                made = loop.Choice(
                    needs, self._rows(_DotLanes(self.sizes, wide=True, quads=row), panel), made
                )
        return made

    def _rows(self, lanes: _DotLanes, panel: e.Expr) -> loop.Stmt:
        height = TILE_ROWS.get(self.sizes.lanes, OTHER_ROWS) if lanes.wide else OTHER_ROWS
        height, rows = max(height // self.parts, 1), self.sizes.rows
        tiles = loops.over(
            loops.index(rows) // height, lambda n: self._tile(lanes, panel, n * height, height), "tile"
        )
        if isinstance(rows, int):
            left = rows % height
            last = [self._tile(lanes, panel, loops.index(rows - left), left)] if left else []
            return loop.sequence(*([tiles] if rows >= height else []), *last)
        left = loops.index(rows) % height
        rest = [
            loop.If(left.equal(n), self._tile(lanes, panel, loops.index(rows) - n, n))
            for n in range(1, height)
        ]
        return loop.sequence(tiles, *rest)

    def _tile(self, lanes: _DotLanes, panel: e.Expr, row: e.Expr, height: int) -> loop.Stmt:
        """Multiply ``height`` rows from ``row`` on by all columns of a panel."""
        sizes = self.sizes
        totals = loops.buffer("totals", (height * VECTORS, sizes.lanes), "float32")
        sums = loops.buffer("sums", (self.parts * height * VECTORS, sizes.lanes), "int32")
        tile = _Tile(lanes, panel, row, height, sums, totals)
        words = sizes.group // sizes.codes

        def group(g: e.Expr) -> loop.Stmt:
            products = loops.over(words, lambda n: self._word(tile, g * words + n), "n")
            return loop.sequence(self._initialize_sums(tile, g), products, self._add_scaled(tile, g))

        body = loop.sequence(
            lanes.clear(totals),
            loops.over(-(-sizes.depth // sizes.group), group, "group"),
            *(self.store(panel, row + r, totals, r) for r in range(height)),
        )
        return loops.allocated(body, totals, sums)

    def _initialize_sums(self, tile: _Tile, group: e.Expr) -> loop.Stmt:
        """Initialize the sums of a group: those of the first part contain the integer zero points' share."""
        lanes = tile.lanes

        def one(r: int, vector: int, j: e.Expr) -> loop.Stmt:
            of_data = self._value_of_group(self.data_sum, tile.row + r, group)
            value = lanes.broadcast(of_data * -lanes.zero_code)
            if self._has_integer_offset:
                assert self.offset is not None
                offset = loop.Load(self.offset, (tile.panel, group, lanes.at(vector, j)))
                value = value - e.cast("int32", offset) * lanes.broadcast(of_data)
            return loop.Store(tile.sums, lanes.place(tile.number(r, vector), j), value)

        zero = lanes.broadcast(e.const(0, "int32"))

        def cleared(r: int, vector: int, j: e.Expr) -> loop.Stmt:
            return loop.Store(tile.sums, lanes.place(tile.number(r, vector, 1), j), zero)

        return loop.sequence(tile.each(one), *([tile.each(cleared)] if self.parts > 1 else []))

    def _value_of_group(self, values: loop.Buffer, row: e.Expr, group: e.Expr) -> e.Expr:
        """The element of ``values`` for a group of a row."""
        return loops.load(values, *unravelled(row, self.lead), group)

    @property
    def _has_integer_offset(self) -> bool:
        """Whether there are zero points, and they are integers."""
        return self.offset is not None and self.offset.dtype != "float32"

    def _word(self, tile: _Tile, word: e.Expr) -> loop.Stmt:
        """Add the products of all codes of a word of each column."""
        sizes, lanes = self.sizes, tile.lanes
        made = [self.prefetch(tile.panel, word, vector) for vector in range(VECTORS)]

        def products(vector: int, four: int, j: e.Expr) -> loop.Stmt:
            words = loop.Load(self.weight, (tile.panel, word, lanes.at(vector, j)))
            codes, term = lanes.codes(words, four), word * sizes.codes + four * QUAD
            pairs = [(part, r) for part in range(self.parts) for r in range(tile.height)]
            return loop.sequence(*(added(vector, codes, term, part, r, j) for part, r in pairs))

        def added(vector: int, codes: e.Expr, term: e.Expr, part: int, r: int, j: e.Expr) -> loop.Stmt:
            place = lanes.place(tile.number(r, vector, part), j)
            at = *unravelled(tile.row + r, self.lead), term + part * sizes.depth
            return loop.Store(tile.sums, place, lanes.dot(loop.Load(tile.sums, place), codes, self.data, at))

        for vector in range(VECTORS):
            for four in range(sizes.codes // QUAD):
                made.append(lanes.each(lambda j, v=vector, n=four: products(v, n, j)))
        return loop.sequence(*made)

    def _add_scaled(self, tile: _Tile, group: e.Expr) -> loop.Stmt:
        """Add the sums of a group, times both scales, to the totals."""
        lanes = tile.lanes

        def one(r: int, vector: int, j: e.Expr) -> loop.Stmt:
            place = (tile.panel, group, lanes.at(vector, j))
            low, *high = (
                loop.Load(tile.sums, lanes.place(tile.number(r, vector, part), j))
                for part in range(self.parts)
            )
            value = e.cast("float32", low + high[0] * HIGH_PART_FACTOR if high else low)
            if self.offset is not None and not self._has_integer_offset:
                of_data = e.cast("float32", self._value_of_group(self.data_sum, tile.row + r, group))
                value = value - lanes.broadcast(of_data) * loop.Load(self.offset, place)
            scale = e.cast("float32", loop.Load(self.scale, place))
            factor = scale * lanes.broadcast(self._value_of_group(self.data_scale, tile.row + r, group))
            return lanes.accumulate(tile.totals, tile.number(r, vector), j, value * factor)

        return tile.each(one)


@dataclass(frozen=True)
class _Tile:
    """``height`` rows from ``row`` on by the columns of a ``panel``: ``sums`` of a group, and ``totals``."""

    lanes: _DotLanes
    panel: e.Expr
    row: e.Expr
    height: int
    sums: loop.Buffer
    totals: loop.Buffer

    def number(self, row: int, vector: int, part: int = 0) -> int:
        """The index of the vector of sums for a row and a vector of columns."""
        return (part * self.height + row) * VECTORS + vector

    def each(self, make: Callable[[int, int, e.Expr], loop.Stmt]) -> loop.Stmt:
        """``make(row, vector, lane)`` for all rows and vectors of columns."""
        pairs = [(r, v) for r in range(self.height) for v in range(VECTORS)]
        return loop.sequence(*(self.lanes.each(lambda j, r=r, v=v: make(r, v, j)) for r, v in pairs))


@dataclass(frozen=True)
class _DotLanes(Lanes):
    """Lanes that multiply four codes by four of the data, with the instruction ``quads`` if they are wide."""

    quads: QuadInstruction | None = None

    @property
    def subtracts_128(self) -> bool:
        """Whether codes of weights are reduced by 128, for an instruction that multiplies signed bytes."""
        return self.sizes.bits == 8 and self.quads is not None and self.quads.data == "int8"

    @property
    def zero_code(self) -> int:
        """The multiplied code that represents 0 if there is no offset."""
        return 0 if self.subtracts_128 else self.sizes.middle

    def codes(self, words: e.Expr, part: int) -> e.Expr:
        """Four codes of each column, the bytes of a uint32."""
        if self.sizes.bits == 4:
            four = self.broadcast(e.const(4, "uint32"))
            moved = e.Call("shift_right", (words, four), "uint32") if part else words
            return moved & self.broadcast(e.const(0x0F0F0F0F, "uint32"))
        return words ^ self.broadcast(e.const(SIGN_BITS, "uint32")) if self.subtracts_128 else words

    def dot(self, sums: e.Expr, codes: e.Expr, data: loop.Buffer, at: tuple[e.Expr, ...]) -> e.Expr:
        """``sums`` plus the four products of ``codes`` and the data from ``at`` on."""
        if self.quads is not None:
            lanes = self.sizes.lanes
            word = reinterpret("int32", data.vload(at, f"int8x{QUAD}"))
            repeated = reinterpret(f"int8x{lanes * QUAD}", e.broadcast(word, lanes))
            return self.quads.step(sums, reinterpret(f"{self.quads.data}x{lanes * QUAD}", codes), repeated)
        for k in range(QUAD):
            code = e.cast("int32", codes >> e.const(8 * k, "uint32") & e.const(255, "uint32"))
            sums = sums + code * e.cast("int32", loops.load(data, *at[:-1], at[-1] + k))
        return sums
