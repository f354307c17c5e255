"""The loops of a product of data in 8 bits with weights of few bits: dot products of four bytes.

Four consecutive codes of a column are the bytes of a word of weights, once that is masked, or shifted and
masked; four of the data are another word, which all columns share. Sums of a group are integers, to which
zero points contribute the start. They become floats once a group.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvmlite.relay.ir.types import Shape
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import unravelled
from tvmlite.te import expr as e
from tvmlite.te.intrin.extern_calls import reinterpret
from tvmlite.te.loop import ir as loop
from tvmlite.techniques.common import arm, x86
from tvmlite.techniques.common.quads import QUAD, Quads
from tvmlite.techniques.group_weights.panels import VECTORS, Lanes, Panels

TILE_ROWS = {16: 6}
"""By lanes of an instruction: the rows of a tile, whose sums are registers, of which AVX-512 has 32."""

OTHER_ROWS = 2
"""The rows of a tile of narrower vectors, of which there may be 16 registers, and of plain loops."""

QUADS = (*x86.QUADS, *arm.QUADS)
"""How processors multiply four bytes, the best of each first."""

SIGN_BITS = 0x80808080


@dataclass(frozen=True)
class IntegerProduct(Panels):
    """Statements of a product of codes of ``data (..., groups * group)``, int8, that have a ``data_scale``
    and a sum ``data_sum``, both ``(..., groups)``, for each group; ``lead`` are the extents before."""

    data: loop.Buffer
    data_scale: loop.Buffer
    data_sum: loop.Buffer
    lead: Shape

    def statements(self) -> loop.Stmt:
        """All of it: rows in tiles, those left over in one of fewer."""
        return self.over_panels(self._panel)

    def _panel(self, panel: e.Expr) -> loop.Stmt:
        """All rows by a panel, by the best instructions that a processor has."""
        made = self._rows(_Dots(self.sizes, wide=False), panel)
        for row in reversed(QUADS):
            if row.lanes == self.sizes.lanes:
                needs = tuple(row.needs.split(","))
                made = loop.Choice(needs, self._rows(_Dots(self.sizes, wide=True, quads=row), panel), made)
        return made

    def _rows(self, lanes: _Dots, panel: e.Expr) -> loop.Stmt:
        height = TILE_ROWS.get(self.sizes.lanes, OTHER_ROWS) if lanes.wide else OTHER_ROWS
        rows = self.sizes.rows
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

    def _tile(self, lanes: _Dots, panel: e.Expr, row: e.Expr, height: int) -> loop.Stmt:
        """``height`` rows from ``row`` on, by all columns of a panel."""
        sizes = self.sizes
        totals = loops.buffer("totals", (height * VECTORS, sizes.lanes), "float32")
        sums = loops.buffer("sums", (height * VECTORS, sizes.lanes), "int32")
        words = sizes.group // sizes.codes

        def group(g: e.Expr) -> loop.Stmt:
            return loop.sequence(
                *self._started(lanes, panel, g, row, sums, height),
                loops.over(words, lambda n: self._word(lanes, panel, g * words + n, row, sums, height), "n"),
                *self._scaled(lanes, panel, g, row, sums, totals, height),
            )

        body = loop.sequence(
            lanes.clear(totals),
            loops.over(-(-sizes.depth // sizes.group), group, "group"),
            *(self.stored(panel, row + r, totals, r) for r in range(height)),
        )
        return loops.allocated(body, totals, sums)

    def _started(
        self, lanes: _Dots, panel: e.Expr, group: e.Expr, row: e.Expr, sums: loop.Buffer, height: int
    ) -> list[loop.Stmt]:
        """Sums of a group before its products: what whole zero points take away."""

        def one(r: int, vector: int, j: e.Expr) -> loop.Stmt:
            value = lanes.lift(self._of_group(self.data_sum, row + r, group) * -lanes.base)
            if self._is_whole:
                assert self.offset is not None
                offset = e.cast("int32", loop.Load(self.offset, (panel, group, lanes.at(vector, j))))
                value = value - offset * lanes.lift(self._of_group(self.data_sum, row + r, group))
            return loop.Store(sums, lanes.place(r * VECTORS + vector, j), value)

        return [lanes.each(lambda j, r=r, v=v: one(r, v, j)) for r in range(height) for v in range(VECTORS)]

    def _of_group(self, values: loop.Buffer, row: e.Expr, group: e.Expr) -> e.Expr:
        """What a group of a row has."""
        return loops.load(values, *unravelled(row, self.lead), group)

    @property
    def _is_whole(self) -> bool:
        """Whether there are zero points, and they are integers."""
        return self.offset is not None and self.offset.dtype != "float32"

    def _word(
        self, lanes: _Dots, panel: e.Expr, word: e.Expr, row: e.Expr, sums: loop.Buffer, height: int
    ) -> loop.Stmt:
        """The products of all codes of a word of each column."""
        made = [self.asked_for(panel, word, vector) for vector in range(VECTORS)]
        for vector in range(VECTORS):
            for part in range(self.sizes.codes // QUAD):

                def products(j: e.Expr, vector: int = vector, part: int = part) -> loop.Stmt:
                    codes = lanes.codes(loop.Load(self.weight, (panel, word, lanes.at(vector, j))), part)
                    term = word * self.sizes.codes + part * QUAD
                    return loop.sequence(
                        *(
                            self._added(lanes, sums, r * VECTORS + vector, j, codes, row + r, term)
                            for r in range(height)
                        )
                    )

                made.append(lanes.each(products))
        return loop.sequence(*made)

    def _added(
        self,
        lanes: _Dots,
        sums: loop.Buffer,
        number: int,
        j: e.Expr,
        codes: e.Expr,
        row: e.Expr,
        term: e.Expr,
    ) -> loop.Stmt:
        """Four products added to a vector of sums: of ``codes`` and a row's data from ``term`` on."""
        place = lanes.place(number, j)
        at = *unravelled(row, self.lead), term
        return loop.Store(sums, place, lanes.dot(loop.Load(sums, place), codes, self.data, at))

    def _scaled(
        self,
        lanes: _Dots,
        panel: e.Expr,
        group: e.Expr,
        row: e.Expr,
        sums: loop.Buffer,
        totals: loop.Buffer,
        height: int,
    ) -> list[loop.Stmt]:
        """The sums of a group, times both scales, added to the totals."""

        def one(r: int, vector: int, j: e.Expr) -> loop.Stmt:
            place, number = (panel, group, lanes.at(vector, j)), r * VECTORS + vector
            value = e.cast("float32", loop.Load(sums, lanes.place(number, j)))
            if self.offset is not None and not self._is_whole:
                of_data = e.cast("float32", self._of_group(self.data_sum, row + r, group))
                value = value - lanes.lift(of_data) * loop.Load(self.offset, place)
            scale = e.cast("float32", loop.Load(self.scale, place))
            factor = scale * lanes.lift(self._of_group(self.data_scale, row + r, group))
            return lanes.added(totals, number, j, value * factor)

        return [lanes.each(lambda j, r=r, v=v: one(r, v, j)) for r in range(height) for v in range(VECTORS)]


