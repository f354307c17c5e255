"""The page of a schedule: one self-contained HTML file."""

from __future__ import annotations

import inspect
import linecache
import math
import os
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.signature import check_symbol
from tvmlite.core.errors import InputError, LibraryError
from tvmlite.machine.target import Target
from tvmlite.runtime.library import link
from tvmlite.show import html
from tvmlite.te.expr import Var
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.visualizer import text
from tvmlite.te.visualizer.chart import Point, chart
from tvmlite.te.visualizer.difference import compared
from tvmlite.te.visualizer.states import Replay, State, replay

PACKAGE = "tvmlite.te.visualizer"


def visualize(
    schedule: Schedule,
    args: Sequence[Any],
    path: str | os.PathLike[str] | None = "schedule.html",
    target: str | Target = "native",
    sizes: Mapping[Any, int] | None = None,
    *,
    name: str = "default_function",
    budget: float | None = 0.3,
    assembly: bool = True,
) -> Path | html.Page:
    """Write a page to ``path`` that replays ``schedule`` primitive by primitive, and return the path.

    With ``path=None`` the page itself is returned, which a notebook displays.

    Each step shows the primitive as it was written, the loop nest with its changes, the C source, the
    assembly of the innermost loop, and the time of a call with random data: its rate, and its share of the
    roofline, which is measured first. ``args`` are those of ``te.lower``. ``sizes`` maps every ``te.var``, or
    its name, to a number. A step is timed for about ``budget`` seconds, or called just once if one call takes
    longer; with ``budget=None``, or a target of another machine, nothing is run. The page is one file that
    loads nothing; except for the times, the same schedule gives the same page.

    Raises the errors of ``te.lower`` if no step can be lowered, an InputError if a size is missing, and a
    ScheduleError if the schedule was changed other than by calling its primitives.
    """
    arguments.instance("visualize: schedule", schedule, Schedule, "a schedule", InputError)
    written = None if path is None else arguments.path("visualize: path", path, InputError)
    arguments.boolean("visualize: assembly", assembly, InputError)
    if budget is not None:
        arguments.number("visualize: budget", budget, InputError)
    given = arguments.mapping("visualize: sizes", sizes, InputError)
    numbers = {
        key.name
        if isinstance(key, Var)
        else arguments.text("visualize: sizes", key, InputError): arguments.whole(
            "visualize: sizes", n, InputError, least=0
        )
        for key, n in given.items()
    }
    replayed = replay(schedule, args, Target.parse(target), numbers, check_symbol(name), budget, assembly)
    if written is not None and written.is_dir():
        raise _unwritable(path, "Is a directory")
    made = page(replayed, schedule)
    if written is None:
        return made
    try:
        link.write_atomically(written, lambda beside: beside.write_text(made, "utf-8"), mode=0o666)
    except LibraryError as error:
        raise _unwritable(path, getattr(error.__cause__, "strerror", None) or error.message) from None
    return written


def _unwritable(path: object, reason: str) -> InputError:
    return InputError(f"visualize: {str(path)!r} cannot be written: {reason}")


def page(replayed: Replay, schedule: Schedule) -> html.Page:
    """The HTML of ``replayed``, a replay of ``schedule``."""
    title = f"{replayed.name}: a schedule in {len(replayed.states) - 1} steps"
    outputs = ", ".join(op.name for op in schedule.origins)
    values = {
        "script": html.resource(PACKAGE, "page.js"),
        "name": escape(replayed.name),
        "outputs": escape(outputs),
        "header": _header(replayed),
        "chart": chart([_point(replayed, state) for state in replayed.states], _unit(replayed)),
        "steps": "".join(_item(replayed, state) for state in replayed.states),
        "details": "".join(_detail(replayed, number) for number in range(len(replayed.states))),
    }
    style = html.resource(PACKAGE, "page.css")
    return html.page(title, style, html.resource(PACKAGE, "page.html"), values)


# -- the head of the page


def _header(replayed: Replay) -> str:
    timed = [state for state in replayed.states if state.timing is not None]
    facts = [("work", _work(replayed))]
    for count, limits in replayed.limits.items():
        threads = "1 thread" if count == 1 else f"{count} threads"
        peak = text.amount(limits.operations, "OP/s" if "int" in limits.unit else "FLOP/s")
        read = text.amount(limits.bandwidth, "B/s")
        facts.append(
            (
                f"limits, {threads}",
                f"{peak} of {limits.unit}, {read} read from {text.amount(limits.size, 'B')}",
            )
        )
    known = [state.timing.busy for state in timed if state.timing and not math.isnan(state.timing.busy)]
    busy = min(max(known, default=0.0), 1.0)
    if busy >= 0.1:
        note = f"other processes used up to {busy:.0%} of this machine meanwhile: times are too long"
        facts.append(("note", note))
    if not timed:
        facts.append(("note", "nothing was timed"))
    params = "".join(f"<code>{escape(param)}</code> " for param in replayed.params)
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(fact)}</dd></div>" for name, fact in facts)
    return (
        f'<p class="params">{params}</p>{_summary(replayed, timed)}'
        f'<dl class="facts"><div><dt>target</dt><dd>{escape(str(replayed.target))}</dd></div>{rows}</dl>'
    )


