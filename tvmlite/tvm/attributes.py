"""TVM's attribute names for the classes of ``tvmlite.te``, added to them when ``tvmlite.tvm`` is used.

``tvmlite.te`` itself does not know these names: ``loop.loop_var`` is ``loop.var``, ``axis.iter_type`` is a
number for ``axis.kind``, and so on.
"""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass, fields, is_dataclass
from types import FunctionType, MappingProxyType
from typing import Any, ClassVar

from tvmlite.core import dtype as dtypes
from tvmlite.core.alike import alike
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import StageBase
from tvmlite.te.schedule.tensor_intrin import TensorIntrin
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.scan import ScanOp
from tvmlite.tvm import groups
from tvmlite.tvm.absent import MissingName
from tvmlite.tvm.marks import as_vector, is_marked, is_marked_itself, mark
from tvmlite.tvm.runtime.values import SHORT_DTYPES, Extent, Text
from tvmlite.tvm.written import Intrinsic

ITER_TYPES = {
    "DataPar": 0,
    "ThreadIndex": 1,
    "CommReduce": 2,
    "Ordered": 3,
    "DimInfo": 4,
    "Unrolled": 5,
    "Vectorized": 6,
    "Parallelized": 7,
    "Tensorized": 8,
}
"""TVM's numbers for the kind of an axis, or for the kind of loop that the schedule made of it."""

_OF_KIND = {"data": 0, "reduce": 2, "ordered": 3}
_OF_LOOP = {"unroll": 5, "vectorize": 6, "parallel": 7}


class AttachType(str):
    """A stage's attach type as a word (``"root"``); it also equals TVM's number for it."""

    __slots__ = ()
    numbers: ClassVar[dict[str, int]] = {"root": 1, "inline": 2, "at": 4}

    def __eq__(self, other: object) -> bool:
        return self.numbers[str(self)] == other if isinstance(other, int) else str(self) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(str(self))


@dataclass(frozen=True)
class LoopAttributes:
    """The attributes that a schedule gives one loop, under TVM's names."""

    iter_type: int
    pragma_keys: tuple[Text, ...]
    pragma_values: tuple[Any, ...]
    tensor_intrin: TensorIntrin | None = None


def _iter_type(axis: t.IterVar) -> int:
    return 1 if getattr(axis, "thread_tag", "") else _OF_KIND[axis.kind]


def _iter_var_attrs(stage: StageBase) -> Any:
    found = {}
    for axis in stage.all_iter_vars:
        notes = stage.pragmas.get(axis, ())
        intrin = stage.tensorized[1] if stage.tensorized and stage.tensorized[0] is axis else None
        kind = _OF_LOOP.get(stage.loop_kinds.get(axis, ""), _iter_type(axis))
        found[axis] = LoopAttributes(
            ITER_TYPES["Tensorized"] if intrin else kind,
            tuple(Text(key) for key, _ in notes),
            tuple(value for _, value in notes),
            intrin,
        )
    return MappingProxyType(found)


def _statements(seq: ir.Seq) -> tuple[ir.Stmt, ...]:
    return seq.body


def is_packed_call(stmt: Any) -> bool:
    """Whether ``stmt`` is a call of a Python function, which tvmlite writes as an assertion on its result."""
    called = stmt.condition.a if isinstance(stmt, ir.Assert) and isinstance(stmt.condition, e.Equal) else None
    return isinstance(called, e.Foreign) and called.kind == "packed"


_OPS = {
    "c": "call_extern",
    "packed": "tvm_call_packed",
    "llvm": "call_llvm_pure_intrin",
    "bits": "reinterpret",
}


def _called(call: e.Foreign) -> Intrinsic:
    """TVM's operator for this kind of call; ``call.name`` is the function's name."""
    return Intrinsic(f"tir.{_OPS.get(call.kind, call.kind)}")


def _checked(check: ir.Assert) -> Any:
    """The condition of ``check``; for the call of a Python function, the call as TVM writes it."""
    if not is_packed_call(check):
        return check.condition
    return importlib.import_module("tvmlite.tvm.tir.calls").packed_call(check.condition.a)  # type: ignore[attr-defined]


def _same_as(one: Any, other: Any) -> bool:
    """Whether both are the same object."""
    return one is other


_shape_of = t.Tensor.shape.fget


def _shape(tensor: t.Tensor) -> tuple[Any, ...]:
    """The extents of the tensor's axes."""
    assert _shape_of is not None
    return tuple([Extent(n) if type(n) is int else n for n in _shape_of(tensor)])


