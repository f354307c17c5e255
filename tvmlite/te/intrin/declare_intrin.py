"""Declaration of tensor intrinsics: from the author's functions to statements on declared windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tvmlite.core import arguments
from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.core.node import rewrite
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr
from tvmlite.te.intrin.ir_builder import IRBuilder
from tvmlite.te.loop import ir
from tvmlite.te.lowering.widen import Widening
from tvmlite.te.schedule.tensor_intrin import TensorIntrin, decl_buffer
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.inline import Bodies
from tvmlite.te.tensor.reduction import combined, initial_values

Emit: TypeAlias = Callable[[list[ir.Buffer], list[ir.Buffer]], Any]
_BUFFER_OPTIONS = ("strides", "elem_offset", "offset_factor", "data_alignment", "scope")
_Parts: TypeAlias = tuple[ir.Stmt | None, ir.Stmt | None, ir.Stmt | None, ir.Stmt | None]


def decl_tensor_intrin(
    op: t.Operation,
    fcompute: Emit | None = None,
    name: str = "tensor_intrin",
    binds: Mapping[t.Tensor, ir.Buffer] | None = None,
    scalar_params: Any = None,
    default_buffer_params: Mapping[str, Any] | None = None,
    special: Mapping[str, Emit] | None = None,
) -> TensorIntrin:
    """Declare an intrinsic that computes ``op``, for ``s[tensor].tensorize(axis, intrin)``.

    ``fcompute(ins, outs)`` returns the statement that computes it, ``(body, reset, update)``, or
    ``(body, reset, update, finish)`` (see ``TensorIntrin``); by default these are plain loops derived from
    ``op``. ``binds`` declares the windows of ``op``'s tensors (``decl_buffer``); others are dense.
    ``special`` maps instruction sets (``"avx512vnni"``, several with commas) to functions like ``fcompute``,
    used on machines that have them; the interpreter, C and all other machines use ``fcompute``.
    ``scalar_params``, TVM's values passed where an intrinsic is used, are not supported.
    """
    arguments.instance("decl_tensor_intrin: op", op, t.Operation, "an operation")
    if fcompute is not None:
        arguments.function("decl_tensor_intrin: fcompute", fcompute)
    binds = arguments.mapping("decl_tensor_intrin: binds", binds)
    options = arguments.mapping("decl_tensor_intrin: default_buffer_params", default_buffer_params)
    special = arguments.mapping("decl_tensor_intrin: special", special)
    for needs, emit in special.items():
        arguments.text("decl_tensor_intrin: special", needs)
        arguments.function("decl_tensor_intrin: special", emit)
    unknown = [name for name in options if name not in _BUFFER_OPTIONS]
    if unknown:
        where = "decl_tensor_intrin: default_buffer_params"
        raise arguments.refused(where, unknown[0], f"one of {', '.join(_BUFFER_OPTIONS)}")
    if not isinstance(op, t.ComputeOp):
        raise TensorExpressionError(
            f"decl_tensor_intrin: {op.name} is not a compute, there is nothing to match", Span.of_caller()
        )
    if scalar_params is not None and not (isinstance(scalar_params, (list, tuple)) and not scalar_params):
        raise UnsupportedError(
            "decl_tensor_intrin: scalar_params are not supported",
            Span.of_caller(),
            hint="write the values in the formula, which may speak of the loops around the intrinsic",
        )
    label = arguments.text("decl_tensor_intrin: name", name) or op.name
    given = dict(binds)
    for tensor, bound in given.items():
        arguments.instance("decl_tensor_intrin: binds", tensor, t.Tensor, "a tensor")
        arguments.instance("decl_tensor_intrin: binds", bound, ir.Buffer, "a buffer")
        if tensor not in (*op.inputs, *op.outputs):
            raise TensorExpressionError(
                f"decl_tensor_intrin {label!r}: {tensor.name} is neither read nor made by {op.name}",
                Span.of_caller(),
            )

    def buffer(tensor: t.Tensor) -> ir.Buffer:
        found = given.get(tensor)
        if found is None:
            return decl_buffer(tensor.shape, tensor.dtype, tensor.name, **options)
        if found.dtype != tensor.dtype or len(found.shape) != tensor.ndim:
            raise TensorExpressionError(
                f"decl_tensor_intrin {label!r}: {tensor.name} is {tensor.dtype} of {tensor.ndim} axes, its "
                f"buffer {found.dtype} of {len(found.shape)}",
                Span.of_caller(),
            )
        return found

    ins, outs = [buffer(x) for x in op.inputs], [buffer(x) for x in op.outputs]
    parts = _reference(op, ins, outs) if fcompute is None else _parts(fcompute, ins, outs, label)
    for needs, emit in special.items():
        parts = _as_choices(tuple(needs.split(",")), _parts(emit, ins, outs, label), parts)
    body, reset, update, finish = parts
    assert body is not None
    return TensorIntrin(label, op, tuple(ins), tuple(outs), body, reset, update, finish)


def _parts(emit: Emit, ins: list[ir.Buffer], outs: list[ir.Buffer], name: str) -> _Parts:
    """The body, reset, update and finish that ``emit`` returns."""
    made = emit(ins, outs)
    given = tuple(made) if isinstance(made, (tuple, list)) else (made, None, None)
    if len(given) not in (3, 4):
        raise TensorExpressionError(
            f"decl_tensor_intrin {name!r}: the function gave {len(given)} statements, expected a body, or "
            "a body, a reset and an update, perhaps with a finish",
            Span.of_caller(),
        )
    statements: list[ir.Stmt | None] = []
    for one in given:
        stmt = one.get() if isinstance(one, IRBuilder) else ir.Evaluate(one) if isinstance(one, Expr) else one
        if stmt is not None and not isinstance(stmt, ir.Stmt):
            raise TensorExpressionError(
                f"decl_tensor_intrin {name!r}: the function gave {stmt!r}, expected a statement",
                Span.of_caller(),
            )
        statements.append(stmt)
    if statements[0] is None:
        raise TensorExpressionError(
            f"decl_tensor_intrin {name!r}: the function gave no body", Span.of_caller()
        )
    finish = statements[3] if len(statements) == 4 else None
    if finish is not None and (statements[1] is None or statements[2] is None):
        raise TensorExpressionError(
            f"decl_tensor_intrin {name!r}: a finish goes with a reset and an update", Span.of_caller()
        )
    return statements[0], statements[1], statements[2], finish


def _as_choices(needs: tuple[str, ...], special: _Parts, portable: _Parts) -> _Parts:
    """Each part as a choice: ``special`` on machines with all that it ``needs``, else ``portable``."""
    body, reset, update = (
        plain if fast is None or plain is None else ir.Choice(needs, fast, plain)
        for fast, plain in zip(special[:3], portable[:3], strict=True)
    )
    finish = portable[3]
    if special[3] is not None or finish is not None:
        finish = ir.Choice(needs, special[3] or ir.Seq(()), finish or ir.Seq(()))
    return body, reset, update, finish


def _reference(op: t.ComputeOp, ins: list[ir.Buffer], outs: list[ir.Buffer]) -> _Parts:
    """``op`` as plain loops over the buffers."""
    widening = Widening()
    buffers = dict(zip(op.inputs, ins, strict=True))
    body = tuple(widening.value(one) for one in op.body)

    def rule(node: Any) -> Any:
        return ir.Load(buffers[node.tensor], node.indices) if isinstance(node, t.TensorRead) else node

    body = rewrite(Bodies(body), rule).body
    place = tuple(widening.variable(a.var) for a in op.axis)

    def loops(axes: Sequence[t.IterVar], inside: ir.Stmt) -> ir.Stmt:
        for axis in reversed(axes):
            assert axis.dom is not None
            begin, extent = (widening.index(x) for x in (axis.dom.min, axis.dom.extent))
            inside = ir.For(widening.variable(axis.var), begin, extent, inside)
        return inside

    if not op.reduce_axis:
        stores = (ir.Store(out, place, value) for out, value in zip(outs, body, strict=True))
        return loops(op.axis, ir.sequence(*stores)), None, None, None
    init, step = _reduction(body, outs, place)
    reset, update = loops(op.axis, init), loops((*op.axis, *op.reduce_axis), step)
    return loops(op.axis, ir.sequence(init, loops(op.reduce_axis, step))), reset, update, None


def _reduction(
    body: Sequence[Any], outs: Sequence[ir.Buffer], place: tuple[Expr, ...]
) -> tuple[ir.Stmt, ir.Stmt]:
    """A reduction's two statements: set the results to the identity, and combine them with one more value."""
    one = body[0]
    combiner, picked = one.combiner, [b.value_index for b in body]
    starts = initial_values(one)
    init = ir.sequence(*(ir.Store(o, place, starts[k]) for o, k in zip(outs, picked, strict=True)))
    arguments: dict[Any, Any] = {
        combiner.left[k]: ir.Load(out, place) for out, k in zip(outs, picked, strict=True)
    }
    given = (*one.source, *one.free_values)
    arguments.update(zip((*combiner.right, *combiner.free), given, strict=True))
    results = combined(combiner, arguments)
    names = [e.Var(f"combined{n}", x.dtype) for n, x in enumerate(results)]
    step: ir.Stmt = ir.sequence(*(ir.Store(o, place, names[k]) for o, k in zip(outs, picked, strict=True)))
    for name, value in reversed(list(zip(names, results, strict=True))):
        step = ir.Let(name, value, step)
    if len(outs) == 1:
        step = ir.Store(outs[0], place, results[picked[0]])
    return init, step if e.is_const(one.condition, 1) else ir.If(one.condition, step)
