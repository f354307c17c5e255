"""What is known beforehand of how much quicker than a task's default its other schedules are.

Beside the model stands for each kind of task what was predicted of tasks it had not seen, and was wrong:
what is predicted to gain no more than that is no gain. Trained by ``benchmarks/train_gain_model.py``; a file
of numbers, read, checked and never run.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tvmlite.autotune.model.loop_features import NAMES
from tvmlite.autotune.model.trees import Trees
from tvmlite.core.errors import ParseError
from tvmlite.machine.target import Target

SHIPPED = Path(__file__).with_name("gain_model.json")
"""Trained by ``benchmarks/train_gain_model.py``."""

FEATURES = tuple(f"beside the default: {name}" for name in NAMES) + NAMES


@dataclass(frozen=True)
class Trust:
    """How the predictions for a kind of task came out, on ``tasks`` that the model had not seen.

    ``doubt`` is the largest gain, as a power of two, that was predicted of what turned out to be slower
    than the default. ``gaining`` is the share of tasks in which more than that was predicted, so that it was
    put in the default's place; 0 where that was too rare or gained too little to be worth looking for.
    ``loss`` is how much slower than the best candidate measured the default was in the middle, 0.1 being a
    tenth; ``left`` the same of what the predictions had chosen.
    """

    tasks: int
    doubt: float
    gaining: float
    loss: float
    left: float


@dataclass(frozen=True)
class Gains:
    """A model of gains, as powers of two, and what it is worth for each kind of task, an operator by its
    name. It was trained on measurements of ``target``."""

    trees: Trees
    kinds: dict[str, Trust]
    target: Target

    def knows(self, target: Target) -> bool:
        """Whether code for ``target`` runs on processors like the one that was measured: of the same
        instructions, and vectors as long."""
        return (self.target.kind, _instructions(self.target)) == (target.kind, _instructions(target))

    def __call__(self, default: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """What candidates gain over the default, by features of loops: ``(WIDTH,)`` and ``(n, WIDTH)``."""
        return self.trees(beside(default, rows))

    def to_json(self) -> str:
        """The text that ``from_json`` reads."""
        kinds = {
            kind: {k: round(v, 4) for k, v in asdict(trust).items()} for kind, trust in self.kinds.items()
        }
        lines = ",\n".join(f"{json.dumps(kind)}: {json.dumps(trust)}" for kind, trust in kinds.items())
        trees = self.trees.to_json(FEATURES).rstrip("}\n")
        return f'{trees},\n"target": {json.dumps(str(self.target))},\n"kinds": {{{lines}}}}}\n'

    @staticmethod
    def from_json(text: str) -> Gains:
        """A ParseError if ``text`` is no model, or one of other features than there are now."""
        trees = Trees.from_json(text, FEATURES)
        told = json.loads(text)
        kinds, target = told.get("kinds"), told.get("target")
        if not isinstance(kinds, dict) or not isinstance(target, str):
            raise ParseError("no model of gains: it does not say what it is worth, and where")
        trusts = {str(kind): _trust(kind, trust) for kind, trust in kinds.items()}
        return Gains(trees, trusts, Target.parse(target))


def beside(default: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows of ``FEATURES``: how each of ``rows`` differs from ``default``, and itself."""
    return np.concatenate([rows - default, rows], axis=1)


@cache
def shipped() -> Gains | None:
    """The model that comes with the package; None if it was left out."""
    return Gains.from_json(SHIPPED.read_text(encoding="utf-8")) if SHIPPED.exists() else None


def _instructions(target: Target) -> tuple[str, int]:
    return target.triple.split("-")[0], target.lanes("float32")


def _trust(kind: object, told: Any) -> Trust:
    names = [one.name for one in fields(Trust)]
    if not isinstance(told, dict) or sorted(told) != sorted(names):
        raise ParseError(f"no model of gains: of {kind!r} it tells {told!r}, expected {', '.join(names)}")
    if not all(isinstance(told[n], (int, float)) and math.isfinite(told[n]) for n in names):
        raise ParseError(f"no model of gains: of {kind!r} some numbers are none")
    return Trust(**told)
