"""The table of processors: a row for each that was measured or tuned for, and an estimate for all others.

In rows whose ``source`` is "measured", ports, latencies, caches and bandwidths are the output of
``python benchmarks/machine.py``. In others, ports, latencies and sizes are published values that were not
measured, and there are bandwidths only if the row names the command that measured them.
The parameters of schedules (``tile_costs``, ``working_sets``, prefetching) are the fastest values in
``python benchmarks/models.py NAMES --threads 1 --rounds 4`` and ``python benchmarks/kernels.py``, tuned one
after the other; ``cost_model`` is made by ``python benchmarks/train_cost_model.py``.
``docs/porting.md`` describes how to add a row.
"""

from __future__ import annotations

from dataclasses import replace

from tvmlite.machine.machine import MANY_REGISTERS, Cache, Machine, TileCosts, WorkingSets

_WORKING_SETS = WorkingSets(
    winograd_tiles=1 << 20,
    winograd_weight=8 << 20,
    prefetched_panel=384 << 10,
    convolution_weights=768 << 10,
    matrix_operand=640 << 10,
    partial_sums=64 << 10,
    pointwise_weights=48 << 10,
    uncompressed_weight=256 << 10,
    whole_image=None,
)

TUNED = "tuned; ports and caches not measured"
"""The ``source`` of rows for processors on which ``benchmarks/machine.py`` has not been run yet."""

ZEN_5 = Machine(
    name="AMD Zen 5",
    source=TUNED,
    vector_bits=512,
    vector_registers=32,
    cores=2,
    multiply_adds_per_cycle=2,
    multiply_add_latency=4,
    reorder_window=448,
    additions_per_cycle=2,
    loads_per_cycle=2,
    separate_additions=True,
    multiply_adds_broadcast=True,
    caches=(Cache(48 << 10), Cache(1 << 20), Cache(32 << 20, shared_by=8, bandwidth=110e9)),
    memory_bandwidth=38e9,
    shared_cache_is_far=False,
    steps_per_iteration=1,
    prefetch_near=0,
    prefetch_far=256,
    stream_bytes=4096,
    prefetches_streams=True,
    tile_costs=TileCosts(
        multiply_adds=2, loads=2, step=4, far=0.0, scalar=0.05, vector=0.2, tail=2.0, fewest_sums=8
    ),
    working_sets=_WORKING_SETS,
    cost_model="cost_model",
)
"""Measured by ``python benchmarks/kernels.py``: the bandwidths, and 288 GFLOP/s of float32 at 4.5 GHz. At 100
GB/s, ``stream_bytes`` arrive in 40 ns, the latency of the last cache; half and twice as many are as fast."""

ZEN_4 = replace(
    ZEN_5,
    name="AMD Zen 4",
    source="measured",
    multiply_adds_per_cycle=1,
    additions_per_cycle=1,
    loads_per_cycle=1,
    caches=(
        Cache(32 << 10, bandwidth=212e9),
        Cache(1 << 20, bandwidth=117e9),
        Cache(32 << 20, shared_by=8, bandwidth=97e9),
    ),
    memory_bandwidth=32e9,
    prefetches_streams=False,
)
"""Measured by ``python benchmarks/machine.py``, 2026-11-24, two virtual cores, 3.7 GHz. Arithmetic and loads
of 512 bits occupy ports of 256 bits twice; an addition and a multiply-add start in the same cycle.

Software prefetches occupy the few line fill buffers of the first cache, the hardware prefetcher's those of
the second, which has more."""

