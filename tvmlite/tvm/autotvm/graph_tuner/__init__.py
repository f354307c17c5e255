"""TVM's tuners of layouts. Here ``relay.build`` chooses layouts itself, by a dynamic program."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span


class DPTuner:
    """Not here: an UnsupportedError that says what to use."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise UnsupportedError(
            f"autotvm.graph_tuner.{type(self).__name__}: relay.build chooses the layouts of a graph itself",
            Span.of_caller(),
            hint="leave graph tuning out; tvmlite.tune times layouts in the whole model",
        )


class PBQPTuner(DPTuner):
    """Not here: an UnsupportedError that says what to use."""
