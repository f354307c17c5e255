"""How a task is searched, and the cost models that help."""

from __future__ import annotations

from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.absent import missing


class RandomModel:
    """No model: any schedule is as likely as any other. ``tuner`` is what ``tvmlite.autotune`` calls that."""

    tuner = "random"


class XGBModel:
    """A model of loops that learns from measurements; its options are of no account."""

    tuner = "xgboost"

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.files: list[str] = []

    def update_from_file(self, file_name: Any, n_lines: int | None = None) -> None:
        """Have a search learn from the records in ``file_name``, which must be there; of all lines, whatever
        ``n_lines`` is."""
        path = arguments.path("update_from_file: file_name", file_name, InputError)
        if not path.is_file():
            raise InputError(f"update_from_file: there is no file {str(path)!r}")
        self.files.append(str(path))

    save = missing("auto_scheduler.XGBModel.save", "update_from_file learns from records again")
    load = missing("auto_scheduler.XGBModel.load", "update_from_file learns from records")


class SearchPolicy:
    """How a task is searched: ``tuner`` is what ``tvmlite.autotune`` calls it."""

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
        """The files of records whose measurements the cost model learns from."""
        return [one.filename for one in self.init_search_callbacks]


class EmptyPolicy(SearchPolicy):
    """No search: schedules in the order of their numbers."""

    tuner = "grid"


class SketchPolicy(SearchPolicy):
    """Schedules generated from sketches, chosen by ``program_cost_model``; ``params``, ``seed`` apart, and
    ``verbose`` are of no account."""

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

    @property
    def resumed(self) -> list[str]:
        """See ``SearchPolicy``; those of the cost model, too."""
        return [*super().resumed, *getattr(self.program_cost_model, "files", ())]


class PreloadMeasuredStates:
    """Have the cost model learn from the records in ``filename``, if it is there."""

    def __init__(self, filename: str) -> None:
        self.filename = filename


class PreloadCustomSketchRule:
    """TVM's rules of one's own for sketches; here an UnsupportedError that says what to use."""

    def __init__(self, meet_condition_func: Any, apply_func: Any, rule_name: str = "") -> None:
        raise UnsupportedError(
            "PreloadCustomSketchRule: sketches have no rules of one's own",
            Span.of_caller(),
            hint="autotvm.template is a schedule of one's own with knobs",
        )
