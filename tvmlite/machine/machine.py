"""The properties of a processor that the compiler uses, besides its instruction sets.

Fields are of three kinds: the hardware (ports, latencies, caches), parameters of schedules found by tuning
(prefetching, ``tile_costs``, ``working_sets``), and ``cores``. ``table`` has the values.
"""

from __future__ import annotations

from dataclasses import dataclass

MANY_REGISTERS = 32
"""From this number of vector registers on a processor has many: with AVX-512, and on AArch64."""

LINE_BYTES = 64
"""The bytes that one prefetch loads, on every processor; with longer cache lines, it loads more."""

CORE_CACHE_BYTES = 512 << 10
"""Bytes that fit into a core's second cache beside other data: the assumption for decisions made before the
target is known."""

BEYOND_CACHES = 64 << 20
"""More bytes than the caches of one or two cores hold: measurements touch as many to evict all data."""


@dataclass(frozen=True)
class Cache:
    """A cache of ``size`` bytes, shared by ``shared_by`` cores (0: unknown).

    ``bandwidth`` is the bytes per second that one core reads from it, 0 if not measured.
    """

    size: int
    shared_by: int = 1
    bandwidth: float = 0.0


@dataclass(frozen=True)
class TileCosts:
    """The parameters of ``te.cost`` for time in the core, in cycles, fitted to measured register tiles.

    ``multiply_adds`` and ``loads`` are the vector instructions of each kind that start per cycle. A step
    takes at least ``step`` cycles, the time from a multiply-add to the next on the same accumulator, and at
    least ``far`` for each vector it loads, as these often come from the second cache. A load costs ``scalar``
    or ``vector`` cycles even if hidden behind multiply-adds. A partial tile at the end of an axis takes
    ``tail`` times as long. With fewer accumulators than ``fewest_sums``, multiply-adds wait for each other.
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
    """The sizes in bytes up to which data stay in a cache while a kernel reads them repeatedly.

    - ``winograd_tiles``: a chunk of Winograd's transformed tiles, or the weight they are multiplied with, in
      the second cache; ``winograd_weight``: such a weight, in the last one;
    - ``prefetched_panel``: a panel of weights while the next one is prefetched: both, and data, share the
      second cache;
    - ``convolution_weights``: all weights of a convolution whose rows are divided among threads, in the
      second cache;
    - ``matrix_operand``: a matrix that is multiplied with all panels of weights, in the second cache beside
      two of those;
    - ``partial_sums``: the partial sums of one thread, with one block of input channels after the other;
    - ``pointwise_weights``: weights of a 1x1 convolution in AMX's tiles, in the first cache;
    - ``uncompressed_weight``: a weight that a near cache delivers as fast with all its bits as with fewer;
    - ``whole_image``: a larger image is processed row by row, with all panels of weights for each; None:
      never.
    """

    winograd_tiles: int
    winograd_weight: int
    prefetched_panel: int
    convolution_weights: int
    matrix_operand: int
    partial_sums: int
    pointwise_weights: int
    uncompressed_weight: int
    whole_image: int | None


@dataclass(frozen=True)
class Machine:
    """The properties of a processor that schedules depend on.

    ``name`` is the processor's (empty: unknown), and ``source`` is where the values come from: "measured",
    "tuned" if only schedules were, "taken from ..." a similar processor, or "estimated" from its vectors.

    ``vector_bits`` is the width of a vector register, ``vector_registers`` their number, ``cores`` the number
    of cores a kernel may be divided among. Per cycle, ``multiply_adds_per_cycle`` multiply-adds of the widest
    vectors start, with results after ``multiply_add_latency`` cycles, ``additions_per_cycle`` additions, and
    ``loads_per_cycle`` loads. ``reorder_window`` is the number of instructions that the processor holds to
    execute out of order. ``separate_additions``: additions have their own execution ports, so that they take
    no time beside multiply-adds. ``multiply_adds_broadcast``: one instruction multiplies a vector by a scalar
    in memory, or in a lane of another register; else the scalar must first be broadcast to all lanes of a
    register.

    ``caches`` are the data caches, the nearest first; ``memory_bandwidth`` is the bytes per second that one
    core reads from memory, 0 if not measured. ``shared_cache_is_far``: reading data from the cache that cores
    share, or data written by another core, is about as slow as reading memory.

    ``steps_per_iteration`` is the number of reduction steps that a loop iteration should take if loop
    counters compete with multiply-adds; 1 if counters take no time.

    Software prefetching: weights in the second cache are requested ``prefetch_near`` iterations before their
    use, and a long row of weights in memory ``prefetch_far`` vectors ahead (each 0: the hardware prefetcher
    alone is faster). If little is computed with each weight, ``stream_bytes`` of them are in flight at once,
    if ``prefetches_streams``; else the hardware prefetcher alone is faster.

    For ``tile_costs`` and ``working_sets`` see their classes. ``cost_model`` is the name of the learned
    model, part of the package, that predicts the speed of loops on such a processor.
    """

    name: str
    source: str
    vector_bits: int
    vector_registers: int
    cores: int
    multiply_adds_per_cycle: float
    multiply_add_latency: int
    reorder_window: int
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
    prefetches_streams: bool
    tile_costs: TileCosts
    working_sets: WorkingSets
    cost_model: str

    @property
    def few_registers(self) -> bool:
        """Whether there are fewer vector registers than with AVX-512, so that register tiles are small."""
        return self.vector_registers < MANY_REGISTERS

    @property
    def counters_take_time(self) -> bool:
        """Whether the scalar instructions of a loop around a tile of multiply-adds cost time."""
        return self.steps_per_iteration > 1
