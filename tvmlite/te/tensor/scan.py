"""``te.scan``: tensors whose rows are computed one after the other, each from earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tvmlite.core import arguments
from tvmlite.core.alike import alike
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.node import postorder_from
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar, Operation, Range, Shape, Tensor


@dataclass(frozen=True, eq=False)
class ScanOp(Operation):
    """A scan: ``init`` computes the first rows, ``update`` one more in each iteration of ``scan_axis``.

    ``update`` reads the rows computed so far as ``state``. These and the results share the same memory.
    """

    scan_axis: IterVar
    init: tuple[Tensor, ...]
    update: tuple[Tensor, ...]
    state: tuple[Tensor, ...]
    given: tuple[Tensor, ...] = ()
    tag: str = ""
    attrs: tuple[tuple[str, Any], ...] = ()
    span: Span | None = None
    kind: ClassVar[str] = "scan"
    takes_inputs: ClassVar[str] = "an init or update of the scan"

    @property
    def num_outputs(self) -> int:
        """The number of tensors that the scan computes together."""
        return len(self.state)

    @property
    def loop_axes(self) -> tuple[IterVar, ...]:
        """The scan axis only: ``init`` and ``update`` have their own loops."""
        return (self.scan_axis,)

    def row_axis(self, op: Operation) -> IterVar | None:
        """The scan axis if ``op`` is an update, of which each iteration computes one row; else None."""
        return self.scan_axis if any(x.op is op for x in self.update) else None

    def with_inputs(self, replacements: Mapping[Tensor, Tensor]) -> Operation:
        """The scan with ``init`` and ``update`` replaced as ``replacements`` says."""
        init, update = (
            tuple(replacements.get(x, x) for x in tensors) for tensors in (self.init, self.update)
        )
        return replace(self, init=init, update=update)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors of ``init`` and ``update``, each once; ``state`` is not an input."""
        return tuple(dict.fromkeys((*self.init, *self.update)))

    def output_shape(self, index: int) -> Shape:
        """The shape of state ``index``: all rows, and the axes of one."""
        return self.state[index].shape

    def output_dtype(self, index: int) -> str:
        """The dtype of state ``index``."""
        return self.state[index].dtype

    def body(self) -> set[Operation]:
        """The operations executed in each iteration: the updates, and operations they read that read the
        state."""
        states = {x.op for x in self.state}
        found: set[Operation] = set()
        for op in postorder_from([x.op for x in self.update], lambda op: [x.op for x in op.inputs]):
            if any(x.op in states or x.op in found for x in op.inputs):
                found.add(op)
        return found | {x.op for x in self.update}


def scan(
    init: Any,
    update: Any,
    state_placeholder: Any,
    inputs: Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: dict[str, Any] | None = None,
) -> Any:
    """Compute tensors row by row along their first axis.

    ``init`` computes the first rows, ``update`` each later row t, reading earlier rows from
    ``state_placeholder``. For several states, each is a list of equal length, and a list is returned.

    ::

        state = te.placeholder((m, n))                      -->    s[0, i] = x[0, i]
        first = te.compute((1, n), lambda _, i: x[0, i])           for t in range(1, m):
        step = te.compute((m, n), lambda t, i:                         for i in range(n):
                          state[t - 1, i] + x[t, i])                       s[t, i] = s[t - 1, i] + x[t, i]
        s = te.scan(first, step, state, inputs=[x])

    Stages that the update reads and that read the state are computed in each iteration; they may be moved
    into loops of the update.

    ``s[step].parallel(axis)`` divides each iteration among threads. Each iteration then launches the thread
    pool, and a thread has the same part of the axis each time: data that it reads again stay in its cache.
    """
    span = Span.of_caller()
    arguments.text("scan: name", name)
    inputs = arguments.listed(
        "scan: inputs", () if inputs is None else inputs, "tensors", TensorExpressionError
    )
    arguments.all_instances("scan: inputs", inputs, Tensor, "a tensor")
    attrs = arguments.mapping("scan: attrs", attrs)
    several = isinstance(init, (list, tuple))
    parts = [tuple(x) if isinstance(x, (list, tuple)) else (x,) for x in (init, update, state_placeholder)]
    first, step, state = parts
    if not (len(first) == len(step) == len(state)) or not first:
        counts = ", ".join(str(len(p)) for p in parts)
        raise TensorExpressionError(f"scan {name!r}: {counts} inits, updates and states", span)
    for one in zip(first, step, state, strict=True):
        _check_state(*one, name, span)
    rows, begin = step[0].shape[0], first[0].shape[0]
    size = e.convert(rows) - begin
    axis = IterVar(Range(e.cast(size.dtype, begin), size), e.Var(f"{name}.idx", size.dtype), "ordered")
    pairs = tuple(attrs.items())
    op = ScanOp(name, axis, first, step, state, inputs, tag, pairs, span)
    return list(op.outputs) if several else op.output(0)


def _check_state(init: Tensor, update: Tensor, state: Tensor, name: str, span: Span) -> None:
    if not isinstance(state, Tensor):
        raise arguments.refused(f"scan {name!r}: the state", state, "a placeholder")
    for tensor, what in ((init, "init"), (update, "update")):
        if not isinstance(tensor, Tensor) or not isinstance(tensor.op, t.ComputeOp):
            raise TensorExpressionError(f"scan {name!r}: the {what} {tensor!r} is not a compute", span)
        same = len(tensor.shape) == len(state.shape) and all(
            _same(a, b) for a, b in zip(tensor.shape[1:], state.shape[1:], strict=True)
        )
        if tensor.dtype != state.dtype or not same:
            raise TensorExpressionError(
                f"scan {name!r}: the {what} is {tensor.dtype} {_text(tensor)}, the state {state.dtype} "
                f"{_text(state)}",
                span,
            )
    if not isinstance(state.op, t.PlaceholderOp):
        raise TensorExpressionError(f"scan {name!r}: the state {state.name} is not a placeholder", span)
    if not state.shape or not _same(update.shape[0], state.shape[0]):
        raise TensorExpressionError(
            f"scan {name!r}: the update has shape {_text(update)}, the state {_text(state)}", span
        )


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, e.Expr) and isinstance(b, e.Expr):
        return alike(a, b)
    return isinstance(a, int) and isinstance(b, int) and a == b


def _text(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"
