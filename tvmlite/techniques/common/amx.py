"""Products of small matrices in AMX's eight tile registers of 16 rows by 64 bytes.

A tile is loaded and stored with any stride between its rows. ``tdpbf16ps`` multiplies rows of 16 pairs of
bfloat16 by 16 rows of 16 such pairs, ``tdpbusd`` and ``tdpbssd`` rows of 16 groups of four bytes by 16 rows
of 16 such groups; they add to 16 sums per row. The number of rows of each register is configured in advance;
fewer rows take proportionally less time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.intrin.declare_intrin import decl_tensor_intrin
from tvmlite.te.loop import ir
from tvmlite.te.schedule.tensor_intrin import TensorIntrin, decl_buffer
from tvmlite.te.tensor import reducers
from tvmlite.te.tensor.declare import compute, placeholder, reduce_axis
from tvmlite.te.tensor.declare import var as size

LANES = 16
"""The number of sums in a row of a tile."""

STEPS = 16
"""Rows of a tile of the kernel: the pairs, or groups of four, of products added to a sum at once."""


@dataclass(frozen=True)
class Kind:
    """A kind of tile product: the dtypes of its operands and sums, how many elements of an operand are stored
    ``interleaved``, the ``instruction``, and the instruction set that it ``needs``, by LLVM's name."""

    needs: str
    data: str
    kernel: str
    sums: str
    interleaved: int
    instruction: str

    @property
    def depth(self) -> int:
        """The number of products added to a sum at once: the elements in a row of data."""
        return STEPS * self.interleaved


KINDS = {
    kind.data: kind
    for kind in (
        Kind("amx-bf16", "bfloat16", "bfloat16", "float32", 2, "dot_bfloat16"),
        Kind("amx-int8", "uint8", "int8", "int32", 4, "dot_uint8_int8"),
        Kind("amx-int8", "int8", "int8", "int32", 4, "dot_int8_int8"),
    )
}
"""The kinds of tile products by the dtype of data."""

MOST_ROWS = 16
"""The most rows of a tile."""

REGISTERS = 8
"""The number of tile registers, for sums and operands."""


ROWS, PIXELS, IMAGES = "rows", "pixels", "images"
"""Layouts of the sums: ``[row, block, lane]``; ``[block, row, lane]``; ``[block, tile, row, lane]``."""


@cache
def tile_product(
    rows: tuple[int, ...] = (16, 16), blocks: int = 2, form: str = ROWS, data_dtype: str = "bfloat16"
) -> TensorIntrin:
    """``C[row, block, i] += sum(data[row, k] * kernel[block, k / 2, i, k % 2])`` for 16 ``i`` and 32 ``k``;
    for bytes with ``k / 4``, ``k % 4`` and 64 ``k``.

    ::

        for row in range(sum(rows)):        -->    load the tiles of data and of kernel;
            for block in range(blocks):            for each tile of sums: sums = tdpbf16ps(sums, data, kernel)
                for i in range(16):
                    for k in range(32):
                        C[row, block, i] += data[row, k] * kernel[block, k // 2, i, k % 2]

    ``data`` and ``kernel`` are bfloat16, C is float32; or ``data`` is uint8 or int8, ``kernel`` int8 and C
    int32, whose sums wrap (``KINDS``). The sums stay in registers from the reset to the
    finish: tiles of as many rows as ``rows`` lists, by ``blocks``. Data is contiguous along ``k``, the kernel
    along ``i`` and ``k % 2``; all other axes may have any stride. In the ``form`` "pixels"
    C is ``[block, row, i]``; in "images" it is ``[block, tile, row, i]`` and data ``[tile, row, k]``, with
    equal numbers of rows in all tiles. The instruction for bfloat16 takes subnormal numbers for 0.

    The processor and its system must let the process use tiles: see ``machine.amx``.
    """
    kind = _check(rows, blocks, form, data_dtype)
    interleaved = kind.interleaved
    high = (len(rows), rows[0]) if form == IMAGES else (sum(rows),)
    data = placeholder((*high, kind.depth), kind.data, "data")
    kernel = placeholder((blocks, STEPS, LANES, interleaved), kind.kernel, "kernel")
    k, pair = reduce_axis((0, STEPS), name="k"), reduce_axis((0, interleaved), name="pair")

    def element(*at: Any) -> e.Expr:
        row, block = (at[:1], at[1]) if form == ROWS else (at[1:-1], at[0])
        value, weight = data[(*row, k * interleaved + pair)], kernel[block, k, at[-1], pair]
        return reducers.sum(value.astype(kind.sums) * weight.astype(kind.sums), axis=[k, pair])

    result = compute((*high, blocks, LANES) if form == ROWS else (blocks, *high, LANES), element, name="C")

    def steps(name: str, count: int, *dense: int) -> list[Any]:
        return [*(size(f"{name}{n}", "int64") for n in range(count - len(dense))), *dense]

    windows = {
        data: decl_buffer(data.shape, kind.data, "data", strides=steps("data", data.ndim, 1)),
        kernel: decl_buffer(kernel.shape, kind.kernel, "kernel", strides=steps("kernel", 4, interleaved, 1)),
        result: decl_buffer(result.shape, kind.sums, "C", strides=steps("sums", result.ndim, 1)),
    }

    def emit(ins: list[ir.Buffer], outs: list[ir.Buffer]) -> tuple[ir.Stmt, ...]:
        return _Product(kind, rows, blocks, form, *ins, *outs).statements()

    return decl_tensor_intrin(result.op, name="amx_product", binds=windows, special={kind.needs: emit})


