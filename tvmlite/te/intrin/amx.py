"""Products of small matrices in AMX's tile registers: what holds 16 rows of 64 bytes, eight times.

A tile's rows may lie any distance apart in memory. ``tdpbf16ps`` multiplies rows of 16 pairs of bfloat16 with
16 rows of 16 such pairs, and adds to 16 sums a row. How many rows the registers have is configured
beforehand; fewer take proportionally less time.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te import reducers
from tvmlite.te.declare import compute, placeholder, reduce_axis
from tvmlite.te.declare import var as size
from tvmlite.te.declare_intrin import decl_tensor_intrin
from tvmlite.te.loop import ir
from tvmlite.te.tensor_intrin import TensorIntrin, decl_buffer

NEEDS = "amx-bf16"
"""The instruction set, by LLVM's name."""

LANES = 16
"""Sums in a row of a tile."""

DEPTH = 32
"""Products that are added to a sum at once."""

MOST_ROWS = 16
"""Rows of a tile."""

REGISTERS = 8
"""Tile registers: sums, and operands beside them."""

ROW_BYTES = 64


@cache
def product_bfloat16_float32(
    rows: int = 16, tiles: int = 2, blocks: int = 2, images: bool = False
) -> TensorIntrin:
    """``C[row, block, i] += sum(data[row, k] * kernel[block, k / 2, i, k % 2])`` of 16 ``i`` and 32 ``k``.

    ::

        for row in range(rows * tiles):     -->    load the tiles of data and of kernel;
            for block in range(blocks):            for each tile of sums: sums = tdpbf16ps(sums, data, kernel)
                for i in range(16):
                    for k in range(32):
                        C[row, block, i] += data[row, k] * kernel[block, k // 2, i, k % 2]

    ``data`` and ``kernel`` are bfloat16, C is float32. The sums of ``tiles`` by ``blocks`` tiles, each of
    ``rows`` rows, stay in registers from the reset to the finish. Elements along ``k`` of data, and along
    ``i`` and ``k % 2`` of the kernel, lie side by side; all else may lie any distance apart. With ``images``,
    C is ``[block, tile, row, i]`` and data ``[tile, row, k]``: rows of an image. The instruction takes
    subnormal numbers for 0.

    The processor and its system must let the process use tiles: see ``core.amx``.
    """
    _check(rows, tiles, blocks)
    data_shape = (tiles, rows, DEPTH) if images else (tiles * rows, DEPTH)
    data = placeholder(data_shape, "bfloat16", "data")
    kernel = placeholder((blocks, DEPTH // 2, LANES, 2), "bfloat16", "kernel")
    k, pair = reduce_axis((0, DEPTH // 2), name="k"), reduce_axis((0, 2), name="pair")

    def element(*at: Any) -> e.Expr:
        row, block = (at[1:3], at[0]) if images else (at[:1], at[1])
        value, weight = data[(*row, k * 2 + pair)], kernel[block, k, at[-1], pair]
        return reducers.sum(value.astype("float32") * weight.astype("float32"), axis=[k, pair])

    shape = (blocks, tiles, rows, LANES) if images else (tiles * rows, blocks, LANES)
    result = compute(shape, element, name="C")

    def steps(name: str, count: int, *dense: int) -> list[Any]:
        return [*(size(f"{name}{n}", "int64") for n in range(count - len(dense))), *dense]

    windows = {
        data: decl_buffer(data.shape, "bfloat16", "data", strides=steps("data", data.ndim, 1)),
        kernel: decl_buffer(kernel.shape, "bfloat16", "kernel", strides=steps("kernel", 4, 2, 1)),
        result: decl_buffer(result.shape, "float32", "C", strides=steps("sums", result.ndim, 1)),
    }

    def emit(ins: list[ir.Buffer], outs: list[ir.Buffer]) -> tuple[ir.Stmt, ...]:
        return _Product(rows, tiles, blocks, images, *ins, *outs).statements()

    return decl_tensor_intrin(result.op, name="amx_product", binds=windows, special={NEEDS: emit})


class _Product:
    """Registers: the sums first, tile by tile, then as many for data, then for the kernel."""

    def __init__(
        self,
        rows: int,
        tiles: int,
        blocks: int,
        images: bool,
        data: ir.Buffer,
        kernel: ir.Buffer,
        sums: ir.Buffer,
    ) -> None:
        self.rows, self.tiles, self.blocks, self.images = rows, tiles, blocks, images
        self.data, self.kernel, self.sums = data, kernel, sums
        held = tiles * blocks
        spare = REGISTERS - held
        self.several = spare >= tiles + blocks  # all operands at once, else one tile of data after another
        self.of_data = [held + (n if self.several else 0) for n in range(tiles)]
        self.of_kernel = [self.of_data[-1] + 1 + n for n in range(blocks)]
        high = [rows] * (self.of_kernel[0]) + [DEPTH // 2] * (REGISTERS - self.of_kernel[0])
        self.form = ",".join(map(str, high))

    def statements(self) -> tuple[ir.Stmt, ...]:
        """Body, reset, update and finish."""
        each = [(tile, block) for tile in range(self.tiles) for block in range(self.blocks)]
        reset = [self._do("configure"), *(self._do("zero", self._sums(*at)) for at in each)]
        update = [
            self._do("load", self.of_kernel[block], *self._place(self.kernel, (block, 0, 0, 0), 1))
            for block in range(self.blocks)
        ]
        for tile in range(self.tiles):
            at, axis = ((tile, 0, 0), 1) if self.images else ((tile * self.rows, 0), 0)
            update.append(self._do("load", self.of_data[tile], *self._place(self.data, at, axis)))
            update += [
                self._do("dot_bfloat16", self._sums(tile, block), self.of_data[tile], self.of_kernel[block])
                for block in range(self.blocks)
            ]
        finish = []
        for tile, block in each:
            at, axis = ((block, tile, 0, 0), 2) if self.images else ((tile * self.rows, block, 0), 0)
            finish.append(self._do("store", self._sums(tile, block), *self._place(self.sums, at, axis)))
        parts = ir.sequence(*reset), ir.sequence(*update), ir.sequence(*finish)
        return ir.sequence(*parts), *parts

    def _sums(self, tile: int, block: int) -> int:
        return tile * self.blocks + block

    def _place(self, buffer: ir.Buffer, at: tuple[int, ...], axis: int) -> tuple[e.Expr, e.Expr]:
        """The address of a tile that begins ``at``, and the bytes from row to row, along ``axis``."""
        load = ir.Load(buffer, tuple(e.const(n, e.INDEX) for n in at))
        width = 4 if buffer.dtype == "float32" else 2
        address = e.Call("address_of", (load,), "uint64")
        return address, e.cast(e.INDEX, buffer.strides[axis]) * width

    def _do(self, name: str, *args: Any) -> ir.Stmt:
        given = tuple(a if isinstance(a, e.Expr) else e.const(a) for a in args)
        return ir.Evaluate(e.Foreign("tile", f"tile.{name}", given, "int32", form=self.form))


def _check(rows: int, tiles: int, blocks: int) -> None:
    if not 1 <= rows <= MOST_ROWS:
        raise TensorExpressionError(
            f"product_bfloat16_float32: tiles of {rows} rows, expected 1 to {MOST_ROWS}", Span.of_caller()
        )
    if tiles < 1 or blocks < 1 or tiles * blocks + blocks + 1 > REGISTERS:
        raise TensorExpressionError(
            f"product_bfloat16_float32: {tiles} by {blocks} tiles of sums, {blocks} of the kernel and one of "
            f"data do not fit into {REGISTERS} registers",
            Span.of_caller(),
        )
