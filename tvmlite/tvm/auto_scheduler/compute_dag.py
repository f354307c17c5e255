"""A computation as a graph of operations, and the states of its schedule."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from typing import Any, NoReturn

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import space
from tvmlite.te.schedule.schedule import Schedule, create_schedule
from tvmlite.te.tensor.tensor import Operation, PlaceholderOp, Tensor
from tvmlite.te.tensor.work import operations
from tvmlite.tvm.auto_scheduler.workload_registry import workload_key_to_tensors

_PRIMITIVES = (
    *(
        "bind",
        "cache_read",
        "cache_write",
        "compute_at",
        "compute_inline",
        "compute_root",
        "follow_fused_split",
    ),
    *("follow_split", "fuse", "parallel", "pragma", "reorder", "rfactor", "split", "storage_align"),
    *("tensorize", "unroll", "vectorize"),
)


class State:
    """A schedule: ``config`` are the settings of its knobs; without them each stage is a plain loop nest.

    TVM's states take primitives one after the other; here whole schedules are generated, and a primitive is
    an UnsupportedError that says where it can be used.
    """

    def __init__(self, config: space.ConfigEntity | None = None, core: space.Task | None = None) -> None:
        self.config, self._core = config, core

    def __getattr__(self, name: str) -> Any:
        if name in _PRIMITIVES:
            raise UnsupportedError(
                f"auto_scheduler: a state has no {name}: schedules are generated as a whole",
                Span.of_caller(),
                hint=f"te.create_schedule(op)[tensor].{name} schedules by hand",
            )
        raise AttributeError(f"a state has no attribute {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self._settings() == other._settings()

    def __hash__(self) -> int:
        return hash(str(self._settings()))

    def _settings(self) -> Any:
        return None if self.config is None else self.config.settings

    def __str__(self) -> str:
        return "plain loops" if self.config is None else str(self.config)


class ComputeDAG:
    """The operations that lead to tensors: given as such, or by the key of a workload.

    ``tensors`` are the function's arguments, ``ops`` all operations in order, ``flop_ct`` counts arithmetic.
    """

    def __init__(self, compute_or_sche: Any, core: space.Task | None = None) -> None:
        self._core = core
        if isinstance(compute_or_sche, str):
            compute_or_sche = workload_key_to_tensors(compute_or_sche)
        if not isinstance(compute_or_sche, (list, tuple)) or not all(
            isinstance(one, Tensor) for one in compute_or_sche
        ):
            raise InputError("ComputeDAG: a list of tensors, or the key of a workload, is expected")
        self.tensors = list(compute_or_sche)
        self.outputs = [one.op for one in self.tensors if not isinstance(one.op, PlaceholderOp)]
        self.ops = _in_order(self.outputs)
        self.flop_ct = float(operations(self.outputs, {}))
        self.init_state = State(None, core)

    def get_init_state(self) -> State:
        """The state of plain loops."""
        return State(None, self._core)

    def apply_steps_from_state(
        self, state: State, layout_rewrite: Any = None
    ) -> tuple[Schedule, list[Tensor]]:
        """The schedule of ``state`` and the function's arguments."""
        if layout_rewrite not in (None, 0, False):
            raise UnsupportedError("layout_rewrite: layouts are those of the tensors", Span.of_caller())
        if state.config is None:
            return create_schedule(self.outputs), self.tensors
        assert state._core is not None
        schedule, arguments = state._core.instantiate(state.config)
        return schedule, list(arguments)

    def print_python_code_from_state(self, state: State) -> str:
        """The primitives of the schedule of ``state``, as Python."""
        return str(self.apply_steps_from_state(state)[0].trace)

    def infer_bound_from_state(self, state: State) -> State:
        """``state`` itself: bounds are inferred when it is lowered."""
        return state

    def rewrite_layout_from_state(self, state: State) -> NoReturn:
        """An UnsupportedError: layouts are those of the tensors."""
        raise UnsupportedError(
            "rewrite_layout_from_state: layouts are those of the tensors", Span.of_caller()
        )

    def workload_key(self) -> str:
        """A key that distinguishes this computation: a digest of its operations as text, wherever in a
        program they are written."""
        return json.dumps([f"dag {hashlib.sha256(str(self).encode()).hexdigest()[:32]}"])

    def __str__(self) -> str:
        return "\n".join(str(dataclasses.replace(op, span=None)) for op in self.ops)


def _in_order(outputs: Sequence[Operation]) -> list[Operation]:
    """All operations that ``outputs`` need, each behind what it needs."""
    done: dict[Operation, None] = {}
    stack = list(reversed(outputs))
    while stack:
        op = stack[-1]
        left = [one.op for one in op.inputs if one.op not in done]
        if left:
            stack += left[::-1]
        else:
            done[stack.pop()] = None
    return list(done)
