"""Evaluates the records of models: rows of the table, and the summary."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

Record = Mapping[str, Any]

SLOWER = 0.9
"""A model whose speed is less than this of the best peer's is counted as slower."""

COLD_BAR, COLD_BAR_ALL = 5.0, 20.0
"""Limits of the seconds of a cold compilation: for nine models in ten, and for all."""

LOADED_BAR = 1.05
"""The limit of the exported library's time, relative to that in the process that compiled it."""

UNSTEADY = 2.0
"""A model is "unsteady", neither right nor wrong, if its error is at most this factor times the change of
ONNX Runtime's own result when its inputs change by 1e-5, its weights by 1e-6, or its optimizations are
switched off."""

PEERS = ("onnxruntime", "openvino")


def check_record(name: str, events: Sequence[Record], tolerance: tuple[float, float]) -> dict[str, Any]:
    """The record of a model's check, from the events of its reference run and its check.

    ``tolerance``: for float models, and for quantized ones.
    """
    named = {one["event"]: one for one in events}
    made: dict[str, Any] = {"kind": "check", "model": name}
    made["quantized"] = named.get("model", {}).get("quantized", False)
    if "compiled" in named:
        made |= {
            key: named["compiled"][key] for key in ("seconds", "processor_seconds", "peak_gb", "kernels")
        }
    if "reference run" in named:
        made["shapes"] = named["reference run"]["shapes"]
    compared = [one for one in events if one["event"] == "compared"]
    if compared:
        worst = max(compared, key=lambda one: one["gap"])
        made |= {"gap": worst["gap"], "why": worst["why"]}
    for event, verdict in (
        ("skipped", "excluded"),
        ("refused by ONNX Runtime", "excluded"),
        ("not reproducible", "excluded"),
        ("refused", "refused"),
        ("failed", "failed"),
        ("ended", "failed"),
    ):
        if event in named:
            reason = f"{event}: " if verdict == "excluded" else ""
            return made | {"verdict": verdict, "why": reason + named[event]["why"]}
    if compared and made["gap"] <= tolerance[made["quantized"]]:
        return made | {"verdict": "right"}
    sensitivity = named.get("reference run", {}).get("sensitivity", 0.0)
    if compared and made["gap"] <= UNSTEADY * sensitivity < math.inf:
        why = f"{made['why']}: ONNX Runtime's own moves by {sensitivity:.1e}"
        return made | {"verdict": "unsteady", "why": why}
    return made | {"verdict": "wrong"}


def time_records(name: str, threads: int, events: Sequence[Record]) -> list[dict[str, Any]]:
    """A record for each size that was timed, or one with the reason why none was."""
    head = {"kind": "time", "model": name, "threads": threads}
    timed = [one for one in events if one["event"] == "timed"]
    left_out = {
        one["name"]: one["why"] for one in events if one["event"] == "peer"
    }  # for any size: a peer that is wrong at one size is named for all
    ended = next((one["why"] for one in events if one["event"] in ("ended", "refused", "failed")), "")
    if ended or not timed:
        return [head | {"why": ended or "nothing was timed"}]
    keys = ("size", "median", "least", "load")
    return [head | {key: one[key] for key in keys} | {"left_out": left_out} for one in timed]


def speed(record: Record, of: str = "median") -> float:
    """The speed relative to the best peer, by the ``median`` or the ``least`` time; NaN if no peer was
    right."""
    times = record[of]
    return min((times[name] for name in PEERS if name in times), default=math.nan) / times["tvmlite"]


def loaded_ratio(record: Record) -> float:
    """The exported library's time relative to that in the process that compiled it, by the least times, which
    other programs affect least."""
    return record["least"]["loaded"] / record["least"]["tvmlite"]


