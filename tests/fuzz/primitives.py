"""Schedule primitives with valid and wrong arguments: axes of other stages, axes that were split or fused,
invalid factors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import tvmlite
from tvmlite import te

MAPPINGS = (
    lambda i, j: [j],
    lambda i: i,
    lambda i, j: [i + j],
    lambda i, j: [i // 0, j],
    lambda i, j: None,
    lambda *_: ["x"],
)
INTRINSIC = te.decl_tensor_intrin(te.compute((8,), lambda i: te.placeholder((8,), name="P")[i] * 2.0).op)


def world() -> SimpleNamespace:
    """Return the schedule of a product with split and fused loops, and all its objects."""
    a, b = te.placeholder((6, 8), name="A"), te.placeholder((8, 4), name="B")
    k = te.reduce_axis((0, 8), name="k")
    t = te.compute((6, 8), lambda i, j: a[i, j] * 2.0, name="T")
    c = te.compute((6, 4), lambda i, j: te.sum(t[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((6, 4), lambda i, j: c[i, j] + 1.0, name="D")
    s = te.create_schedule(d.op)
    outer, inner = s[c].split(c.op.axis[0], factor=2)
    fused = s[d].fuse(*d.op.axis)
    return SimpleNamespace(
        s=s, a=a, b=b, k=k, t=t, c=c, d=d, i=c.op.axis[0], j=c.op.axis[1], outer=outer, inner=inner,
        fused=fused, gone=d.op.axis[0], row=t.op.axis[0], column=t.op.axis[1], args=[a, b, d],
    )  # fmt: skip


def steps(w: SimpleNamespace) -> dict[str, list[tuple[Any, dict[str, Any]]]]:
    """Return the objects on which schedule and stage methods are called, with valid arguments."""
    s = w.s
    return {
        "split": [
            (s[w.c], {"parent": w.j, "factor": 2}),
            (s[w.c], {"parent": w.k, "nparts": 2, "tail": "guard"}),
        ],
        "fuse": [(s[w.c], {"axes": (w.outer, w.inner)})],
        "reorder": [(s[w.c], {"axes": (w.k, w.j)})],
        "tile": [(s[w.c], {"x_parent": w.j, "y_parent": w.k, "x_factor": 2, "y_factor": 2})],
        "vectorize": [(s[w.c], {"var": w.j})],
        "unroll": [(s[w.c], {"var": w.k})],
        "parallel": [(s[w.c], {"var": w.outer})],
        "bind": [(s[w.c], {"ivar": w.outer, "thread_ivar": "threadIdx.x"})],
        "pragma": [(s[w.c], {"var": w.j, "pragma_type": "auto_unroll_max_step", "pragma_value": 16})],
        "tensorize": [(s[w.t], {"var": w.column, "tensor_intrin": INTRINSIC})],
        "compute_at": [
            (s[w.c], {"parent": s[w.d], "scope": w.fused}),
            (s[w.t], {"parent": s[w.c], "scope": w.outer}),
        ],
        "reverse_compute_at": [(s[w.d], {"producer": s[w.c], "axis": w.outer})],
        "compute_inline": [(s[w.t], {})],
        "compute_root": [(s[w.t], {})],
        "double_buffer": [(s[w.t], {})],
        "set_scope": [(s[w.t], {"scope": "local"})],
        "storage_align": [(s[w.t], {"axis": w.row, "factor": 8, "offset": 1})],
        "prefetch": [(s[w.c], {"tensor": w.t, "var": w.k, "offset": 1, "share": ()})],
        "align_bounds": [(s[w.t], {"axis": w.column, "factor": 4})],
        "set_store_predicate": [(s[w.t], {"predicate": w.row.var < 3})],
        "transform_layout": [(s[w.t], {"mapping": lambda i, j: [i // 2, j, i % 2]})],
        "decompose_reduction": [(s[w.c], {"axis": w.outer})],
        "loop_partition": [(s[w.c], {"axis": w.j, "sizes": [1, None]})],
        "cache_read": [(s, {"tensor": w.a, "scope": "local", "readers": [w.t]})],
        "cache_write": [(s, {"tensor": w.c, "scope": "local"})],
        "rfactor": [(s, {"tensor": w.c, "axis": w.k, "factor_axis": 0})],
        "create_group": [(s, {"outputs": w.c, "inputs": w.a, "include_inputs": False})],
        "current": [(s, {"tensor": w.c})],
        "replay": [(s, {"steps": 1})],
        "undo": [(s, {"steps": 1})],
        "copy": [(s, {})],
        "normalize": [(s, {})],
        "__getitem__": [(s, {"key": w.c})],
        "lower": [(te, {"schedule": s, "args": w.args, "name": "f", "simple_mode": True})],
        "build": [(tvmlite, {"schedule": s, "args": w.args, "target": "llvm", "name": "f"})],
    }


def parts(w: SimpleNamespace) -> tuple[Any, ...]:
    """Return the objects of a world, and numbers: valid for some arguments, wrong for most."""
    leaves = [axis for stage in w.s.stages for axis in stage.leaf_iter_vars]
    return (
        w.j, w.k, w.i, w.outer, w.inner, w.fused, w.gone, w.row, w.column, w.a, w.b, w.c, w.t, w.d, w.s,
        w.s[w.c], w.s[w.t], w.s[w.d], w.s[w.a], w.c.op, w.row.var < 2, w.k.var, 0, 1, 2, 3, -1, 2**40, 1.5,
        te.const(2), te.const(0), [w.outer, w.inner], (w.j, w.j), *leaves, *MAPPINGS,
    )  # fmt: skip
