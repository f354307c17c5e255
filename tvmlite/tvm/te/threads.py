"""Thread axes of graphics processors: schedules may use them, but a build for a CPU refuses them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NoReturn

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError, TargetError, UnsupportedError
from tvmlite.core.node import postorder, substitute
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.extensions import extend
from tvmlite.te.loop import ir
from tvmlite.te.lowering.bounds import Bounds
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import StageBase, loops_around
from tvmlite.te.tensor.tensor import IterVar, Range
from tvmlite.tvm.marks import with_marked_constants

BIND = "bind"
"""The pragma of a loop that is bound to a thread axis."""


@dataclass(frozen=True, eq=False)
class ThreadAxis(IterVar):
    """An axis of a grid of threads, named by ``thread_tag``, such as ``"threadIdx.x"``."""

    thread_tag: str = ""


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: Any = None) -> ThreadAxis:
    """Return a thread axis for ``s[tensor].bind``. ``dom`` is an extent, ``(begin, end)`` or a range, or is
    left out: ``te.thread_axis("threadIdx.x")``. Code is generated for CPUs only, which have no such axes:
    ``tvm.build`` raises an error for them."""
    if isinstance(dom, str):
        tag, dom = dom, None
    if not arguments.text("thread_axis: tag", tag):
        raise arguments.refused("thread_axis: tag", tag, 'the name of an axis such as "threadIdx.x"')
    var = e.Var(arguments.text("thread_axis: name", name) or tag)
    return ThreadAxis(None if dom is None else range_of(dom), var, "data", tag)


def bound(axis: ThreadAxis, extent: Any, body: ir.Stmt) -> ir.For:
    """``body`` as a loop of ``extent`` iterations that is bound to the threads of ``axis``."""
    index = e.Var(axis.var.name, e.INDEX)
    inside = substitute(body, {axis.var: e.cast(axis.var.dtype, index)})
    count = e.cast(e.INDEX, e.scalar("thread_extent", extent))
    return ir.For(index, e.const(0, e.INDEX), count, inside, ir.SERIAL, ((BIND, axis.thread_tag),))


def range_of(dom: Any) -> Range:
    """``dom``, a range, an extent or ``(begin, end)``, as a range."""
    if isinstance(dom, Range):
        return dom
    begin, end = dom if isinstance(dom, (tuple, list)) else (0, dom)
    return with_marked_constants(Range(e.convert(begin), e.convert(end) - begin))


class ThreadPrimitives(StageBase):
    """The methods of ``Stage`` for threads of graphics processors."""

    def bind(self: Any, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Bind the loop ``ivar`` to the threads of ``thread_ivar``. ``tvm.build`` refuses bound loops for a
        CPU; ``tvm.lower`` shows the binding as an annotation of the loop."""
        if not isinstance(thread_ivar, ThreadAxis):
            raise arguments.refused("bind: thread_ivar", thread_ivar, "a te.thread_axis", ScheduleError)
        self.pragma(ivar, BIND, thread_ivar.thread_tag)

    def rolling_buffer(self: Any) -> NoReturn:
        """Raise an UnsupportedError: rows are not kept for the next iteration, but computed again."""
        raise UnsupportedError(
            f"rolling_buffer: stage {self.name} cannot keep rows for the next iteration",
            Span.of_caller(),
            hint="without it the loops compute the same, some rows twice",
        )

    def env_threads(self: Any, threads: Any) -> None:
        """Run the stage in all ``threads``. ``tvm.build`` refuses this, as for ``bind``."""
        given = threads if isinstance(threads, (list, tuple)) else [threads]
        arguments.all_instances("env_threads: threads", given, ThreadAxis, "a te.thread_axis", ScheduleError)
        for one in given:
            self.pragma(self.leaf_iter_vars[0], BIND, one.thread_tag)


_SHARED_BY = {"global": 0, "shared": 1, "warp": 2, "local": 3}
"""A rank for each memory scope, by the threads that share it: all, a block's, a warp's, one thread only."""


class ThreadBounds(Bounds):
    """Bounds for inspection, not for allocating buffers. Wherever a stage is attached, exactly those loops
    bound to a thread axis run while it is computed whose threads share the stage's memory."""

    one_size = False

    def runs(self, needed: Stage | None, owner: Stage, leaf: IterVar, inside: bool) -> bool:
        """Whether the loop ``leaf`` of ``owner`` runs while the stage ``needed`` is computed."""
        tag = _tag(owner, leaf)
        if tag is None or tag == "pipeline" or needed is None:
            return inside
        scope = needed.scope.split(".")[0]
        if scope == "global":  # no scope was given: infer it from the loops around the stage
            tags = [found for one in loops_around(needed) if (found := _tag(*one)) is not None]
            shared = max((0 if found.startswith("blockIdx") else 2 for found in tags), default=-1) + 1
        else:
            shared = _SHARED_BY.get(scope, 3)
        if shared == _SHARED_BY["warp"] and tag == "threadIdx.x":
            return True
        return shared <= (0 if tag.startswith("blockIdx") else 1)


def _tag(stage: Stage, leaf: IterVar) -> str | None:
    """The tag of the thread axis that the loop ``leaf`` is bound to, or None."""
    return next((str(value) for key, value in stage.pragmas.get(leaf, ()) if key == BIND), None)


def without_predicates_of_threads(schedule: Any) -> Any:
    """A copy of ``schedule`` in which the store predicates of thread-bound stages are replaced by pragmas, or
    ``schedule`` itself if there are none. No code is generated for such stages, but their loops can be
    inspected."""
    stages = [one for one in schedule.stages if one.predicate is not None and _is_bound(one)]
    if not stages:
        return schedule
    made = schedule.copy()
    for one in stages:
        stage = made[one.op]
        stage.pragma(stage.leaf_iter_vars[0], "store_predicate", str(one.predicate))
        stage.change(predicate=None)
    return made


def _is_bound(stage: Any) -> bool:
    """Whether a loop of ``stage``, or one that the stage is attached in, is bound to a thread axis."""
    around = [(stage, leaf) for leaf in stage.leaf_iter_vars] + list(loops_around(stage))
    return any(_tag(*one) is not None for one in around)


def refuse_threads(function: ir.Function) -> None:
    """Raise a TargetError if a loop of ``function`` is bound to a thread axis."""
    for node in postorder(function.body):
        for key, value in node.annotations if isinstance(node, ir.For) else ():
            if key == BIND:
                raise TargetError(
                    f"{function.name}: loop {node.var.name} is bound to {value}, and there is code for CPUs "  # type: ignore[union-attr]
                    "only, which have no thread axes",
                    Span.of_caller(),
                    hint="s[tensor].parallel(axis) shares a loop among threads, s[tensor].vectorize(axis) "
                    "among lanes",
                )


_plain_pragma = Stage.pragma


@functools.wraps(_plain_pragma)
def _pragma(stage: Any, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
    """Like ``pragma`` of ``tvmlite.te``, but the pragmas ``"vectorize"``, ``"unroll"`` and ``"parallel"``
    apply the primitives of these names."""
    if isinstance(pragma_type, str) and pragma_type in ("vectorize", "unroll", "parallel"):
        getattr(stage, pragma_type)(var)
    else:
        _plain_pragma(stage, var, pragma_type, pragma_value)


Stage.pragma = _pragma  # type: ignore[method-assign,assignment]
extend(StageBase, ThreadPrimitives)