def registers(rows: tuple[int, ...], columns: int) -> int:
    """The registers needed for the sums of tiles of ``rows`` by ``columns`` tiles, and for their operands."""
    return len(rows) * columns + columns + len(set(rows))


class _Product:
    """The statements of one product. Registers hold the sums, tile by tile, then data, then the kernel."""

    def __init__(
        self,
        kind: Kind,
        rows: tuple[int, ...],
        blocks: int,
        form: str,
        data: ir.Buffer,
        kernel: ir.Buffer,
        sums: ir.Buffer,
    ) -> None:
        self.kind, self.rows, self.columns, self.form = kind, rows, blocks, form
        self.data, self.kernel, self.sums = data, kernel, sums
        sum_registers = len(rows) * self.columns
        # Tiles of as many rows share a register if there are too few.
        own = sum_registers + self.columns + len(rows) <= REGISTERS
        kinds = list(range(len(rows))) if own else sorted(set(rows))
        self.data_registers = [
            sum_registers + (n if own else kinds.index(high)) for n, high in enumerate(rows)
        ]
        first = sum_registers + len(kinds)
        self.kernel_registers = [first + n for n in range(self.columns)]
        high = [one for one in rows for _ in range(self.columns)] + (list(rows) if own else kinds)
        self.config = ",".join(map(str, [*high, *[STEPS] * (REGISTERS - len(high))]))

    def statements(self) -> tuple[ir.Stmt, ...]:
        """The body, and its parts reset, update and finish."""
        each = [(tile, column) for tile in range(len(self.rows)) for column in range(self.columns)]
        reset = [
            self._instruction("configure"),
            *(self._instruction("zero", self._sum_register(*at)) for at in each),
        ]
        update = []
        for column, register in enumerate(self.kernel_registers):
            update.append(
                self._instruction("load", register, *self._place(self.kernel, (column, 0, 0, 0), 1))
            )
        for tile, register in enumerate(self.data_registers):
            at = (tile, 0, 0) if self.form == IMAGES else (self._first_row(tile), 0)
            update.append(self._instruction("load", register, *self._place(self.data, at, len(at) - 2)))
            for column in range(self.columns):
                operands = self._sum_register(tile, column), register, self.kernel_registers[column]
                update.append(self._instruction(self.kind.instruction, *operands))
        finish = [self._instruction("store", self._sum_register(*at), *self._result(*at)) for at in each]
        parts = ir.sequence(*reset), ir.sequence(*update), ir.sequence(*finish)
        return ir.sequence(*parts), *parts

    def _sum_register(self, tile: int, column: int) -> int:
        return tile * self.columns + column

    def _first_row(self, tile: int) -> int:
        return sum(self.rows[:tile])

    def _result(self, tile: int, column: int) -> tuple[e.Expr, e.Expr]:
        """The address and row stride of a tile of sums in the result."""
        if self.form == ROWS:
            return self._place(self.sums, (self._first_row(tile), column, 0), 0)
        if self.form == PIXELS:
            return self._place(self.sums, (column, self._first_row(tile), 0), 1)
        return self._place(self.sums, (column, tile, 0, 0), 2)

    def _place(self, buffer: ir.Buffer, at: tuple[int, ...], axis: int) -> tuple[e.Expr, e.Expr]:
        """The address of the tile that begins at index ``at``, and its row stride along ``axis`` in bytes."""
        load = ir.Load(buffer, tuple(e.const(n, e.INDEX) for n in at))
        width = dtypes.bytes_of(buffer.dtype)
        return e.Call("address_of", (load,), "uint64"), e.cast(e.INDEX, buffer.strides[axis]) * width

    def _instruction(self, name: str, *args: Any) -> ir.Stmt:
        given = tuple(a if isinstance(a, e.Expr) else e.const(a) for a in args)
        return ir.Evaluate(e.Foreign("tile", f"tile.{name}", given, "int32", form=self.config))


def _check(rows: tuple[int, ...], blocks: int, form: str, data_dtype: str) -> Kind:
    problem = ""
    if data_dtype not in KINDS:
        problem = f"data of {data_dtype}, expected {', '.join(KINDS)}"
    elif form not in (ROWS, PIXELS, IMAGES):
        problem = f"the form {form!r}, expected {ROWS}, {PIXELS} or {IMAGES}"
    elif not rows or not all(1 <= one <= MOST_ROWS for one in rows):
        problem = f"tiles of {', '.join(map(str, rows)) or 'no'} rows, expected 1 to {MOST_ROWS}"
    elif form == IMAGES and len(set(rows)) > 1:
        problem = f"images of {', '.join(map(str, rows))} rows, expected equal numbers of rows"
    elif blocks < 1 or registers(rows, blocks) > REGISTERS:
        problem = (
            f"{len(rows)} by {blocks} tiles of sums do not fit into {REGISTERS} registers beside {blocks} "
            f"of the kernel and {len(set(rows))} of data"
        )
    if problem:
        raise TensorExpressionError(f"tile_product: {problem}", Span.of_caller())
    return KINDS[data_dtype]
