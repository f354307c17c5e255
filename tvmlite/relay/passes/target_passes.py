"""The passes that a technique adds to the pipeline where there is a target: a table, filled by techniques."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tvmlite.core import techniques
from tvmlite.machine.target import Target
from tvmlite.relay.ir.nodes import Module
from tvmlite.relay.passes.decisions import Decisions

Pass: TypeAlias = Callable[[Module], Module]


class Stage(enum.IntEnum):
    """Where in the pipeline a pass runs; those of one stage run in the order of their registration."""

    ELEMENT_TYPES = 1
    """Before constants are folded: in which types products are computed."""
    CONVOLUTIONS = 2
    """Convolutions take the form that kernels have, before layouts are chosen."""
    CHANNELS = 3
    """How the channels of images lie in memory."""
    CONVOLUTION_ALGORITHMS = 4
    """Convolutions by other arithmetic, within an error bound."""
    DENSE_ALGORITHMS = 5
    """Dense layers by other arithmetic, within an error bound."""
    WEIGHTS = 6
    """How constant weights lie in memory."""
    GROUPS = 7
    """Operators are in groups that become one kernel each: which computes what lies between them."""


@dataclass(frozen=True)
class Options:
    """What a pipeline was asked for; ``decisions`` as in ``relay.passes.pipeline``."""

    target: Target
    precision: str = "float32"
    error_bound: float = 0.0
    decisions: Decisions | None = None


@dataclass(frozen=True)
class TargetPass:
    """A row of the table.

    - ``of`` gives the pass for the options of a pipeline; None where it has nothing to do.
    - ``alone`` gives the pass as it runs by itself, for a target, which is None if the caller names none;
      None if it cannot do without.
    - ``for_vectors``: what it does serves vectors, and it is left out for targets that have none.
    """

    technique: str
    name: str
    stage: Stage
    of: Callable[[Options], Pass | None]
    alone: Callable[[Target | None], Pass | None]
    for_vectors: bool = False


TARGET_PASSES: dict[str, TargetPass] = {}
"""The passes by their names."""


def register(row: TargetPass) -> None:
    """Enter ``row`` in the table."""
    assert row.name not in TARGET_PASSES, f"pass {row.name!r} is registered twice"
    TARGET_PASSES[row.name] = row


def passes_of(options: Options, *stages: Stage) -> list[Pass]:
    """The passes of ``stages`` for ``options``, in the order of the stages."""
    techniques.load()
    known = [row for row in TARGET_PASSES.values() if not (row.for_vectors and options.target.scalar)]
    rows = [row for stage in stages for row in known if row.stage == stage]
    return [one for row in rows if (one := row.of(options)) is not None]


def alone(target: Target | None) -> list[Pass]:
    """Every pass of the table that can run by itself for ``target``."""
    techniques.load()
    return [one for row in TARGET_PASSES.values() if (one := row.alone(target)) is not None]
