"""Search policies of the auto-scheduler."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.absent import missing, refusing
from tvmlite.tvm.auto_scheduler.cost_model import RandomModel, XGBModel
from tvmlite.tvm.auto_scheduler.loop_state import State

_POPULATION = 50
"""The number of states with which a search starts, as in TVM."""


class SearchPolicy:
    """The strategy by which a task is searched: ``tuner`` is its name in ``tvmlite.autotune``."""

    tuner = "xgboost"

    def __init__(self, task: Any = None, init_search_callbacks: Any = None) -> None:
        self.search_task = task
        self.init_search_callbacks = list(init_search_callbacks or ())
        for one in self.init_search_callbacks:
            if not isinstance(one, PreloadMeasuredStates):
                raise InputError(
                    f"init_search_callbacks has a {type(one).__name__}, expected PreloadMeasuredStates"
                )

    @property
    def resumed(self) -> list[str]:
        """The files of records from which the cost model learns before the search."""
        return [one.filename for one in self.init_search_callbacks]


class EmptyPolicy(SearchPolicy):
    """No search: schedules are measured in the order of their numbers."""

    tuner = "grid"


class SketchPolicy(SearchPolicy):
    """Measures schedules generated from sketches and chosen by ``program_cost_model``. ``params`` and
    ``verbose`` have no effect."""

    def __init__(
        self,
        task: Any,
        program_cost_model: Any = None,
        params: dict[str, Any] | None = None,
        seed: int | None = None,
        verbose: int = 1,
        init_search_callbacks: Any = None,
    ) -> None:
        super().__init__(task, init_search_callbacks)
        model = RandomModel() if program_cost_model is None else program_cost_model
        if not isinstance(model, (RandomModel, XGBModel)):
            raise InputError(
                f"program_cost_model is a {type(model).__name__}, expected RandomModel or XGBModel"
            )
        self.tuner, self.seed, self.program_cost_model = model.tuner, seed or 0, model

    def sample_initial_population(self) -> list[State]:
        """Return random states of the task, as an initial population of a search."""
        core, space = self.search_task.core, self.search_task.core.config_space
        drawn = space.sample(_POPULATION, np.random.default_rng(self.seed))
        return [State(space.get(int(index)), core) for index in drawn]

    generate_sketches = missing(
        "SketchPolicy.generate_sketches", "sample_initial_population gives whole schedules"
    )
    evolutionary_search = missing("SketchPolicy.evolutionary_search", "SearchTask.tune searches")

    @property
    def resumed(self) -> list[str]:
        """See ``SearchPolicy``; includes the files of the cost model."""
        return [*super().resumed, *getattr(self.program_cost_model, "files", ())]


class PreloadMeasuredStates:
    """Lets the cost model learn from the records in ``filename``, if the file exists."""

    def __init__(self, filename: str) -> None:
        self.filename = filename


class PreloadCustomSketchRule:
    """TVM's user-defined rules for sketches; raises an UnsupportedError that names an alternative."""

    def __init__(self, meet_condition_func: Any, apply_func: Any, rule_name: str = "") -> None:
        raise UnsupportedError(
            "PreloadCustomSketchRule: sketches have no rules of one's own",
            Span.of_caller(),
            hint="autotvm.template is a schedule of one's own with knobs",
        )


__getattr__ = refusing(__name__)
