"""The loops of a recurrent layer: steps in order, the units of a step divided among threads.

Each step is one parallel loop (a GRU's may be two): while the pool's workers spin, a launch costs no more
than a barrier would, and does not wait for threads that have not started. A thread computes the same units in
each step (the partition of ``runtime/pool.c``), so their weights, which are contiguous, stay in its
processor's own cache. It alternates in direction from step to step: if the weights are a little larger than
the cache, most of them are still there from the step before. The output state is double-buffered, so that
nothing is written that other threads read.

Several samples whose weights fit each processor's cache are divided among threads instead, for all steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.machine.machine import CORE_CACHE_BYTES
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ops import loops
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor

LANES = 16
"""The units computed as one vector; a block consists of one or several vectors."""

DOT_LENGTH = 4
"""The number of 8-bit states whose products with a unit's weights are added in one lane of 32 bits."""

SINGLE_GATE_LANES = 4 * LANES
"""The units of a block if there is one gate only, so that a state is multiplied with several vectors."""

SAMPLE_TILE = 4
"""The largest number of samples that are multiplied with weights read once."""

ACCUMULATORS = 8
"""About how many accumulators there are, so that an addition need not wait for the one before."""

MIN_THREAD_CYCLES = 2000
"""The cycles of work in one step that are worth a thread."""

GATES_CYCLES = 100
"""About how many cycles the gate functions of a block take."""


def lanes_of(gates: int, size: int) -> int:
    """Return the number of units of a block, for a layer of ``size`` units."""
    return SINGLE_GATE_LANES if gates == 1 and size % SINGLE_GATE_LANES == 0 else LANES


