"""A schedule without a measurement: a candidate takes the default's place where it is predicted to be quicker
by more than such predictions were ever off.

The candidates are drawn as those were that the model was tried on, and as many: a search for what the model
likes best would find what it errs on. Beside them stand the few that there is another reason to think quick.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tvmlite.autotune.measure.build import Builder, Lowered
from tvmlite.autotune.model.features import KnobFeatures
from tvmlite.autotune.model.gains import Gains, Trust
from tvmlite.autotune.model.loop_features import NAMES, loop_features
from tvmlite.autotune.search.search import Moves
from tvmlite.te.space import ConfigEntity, Task

CANDIDATES = 14
"""So many are looked at, in 1 to 10 ms each."""

LEAST_GAIN = 0.15
"""As a power of two: what is to take the default's place must be predicted to gain so much more than what
such predictions were off by."""

MANY = 5.0
"""As a power of two: so many turns of the parallel loops are enough for any number of threads."""

SMALL = 200_000
"""Operations and bytes together, some two microseconds: what takes less is not looked at. Its loops tell
little of its time, and nobody waits for it."""

_PARALLEL = NAMES.index("0: parallel")


@dataclass(frozen=True)
class Predicted:
    """``config`` is predicted to be ``gain`` times as quick as the default; the default itself, and 1, where
    nothing is predicted to be quicker beyond doubt."""

    config: ConfigEntity
    gain: float = 1.0


def predicted(
    task: Task, model: Gains, trust: Trust, handed: Sequence[ConfigEntity] = (), seed: int = 0
) -> Predicted:
    """What to schedule ``task`` with where nothing of it was measured; ``trust`` is what ``model`` is worth
    for tasks of its kind. The configurations ``handed`` over are looked at first: of equals the first is
    taken. The same ``seed`` gives the same."""
    builder = Builder(task)
    default = builder.lowered(task.default)
    if is_small(task) or not isinstance(default, Lowered):
        return Predicted(task.default)
    row = loop_features(default.function, task.target, task.flop)
    made: list[tuple[ConfigEntity, np.ndarray]] = []
    drawn = candidates(task, CANDIDATES, np.random.default_rng(seed))
    for config in _each_once((*handed, *drawn), task.default):
        lowered = builder.lowered(config)
        if isinstance(lowered, Lowered):
            made.append((config, loop_features(lowered.function, task.target, task.flop)))
    made = [(config, one) for config, one in made if is_shared_out(row, one)]
    if not made:
        return Predicted(task.default)
    said = model(row, np.stack([one for _, one in made]))
    best = int(np.argmax(said))
    if said[best] - trust.doubt <= LEAST_GAIN:
        return Predicted(task.default)
    return Predicted(made[best][0], float(2.0 ** said[best]))


def candidates(task: Task, count: int, generator: np.random.Generator) -> list[ConfigEntity]:
    """What each rule thinks best, and small changes of that: at most ``count``, each once, without the task's
    default. What lies further away the model knows less of."""
    space, moves = task.config_space, Moves(KnobFeatures(task.config_space))
    near: list[int] = []
    for config in task.defaults:
        number = space.index_of(config.settings)
        if number is not None:
            near += moves.children(number, count, generator).tolist()
    changed = generator.permutation(np.array(near, np.int64)).tolist()
    return _each_once((*task.defaults, *map(space.get, changed)), task.default)[:count]


def _each_once(configs: Iterable[ConfigEntity], default: ConfigEntity) -> list[ConfigEntity]:
    """``configs`` in their order, without ``default``."""
    found = {str(ConfigEntity(one.settings)): one for one in configs}
    found.pop(str(ConfigEntity(default.settings)), None)
    return list(found.values())


def is_small(task: Task) -> bool:
    """Whether ``task`` is too small to be looked at."""
    return task.flop + task.moved < SMALL


def is_shared_out(default: np.ndarray, row: np.ndarray) -> bool:
    """Whether as many threads find work in the loops of ``row`` as in the default's, by their features: gains
    are measured on one thread."""
    wanted, found = float(default[_PARALLEL]), float(row[_PARALLEL])
    return (found > 0) == (wanted > 0) and found >= min(wanted, MANY)
