"""Every public function of ``te``, called with wrong arguments by ``tests/fuzz/constructors.py``."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fuzz.constructors import Subject, faults_as_asked, public, subjects
from fuzz.primitives import parts, steps, world

import tvmlite
import tvmlite.tvm.te  # adds TVM's bind to stages
from tvmlite import te
from tvmlite.core.node import postorder
from tvmlite.te.expr import Expr, Operators
from tvmlite.te.intrin.ir_builder import BufferVar, IRBuilder, Scope
from tvmlite.te.loop import ir
from tvmlite.te.tensor.tensor import Reduce

FUNCTIONS = ("fcompute", "fcombine", "fidentity", "function", "f", "mapping")
"""Parameters that take functions."""
INTS = ("clz", "popcount", "floordiv", "floormod", "indexdiv", "indexmod", "truncdiv", "truncmod")
"""Functions of ints."""


def _copied(ins: list[Any], outs: list[Any]) -> Any:
    builder = te.ir_builder.create()
    source, target = builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0])
    with builder.for_range(0, 4) as i:
        target[i] = source[i]
    return builder.get()


def _nothing(*_: Any) -> None: ...


def _pair(*given: Any) -> tuple[Any, Any]:
    return (1.0, given)


def _sum_of_indices(*indices: Any) -> Any:
    return sum(indices, te.const(1))


A = te.placeholder((4, 8), name="A")
X, N = te.var("x", "float32"), te.var("n")
ROW = te.placeholder((4,), name="row")
STATE = te.placeholder((5, 4), name="state")
FIRST = te.compute((1, 4), lambda t, i: 0.0, name="first")
STEP = te.compute((5, 4), lambda t, i: STATE[t - 1, i] + 1.0, name="step")
DOUBLED = te.compute((4,), lambda i: ROW[i] * 2.0, name="doubled")
K = te.reduce_axis((0, 8), name="k")


def _arguments() -> dict[str, Any]:
    """Valid arguments by parameter name."""
    return {
        "x": X,
        "y": X,
        "z": X,
        "a": X,
        "b": X,
        "expr": A[0, K],
        "axis": K,
        "condition": N < 3,
        "conditions": (N < 3, N > 1),
        "value": N,
        "dtype": "int32",
        "name": "named",
        "shape": (2, 3),
        "dom": (0, 3),
        "ops": [DOUBLED.op],
        "op": DOUBLED.op,
        "schedule": te.create_schedule(DOUBLED.op),
        "args": [ROW, DOUBLED],
        "fcompute": _sum_of_indices,
        "fcombine": lambda x, y: x + y,
        "fidentity": lambda t: te.const(0, t),
        "var": te.var("i"),
        "function": _nothing,
        "inputs": [ROW],
    }


def _examples() -> dict[str, list[dict[str, Any]]]:
    calls = [
        {"dtype": "float32", "name": "exp", "args": (X,)},
        {"dtype": "int32", "name": "popcount", "args": (N,)},
    ]
    llvm = [{"dtype": "float32", "name": "llvm.sqrt.f32", "args": (X,)}]
    found: dict[str, list[dict[str, Any]]] = {name: [{"a": N, "b": 3, "x": N}] for name in INTS}
    for name in INTS:
        kept = ("x",) if name in ("clz", "popcount") else ("a", "b")
        found[name] = [{key: found[name][0][key] for key in kept}]
    return {
        **found,
        "max": [{"a": X, "b": 1.0}, {"a": A[0, K], "axis": K}],
        "min": [{"a": X, "b": 1.0}],
        "all": [{"conditions": (N < 3, N > 1)}, {"conditions": (A[0, K] < 3,), "axis": K}],
        "call_intrin": calls,
        "call_pure_intrin": calls,
        "call_llvm_intrin": llvm,
        "call_llvm_pure_intrin": llvm,
        "call_packed": [{"name": "f", "args": (N, 2)}],
        "reinterpret": [{"dtype": "int32", "x": X}],
        "call_extern": [{"dtype": "float32", "name": "expf", "args": (X,)}],
        "call_pure_extern": [{"dtype": "float32", "name": "expf", "args": (X,)}],
        "const": [{"value": 1, "dtype": "int32"}, {"value": 1.5, "dtype": "float32", "lanes": 4}],
        "extern": [{"shape": (4,), "inputs": [ROW], "fcompute": _copied}],
        "infinity": [{"dtype": "float32"}],
        "IterVar": [{"dom": K.dom, "var": N, "kind": "data"}],
        "scan": [{"init": FIRST, "update": STEP, "state_placeholder": STATE, "inputs": [ROW]}],
        "decl_tensor_intrin": [
            {"op": DOUBLED.op, "fcompute": None, "binds": {ROW: te.decl_buffer((4,))}},
            {"op": DOUBLED.op, "default_buffer_params": {"offset_factor": 1}, "special": {"avx2": _nothing}},
        ],
        "register_intrin_lowering": [
            {"name": "tir.doubled", "target": "default", "f": lambda call: te.const(1.0)}
        ],
        "Schedule": [{"stages": [te.Stage(DOUBLED.op)], "outputs": [DOUBLED.op]}],
        "Tensor": [{"op": DOUBLED.op, "value_index": 0}],
        "Select": [{"condition": N < 3, "a": X, "b": 2.0}],
        "TensorIntrin": [dict(zip(_fields(te.TensorIntrin), _intrinsic_fields(), strict=True))],
        "Call": [{"name": "exp", "args": (X,), "dtype": "float32"}],
    }


def _fields(node: type) -> list[str]:
    return [field.name for field in dataclasses.fields(node)]


def _intrinsic_fields() -> list[Any]:
    made = te.decl_tensor_intrin(DOUBLED.op)
    return [getattr(made, name) for name in _fields(te.TensorIntrin)]


def _wrong() -> list[Any]:
    """Nodes of all kinds, each valid for some parameters."""
    buffer = te.decl_buffer((4,))
    made = te.create_schedule(DOUBLED.op)
    return [
        X, N, te.var("w", "int64"), te.var("u", "uint8"), te.var("flag", "bool"), te.size_var("s"), N + 1,
        X * 2.0, N < 3, te.var("half", "float16"), te.var("bits", "bfloat16"),
        te.var("narrow", "float8_e4m3fn"), te.const(2.5), te.const(3, "int64"), te.const(0),
        te.const(1.0, lanes=4), te.cast("int32x8", N), te.sum(A[0, K], axis=K), A, A[0], A[0, 0], A.op, ROW,
        DOUBLED, DOUBLED.op, STATE, STEP, FIRST, te.placeholder((), name="scalar"),
        te.placeholder((N, 3), name="open"), te.placeholder((0,)),
        te.placeholder((4,), "int32", name="whole"), K, K.dom, te.reduce_axis((0, N)), DOUBLED.op.axis[0],
        buffer, ir.Load(buffer, (N,)), made, made[DOUBLED], te.decl_tensor_intrin(DOUBLED.op),
        te.ir_builder.create(), [A, ROW], {ROW: buffer}, {A: A}, [N, X], (K, K), te.scan(FIRST, STEP, STATE),
        te, tvmlite.relay.var("r", shape=(2,)), tvmlite.relay.dim("d"),
    ]  # fmt: skip


def _used(result: Any) -> None:
    """What a user does next: compute with the result, print it, make a schedule of it."""
    if isinstance(result, te.Tensor):
        if not isinstance(result.op, type(A.op)):
            te.create_schedule(result.op)
        te.compute((2,), lambda i: result(*[i] * result.ndim) + 1)
    elif isinstance(result, Expr) and not any(isinstance(n, Reduce) for n in postorder(result)):
        te.compute((2,), lambda i: te.if_then_else(i < 1, result, result))
    if not isinstance(result, (int, float)):
        str(result)
        repr(result)


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    yield from ((name, value) for name, value in public(te) if name not in ("lower", "visualize"))


# --- schedules --------------------------------------------------------------------------------------


def _methods() -> Iterator[str]:
    """The methods that users call: all primitives, and those with valid arguments here."""
    primitives = {
        name
        for owner in (te.Schedule, te.Stage)
        for name in dir(owner)
        if hasattr(getattr(owner, name), "__wrapped__")
    }
    yield from sorted(primitives | set(steps(world())))


def _method(name: str, number: int) -> Subject:
    """The method ``name`` with its valid arguments number ``number``, on its own schedule."""
    w = world()
    found = steps(w)
    owners = [(w.s if hasattr(te.Schedule, name) else w.s[w.c], {})]
    owner, given = found.get(name, owners)[number]

    def lowered(result: Any) -> None:
        str(w.s)
        str(w.s.trace)
        te.lower(result if isinstance(result, te.Schedule) else w.s, w.args)

    words = ("stage", "axis", "loop", "argument", "primitive")
    return Subject(
        name.strip("_"),
        getattr(owner, name),
        given,
        words,
        callbacks=FUNCTIONS,
        wrong=parts(w),
        after=lowered,
        renew=lambda: _method(name, number),
    )


# --- values and hand-written loop nests -------------------------------------------------------------


def _operators() -> Iterator[Subject]:
    """The operators of scalar expressions, of axes and of partially indexed tensors, and calls of tensors."""
    words = ("expression", "values", "tensor", "expected ints", "dtype", "lanes", "is not supported")
    for owner in (X, N, N < 3, A[0, 0], K, A[0]):
        for name, method in vars(Operators).items():
            if callable(method) and name not in ("__hash__",):
                given = {"other": 2, "dtype": "float32"}
                kept = {key: given[key] for key in inspect.signature(method).parameters if key in given}
                yield Subject(name.strip("_"), getattr(owner, name), kept, words)
    for owner in (A, A[0]):
        yield Subject("tensor", owner.__getitem__, {"indices": 1}, words)
    yield Subject("tensor", A.__call__, {"indices": (N, 1)}, words)


def _builder(name: str) -> Subject:
    """The method ``name`` of a new builder of loop nests."""
    builder = te.ir_builder.create()
    given = {
        "stmt": te.call_packed("f", N), "begin": 0, "end": 4, "name": "i", "dtype": "int64", "kind": "serial",
        "condition": N < 3, "shape": (4,), "value": N, "buffer": te.decl_buffer((4,)), "scope": "local",
    }  # fmt: skip

    def lowered(result: Any) -> None:
        if isinstance(result, Scope):
            with result:
                builder.emit(te.exp(X))
        made = te.extern((4,), [ROW], lambda ins, outs: builder)
        str(te.lower(te.create_schedule(made.op), [ROW, made]))

    function = getattr(builder, name)
    kept = {key: given[key] for key in inspect.signature(function).parameters if key in given}
    words = ("ir_builder", "extern", "buf", "scope", "the variable")
    return Subject(name, function, kept, words, after=lowered, renew=lambda: _builder(name))


def _buffer(name: str) -> Subject:
    """The method ``name`` of a buffer in a new builder of loop nests."""
    builder = te.ir_builder.create()
    buffer = builder.allocate("float32", (4, N), "buf")
    given = {
        "begin": (0, N),
        "dtype": "float32x4",
        "index": (1, 2),
        "value": X,
        "access_mask": "rw",
        "offset": 1,
    }
    function = getattr(buffer, name)
    kept = {key: given[key] for key in inspect.signature(function).parameters if key in given}
    return Subject(name.strip("_"), function, kept, ("buf", "index", "indexed"), renew=lambda: _buffer(name))


def _nests() -> Iterator[Subject]:
    for name, _ in public(IRBuilder):
        yield _builder(name)
    for name in (*(name for name, _ in public(BufferVar)), "__getitem__", "__setitem__"):
        yield _buffer(name)


@functools.cache
def _subjects() -> list[Subject]:
    words = {name: ("lanes",) for name, _ in _functions()} | {"power": ("pow", "lanes")}
    functions = subjects(
        _functions(), _examples(), _arguments(), words, callbacks=FUNCTIONS, wrong=(_nothing, _pair)
    )
    methods = [
        _method(name, number) for name in _methods() for number in range(len(steps(world()).get(name, [0])))
    ]
    return [*functions, *methods, *_operators(), *_nests()]


def test_every_call_returns_or_raises_a_clear_error(request: pytest.FixtureRequest) -> None:
    found = faults_as_asked(request, _subjects(), _wrong(), _used)

    assert not found, found