def _astype(value: Any, dtype: str, span: Any = None) -> e.Expr:
    """Convert ``value`` to ``dtype`` (short names such as ``"float"`` are allowed). A constant made by a TVM
    program is converted to a constant."""
    wanted, expr = SHORT_DTYPES.get(dtype, dtype), e.convert(value)
    marked = is_marked(expr)
    if isinstance(expr, e.Const) and expr.lanes == 1 and dtypes.is_known(wanted) and dtypes.is_int(wanted):
        low, high = dtypes.limits(wanted)
        if low <= expr.value <= high and marked:
            return mark(e.const(int(expr.value), wanted))
    made = e.cast(wanted, expr)
    if not marked:
        return made
    return mark(made) if isinstance(made, e.Const) else as_vector(made)


def _truth(constant: e.Const) -> bool:
    """The truth value of a constant that a TVM program made: whether it is not 0."""
    return bool(constant.value) if is_marked_itself(constant) else e.Expr.__bool__(constant)


_TVM_NAMES = {
    "Assert": "AssertStmt",
    "Equal": "EQ",
    "Foreign": "Call",
    "If": "IfThenElse",
    "Less": "LT",
    "LessEqual": "LE",
    "Let": "LetStmt",
    "Load": "BufferLoad",
    "NotEqual": "NE",
    "OpCall": "Call",
    "Seq": "SeqStmt",
    "Store": "BufferStore",
    "TensorRead": "ProducerLoad",
    "TruncDiv": "Div",
    "TruncMod": "Mod",
    "WrittenCall": "Call",
}
"""TVM's class names by ours, where they differ."""


def tvm_name(node: Any) -> str:
    """TVM's name for the class of ``node``."""
    if isinstance(node, e.Const):
        return "FloatImm" if dtypes.is_float(node.dtype) else "IntImm"
    if isinstance(node, e.Expr) and type(node).__name__ == "Let":
        return "Let"
    ours = type(node).__name__
    return _TVM_NAMES.get(ours, ours)


def _nothing_more(plain: Any) -> Any:
    """A class's ``__getattr__``: ``plain``, the previous one, then a MissingName that lists what exists."""

    def attribute(node: Any, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(node).__name__!r} object has no attribute {name!r}")
        if plain is not None:
            try:
                return plain(node, name)
            except AttributeError:
                pass
        raise MissingName(
            f"{tvm_name(node)} has no attribute {name!r} in tvmlite",
            Span.of_caller(),
            f"it has: {_attributes(type(node))}",
        )

    return attribute


@functools.cache
def _attributes(kind: type) -> str:
    """The names of a class's fields and properties; also of its methods if it has no fields (stages)."""
    own = {one.name for one in fields(kind)} if is_dataclass(kind) else set()
    shown = (property,) if own else (property, FunctionType)
    more = {one for one in dir(kind) if one[0] != "_" and isinstance(getattr(kind, one), shown)}
    return ", ".join(sorted(own | more))


def _reduced(schedule: Schedule) -> tuple[Any, tuple[str]]:
    """The ``__reduce__`` of a schedule: it is pickled as the JSON of ``tvm.ir.save_json``."""
    json = importlib.import_module("tvmlite.tvm.ir.json")
    return json.load_json, (json.save_json(schedule),)


_PARTS = {"tile": ("split", "split", "reorder")}
"""Primitives that TVM records as a sequence of others."""


def _primitive_record(schedule: Schedule) -> list[str]:
    """The names of the primitives applied so far if the schedule records them, else ``[]``."""
    if not vars(schedule).get("keeps_record"):
        return []
    names = (part for step in schedule.trace for part in _PARTS.get(step.primitive, (step.primitive,)))
    return ["vanilla", *names]


def _schedule_record(schedule: Schedule) -> list[Any]:
    """The state after each entry of ``primitive_record``; parts of one primitive have the state after it."""
    if not vars(schedule).get("keeps_record"):
        return []
    states = [step.state for step in schedule.trace for _ in _PARTS.get(step.primitive, (step.primitive,))]
    return [vars(schedule)["keeps_record"], *states]


_METHODS: dict[type, dict[str, Any]] = {
    ir.Seq: {
        "__getitem__": lambda seq, index: seq.body[index],
        "__iter__": lambda seq: iter(seq.body),
    },
    e.Expr: {"same_as": _same_as},
    e.Const: {
        "__int__": lambda constant: int(constant.value),
        "__bool__": _truth,
        "__float__": lambda constant: float(constant.value),
    },
    ir.Function: {
        "astext": lambda function, *_, **__: str(function),
        "script": lambda function, *_, **__: str(function),
        "show": lambda function, *_, **__: print(function),
    },
    Intrinsic: {"same_as": lambda one, other: one == other},
    ir.Stmt: {"same_as": _same_as},
    t.Tensor: {"same_as": _same_as},
    ir.Buffer: {"same_as": _same_as},
    Schedule: {"__reduce__": _reduced},
}