def _summary(replayed: Replay, timed: Sequence[State]) -> str:
    """The first and the last time, in large letters."""
    if len(timed) < 2 or timed[0].timing is None or timed[-1].timing is None:
        return ""
    first, last = timed[0].timing.median, timed[-1].timing.median
    share = replayed.share(timed[-1])
    ratio = first / last
    tiles = [
        (text.seconds(first), "before"),
        (text.seconds(last), "after"),
        _speedup(ratio),
    ]
    if share is not None:
        tiles.append((text.percent(share), "of the roofline"))
    inside = "".join(f"<div><b>{escape(number)}</b> <span>{what}</span></div>" for number, what in tiles)
    return f'<div class="tiles">{inside}</div>'


def _speedup(ratio: float) -> tuple[str, str]:
    if 0.95 < ratio < 1.05:
        return "1×", "as fast as before"
    return (text.times(ratio), "faster") if ratio > 1 else (text.times(1 / ratio), "slower")


def _work(replayed: Replay) -> str:
    bytes_ = f"{text.amount(replayed.size, 'B')} of arguments"
    if not replayed.operations:
        return bytes_
    counted = text.amount(replayed.operations, _operation(replayed))
    ratio = text.digits(replayed.operations / max(replayed.size, 1))
    return f"{counted}, {bytes_}: {ratio} {_operation(replayed)} a byte"


def _operation(replayed: Replay) -> str:
    """FLOP, or OP if no parameter is a float."""
    floats = any(
        param.split(": ")[1].removeprefix("out ").split("[")[0] in dtypes.FLOATS for param in replayed.params
    )
    return "FLOP" if floats else "OP"


def _unit(replayed: Replay) -> str:
    return f"G{_operation(replayed)}/s" if replayed.operations else "GB/s"


def _rate(replayed: Replay, seconds: float) -> float:
    """The rate in ``_unit``: of operations, or of bytes if there are no operations."""
    return (replayed.operations or replayed.size) / max(seconds, 1e-12) / 1e9


# -- a step in the chart and the list


def _point(replayed: Replay, state: State) -> Point:
    label = f"step {state.number}: {state.step or 'plain loops'}"
    if state.refusal:
        return Point(state.number, f"{label}; not legal yet")
    if state.timing is None:
        return Point(state.number, label)
    timing = state.timing
    low, high = (_rate(replayed, seconds) for seconds in reversed(timing.interval))
    roof = _rate(replayed, replayed.limits[state.threads].seconds(replayed.operations, replayed.size))
    rate = _rate(replayed, timing.median)
    label = f"{label}; {text.seconds(timing.median)}, {text.digits(rate)} {_unit(replayed)}"
    return Point(state.number, label, rate, low, high, roof)


def _item(replayed: Replay, state: State) -> str:
    share = replayed.share(state)
    width = 0 if share is None else min(share, 1) * 100
    result = "not legal" if state.refusal else text.seconds(state.timing.median) if state.timing else ""
    words = "plain loops" if state.step is None else state.step.call
    return (
        f'<li><a href="#step-{state.number}" data-step="{state.number}"{_refused(state)}>'
        f'<span class="number">{state.number}</span><code>{escape(words)}</code>'
        f'<span class="time">{result}</span>'
        f'<span class="share" style="--share:{width:.1f}%"></span></a></li>'
    )


def _refused(state: State) -> str:
    return ' class="refused"' if state.refusal else ""


# -- a step in full


def _detail(replayed: Replay, number: int) -> str:
    state = replayed.states[number]
    before = next((s for s in reversed(replayed.states[:number]) if not s.refusal), None)
    parts = [
        f'<section class="step" id="step-{number}" data-step="{number}" aria-labelledby="title-{number}">',
        f'<h2 id="title-{number}"><span class="number">{number}</span> <code>{_title(state)}</code></h2>',
        *_explanation(state),
    ]
    if state.refusal:
        where = "" if before is None else f" What follows is compared with step {before.number}."
        parts.append(
            f'<p class="refusal"><b>Cannot be lowered yet:</b> {escape(state.refusal)}.'
            f"<span> The next primitives may change that.{where}</span></p>"
        )
    else:
        parts += [_metrics(replayed, state, before), _views(state, before)]
    return "".join((*parts, "</section>"))