def pack_recurrence(recurrence: Expr, gates: int, size: int, make: Callable[..., Expr]) -> Expr:
    """Pack an integer recurrence ``(size, gates * size)`` into int8 blocks.

    The result is ``(blocks, groups, gates, LANES * DOT_LENGTH)``. Element (b, k, g, j * DOT_LENGTH + i) is
    the weight of state ``k * DOT_LENGTH + i`` in gate g of unit ``b * LANES + j``, and 0 beyond the size.
    ``make(operator, *args, **attrs)`` makes a call.
    """
    blocks, groups = -(-size // LANES), -(-size // DOT_LENGTH)
    width = ((0, groups * DOT_LENGTH - size), (0, 0), (0, blocks * LANES - size))
    made = make("reshape", recurrence, newshape=(size, gates, size))
    made = make("cast", make("nn.pad", made, pad_width=width, pad_value=0.0), dtype="int8")
    made = make("reshape", made, newshape=(groups, DOT_LENGTH, gates, blocks, LANES))
    made = make("transpose", made, axes=(3, 0, 2, 4, 1))
    return make("reshape", made, newshape=(blocks, groups, gates, LANES * DOT_LENGTH))


@dataclass(frozen=True)
class Position:
    """The position of a piece of work: the number of the step, its time, the sample, the block of units."""

    iteration: e.Expr
    time: e.Expr
    sample: e.Expr
    block: e.Expr

    @property
    def read_slot(self) -> e.Expr:
        """Which of the two buffers of the output state is read."""
        return self.iteration % 2

    @property
    def write_slot(self) -> e.Expr:
        """Which of the two is written."""
        return (self.iteration + 1) % 2


Row = Callable[[Position, e.Expr], e.Expr]
"""The factor of row k of the weights: ``row(at, k)``."""

Unit = Callable[[Position, e.Expr, Callable[[int], e.Expr]], loop.Stmt]
"""The statement for a unit: ``unit(at, number, total)``; ``total(gate)`` is its sum of products."""


@dataclass(frozen=True)
class Memory:
    """The buffers of the loops: inputs and output states, and the range of samples to compute."""

    inputs: tuple[loop.Buffer, ...]
    out: loop.Buffer
    begin: e.Expr
    count: e.Expr
    is_shared: bool

    @property
    def recurrence(self) -> loop.Buffer:
        """The weights of the recurrence, packed in blocks of units."""
        return self.inputs[1]

    @property
    def lengths(self) -> loop.Buffer:
        """The number of steps of each sample."""
        return self.inputs[-1]


@dataclass(frozen=True)
class Work:
    """The work for each unit: ``row`` times the weights of ``gates``, then ``unit``.

    With ``ends_step`` it is the last of a step, and samples without this step keep their state.
    """

    row: Row
    gates: range
    unit: Unit
    ends_step: bool = True


Step = Callable[[e.Expr, e.Expr, Memory], loop.Stmt]
"""The statement for a step: ``step(iteration, time, memory)``."""


class Steps:
    """The loops of one layer, whose ``data`` is (steps, batch, gates * size)."""

    def __init__(self, call: Call, data: Tensor, recurrence: Tensor) -> None:
        self.call, self.dtype = call, data.dtype
        self.steps, self.batch, _ = data.shape
        blocks, size, gates, lanes = self.extents(recurrence)
        assert isinstance(blocks, int)
        assert isinstance(size, int)
        assert isinstance(gates, int)
        assert isinstance(lanes, int)
        self.size, self.blocks, self.lanes = size, blocks, lanes
        self.samples = min(SAMPLE_TILE, max(self.batch, 1)) if isinstance(self.batch, int) else SAMPLE_TILE
        self.bytes = gates * size * size * dtypes.bytes_of(recurrence.dtype)
        self.work = "float64" if data.dtype == "float64" else "float32"
        self.rows, self.sums = size, self.work
        self.hidden = loops.buffer("hidden", (2, self.batch, size), self.work)

    def extents(self, recurrence: Tensor) -> tuple[Any, ...]:
        """Return the blocks, the units, the gates, and the units of a block."""
        return recurrence.shape

    def state_buffer(self, name: str) -> loop.Buffer:
        """A buffer for one number per unit and sample."""
        return loops.buffer(name, (self.batch, self.size), self.work)

    def load(self, source: loop.Buffer, *indices: Any) -> e.Expr:
        """Load an element in the dtype of the computation."""
        return e.cast(self.work, loops.load(source, *indices))

    def load_input(self, memory: Memory, at: Position, gate: int, unit: e.Expr) -> e.Expr:
        """The product of the inputs for a gate of ``unit``."""
        return self.load(memory.inputs[0], at.time, at.sample, gate * self.size + unit)

    def load_state(self, at: Position, unit: e.Expr) -> e.Expr:
        """The output state at the beginning of the step."""
        return loops.load(self.hidden, at.read_slot, at.sample, unit)

    def store_state(self, at: Position, memory: Memory, unit: e.Expr, value: e.Expr) -> loop.Stmt:
        """Store ``value`` as the new output state of ``unit``."""
        return loops.let(
            "new",
            value,
            lambda new: loop.sequence(
                loops.store(self.hidden, (at.write_slot, at.sample, unit), new),
                loops.store(memory.out, (at.time, at.sample, unit), new),
            ),
        )

    # --- one block of units ---

    def _for_each_unit(self, at: Position, body: Callable[[e.Expr, e.Expr], loop.Stmt]) -> loop.Stmt:
        """Run ``body(lane, unit)`` for the units of a block, in vectors; the last block may have fewer."""

        def one(lane: e.Expr) -> loop.Stmt:
            unit = at.block * self.lanes + lane
            if self.size % self.lanes == 0:
                return body(lane, unit)
            return loop.If(unit < self.size, body(lane, unit))

        return _vectors(self.lanes, one)

    def _skip_step(self, at: Position, memory: Memory) -> loop.Stmt:
        """The statement for a step after a sample's end: the state stays, the output is 0."""

        def one(_: e.Expr, unit: e.Expr) -> loop.Stmt:
            return loop.sequence(
                loops.store(self.hidden, (at.write_slot, at.sample, unit), self.load_state(at, unit)),
                loops.store(memory.out, (at.time, at.sample, unit), e.const(0, memory.out.dtype)),
            )

        return self._for_each_unit(at, one)

    def _multiply(self, ats: Sequence[Position], memory: Memory, work: Work, sums: loop.Buffer) -> loop.Stmt:
        """Compute ``sums[sample, gate, lane]`` of a block by rows; every second step goes backwards."""
        total = Accumulators(ats, work.gates, self.lanes, self.sums)
        whole = self.rows // total.chains

        def added(k: e.Expr, chain: int) -> loop.Stmt:
            return self.add_row(total, chain, k, memory, work)

        def iteration(n: e.Expr) -> loop.Stmt:
            places = [n * total.chains + chain for chain in range(total.chains)]
            last = whole * total.chains - 1
            return loop.sequence(
                *(added(k + ats[0].read_slot * (last - k * 2), chain) for chain, k in enumerate(places))
            )

        rest = [added(loops.index(k), 0) for k in range(whole * total.chains, self.rows)]
        body = loop.sequence(*total.clear(), loops.over(whole, iteration, "k"), *rest, *total.store(sums))
        return loops.allocated(body, total.buffer)

    def _has_step(self, at: Position, memory: Memory) -> e.Expr:
        """Whether the sample has this step."""
        return at.time < e.cast(loops.INT, loops.load(memory.lengths, at.sample))

    def add_row(self, total: Accumulators, chain: int, k: e.Expr, memory: Memory, work: Work) -> loop.Stmt:
        """Add the products of row ``k`` of a block's weights to the sums of ``chain``."""
        return total.add(
            chain, lambda at, gate, j: work.row(at, k) * self.load(memory.recurrence, at.block, k, gate, j)
        )

    # --- all of them ---

    def run_parallel(self, iteration: e.Expr, time: e.Expr, memory: Memory, work: Work) -> loop.Stmt:
        """Do ``work`` for every unit of every sample, divided among as many threads as are worthwhile."""
        tiles, rest = memory.count // self.samples, memory.count % self.samples
        items = tiles + rest
        whole = items * self.blocks
        cycles = self.lanes // LANES * (len(work.gates) * self.rows + GATES_CYCLES)
        max_pieces = e.Min(whole, memory.count * self.blocks * cycles // MIN_THREAD_CYCLES)
        pieces = (
            e.Max(e.Min(max_pieces, loop.THREADS), loops.index(1)) if memory.is_shared else loops.index(1)
        )
        first, count = loops.Cell("first"), loops.Cell("count")

        def piece(p: e.Expr) -> loop.Stmt:
            begin = p * whole // pieces
            divided = [first.set(begin), count.set((p + 1) * whole // pieces - begin)]
            return loops.allocated(loop.sequence(*divided, loops.over(count.value, item, "n")), first, count)

        def item(n: e.Expr) -> loop.Stmt:
            place = first.value + n + iteration % 2 * (count.value - 1 - n * 2)
            part = place % items
            single = Position(
                iteration, time, memory.begin + tiles * (self.samples - 1) + part, place // items
            )
            tile = replace(single, sample=memory.begin + part * self.samples)
            return self._compute_block(part < tiles, tile, single, memory, work)

        return loops.over(pieces, piece, "p", kind=loop.PARALLEL)

    def _compute_block(
        self, is_tile: e.Expr, tile: Position, single: Position, memory: Memory, work: Work
    ) -> loop.Stmt:
        """Compute a block of units for the samples from ``tile`` on, or for ``single``."""
        sums = loops.buffer("sums", (self.samples, work.gates.stop, self.lanes), self.sums)

        def finished(k: e.Expr) -> loop.Stmt:
            at = replace(single, sample=e.Select(is_tile, tile.sample, single.sample) + k)
            done = self._for_each_unit(
                at, lambda j, n: work.unit(at, n, lambda gate: loops.load(sums, k, gate, j))
            )
            return loop.If(
                self._has_step(at, memory), done, self._skip_step(at, memory) if work.ends_step else None
            )

        single_product = loop.If(self._has_step(single, memory), self._multiply([single], memory, work, sums))
        if self.samples == 1:
            return loops.allocated(loop.sequence(single_product, finished(loops.index(0))), sums)
        ats = [replace(tile, sample=tile.sample + k) for k in range(self.samples)]
        products = loop.If(is_tile, self._multiply(ats, memory, work, sums), single_product)
        number = e.Select(is_tile, loops.index(self.samples), loops.index(1))
        return loops.allocated(loop.sequence(products, loops.over(number, finished, "s")), sums)

    def tensors(
        self,
        name: str,
        inputs: Sequence[Tensor],
        states: Sequence[loop.Buffer],
        memory: Sequence[loop.Buffer],
        step: Step,
    ) -> list[Tensor]:
        """Return the results; ``states`` follow the output state, ``memory`` is what else a step needs.

        The initial states are the inputs before the last one, which is the lengths.
        """

        def body(*buffers: loop.Buffer) -> loop.Stmt:
            given, out = buffers[: len(inputs)], buffers[len(inputs) :]
            initial = given[len(given) - 2 - len(states) : len(given) - 1]
            steps = loops.index(self.steps)

            def begin(b: e.Expr, j: e.Expr) -> loop.Stmt:
                first = loops.store(self.hidden, (0, b, j), loops.load(initial[0], b, j))
                rest = zip(states, initial[1:], strict=True)
                return loop.sequence(first, *(loops.store(s, (b, j), loops.load(i, b, j)) for s, i in rest))

            def end(b: e.Expr, j: e.Expr) -> loop.Stmt:
                last = loops.store(out[1], (b, j), loops.load(self.hidden, steps % 2, b, j))
                rest = zip(out[2:], states, strict=True)
                return loop.sequence(last, *(loops.store(o, (b, j), loops.load(s, b, j)) for o, s in rest))

            shape = (self.batch, self.size)
            iterations = self._run_steps(given, out[0], step)
            whole = loop.sequence(loops.nest(shape, begin), iterations, loops.nest(shape, end))
            return loops.allocated(whole, self.hidden, *states, *memory)

        shapes = [((self.steps, self.batch, self.size), self.dtype)]
        shapes += [((self.batch, self.size), self.dtype)] * (1 + len(states))
        return loops.extern(name, inputs, shapes, body)

    def _run_steps(self, given: tuple[loop.Buffer, ...], out: loop.Buffer, step: Step) -> loop.Stmt:
        """Run all steps of all samples; units are divided among threads at each step, or samples once."""
        batch = loops.index(self.batch)

        def iterations(memory: Memory) -> loop.Stmt:
            last = loops.index(self.steps) - 1
            return loops.over(
                self.steps, lambda s: step(s, last - s if self.call["reverse"] else s, memory), "t"
            )

        def group(g: e.Expr) -> loop.Stmt:
            begin = g * batch // groups
            count = (g + 1) * batch // groups - begin
            return iterations(Memory(given, out, begin, count, is_shared=False))

        by_units = iterations(Memory(given, out, loops.index(0), batch, is_shared=True))
        if self.batch == 1 or self.bytes > CORE_CACHE_BYTES:
            return by_units
        groups = e.Max(e.Min(batch, loop.THREADS), loops.index(1))
        by_samples = loops.over(groups, group, "g", kind=loop.PARALLEL)
        return by_samples if isinstance(self.batch, int) else loop.If(batch > 1, by_samples, by_units)


class Accumulators:
    """The sums of products of a block, for each sample and gate.

    If they are few, rows add to several accumulators of each in alternation, which are summed at the end.
    """

    def __init__(self, ats: Sequence[Position], gates: range, lanes: int, dtype: str) -> None:
        self.ats, self.gates, self.lanes = ats, gates, lanes
        self.chains = max(1, ACCUMULATORS * LANES // (len(ats) * len(gates) * lanes))
        self.buffer = loops.buffer("total", (self.chains * len(ats) * len(gates), lanes), dtype)

    def row(self, chain: int, sample: int, gate: int) -> int:
        """Return the row of the buffer that holds a sum."""
        return (chain * len(self.ats) + sample) * len(self.gates) + self.gates.index(gate)

    def clear(self) -> list[loop.Stmt]:
        """Stores of zero to all sums, before the first row."""
        zero = e.const(0, self.buffer.dtype)
        places = range(self.chains * len(self.ats) * len(self.gates))
        return [_vectors(self.lanes, lambda j, p=p: loops.store(self.buffer, (p, j), zero)) for p in places]  # type: ignore[misc]

    def add(self, chain: int, value: Callable[[Position, int, e.Expr], e.Expr]) -> loop.Stmt:
        """Add ``value(at, gate, lane)`` to each sum."""

        def one(gate: int, sample: int) -> loop.Stmt:
            place = self.row(chain, sample, gate)

            def put(j: e.Expr) -> loop.Stmt:
                old = loops.load(self.buffer, place, j)
                total = e.ContractedAdd(old, value(self.ats[sample], gate, j))
                return loops.store(self.buffer, (place, j), total)

            return _vectors(self.lanes, put)

        return loop.sequence(*(one(gate, s) for gate in self.gates for s in range(len(self.ats))))

    def store(self, sums: loop.Buffer) -> list[loop.Stmt]:
        """Store the sums to ``sums[sample, gate]``."""

        def one(gate: int, sample: int) -> loop.Stmt:
            def put(j: e.Expr) -> loop.Stmt:
                value = loops.load(self.buffer, self.row(0, sample, gate), j)
                for chain in range(1, self.chains):
                    value = value + loops.load(self.buffer, self.row(chain, sample, gate), j)
                return loops.store(sums, (sample, gate, j), value)

            return _vectors(self.lanes, put)

        return [one(gate, s) for gate in self.gates for s in range(len(self.ats))]


def _vectors(lanes: int, make: Callable[[e.Expr], loop.Stmt]) -> loop.Stmt:
    """Run ``make`` for each lane, ``LANES`` at a time as a vector."""
    begins = range(0, lanes, LANES)
    return loop.sequence(
        *(loops.over(LANES, lambda j, b=b: make(j + b), "j", kind=loop.VECTORIZE) for b in begins)  # type: ignore[misc]
    )