@dataclass(frozen=True)
class _Dots(Lanes):
    """Lanes that multiply four codes by four of the data, by the instruction ``quads`` if they are wide."""

    quads: Quads | None = None

    @property
    def moved(self) -> bool:
        """Whether codes of weights are less 128, as an instruction wants that multiplies signed bytes."""
        return self.sizes.bits == 8 and self.quads is not None and self.quads.data == "int8"

    @property
    def base(self) -> int:
        """What is to be taken from codes as they are multiplied for 0 to be the middle."""
        return 0 if self.moved else self.sizes.middle

    def codes(self, words: e.Expr, part: int) -> e.Expr:
        """Four codes of each column, the bytes of a uint32."""
        if self.sizes.bits == 4:
            four = self.lift(e.const(4, "uint32"))
            moved = e.Call("shift_right", (words, four), "uint32") if part else words
            return moved & self.lift(e.const(0x0F0F0F0F, "uint32"))
        return words ^ self.lift(e.const(SIGN_BITS, "uint32")) if self.moved else words

    def dot(self, sums: e.Expr, codes: e.Expr, data: loop.Buffer, at: tuple[e.Expr, ...]) -> e.Expr:
        """``sums`` and the four products of ``codes`` and the data from ``at`` on."""
        if self.quads is not None:
            lanes = self.sizes.lanes
            word = reinterpret("int32", data.vload(at, f"int8x{QUAD}"))
            repeated = reinterpret(f"int8x{lanes * QUAD}", e.broadcast(word, lanes))
            return self.quads.step(sums, reinterpret(f"{self.quads.data}x{lanes * QUAD}", codes), repeated)
        for k in range(QUAD):
            code = e.cast("int32", codes >> e.const(8 * k, "uint32") & e.const(255, "uint32"))
            sums = sums + code * e.cast("int32", loops.load(data, *at[:-1], at[-1] + k))
        return sums
