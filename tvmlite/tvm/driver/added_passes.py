"""User-defined passes that ``tvm.lower`` runs."""

from __future__ import annotations

from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import ConfigError
from tvmlite.tvm.driver.lowered import LoweredModule
from tvmlite.tvm.ir.transform import Pass, PassContext

OPTION = "tir.add_lower_pass"

PHASES = range(4)
"""TVM's phases of lowering. Here lowering is one step, which the passes of all phases follow."""


def with_added_passes(module: LoweredModule) -> LoweredModule:
    """Apply the passes of ``PassContext(config={"tir.add_lower_pass": [(phase, pass), ...]})`` to ``module``,
    in the order of their phases. A malformed row is a ConfigError."""
    rows = PassContext.current().config.get(OPTION, ())
    listed = arguments.listed(OPTION, rows, "rows of a phase and a pass", ConfigError)
    made: Any = module
    for _, one in sorted(map(_row, listed), key=lambda row: row[0]):
        made = one(made)
    return made


def _row(given: Any) -> tuple[int, Pass]:
    match given:
        case (int(phase), Pass() as one) if phase in PHASES:
            return phase, one
    raise arguments.refused(f"{OPTION}: a row", given, "(a phase from 0 to 3, a pass)", ConfigError)
