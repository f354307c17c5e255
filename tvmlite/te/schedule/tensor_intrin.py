"""Tensor intrinsics: instructions described by what they compute on small tensors, and their windows."""

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
    """A buffer that represents a window of another buffer; see ``decl_buffer``."""

    elem_offset: Expr | None = None
    offset_factor: int = 1


@dataclass(frozen=True, eq=False)
class TensorIntrin:
    """The statements that compute ``op`` on windows of the buffers of its inputs and outputs.

    ``body`` computes all of ``op``. For a stage that also reduces in loops around the intrinsic, ``reset``
    sets the result to the reduction's identity and ``update`` adds to it. If there is a ``finish``, the sums
    are held elsewhere from the reset on, such as in a single set of processor registers: the updates of one
    window follow its reset, and ``finish`` writes its sums to the result.
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
    """Declare the window that a tensor intrinsic works on.

    ``strides``, in elements, has an entry for each axis: a number that the window must have, or a variable
    that is bound to the window's stride. Without ``strides``, the window must be dense. ``elem_offset`` is
    bound to the window's offset in its buffer, in elements, which must be a multiple of ``offset_factor``.
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
    """The primitive of ``Stage`` that replaces loops by an intrinsic."""

    @primitive
    def tensorize(self, var: IterVar, tensor_intrin: TensorIntrin) -> None:
        """Replace the loops from ``var`` inwards by the statement of an intrinsic that computes the same.

        ::

            for i.outer in range(64):           -->    for i.outer in range(64):
                for i.inner in range(16):                  gemv(C + i.outer * 16, A + i.outer * 16 * n, B)
                    C[i.outer * 16 + i.inner] = 0
                    for k in range(n):
                        C[...] += A[..., k] * B[k]

        If the stage also reduces in outer loops, the intrinsic's reset is placed where the reduction is
        initialised, and its update in place of the loops. Lowering checks whether both compute the same; its
        error says how they differ.
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