def _title(state: State) -> str:
    return escape(str(state.step)) if state.step else "s = te.create_schedule(...)"


def _explanation(state: State) -> list[str]:
    """The user's line, and the first paragraph of the primitive's docstring."""
    if state.step is None:
        return ['<p class="does">Every stage in plain loops of its own, in the order of its axes.</p>']
    made = []
    span = state.step.span
    line = linecache.getline(span.source, span.line).strip()
    if line:
        made.append(
            f'<p class="line">{escape(Path(span.source).name)}:{span.line} <code>{escape(line)}</code></p>'
        )
    owner = Stage if state.step.stage else Schedule
    does = inspect.getdoc(getattr(owner, state.step.primitive, None)) or ""
    first = " ".join(does.split("\n\n")[0].split())
    if first:
        marked = re.sub("``(.+?)``", r"<code>\1</code>", escape(first))
        made.append(f'<p class="does">{marked}</p>')
    return made


def _metrics(replayed: Replay, state: State, before: State | None) -> str:
    timing = state.timing
    if timing is None:
        return ""
    low, high = timing.interval
    runs = "called once" if len(timing.runs) == 1 else f"{text.seconds(low)} – {text.seconds(high)}"
    cells = [(text.seconds(timing.median), runs)]
    cells.append((f"{text.digits(_rate(replayed, timing.median))} {_unit(replayed)}", _threads(state)))
    share = replayed.share(state)
    if share is not None:
        meter = f'<span class="meter"><span style="width:{min(share, 1) * 100:.1f}%"></span></span>'
        cells.append(
            (f"{text.percent(share)} {meter}", f"of the roofline, bound by {_bound(replayed, state)}")
        )
    if before is not None and before.timing is not None:
        cells.append(_change(state, before))
    if state.difference is not None:
        cells.append(_check(replayed, state))
    return (
        '<dl class="metrics">'
        + "".join(f"<div><dt>{below}</dt><dd>{above}</dd></div>" for above, below in cells)
        + "</dl>"
    )


def _threads(state: State) -> str:
    return "1 thread" if state.threads == 1 else f"{state.threads} threads"


def _bound(replayed: Replay, state: State) -> str:
    limits = replayed.limits[state.threads]
    return (
        "arithmetic"
        if replayed.operations / limits.operations >= replayed.size / limits.bandwidth
        else "memory"
    )


def _change(state: State, before: State) -> tuple[str, str]:
    """The speedup over the step ``before``, or that it has the same code as an earlier one."""
    assert state.timing is not None
    assert before.timing is not None
    if state.same_as is not None:
        return "same code", f"as step {state.same_as}"
    mine, other = state.timing, before.timing
    ratio = other.median / mine.median
    if 0.95 < ratio < 1.05:
        return "no change", f"from step {before.number}"
    is_significant = mine.interval[1] < other.interval[0] or mine.interval[0] > other.interval[1]
    about, against = ("", "") if is_significant else ("≈ ", ", not significant")
    kind, times = ("faster", ratio) if ratio > 1 else ("slower", 1 / ratio)
    return (
        f'<span class="{kind}">{about}{text.times(times)} {kind}</span>',
        f"than step {before.number}{against}",
    )


def _check(replayed: Replay, state: State) -> tuple[str, str]:
    assert state.difference is not None
    halves = any("float16" in param for param in replayed.params)
    if state.difference <= (3e-2 if halves else 1e-3):
        exact = "to the bit" if state.difference == 0 else f"to {state.difference:.0e}"
        return '<span class="faster">✓ same results</span>', f"as the plain loops, {exact}"
    return '<span class="slower">✗ differs</span>', f"from plain loops, by {state.difference:.0e}"


def _views(state: State, before: State | None) -> str:
    old_hot = before.hot.text if before is not None and before.hot is not None else None
    made = [
        _view("loops", "Loops", "", compared(before.loops if before else None, state.loops, "loops")),
        _view("c", "C", "", compared(before.c if before else None, state.c, "c")),
    ]
    if state.hot is not None:
        hot = state.hot
        where = f"Innermost loop, depth {hot.depth}" if hot.depth else "No loop: the function's beginning"
        spilled = "no spills" if not hot.spills else f"{hot.spills} spills and reloads"
        note = f"{where}: {hot.instructions} instructions, {hot.fused} fused multiply-adds, {spilled}."
        made.append(_view("asm", "Assembly", note, compared(old_hot, hot.text, "asm")))
    return "".join(made)


def _view(kind: str, name: str, note: str, lines: str) -> str:
    remark = f'<p class="note">{escape(note)}</p>' if note else ""
    return (
        f'<div class="view" data-view="{kind}"><h3>{name}</h3>{remark}'
        f'<pre tabindex="0" aria-label="{name}"><code>{lines}</code></pre></div>'
    )
