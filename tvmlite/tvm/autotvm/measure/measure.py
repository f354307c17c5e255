"""Measure options: a builder and a runner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.tvm.autotvm.measure.base import Builder as Builder
from tvmlite.tvm.autotvm.measure.base import MeasureErrorNo as MeasureErrorNo
from tvmlite.tvm.autotvm.measure.base import MeasureInput as MeasureInput
from tvmlite.tvm.autotvm.measure.base import MeasureResult as MeasureResult
from tvmlite.tvm.autotvm.measure.base import Runner as Runner
from tvmlite.tvm.autotvm.measure.measure_methods import LocalBuilder, LocalRunner


def measure_option(builder: Any, runner: Any) -> dict[str, Any]:
    """Return the measure option for ``Tuner.tune``: a builder and a runner, or ``"local"`` for either."""
    made = {"builder": builder, "runner": runner}
    for name, kind in (("builder", LocalBuilder), ("runner", LocalRunner)):
        if isinstance(made[name], str):
            if made[name] != "local":
                raise InputError(f"measure_option: {name} is {made[name]!r}, expected 'local'")
            made[name] = kind()
    return made


def create_measure_batch(task: Any, option: dict[str, Any]) -> Callable[[Sequence[MeasureInput]], Any]:
    """Return a function that measures a batch of inputs of ``task`` with a ``measure_option``."""
    builder, runner = option["builder"], option["runner"]
    attached = runner.set_task(task)
    builder.set_task(task, runner.get_build_kwargs())

    def measure_batch(measure_inputs: Sequence[MeasureInput]) -> Any:
        return runner.run(measure_inputs, builder.build(measure_inputs))

    measure_batch.n_parallel = builder.n_parallel  # type: ignore[attr-defined]
    measure_batch.attach_objects = attached  # type: ignore[attr-defined]
    return measure_batch
