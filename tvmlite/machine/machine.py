"""What the compiler asks of a processor besides its instruction sets.

Fields are of three kinds: what the hardware is (ports, latencies, caches), how schedules should treat it
(prefetching, ``tile_costs``, ``working_sets``: found by tuning), and ``cores``. ``table`` has the values.
"""

from __future__ import annotations

from dataclasses import dataclass

MANY_REGISTERS = 32
"""Vector registers of a processor that has many: with AVX-512, and on AArch64."""

LINE_BYTES = 64
"""Bytes that one prefetch brings near, on every processor; where lines are longer, the rest comes along."""

CORE_CACHE_BYTES = 512 << 10
"""Bytes that fit into the second cache of a core beside what else is there, where code is made before its
target is known."""

BEYOND_CACHES = 64 << 20
"""Bytes that no cache of one or two cores holds: measurements let data come from memory with so many."""


@dataclass(frozen=True)
class Cache:
    """A cache of ``size`` bytes, ``shared_by`` so many cores (0: not known).

    ``bandwidth`` is the bytes a second that one core reads from it, 0 if nobody measured it.
    """

    size: int
    shared_by: int = 1
    bandwidth: float = 0.0


@dataclass(frozen=True)
class TileCosts:
    """The parameters of ``te.cost`` in the core, in cycles, fitted by register tiles.

    ``multiply_adds`` and ``loads`` are how many vectors of each start in a cycle. A step takes at least
    ``step`` cycles, from a multiply-add to the next on the same accumulator, and ``far`` for each of its
    vectors, which often come from the second cache. A load costs ``scalar`` or ``vector`` cycles even where
    it hides behind multiply-adds. A tile that hangs over the end takes ``tail`` times as long. With fewer
    accumulators than ``fewest_sums``, multiply-adds wait for each other.
    """

    multiply_adds: int
    loads: int
    step: float
    far: float
    scalar: float
    vector: float
    tail: float
    fewest_sums: int


@dataclass(frozen=True)
class WorkingSets:
    """How many bytes of something stay in a cache while a kernel goes through them again and again.

    - ``tiles``: a chunk of Winograd's tiles, or the weight that they meet, in the second cache; ``weight``:
      such a weight, in the last one;
    - ``panel``: a panel of weights of which the next one is fetched meanwhile: both, and data, share the
      second cache;
    - ``weights``: all weights of a convolution whose rows threads share out, in the second cache;
    - ``operand``: a matrix that all panels of weights meet, in the second cache beside two of those;
    - ``sums``: what one thread adds to in passes over blocks of channels;
    - ``pointwise``: weights of a convolution of 1x1 in AMX's tiles, in the first cache;
    - ``stored``: a weight that is read from a near cache as quickly with all its bits as with fewer;
    - ``image``: an image of more is read row by row, under all panels of weights at once; None: never.
    """

    tiles: int
    weight: int
    panel: int
    weights: int
    operand: int
    sums: int
    pointwise: int
    stored: int
    image: int | None


@dataclass(frozen=True)
class Machine:
    """A processor, as far as schedules depend on it.

    ``name`` says which one (empty: unknown), and ``source`` where the values come from: "measured",
    "tuned" where only schedules were, "taken from ..." a relative, or "estimated" from its vectors.

    ``vector_bits`` is the width of a vector register, ``vector_registers`` how many there are, ``cores`` how
    many cores a kernel may be divided among. In a cycle ``multiply_adds_per_cycle`` multiply-adds of the
    widest vectors start, with results after ``multiply_add_latency`` cycles, ``additions_per_cycle``
    additions, and ``loads_per_cycle`` loads. Among ``window`` instructions it looks for some that need not
    wait for others. ``separate_additions``: additions have execution ports of their
    own, so that they take no time beside multiply-adds. ``multiply_adds_broadcast``: one instruction
    multiplies a vector by a scalar that is in memory, or in a lane of another register; else the scalar has
    to be copied to all lanes of a register before.

    ``caches`` are those of data, the nearest first; ``memory_bandwidth`` is the bytes a second that one core
    reads from memory, 0 if not measured. ``shared_cache_is_far``: what lies in the cache that cores share, or
    was written by another core, comes about as slowly as from memory.

    ``steps_per_iteration`` is how many steps of a reduction an iteration of a loop should take where its
    counters compete with multiply-adds; 1 if they take no time.

    Prefetching by software: weights in the second cache are asked for ``prefetch_near`` iterations before
    their use, and a long row of them in memory ``prefetch_far`` vectors ahead (each 0: the hardware does
    better alone). Where little is computed with each weight, ``stream_bytes`` of them are on their way at
    once, unless the hardware ``streams_alone``.

    ``tile_costs`` and ``working_sets``: see there. ``cost_model`` is the name of the learned model that
    comes with the package, of how quick loops are on such a processor.
    """

    name: str
    source: str
    vector_bits: int
    vector_registers: int
    cores: int
    multiply_adds_per_cycle: float
    multiply_add_latency: int
    window: int
    additions_per_cycle: float
    loads_per_cycle: float
    separate_additions: bool
    multiply_adds_broadcast: bool
    caches: tuple[Cache, ...]
    memory_bandwidth: float
    shared_cache_is_far: bool
    steps_per_iteration: int
    prefetch_near: int
    prefetch_far: int
    stream_bytes: int
    streams_alone: bool
    tile_costs: TileCosts
    working_sets: WorkingSets
    cost_model: str

    @property
    def few_registers(self) -> bool:
        """Whether there are fewer vector registers than AVX-512 has: register tiles are small then."""
        return self.vector_registers < MANY_REGISTERS

    @property
    def counters_take_time(self) -> bool:
        """Whether the scalar instructions of a loop around a tile of multiply-adds cost time."""
        return self.steps_per_iteration > 1
