"""Tensor intrinsics: what instructions compute on small tensors, and the windows they work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ScheduleError, TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr
from tvmlite.te.extensions import extend
from tvmlite.te.loop import ir
from tvmlite.te.schedule.stage_base import StageBase
from tvmlite.te.schedule.trace import primitive
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar


@dataclass(frozen=True, eq=False)
class DeclaredBuffer(ir.Buffer):
    """A buffer that stands for a window of another; see ``decl_buffer``."""

    elem_offset: Expr | None = None
    offset_factor: int = 1


@dataclass(frozen=True, eq=False)
class TensorIntrin:
    """The statements that carry out ``op`` on windows of its inputs' and outputs' buffers.

    ``body`` computes all of ``op``. Where a stage reduces in loops around the intrinsic too, ``reset`` sets
    the result to the reduction's identity and ``update`` adds to what is there. With a ``finish`` the sums
    are elsewhere from the reset on, in registers of the processor's say, of which there is one set: updates
    of one window follow its reset, and ``finish`` brings its sums to the result.
    """

    name: str
    op: t.ComputeOp
    input_buffers: tuple[ir.Buffer, ...]
    output_buffers: tuple[ir.Buffer, ...]
    body: ir.Stmt
    reset: ir.Stmt | None
    update: ir.Stmt | None
    finish: ir.Stmt | None = None

    def __post_init__(self) -> None:
        arguments.text("TensorIntrin: name", self.name)
        arguments.instance("TensorIntrin: op", self.op, t.ComputeOp, "a compute's operation")
        for label in ("input_buffers", "output_buffers"):
            where = f"TensorIntrin: {label}"
            given = arguments.listed(where, getattr(self, label), "buffers")
            arguments.all_instances(where, given, ir.Buffer, "a buffer")
        arguments.instance("TensorIntrin: body", self.body, ir.Stmt, "a statement")
        for label in ("reset", "update", "finish"):
            if getattr(self, label) is not None:
                arguments.instance(
                    f"TensorIntrin: {label}", getattr(self, label), ir.Stmt, "a statement or None"
                )


def decl_buffer(
    shape: Sequence[Any],
    dtype: str = "float32",
    name: str = "buffer",
    strides: Sequence[Any] | None = None,
    elem_offset: e.Var | None = None,
    offset_factor: int = 1,
    data_alignment: int = 0,
    scope: str = "",
) -> DeclaredBuffer:
    """What a tensor intrinsic asks of the window that it works on.

    ``strides``, in elements, one an axis, are numbers, which the window must have, or variables, which
    take what it has; without them the window must be dense. ``elem_offset`` takes the number of elements
    before the window in its buffer, which must be a multiple of ``offset_factor``.
    """
    extents = tuple(_index(n) for n in t.shape_of(shape))
    arguments.text("decl_buffer: name", name)
    given = () if strides is None else strides
    listed = arguments.listed("decl_buffer: strides", given, "ints and te.vars")
    steps = tuple(e.scalar("decl_buffer: strides", s) for s in listed)
    if elem_offset is not None:
        arguments.instance("decl_buffer: elem_offset", elem_offset, e.Var, "a te.var")
    offset_factor = arguments.whole(
        "decl_buffer: offset_factor", offset_factor, TensorExpressionError, least=1
    )
    data_alignment = arguments.whole("decl_buffer: data_alignment", data_alignment)
    if steps and len(steps) != len(extents):
        raise TensorExpressionError(
            f"decl_buffer: {name!r} has {len(extents)} axes and {len(steps)} strides", Span.of_caller()
        )
    kind = dtypes.check(dtype)
    return DeclaredBuffer(name, kind, extents, "param", steps, data_alignment, "", elem_offset, offset_factor)


def _index(value: Any) -> Expr:
    return e.cast(e.INDEX, e.convert(value))


class TensorizePrimitive(StageBase):
    """The part of ``Stage`` that puts an intrinsic in the place of loops."""

    @primitive
    def tensorize(self, var: IterVar, tensor_intrin: TensorIntrin) -> None:
        """The loops from ``var`` on inwards become the statement of an intrinsic that computes the same.

        ::

            for i.outer in range(64):           -->    for i.outer in range(64):
                for i.inner in range(16):                  gemv(C + i.outer * 16, A + i.outer * 16 * n, B)
                    C[i.outer * 16 + i.inner] = 0
                    for k in range(n):
                        C[...] += A[..., k] * B[k]

        Where the stage reduces in loops further out too, the intrinsic's reset stands where the reduction
        is initialised and its update in the place of the loops. Lowering finds out whether the computations
        are the same; its error says how they differ.
        """
        self.require_leaf("tensorize", var)
        if not isinstance(tensor_intrin, TensorIntrin):
            raise ScheduleError(
                f"tensorize: {tensor_intrin!r} is no intrinsic",
                Span.of_caller(),
                "te.decl_tensor_intrin makes one",
            )
        self.change(tensorized=(var, tensor_intrin))


extend(StageBase, TensorizePrimitive)
