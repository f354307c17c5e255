"""The report at the end of a run: a table by kind of compute and primitive, and totals."""

from __future__ import annotations

from collections import Counter

from tvmlite.fuzz.compute.generate import KINDS
from tvmlite.fuzz.run.run import Counts


def table(counts: Counts) -> str:
    """Return a table of the cases, and of those that went wrong, by compute and primitive."""
    computes = [name for name in KINDS if counts.tags[name]]
    primitives = sorted(name for name in counts.tags if name not in KINDS)
    lines = [f"{'compute':<16}{'cases':>7}{'wrong':>7}    {'primitive':<16}{'cases':>7}{'wrong':>7}"]
    for place in range(max(len(computes), len(primitives))):
        left = _row(computes, place, counts)
        lines.append(f"{left:<30}    {_row(primitives, place, counts)}".rstrip())
    checked = 100 * counts.compared / max(counts.elements, 1)
    lines.append("")
    lines.append(
        f"{'interrupted: ' if counts.interrupted else ''}"
        f"{counts.cases} cases in {counts.seconds:.0f} s, {len(counts.findings)} wrong; "
        f"{counts.refused.total()} refused when lowered; {checked:.1f}% of {counts.elements} elements "
        "could be checked"
    )
    lines.append(f"mistakes made on purpose and refused as they should be: {_listed(counts.mistakes)}")
    if counts.refused:
        lines.append(f"refused when lowered, with the line: {_listed(counts.refused)}")
    if counts.primitives_refused:
        lines.append(f"primitives refused: {_listed(counts.primitives_refused)}")
    return "\n".join(lines)


def families(counts: Counts) -> str:
    """Return the table for graphs, by the family of their operators."""
    lines = [f"{'operators':<24}{'graphs':>7}{'wrong':>7}"]
    lines += [f"{name:<24}{counts.tags[name]:>7}{counts.wrong_tags[name]:>7}" for name in sorted(counts.tags)]
    lines.append("")
    lines.append(
        f"{'interrupted: ' if counts.interrupted else ''}"
        f"{counts.cases} graphs in {counts.seconds:.0f} s, {counts.compared} runs, "
        f"{len(counts.findings)} wrong; {counts.refused.total()} refused by their operators' type relations"
    )
    return "\n".join(lines)


def _row(names: list[str], place: int, counts: Counts) -> str:
    if place >= len(names):
        return ""
    name = names[place]
    return f"{name:<16}{counts.tags[name]:>7}{counts.wrong_tags[name]:>7}"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"
