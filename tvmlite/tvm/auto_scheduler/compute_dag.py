"""A computation as a graph of operations."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from typing import Any, NoReturn

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import space
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor.tensor import Operation, PlaceholderOp, Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.auto_scheduler.loop_state import State as State
from tvmlite.tvm.auto_scheduler.workload_registry import workload_key_to_tensors
from tvmlite.tvm.autotvm.task.flop import stage_flop


class ComputeDAG:
    """The graph of operations that compute tensors, given as a list of tensors, a schedule, or a workload
    key.

    ``tensors`` are the function's arguments, ``ops`` all operations, producers first, ``flop_ct`` the number
    of arithmetic operations.
    """

    def __init__(self, compute_or_sche: Any, core: space.Task | None = None) -> None:
        self._core = core
        if isinstance(compute_or_sche, str):
            compute_or_sche = workload_key_to_tensors(compute_or_sche)
        self._order: tuple[Operation, ...] = ()
        if isinstance(compute_or_sche, Schedule):
            self._order = tuple(stage.op for stage in compute_or_sche.stages)
            compute_or_sche = _arguments(compute_or_sche.outputs)
        if not isinstance(compute_or_sche, (list, tuple)) or not all(
            isinstance(one, Tensor) for one in compute_or_sche
        ):
            raise InputError(
                "ComputeDAG: a list of tensors, a schedule, or the key of a workload, is expected"
            )
        self.tensors = list(compute_or_sche)
        self.outputs = [one.op for one in self.tensors if not isinstance(one.op, PlaceholderOp)]
        self.ops = _in_order(self.outputs)
        self.flop_ct = float(sum(map(stage_flop, self.ops)))
        self.init_state = self.get_init_state()

    def get_init_state(self) -> State:
        """Return the unscheduled state; its stages are in the order of the schedule if one was given."""
        return State(None, self._core, self.outputs, self._order)

    def apply_steps_from_state(
        self, state: State, layout_rewrite: Any = None
    ) -> tuple[Schedule, list[Tensor]]:
        """Return the schedule of ``state`` and the function's arguments."""
        if layout_rewrite not in (None, 0, False):
            raise UnsupportedError("layout_rewrite: layouts of tensors cannot be rewritten", Span.of_caller())
        if state.config is None or state._core is None:
            return state.schedule.copy(), self.tensors
        schedule, arguments = state._core.instantiate(state.config)
        return schedule, list(arguments)

    def print_python_code_from_state(self, state: State) -> str:
        """Return the primitives of the schedule of ``state`` as Python code."""
        return str(self.apply_steps_from_state(state)[0].trace)

    def infer_bound_from_state(self, state: State) -> State:
        """Return ``state`` itself: it computes the bounds of its loops on demand."""
        return state

    def rewrite_layout_from_state(self, state: State) -> NoReturn:
        """Raise an UnsupportedError: the tensors' layouts are not changed."""
        raise UnsupportedError(
            "rewrite_layout_from_state: layouts of tensors cannot be rewritten", Span.of_caller()
        )

    def workload_key(self) -> str:
        """Return a key of this computation: a digest of its operations, without source positions."""
        return json.dumps([f"dag {hashlib.sha256(str(self).encode()).hexdigest()[:32]}"])

    def __str__(self) -> str:
        return "\n".join(str(dataclasses.replace(op, span=None)) for op in self.ops)


def _arguments(outputs: Sequence[Operation]) -> list[Tensor]:
    """Return the placeholders that ``outputs`` depend on, and the tensors of ``outputs``."""
    inputs = [op for op in _in_order(outputs) if isinstance(op, PlaceholderOp)]
    return [tensor for op in (*inputs, *outputs) for tensor in op.outputs]


def _in_order(outputs: Sequence[Operation]) -> list[Operation]:
    """Return all operations that ``outputs`` depend on, producers first."""
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


__getattr__ = refusing(__name__)
