"""Small models of gains, for tests: a tree of one comparison, and what it is worth."""

from __future__ import annotations

import numpy as np

from tvmlite.autotune.model.gains import FEATURES, Gains, Trust
from tvmlite.autotune.model.trees import Trees
from tvmlite.machine.target import Target


def gains_by(name: str, above: float, **kinds: Trust) -> Gains:
    """Candidates of which the feature ``name`` is ``above`` or more are predicted to be twice as quick as
    the default, and others half as quick; of kernels of ``kinds``."""
    feature, threshold = np.array([[FEATURES.index(name)]]), np.array([[above]], np.float32)
    leaf = np.array([[-1, 1]], np.float32)
    return Gains(Trees(feature, threshold, leaf), kinds, Target.parse("native"))


def worth(doubt: float = 0.2, gaining: float = 0.5, loss: float = 0.3, left: float = 0.1) -> Trust:
    """What predictions are worth that are off by ``doubt``."""
    return Trust(20, doubt, gaining, loss, left)