_COMPLETE = (
    e.Expr,
    ir.Stmt,
    ir.Function,
    ir.Buffer,
    t.CommReducer,
    t.IterVar,
    t.Operation,
    t.Range,
    t.Tensor,
    Schedule,
    StageBase,
    TensorIntrin,
)
"""Classes whose missing attributes raise a MissingName that lists the attributes there are."""


_PROPERTIES: dict[type, dict[str, Any]] = {
    t.IterVar: {"iter_type": _iter_type, "dtype": lambda axis: axis.var.dtype, "name": lambda a: a.var.name},
    ScanOp: {"state_placeholder": lambda op: op.state},
    t.TensorRead: {"producer": lambda read: read.tensor},
    t.CommReducer: {
        "lhs": lambda reducer: reducer.left,
        "rhs": lambda reducer: reducer.right,
        "identity_element": lambda reducer: reducer.identity,
    },
    StageBase: {"iter_var_attrs": _iter_var_attrs},
    Stage: {"group": lambda s: groups.innermost(s.schedule, {s.origin_op})},
    Schedule: {
        "groups": groups.groups_of,
        "primitive_record": _primitive_record,
        "schedule_record": _schedule_record,
    },
    groups.Group: {
        "group": groups.parent,
        "num_child_stages": groups.children,
        "attach_stage": groups.attach_stage,
    },
    TensorIntrin: {
        "inputs": lambda intrin: intrin.op.inputs,
        "scalar_params": lambda intrin: (),
        "buffers": lambda intrin: (*intrin.input_buffers, *intrin.output_buffers),
        "reduce_init": lambda intrin: intrin.reset,
        "reduce_update": lambda intrin: intrin.update,
    },
    e.Select: {"true_value": lambda select: select.a, "false_value": lambda select: select.b},
    e.Expr: {"span": lambda node: None},
    e.Call: {"op": lambda call: Intrinsic(f"tir.{call.name}")},
    e.Foreign: {"op": _called},
    ir.Allocate: {
        "buffer_var": lambda allocate: allocate.buffer,
        "condition": lambda allocate: e.const(True),
        "dtype": lambda allocate: allocate.buffer.dtype,
        "extents": lambda allocate: allocate.buffer.shape,
    },
    ir.Assert: {"value": _checked},
    ir.For: {"loop_var": lambda loop: loop.var},
    ir.If: {"then_case": lambda branch: branch.then, "else_case": lambda branch: branch.otherwise},
    ir.Seq: {"seq": _statements, "size": lambda seq: len(seq.body)},
    ir.Function: {"buffer_map": lambda f: {b: b for b in f.buffers}, "ret_type": lambda f: None},
    ir.Buffer: {"data": lambda buffer: vars(buffer).get("pointer", buffer)},
}


@functools.cache
def enter() -> None:
    """Add TVM's names to the classes, once. Names that a class itself defines are kept; ``Tensor.shape``,
    ``astype`` and ``Stage.attach_type`` are replaced."""
    for name, number in ITER_TYPES.items():
        setattr(t.IterVar, name, number)
    Schedule.create_group = groups.create_group  # type: ignore[method-assign,assignment]
    ir.Buffer.READ, ir.Buffer.WRITE = 1, 2  # type: ignore[attr-defined]
    t.Tensor.shape = property(_shape, doc=_shape.__doc__)  # type: ignore[assignment]
    e.Operators.astype = _astype  # type: ignore[method-assign,assignment]
    Stage.attach_type = property(  # type: ignore[assignment]
        lambda stage: AttachType(stage.state.attach_type), doc="The stage's attach type."
    )
    for owner, properties in _PROPERTIES.items():
        for name, getter in properties.items():
            if name not in vars(owner):
                setattr(owner, name, property(getter, doc=f"TVM's ``{name}``."))
    for owner, methods in _METHODS.items():
        for name, method in methods.items():
            if name not in vars(owner):
                setattr(owner, name, method)
    for owner in _COMPLETE:
        plain = getattr(owner, "__getattr__", None)
        owner.__getattr__ = _nothing_more(plain)  # type: ignore[attr-defined]


def structurally_equal(one: Any, other: Any) -> bool:
    """Whether two expressions, statements or numbers are structurally equal; an axis is its variable."""
    left, right = (e.convert(x) if isinstance(x, (int, float)) else x for x in (one, other))
    if isinstance(left, t.IterVar) or isinstance(right, t.IterVar):
        left, right = (x.var if isinstance(x, t.IterVar) else x for x in (left, right))
    return alike(left, right)
