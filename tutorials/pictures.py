"""Drawing functions of the tutorials: the order in which loops visit elements, bars, and a set of colours.

Every picture of an order is drawn from the lowered loops themselves. ``visits`` inserts a call of a Python
function before each store, and runs the loops with the interpreter of the loop IR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.te.loop import ir, walk
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.visualizer import limits

try:
    import matplotlib
    import matplotlib.pyplot as plt
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "the tutorials draw with matplotlib: pip install 'tvmlite[docs]'", name=error.name
    ) from error

PLAIN = "#9aa5b1"
"""The starting point: no schedule, the default, float32."""

OURS = "#2f6f9f"
"""The result of the tutorial."""

SECOND = "#d9983c"
"""A second item: another stage, another search."""

LIMIT = "#b3424a"
"""A limit: the machine's peak, a threshold, an error bound."""

ORDER = "YlGnBu"
"""Colours of time: light is first, dark is last."""

GROUPS = "Pastel2"
"""Colours of groups."""

plt.rcParams.update(
    {
        "figure.dpi": 110,
        "figure.constrained_layout.use": True,
        "font.size": 10,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)


@dataclass(frozen=True)
class Visit:
    """One element that is written (or read): ``index`` in ``buffer``.

    ``step`` is the number of the executed statement: the lanes of a vector share one. ``body`` is the number
    of the iteration of a loop that remains in the code: unrolled iterations share one. ``iteration`` is that
    of the outermost parallel loop, or 0 outside parallel loops.
    """

    buffer: str
    index: tuple[int, ...]
    step: int
    body: int
    iteration: int
    is_read: bool = False


class _Watched(walk.Walker):
    """Rewrites loops so that they report stores, vectors, bodies and parallel iterations."""

    def __init__(self, names: list[str], reads: bool) -> None:
        self.names, self.reads = names, reads

    def loop(self, loop: ir.For) -> ir.Stmt:
        body = self.stmt(loop.body)
        if loop.kind == ir.VECTORIZE:
            around = replace(loop, body=body)
            return ir.sequence(_event("vector", 1), around, _event("vector", 0))
        if loop.kind == ir.PARALLEL:
            body = ir.sequence(_event("parallel", loop.var), body)
        if loop.kind != ir.UNROLL:
            body = ir.sequence(_event("body"), body)
        return replace(loop, body=body)

    def store(self, store: ir.Store) -> ir.Stmt:
        reported = [_event("write", self.number(store.buffer), *store.indices)]
        if self.reads:
            for load in walk.loads(store.value):
                if load.buffer is not store.buffer:
                    reported.append(_event("read", self.number(load.buffer), *load.indices))
        return ir.sequence(*reported, store)

    def number(self, buffer: ir.Buffer) -> int:
        if buffer.name not in self.names:
            self.names.append(buffer.name)
        return self.names.index(buffer.name)


def _event(kind: str, *numbers: Any) -> ir.Stmt:
    """A statement that calls the Python function of this kind."""
    return te.call_packed(f"pictures.{kind}", *numbers)


def visits(loops: ir.Function, reads: bool = False) -> list[Visit]:
    """The writes of ``loops``, a result of ``tvmlite.lower``, in order; also the reads, with ``reads``.

    All extents must be numbers. The loops run on arrays of zeros.
    """
    names: list[str] = []
    found: list[Visit] = []
    now = {"step": 0, "body": 0, "iteration": 0, "vector": 0}

    def element(buffer: int, *index: int, is_read: bool = False) -> None:
        if not now["vector"] and not is_read:
            now["step"] += 1
        found.append(Visit(names[buffer], index, now["step"], now["body"], now["iteration"], is_read))

    def vector(begins: int) -> None:
        now["vector"] = begins
        now["step"] += begins

    def body() -> None:
        now["body"] += 1

    def parallel(iteration: int) -> None:
        now["iteration"] = iteration

    def read(buffer: int, *index: int) -> None:
        element(buffer, *index, is_read=True)

    for function, name in ((element, "write"), (read, "read"), (vector, "vector"), (body, "body")):
        te.register_func(f"pictures.{name}", function, override=True)
    te.register_func("pictures.parallel", parallel, override=True)
    watched = walk.with_body(loops, _Watched(names, reads).stmt(loops.body))
    arrays = [
        np.zeros([_number(extent) for extent in param.shape], param.dtype)
        for param in loops.params
        if isinstance(param, ir.Buffer)
    ]
    interpret(watched, arrays)
    return found


def _number(extent: Any) -> int:
    return int(extent.value)


def visit_order(loops: ir.Function, tensor: str) -> np.ndarray:
    """For each element of ``tensor``, the last step that writes it, counting only steps that write
    ``tensor``, from 0.

    ``tensor`` must be a parameter, and all its elements must be written.
    """
    (shape,) = [p.shape for p in loops.params if isinstance(p, ir.Buffer) and p.name == tensor]
    order = np.full([_number(extent) for extent in shape], -1)
    for visit in visits(loops):
        if visit.buffer == tensor:
            order[visit.index] = visit.step
    return np.unique(order, return_inverse=True)[1].reshape(order.shape)


def draw_order(
    loops: ir.Function,
    tensor: str,
    title: str = "",
    axes: Any = None,
    group: Callable[[Visit], int] | None = None,
    names: tuple[str, str] = ("i", "j"),
) -> None:
    """Draw when each element of the 2-d ``tensor`` is written: a number and a colour, from light to dark.

    Elements with the same number are lanes of one vector. With ``group``, the elements of a group have the
    same colour: ``lambda visit: visit.iteration`` shows the pieces of threads. ``names`` are the names of the
    axes.
    """
    order = visit_order(loops, tensor)
    groups = None
    if group is not None:
        groups = np.zeros_like(order)
        for visit in visits(loops):
            if visit.buffer == tensor:
                groups[visit.index] = group(visit)
    draw_numbers(order, title or f"when each element of {tensor} is written", axes, groups, names)


def draw_numbers(
    numbers: np.ndarray,
    title: str,
    axes: Any = None,
    groups: np.ndarray | None = None,
    names: tuple[str, str] = ("i", "j"),
) -> None:
    """Draw a matrix of ``numbers``, small ones light; with ``groups``, in one colour for each group."""
    rows, columns = numbers.shape
    axes = axes or plt.figure(figsize=(0.42 * columns + 1.2, 0.42 * rows + 0.9)).gca()
    if groups is None:
        axes.imshow(numbers, cmap=ORDER, vmin=numbers.min(), vmax=numbers.max() * 1.5 + 1)
    else:
        axes.imshow(np.unique(groups, return_inverse=True)[1].reshape(groups.shape) % 7, cmap=GROUPS)
    size = 8 if numbers.max() < 100 else 6
    for (i, j), number in np.ndenumerate(numbers):
        axes.text(j, i, str(number), ha="center", va="center", fontsize=size)
    axes.set_xticks(range(columns), range(columns), fontsize=7)
    axes.set_yticks(range(rows), range(rows), fontsize=7)
    axes.set_xticks(np.arange(-0.5, columns), minor=True)
    axes.set_yticks(np.arange(-0.5, rows), minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    axes.set_ylabel(names[0])
    axes.set_xlabel(names[1])
    axes.set_title(title)


def draw_timeline(
    loops: ir.Function, tensors: Sequence[str], title: str = "", axes: Any = None, reads: bool = False
) -> None:
    """Draw which element of each of ``tensors`` is written, or read, in which step.

    Elements are numbered row by row, which is their order in memory.
    """
    axes = axes or plt.figure(figsize=(6, 2.6)).gca()
    found = [visit for visit in visits(loops, reads) if visit.is_read == reads]
    for tensor, colour in zip(tensors, (SECOND, OURS, LIMIT, PLAIN), strict=False):
        mine = [visit for visit in found if visit.buffer == tensor]
        shape = tuple(max(place) + 1 for place in zip(*(visit.index for visit in mine), strict=True))
        places = [int(np.ravel_multi_index(visit.index, shape)) for visit in mine]
        axes.scatter([v.step for v in mine], places, s=9, color=colour, label=tensor, linewidths=0)
    axes.set_xlabel("step")
    axes.set_ylabel("element")
    axes.set_title(title)
    axes.legend(loc="upper left", frameon=False, markerscale=2, bbox_to_anchor=(1, 1))


def bars(
    values: Mapping[str, float],
    unit: str,
    title: str = "",
    limit: float | None = None,
    limit_name: str = "peak",
    colours: Sequence[str] | str = OURS,
    axes: Any = None,
) -> None:
    """Draw ``values`` as horizontal bars with their numbers, in ``unit``; ``limit`` is a dashed line."""
    axes = axes or plt.figure(figsize=(6.4, 0.36 * len(values) + 1)).gca()
    drawn = axes.barh(list(values), list(values.values()), color=colours, height=0.65)
    axes.bar_label(drawn, [f"{value:.3g}" for value in values.values()], padding=3, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.set_title(title)
    most = max([*values.values(), limit or 0.0])
    axes.set_xlim(0, most * 1.15)
    if limit is not None:
        axes.axvline(limit, color=LIMIT, linestyle="--", label=f"{limit_name} {limit:.3g}")
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


def peak(threads: int = 1) -> float:
    """The float32 operations per second that ``threads`` cores reach in a loop of only multiply-adds."""
    return limits.measure(["float32"], 1 << 14, threads).operations


def show() -> None:
    """Open the windows of all figures; without a display, do nothing."""
    if matplotlib.get_backend().lower() != "agg":
        plt.show()
