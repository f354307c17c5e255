"""The passes that techniques add to the pipeline if there is a target: a table that techniques fill."""

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
    """The point in the pipeline where a pass runs. Passes of one stage run in the order of registration."""

    ELEMENT_TYPES = 1
    """Before constants are folded: choose the types in which products are computed."""
    CONVOLUTIONS = 2
    """Convert convolutions to the form that kernels have, before layouts are chosen."""
    CHANNELS = 3
    """Choose the layout of image channels."""
    CONVOLUTION_ALGORITHMS = 4
    """Choose other algorithms for convolutions, within an error bound."""
    DENSE_ALGORITHMS = 5
    """Choose other algorithms for dense layers, within an error bound."""
    WEIGHTS = 6
    """Choose the layout of constant weights."""
    GROUPS = 7
    """After fusion: change what groups compute and what is stored between them."""


@dataclass(frozen=True)
class Options:
    """The options of a pipeline; ``decisions`` as in ``relay.passes.pipeline``."""

    target: Target
    precision: str = "float32"
    error_bound: float = 0.0
    decisions: Decisions | None = None


@dataclass(frozen=True)
class TargetPass:
    """A row of the table.

    - ``of`` returns the pass for the options of a pipeline; None if it has nothing to do.
    - ``alone`` returns the pass as it runs by itself, for a target or, if the caller names none, None; it
      returns None if the pass requires a target.
    - ``for_vectors``: the pass only helps vector code, and is left out for targets without vectors.
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
