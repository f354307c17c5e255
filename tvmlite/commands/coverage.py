"""Say which operators and nodes of a model are supported, before anything is compiled."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from tvmlite.commands import common
from tvmlite.relay.frontend import onnx_coverage

NAME = "coverage"
HELP = "say what of a model is supported, by operator and node"

COLUMNS = ("native", "function", "missing", "refused", "unchecked")

KEY = """\
native: a converter of its own; function: made of other operators; missing: neither;
refused: a case of the operator that is not supported; unchecked: it needs a node that is not supported."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    common.model_argument(parser)
    parser.add_argument("--nodes", action="store_true", help="list every node, not only what is unsupported")


def main(options: argparse.Namespace) -> int:
    """Run the command; the status is 1 if a node is not supported."""
    rows = onnx_coverage(options.model, common.parse_shapes(options.input_shapes) or None)
    print(_table(rows))
    for row in rows:
        if options.nodes or not row.supported:
            print(f"{row.status}: {row.label}{': ' + row.reason if row.reason else ''}")
    good = sum(row.supported for row in rows)
    print(f"{good} of {len(rows)} nodes are supported.")
    return 0 if good == len(rows) else 1


def _table(rows: list[Any]) -> str:
    """One line for each operator with its nodes by status; those with unsupported nodes first."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row.operator, Counter())[row.status] += 1
    shown = [c for c in COLUMNS if any(count[c] for count in counts.values())]
    width = max((len(name) for name in counts), default=0) + 2
    lines = [f"{'operator':{width}}{'nodes':>7}" + "".join(f"{c:>11}" for c in shown)]

    def order(name: str) -> tuple[bool, str]:
        return all(counts[name][c] == 0 for c in COLUMNS if c not in ("native", "function")), name

    for name in sorted(counts, key=order):
        cells = "".join(f"{counts[name][c] or '-':>11}" for c in shown)
        lines.append(f"{name:{width}}{sum(counts[name].values()):7}{cells}")
    return "\n".join([*lines, KEY, ""])
