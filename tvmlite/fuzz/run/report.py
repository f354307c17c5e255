"""What a run of the fuzzer says in the end: a table by kind of compute and primitive, and the findings."""

from __future__ import annotations

from collections import Counter

from tvmlite.fuzz.compute.generate import KINDS
from tvmlite.fuzz.run.run import Tally


def table(tally: Tally) -> str:
    """How many cases had what in them, and how many of those went wrong."""
    computes = [name for name in KINDS if tally.tags[name]]
    primitives = sorted(name for name in tally.tags if name not in KINDS)
    lines = [f"{'compute':<16}{'cases':>7}{'wrong':>7}    {'primitive':<16}{'cases':>7}{'wrong':>7}"]
    for place in range(max(len(computes), len(primitives))):
        left = _row(computes, place, tally)
        lines.append(f"{left:<30}    {_row(primitives, place, tally)}".rstrip())
    told = 100 * tally.compared / max(tally.elements, 1)
    lines.append("")
    lines.append(
        f"{'interrupted: ' if tally.interrupted else ''}"
        f"{tally.cases} cases in {tally.seconds:.0f} s, {len(tally.findings)} wrong; "
        f"{tally.refused.total()} refused when lowered; {told:.1f}% of {tally.elements} elements "
        "could be told right from wrong"
    )
    lines.append(f"mistakes made on purpose and refused as they should be: {_listed(tally.mistakes)}")
    if tally.refused:
        lines.append(f"refused when lowered, with the line: {_listed(tally.refused)}")
    if tally.primitives_refused:
        lines.append(f"primitives refused: {_listed(tally.primitives_refused)}")
    return "\n".join(lines)


def families(tally: Tally) -> str:
    """The same of graphs over symbolic extents, by the family of their operators."""
    lines = [f"{'operators':<24}{'graphs':>7}{'wrong':>7}"]
    lines += [f"{name:<24}{tally.tags[name]:>7}{tally.wrong_tags[name]:>7}" for name in sorted(tally.tags)]
    lines.append("")
    lines.append(
        f"{'interrupted: ' if tally.interrupted else ''}"
        f"{tally.cases} graphs in {tally.seconds:.0f} s, {tally.compared} runs, {len(tally.findings)} wrong; "
        f"{tally.refused.total()} refused by their operators' type relations"
    )
    return "\n".join(lines)


def _row(names: list[str], place: int, tally: Tally) -> str:
    if place >= len(names):
        return ""
    name = names[place]
    return f"{name:<16}{tally.tags[name]:>7}{tally.wrong_tags[name]:>7}"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"
