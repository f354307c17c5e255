"""Tensor intrinsics called on slices: ``te.compute((m, 16), lambda i: vadd(A[i, 0:16], B[i, 0:16]))``.

The result is an ordinary compute over all axes, with the intrinsic's formula reading the slices (*windows*).
When it is lowered, the loops over the windows are tensorized with the intrinsic.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.core.node import rewrite, substitute
from tvmlite.core.span import Span, warn
from tvmlite.te import expr as e
from tvmlite.te.schedule.tensor_intrin import TensorIntrin
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.window import TensorWindow
from tvmlite.tvm.te.reads import computed

ATTRIBUTE = "tensor_intrinsic"
"""The attribute of such a compute: the intrinsic, and the number of axes outside it."""


@dataclass(frozen=True)
class IntrinsicCall:
    """A call of ``intrin`` on ``windows``, one per input, whose results are reduced over ``axes``."""

    intrin: TensorIntrin
    windows: tuple[Any, ...]
    axes: tuple[t.IterVar, ...]


def call(intrin: TensorIntrin, *args: Any, reduce_axis: Any = None, **named: Any) -> IntrinsicCall:
    """Call ``intrin`` on one slice, such as ``A[i, 0:16]``, or whole tensor per input. ``reduce_axis`` are
    the axes in the slices' indices to reduce over."""
    axes = () if reduce_axis is None else reduce_axis
    axes = (axes,) if isinstance(axes, t.IterVar) else tuple(axes)
    if named.get("attrs") is not None or named.keys() - {"attrs"}:
        raise arguments.refused(f"{intrin.name}: attrs", sorted(named), "none")
    if len(args) != len(intrin.op.inputs):
        raise TensorExpressionError(
            f"{intrin.name} reads {len(intrin.op.inputs)} tensors, given {len(args)}", Span.of_caller()
        )
    windows = []
    for given, read in zip(args, intrin.op.inputs, strict=True):
        one = given[tuple(slice(None) for _ in given.shape)] if isinstance(given, t.Tensor) else given
        if not isinstance(one, TensorWindow):
            raise arguments.refused(f"{intrin.name}: {read.name}", given, "a window such as A[i, 0:16]")
        if not _same(one.shape, read.shape):
            shapes = f"a window of {_text(one.shape)}, expected {_text(read.shape)}"
            raise TensorExpressionError(
                f"{intrin.name}: {read.name} is {shapes}",
                Span.of_caller(),
                hint="declare the intrinsic for windows of one size; it is not specialized for each call",
            )
        windows.append(one)
    return IntrinsicCall(intrin, tuple(windows), axes)


def compute(extents: Sequence[Any], function: Callable[..., Any], name: str, tag: str, attrs: Any) -> Any:
    """The tensors of a compute whose ``function`` takes the outer axes only and returns an intrinsic call;
    None if ``function`` returns anything else."""
    names = list(inspect.signature(function).parameters)
    around = [e.Var(one, "int32") for one in names]
    made = function(*around)
    if not isinstance(made, IntrinsicCall):
        return None
    op = made.intrin.op
    if len(names) + len(op.axis) != len(extents):
        raise TensorExpressionError(
            f"compute {name!r}: {len(extents)} axes, of which {len(names)} are the function's and "
            f"{len(op.axis)} those of {op.name}",
            Span.of_caller(),
        )
    reads = dict(zip(op.inputs, made.windows, strict=True))

    def body(*indices: e.Expr) -> Any:
        outer = dict(zip(around, indices[: len(names)], strict=True))
        inner = dict(zip((a.var for a in op.axis), indices[len(names) :], strict=True))
        return _formula(made, reads, {**outer, **inner})

    kept = {**(attrs or {}), ATTRIBUTE: (made.intrin, len(names))}
    body.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(one, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for one in _distinct([*names, *(a.var.name for a in op.axis)])
        ]
    )
    return computed(tuple(extents), body, name, tag, kept)


def _formula(made: IntrinsicCall, reads: dict[t.Tensor, TensorWindow], at: dict[e.Var, e.Expr]) -> Any:
    """The intrinsic's formula at one element, reading the windows and also reducing over the call's axes."""

    def rule(node: Any) -> Any:
        if isinstance(node, t.TensorRead) and node.tensor in reads:
            return reads[node.tensor][node.indices]
        return node

    results = []
    for root in made.intrin.op.body:
        if isinstance(root, t.Reduce):
            fresh = {a: te.reduce_axis((a.dom.min, a.dom.min + a.dom.extent), a.var.name) for a in root.axis}  # type: ignore[union-attr]
            inner = {a.var: b.var for a, b in fresh.items()}
            source = tuple(substitute(rewrite(substitute(s, inner), rule), at) for s in root.source)
            when = substitute(rewrite(substitute(root.condition, inner), rule), at)
            axes = (*made.axes, *fresh.values())
            free = tuple(substitute(one, at) for one in root.free_values)
            results.append(replace(root, source=source, axis=axes, condition=when, free_values=free))
        elif made.axes:
            raise UnsupportedError(
                f"{made.intrin.name}: reduce_axis given, but {made.intrin.op.name} combines nothing",
                Span.of_caller(),
            )
        else:
            results.append(substitute(rewrite(root, rule), at))
    return results[0] if len(results) == 1 else tuple(results)


def tensorized(schedule: te.Schedule) -> te.Schedule:
    """A copy of ``schedule`` in which computes made of intrinsic calls are tensorized, or ``schedule`` itself
    if there are none. Outer loops keep their schedule; loops over a window must not have been split. If such
    a stage was tensorized with another intrinsic, that is ignored with a warning; TVM ignores it too."""
    if not any(_intrinsic_of(stage) for stage in schedule.stages):
        return schedule
    made = schedule.copy()
    for stage in made.stages:
        found = _intrinsic_of(stage)
        if found is None or stage.attach_type == "inline":
            continue
        intrin, count = found
        if stage.tensorized is not None:
            if stage.tensorized[1] is intrin:
                continue
            warn(
                f"tensorize: stage {stage.name} is computed by {intrin.name} as it was declared, and not by "
                f"{stage.tensorized[1].name}"
            )
        op: Any = stage.op
        reduces = op.reduce_axis
        inner = (*op.axis[count:], *reduces[len(reduces) - len(intrin.op.reduce_axis) :])
        outer = [axis for axis in stage.leaf_iter_vars if not any(axis is one for one in inner)]
        stage.reorder(*outer, *inner)
        stage.tensorize(inner[0], intrin)
    return made


def _intrinsic_of(stage: Any) -> Any:
    """The intrinsic that computes ``stage`` and the number of axes outside it; None if there is none, also
    where ``cache_write`` has made the stage a copy."""
    op = stage.op
    copies = isinstance(op, t.ComputeOp) and isinstance(op.body[0], t.TensorRead)
    return None if copies else dict(getattr(op, "attrs", ())).get(ATTRIBUTE)


def _distinct(names: Sequence[str]) -> list[str]:
    return [name if name not in names[:k] else f"{name}_{k}" for k, name in enumerate(names)]


def _same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    plain = [[n.value if isinstance(n, e.Const) else n for n in shape] for shape in (one, other)]
    if len(one) != len(other):
        return False
    return all(a is b or (isinstance(a, int) and a == b) for a, b in zip(*plain, strict=True))


def _text(shape: Sequence[Any]) -> str:
    return f"({', '.join(map(str, shape))})"
