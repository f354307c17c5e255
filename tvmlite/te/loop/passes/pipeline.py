"""The pass pipeline from structured loops to the legal form that code generators take."""

from __future__ import annotations

from functools import partial, update_wrapper

from tvmlite.core import config
from tvmlite.core.pipeline import Pipeline
from tvmlite.machine.target import Target
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.asserts import asserts, permit
from tvmlite.te.loop.passes.flatten import flatten
from tvmlite.te.loop.passes.narrow import narrow
from tvmlite.te.loop.passes.parallel import parallel
from tvmlite.te.loop.passes.partition import WHOLE_LANES, partition
from tvmlite.te.loop.passes.select_version import select_version
from tvmlite.te.loop.passes.simplify import simplify, simplify_once
from tvmlite.te.loop.passes.storage import SMALL_STACK_BYTES, storage
from tvmlite.te.loop.passes.unfuse import unfuse
from tvmlite.te.loop.passes.unroll import rolled, unroll
from tvmlite.te.loop.passes.vectorize import vectorize
from tvmlite.te.loop.printer import show
from tvmlite.te.loop.verify import verify


def legalize(function: ir.Function, target: str | Target) -> ir.Function:
    """Legalise ``function``, which is in structured form, for ``target``; see ``loop.ir``.

    Narrow dtypes become bytes first, so that no other pass has to handle them. Indices are flattened early,
    while they are scalars: quotients and remainders of fused loops cancel only in a flat index; where some
    remain, ``unfuse`` splits the loop. Guards are removed before loops are vectorized, so that full tiles
    have no masks. Storage is decided before loops are unrolled, so that this is done once per loop and not
    once per iteration; the last simplification folds what unrolling made constant. On targets without
    vectors, loops stay loops (``rolled``), and only small buffers are on the stack.
    """
    target = Target.parse(target)
    lanes = target.lanes("float32")
    chosen = update_wrapper(partial(select_version, target=target), select_version)
    in_lanes = update_wrapper(partial(vectorize, lanes=lanes), vectorize)
    registers = target.vector_registers * target.vector_bits // 8
    written_out = update_wrapper(partial(unroll, registers=registers), unroll)
    # C has no masked vectors; a few short vectors replace them
    in_parts = update_wrapper(
        partial(partition, whole_lanes=1 if target.kind == "c" else WHOLE_LANES), partition
    )
    serial, stored = parallel, storage
    if target.standalone:
        noted = partial(unroll, registers=registers, write_out=False)
        written_out = update_wrapper(noted, unroll)
        if target.num_cores == 1:
            serial = update_wrapper(partial(rolled, kinds=(ir.PARALLEL,)), rolled)
    if target.scalar:
        in_lanes = written_out = rolled
        places = partial(storage, alignment=target.alignment, stack=SMALL_STACK_BYTES)
        stored = update_wrapper(places, storage)
    passes = (
        *(narrow, chosen, simplify_once, flatten, unfuse, in_parts, simplify, in_lanes, serial),
        *(stored, written_out, simplify, permit, asserts),
    )
    legal = Pipeline(passes, verify, show).run(function, prefix=f"{function.name}_")
    if config.verify_between_passes():
        verify(legal, legal=True)
    return legal
