"""Features of configurations for a cost model: numbers for each knob, for many configurations at once."""

from __future__ import annotations

import numpy as np

from tvmlite.te.space import AnnotateChoice, Choice, ConfigSpace, OptionChoice, ReorderChoice, SplitChoice
from tvmlite.te.space.choices import ANNOTATIONS


class KnobFeatures:
    """Features of the configurations of one space, computed from their knobs alone.

    A split gives the base 2 logarithm of each inner length and of their product, a reorder each loop's
    position, an annotation one-hot vectors, an option its number, or else a one-hot vector. Each knob's
    settings are encoded once (``tables``, one row for each); a configuration's row concatenates them.
    """

    def __init__(self, space: ConfigSpace) -> None:
        self.space = space
        self.tables = [_table(choices) for choices in space.space_map.values()]

    def __call__(self, indices: np.ndarray) -> np.ndarray:
        """Return one float32 row for each number in ``indices``."""
        places = self.space.positions(indices)
        columns = [table[places[:, k]] for k, table in enumerate(self.tables)]
        return np.concatenate(columns, axis=1) if columns else np.zeros((len(places), 1), np.float32)


def _table(choices: list[Choice]) -> np.ndarray:
    """The features of each setting of a knob, one row for each."""
    rows = [_row(choice) for choice in choices]
    if isinstance(choices[0], OptionChoice) and any(row is None for row in rows):
        return np.eye(len(choices), dtype=np.float32)
    width = max(len(row or ()) for row in rows)
    return np.array([[*(row or ()), *[0.0] * (width - len(row or ()))] for row in rows], np.float32)


def _row(choice: Choice) -> list[float] | None:
    match choice:
        case SplitChoice(size):
            inner = [float(np.log2(length)) for length in size[1:]]
            return [*inner, sum(inner)]
        case ReorderChoice(permutation):
            return [float(place) for place in np.argsort(permutation)]
        case AnnotateChoice(words):
            return [float(word == one) for word in words for one in ANNOTATIONS[1:]]
        case OptionChoice(val):
            return [float(val)] if isinstance(val, (bool, int, float)) else None
