"""Extensions of te's core, by name: modules that the core imports when they are first used.

The core lowers and compiles float32 computes with schedules of plain loops: expressions, tensors, the basic
primitives, bounds, loop nests, loop IR and the LLVM generator. ``tests/test_core_closure.py`` counts its
lines. Of everything else it has only the rows of these tables; an unused extension is never loaded.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

MODULES = {
    **{
        f"llvm.{name}": f"tvmlite.te.codegen.llvm.extensions.{name}"
        for name in (
            "branches",
            "casts",
            "division",
            "extern_calls",
            "halves",
            "index_vectors",
            "intrinsics",
            "masks",
            "packed_stores",
            "parallel",
            "pointers",
            "statements",
            "tiles",
            "vector_memory",
        )
    },
    "compute_with": "tvmlite.te.lowering.extensions.compute_with",
    "compound_intervals": "tvmlite.te.arith.compound_intervals",
    "conditions": "tvmlite.te.arith.conditions",
    "dependent_extents": "tvmlite.te.lowering.extensions.dependent_extents",
    "math": "tvmlite.te.codegen.math.expand",
    "rounding": "tvmlite.te.codegen.math.rounding",
    "extern": "tvmlite.te.lowering.extensions.extern_stage",
    "fused_reads": "tvmlite.te.lowering.extensions.fused_reads",
    "intervals": "tvmlite.te.lowering.extensions.interval_rules",
    "linear": "tvmlite.te.arith.linear",
    "masks": "tvmlite.te.loop.passes.masks",
    "memory": "tvmlite.te.lowering.extensions.memory",
    "proofs": "tvmlite.te.arith.proofs",
    "quotients": "tvmlite.te.arith.division",
    "packed": "tvmlite.te.codegen.packed",
    "printer": "tvmlite.te.loop.printer",
    "reads": "tvmlite.te.tensor.bounds_check",
    "scan": "tvmlite.te.lowering.extensions.scan",
    "schedule_text": "tvmlite.te.visualizer.schedule_text",
    "shrink": "tvmlite.te.lowering.extensions.tails",
    "staging": "tvmlite.te.lowering.extensions.staging",
    "windows": "tvmlite.te.tensor.window",
    "vector_rules": "tvmlite.te.arith.vector_rules",
    "tensorize": "tvmlite.te.lowering.extensions.tensorized_nest",
}
"""The module of each extension, whose functions the core calls."""


@functools.cache
def extension(name: str) -> Any:
    """Return the module of the extension ``name``, one of ``MODULES``; it is imported on first use."""
    return importlib.import_module(MODULES[name])


_STAGE_MEMORY = "tvmlite.te.schedule.stage_memory"
_STAGE_ORDER = "tvmlite.te.schedule.stage_order"
_CACHE = "tvmlite.te.schedule.cache"
_EPILOGUE = "tvmlite.te.schedule.epilogue"
_BUFFER = "tvmlite.te.loop.buffer_access"

PRIMITIVES = {
    "_repr_html_": "tvmlite.te.visualizer.notebook",
    "access_ptr": _BUFFER,
    "align_bounds": _STAGE_MEMORY,
    "cache_read": _CACHE,
    "cache_write": _CACHE,
    "compute_with": _EPILOGUE,
    "create_group": "tvmlite.te.schedule.group",
    "decompose_reduction": _STAGE_ORDER,
    "double_buffer": _STAGE_MEMORY,
    "loop_partition": _STAGE_ORDER,
    "prefetch": _STAGE_MEMORY,
    "reverse_compute_at": _EPILOGUE,
    "rfactor": "tvmlite.te.schedule.rfactor",
    "set_scope": _STAGE_MEMORY,
    "set_store_predicate": _STAGE_MEMORY,
    "storage_align": _STAGE_MEMORY,
    "tensorize": "tvmlite.te.schedule.tensor_intrin",
    "transform_layout": "tvmlite.te.schedule.layout",
    "vload": _BUFFER,
    "vstore": _BUFFER,
}
"""The module of each method that ``Schedule``, ``Stage`` and ``Buffer`` do not define themselves. When it is
imported, the module adds its methods to these classes."""


def extend(owner: type, primitives: type) -> None:
    """Add the methods of the class ``primitives`` to the class ``owner``."""
    for name, method in vars(primitives).items():
        if not name.startswith("__"):
            setattr(owner, name, method)


def extended(owner: Any, name: str) -> Any:
    """Load and return the method ``name`` of a schedule, a stage or a buffer."""
    if name in PRIMITIVES:
        importlib.import_module(PRIMITIVES[name])
        method = getattr(type(owner), name, None)
        if method is not None:
            return method.__get__(owner)
    raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")


def load_primitives() -> None:
    """Import all primitives, for code that inspects the classes, not a schedule."""
    for module in PRIMITIVES.values():
        importlib.import_module(module)