def check_row(record: Record) -> str:
    """A row of the table of checks."""
    cold = f"{record['seconds']:6.1f} s  {record['peak_gb']:5.2f} GB" if "seconds" in record else f"{'-':>18}"
    off = f"{record['gap']:8.1e}" if "gap" in record else f"{'-':>8}"
    remark = "" if record["verdict"] == "right" else f"  {_one_line(record['why'])}"
    return f"{record['model'][:44]:44}  {record['verdict']:8}  {off}  {cold}{remark}"


def time_row(record: Record) -> str:
    """A row of the table of times."""
    head = f"{record['model'][:44]:44} {record['threads']:2}"
    if "why" in record:
        return f"{head}  not timed: {_one_line(record['why'])}"
    times = record["median"]
    cells = "".join(
        f"{times[name] * 1e3:12.3f}" if name in times else f"{'-':>12}"
        for name in ("tvmlite", "loaded", *PEERS)
    )
    slower = "  slower" if speed(record) < SLOWER else ""
    remark = "".join(f"  ({name} left out: {_one_line(why)})" for name, why in record["left_out"].items())
    ratios = f"{speed(record):6.2f}|{speed(record, 'least'):6.2f}  {loaded_ratio(record):6.2f}"
    return f"{head} {record['size'] + 1}{cells}  {ratios}  {record['load']:5.2f}{slower}{remark}"


def summary(records: Iterable[Record]) -> str:
    """The summary of a run, as lines of text."""
    records = list(records)
    return "\n".join([*_answers([one for one in records if one["kind"] == "check"]), *_times(records)])


def _answers(checked: Sequence[Record]) -> list[str]:
    counts = {
        verdict: sum(one["verdict"] == verdict for one in checked)
        for verdict in ("right", "wrong", "refused", "failed", "unsteady", "excluded")
    }
    lines = [
        f"{len(checked)} models: {counts['right']} right, {counts['wrong']} wrong, {counts['refused']} "
        f"refused, {counts['failed']} failed (a crash, a hang, or an error that is no TvmliteError)",
        f"not counted: {counts['excluded']} excluded (ONNX Runtime refuses them or gives two answers), "
        f"{counts['unsteady']} unsteady (off by no more than its own answer moves by)",
    ]
    cold = [one["seconds"] for one in checked if "seconds" in one]
    if cold:
        half, nine, most = (float(np.percentile(cold, at)) for at in (50, 90, 100))
        over = sum(one > COLD_BAR_ALL for one in cold)
        lines.append(
            f"cold compile: {half:.1f} s for half of {len(cold)} models, {nine:.1f} s for nine in ten (bar "
            f"{COLD_BAR:.0f}), {most:.1f} s for all (bar {COLD_BAR_ALL:.0f}; {over} over it)"
        )
    return lines


def _times(records: Sequence[Record]) -> list[str]:
    lines = []
    timed = [one for one in records if one["kind"] == "time"]
    for threads in sorted({one["threads"] for one in timed}):
        rows = [one for one in timed if one["threads"] == threads and "why" not in one]
        untimed = sum(one["threads"] == threads and "why" in one for one in timed)
        if not rows:
            lines.append(f"threads {threads}: nothing timed ({untimed} could not be)")
            continue
        speeds = [made for one in rows if not math.isnan(made := speed(one))]
        ratios = [loaded_ratio(one) for one in rows]
        slower = sorted({one["model"] for one in rows if speed(one) < SLOWER})
        over = sum(one > LOADED_BAR for one in ratios)
        lines.append(
            f"threads {threads}: {geometric_mean(speeds):.2f} times as fast as the best peer (geometric mean "
            f"of {len(speeds)} rows), {len(slower)} models slower than {SLOWER} of it; {untimed} not timed"
        )
        lines.append(
            f"threads {threads}: the exported library takes {np.median(ratios):.3f} of the time in the "
            f"process that compiled it (median; {max(ratios):.2f} at most; {over} rows over {LOADED_BAR})"
        )
        lines += [f"    slower: {name}" for name in slower]
    return lines


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean; NaN if there are no values."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def _one_line(text: str) -> str:
    return " ".join(text.split())[:160]