ZEN_3 = replace(
    ZEN_5,
    name="AMD Zen 3",
    vector_bits=256,
    vector_registers=16,
    multiply_adds_broadcast=False,
    caches=(Cache(32 << 10), Cache(512 << 10), Cache(32 << 20, shared_by=8)),
    memory_bandwidth=0.0,
    steps_per_iteration=4,
    prefetch_far=0,
    tile_costs=TileCosts(
        multiply_adds=2, loads=2, step=5, far=1.5, scalar=0.2, vector=0.25, tail=1.2, fewest_sums=8
    ),
    working_sets=replace(_WORKING_SETS, winograd_tiles=512 << 10, whole_image=2 << 20),
    cost_model="cost_model_avx2",
)
"""With 16 registers a step is so short that its latency is not hidden, and a tile so small that one more of
them costs little: ResNet-50's convolutions of 14x14 pixels and 1024 channels are much faster with tiles of 4
pixels by 3 blocks of channels than with 14 by one.

Some products of an encoder are faster with 4 steps per iteration than with 2, none with 8. A prefetch for
each vector costs more than a late line: little more at a distance of 32, much more at 256. The second
cache does not hold Winograd's weight of 64 channels. Images of 56x56 pixels and 256 channels gain by being
processed row by row, those of 112x112 and 128 gain more."""

GRANITE_RAPIDS = replace(
    ZEN_5,
    name="Intel Granite Rapids",
    separate_additions=False,
    caches=(Cache(48 << 10), Cache(2 << 20), Cache(0, shared_by=0)),
    memory_bandwidth=0.0,
    shared_cache_is_far=True,
    steps_per_iteration=2,
    prefetch_near=16,
    prefetch_far=32,
    cost_model="cost_model_intel",
)
"""Additions and loop counters use the ports of multiply-adds: an encoder's products gain by two steps per
iteration, no more by four, and nothing by eight.

The last cache is a mesh across the chip: ResNet-50, DenseNet-121 and MobileNetV2 gain on two cores if the
rows of an image are divided among threads, which then find their lines in their own caches; long reductions
gain if cut into parts. The hardware prefetches only within a page: with ``prefetch_near``, 7x7 pixels and 512
channels gain much, 28x28 and 128 little. With a ``prefetch_far`` of 256 Winograd's convolutions are
slower."""

MEASURED = {"znver3": ZEN_3, "znver4": ZEN_4, "znver5": ZEN_5, "graniterapids": GRANITE_RAPIDS}
"""The rows by LLVM's names of processors."""

_SIMILAR_PROCESSORS = {
    "znver3": "znver1 znver2",
    "graniterapids": (
        "skylake-avx512 cascadelake cooperlake cannonlake icelake-client icelake-server tigerlake rocketlake "
        "sapphirerapids emeraldrapids graniterapids-d diamondrapids"
    ),
}
"""Processors without a row, by the similar one whose row they use."""

_VECTOR_FIELDS = (
    "vector_registers",
    "multiply_adds_broadcast",
    "steps_per_iteration",
    "prefetch_far",
    "tile_costs",
    "working_sets",
    "cost_model",
)
"""The fields that change if a target uses fewer registers than its processor has: AVX-512 is disabled."""


def estimate(vector_bits: int, vector_registers: int, cores: int = 1) -> Machine:
    """The estimate for an unknown processor with such vectors: the row of the processor with as many or as
    few registers, without ``separate_additions``, which few processors have."""
    nearest = ZEN_5 if vector_registers >= MANY_REGISTERS else ZEN_3
    return replace(
        nearest,
        name="",
        source="estimated",
        vector_bits=vector_bits,
        vector_registers=vector_registers,
        cores=cores,
        separate_additions=False,
    )


def machine_of(cpu: str, vector_bits: int, vector_registers: int, cores: int) -> Machine:
    """The machine for the processor that LLVM calls ``cpu`` (empty: unknown), of which code may use vectors
    of ``vector_bits``, ``vector_registers`` registers and ``cores`` cores."""
    fallback = estimate(vector_bits, vector_registers, cores)
    row = MEASURED.get(cpu) or _similar_row(cpu)
    if row is None:
        return fallback
    row = replace(row, vector_bits=vector_bits, cores=cores)
    if row.few_registers == fallback.few_registers:
        return replace(row, vector_registers=vector_registers)
    return replace(row, **{name: getattr(fallback, name) for name in _VECTOR_FIELDS})


def _similar_row(cpu: str) -> Machine | None:
    """The row of the processor that ``cpu`` is most similar to, if any."""
    for nearest, names in _SIMILAR_PROCESSORS.items():
        if cpu in names.split():
            row = MEASURED[nearest]
            return replace(row, name=cpu, source=f"taken from {row.name}")
    return None
