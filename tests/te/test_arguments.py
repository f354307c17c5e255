"""Errors for wrong arguments of te's functions name the parameter and end with the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite
import tvmlite.tvm.te  # adds TVM's bind to stages
from tvmlite import te
from tvmlite.core.errors import ScheduleError, TensorExpressionError, TvmliteError, UnsupportedError
from tvmlite.te import expr as e
from tvmlite.tvm.contrib import cblas

A = te.placeholder((4, 8), name="A")
B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
K = te.reduce_axis((0, 8), name="k")
BUILDER = te.ir_builder.create()
CYCLE: list[Any] = []
CYCLE.append(CYCLE)


def _schedule() -> tuple[te.Schedule, te.Tensor]:
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((4, 4), lambda i, j: te.sum(A[i, k] * A[j, k], axis=k), name="C")
    return te.create_schedule(c.op), c


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: te.placeholder((2,), name=3), "placeholder: name: 3 given, expected a string"),
        (lambda: te.placeholder((2, "n")), "an extent of a shape: 'n' given, expected an int of at least 0"),
        (
            lambda: te.placeholder((1 << 70,)),
            "an extent of a shape is 1180591620717411303424, expected at most",
        ),
        (lambda: te.compute((2,), lambda i: i, name=None), "compute: name: None given, expected a string"),
        (
            lambda: te.compute((2,), lambda i: i, attrs=[1]),
            "compute 'compute': attrs: a list given, expected a dict",
        ),
        (
            lambda: te.compute((2,), lambda i: np.zeros(3)),
            "compute 'compute': its element: a ndarray given, expected a scalar expression",
        ),
        (
            lambda: te.reduce_axis((0, 1.5)),
            "reduce_axis 'rv': a tuple given, expected an extent or (begin, end)",
        ),
        (lambda: te.sum(A[0, 0], axis="k"), "sum: axis: 'k' given, expected a te.reduce_axis"),
        (lambda: te.sum([], axis=te.reduce_axis(4)), "sum: no values given, expected at least one"),
        (lambda: te.cast(np.zeros(3), te.var()), "dtype 'of a ndarray' is not supported"),
        (lambda: te.const("1"), "const: '1' given, expected a number"),
        (lambda: te.const(float("nan"), "int32"), "const: nan has no value of int32"),
        (lambda: te.comm_reducer(None, None), "comm_reducer: fcombine: None given, expected a function"),
        (lambda: te.create_schedule("C"), "create_schedule: 'C' given, expected an operation or a tensor"),
        (lambda: te.create_schedule([]), "create_schedule: no operations given, expected at least one"),
        (
            lambda: te.extern((2,), A, lambda i, o: None),
            "extern: inputs: a Tensor given, expected a list of tensors",
        ),
        (lambda: te.call_intrin("float32", 3), "call_intrin: name: 3 given, expected a string"),
        (lambda: te.get_global_func("no such"), "no function is registered as 'no such'"),
        (
            lambda: te.decl_buffer((2,), strides=4),
            "decl_buffer: strides: 4 given, expected a list of ints and te.vars",
        ),
        (lambda: te.exp((1, 2)), "exp: a tuple given, expected a scalar expression"),
        (lambda: te.select(te.var("n") < 1, 1, "a"), "select: 'a' given, expected a scalar expression"),
        (lambda: te.if_then_else([], 1, 2), "if_then_else: the condition: a list given, expected a scalar"),
        (lambda: te.floordiv(te.var("n"), {}), "floordiv: a dict given, expected a scalar expression"),
        (lambda: te.all(te.var("n") < 1, True, axis=K), "all: 2 conditions given, expected one with axis="),
        (lambda: te.infinity("int8"), "infinity: dtype 'int8' has none, expected a float's"),
        (lambda: te.const(1, "int32", 0), "const: lanes: 0 given, expected an int of at least 1"),
        (lambda: te.const(np.array(["a"])), "const: a ndarray given, expected a number"),
        (lambda: te.cast("int8", te.Tensor), "cast: value: a type given, expected a scalar expression"),
        (lambda: te.var("h", "float16") + te.var("b", "bfloat16"), "no common dtype of float16 and bfloat16"),
        (lambda: te.const(1, "int32", 4) + te.const(1, "int32", 8), "cannot broadcast 4 lanes to 8"),
        (lambda: te.fmod(te.const(1.0, lanes=4), te.const(1.0, lanes=8)), "fmod: arguments of 4 and 8 lanes"),
        (lambda: te.max((1, 2), axis=K), "max: the identity does not take the dtypes of 2 values"),
        (lambda: te.sum((1, 2), axis=K), "sum: the identity does not take the dtypes of 2 values"),
        (lambda: te.sum(A[0, K], axis=K, where=1.5), "sum: where is float32, expected bool"),
        (lambda: te.sum(A[0, K], axis=K, init=(1, 2)), "sum: init has 2 values, expected 1"),
        (
            lambda: te.comm_reducer(lambda x: x, lambda t: 0)(1, K),
            "reduce: the combination does not take two",
        ),
        (
            lambda: te.decl_tensor_intrin(B.op, binds={"a": 1}),
            "decl_tensor_intrin: binds: 'a' given, expected",
        ),
        (
            lambda: te.decl_tensor_intrin(B.op, default_buffer_params={"shape": 1}),
            "decl_tensor_intrin: default_buffer_params: 'shape' given, expected one of strides",
        ),
        (lambda: te.decl_tensor_intrin(B.op, special={"avx2": 1}), "decl_tensor_intrin: special: 1 given"),
        (
            lambda: te.call_extern("float32", "f", A.op),
            "f: a PlaceholderOp given, expected a scalar expression",
        ),
        (lambda: te.IterVar(None, "i"), "IterVar: var: 'i' given, expected a te.var"),
        (
            lambda: te.IterVar(None, te.var("i"), "odd"),
            "IterVar: kind: 'odd' given, expected one of data, reduce",
        ),
        (lambda: te.Tensor(B.op, 1), "Tensor: value_index: 1 given, expected 0 to 0, the results of B"),
        (lambda: te.Tensor("op"), "Tensor: op: 'op' given, expected an operation"),
        (lambda: te.Stage(3), "Stage: op: 3 given, expected an operation"),
        (lambda: te.Schedule([1], []), "Schedule: stages: 1 given, expected a stage"),
        (
            lambda: te.TensorIntrin("f", A.op, (), (), None, None, None),
            "TensorIntrin: op: a PlaceholderOp given",
        ),
        (lambda: e.Var(3), "Var: name: 3 given, expected a string"),
        (lambda: e.Cast("int8", 3), "Cast: value: 3 given, expected an expression"),
        (lambda: e.Call("exp", (1,), "float32"), "Call: args: 1 given, expected an expression"),
        (lambda: e.Const("1", "int8"), "Const: value: '1' given, expected a number"),
        (lambda: BUILDER.for_range(0, 4, kind=[]), "for_range: kind: a list given, expected a string"),
        (lambda: BUILDER.if_scope("c"), "if_scope: the condition: 'c' given, expected a scalar expression"),
        (lambda: BUILDER.emit(3), "ir_builder: emit: 3 given, expected a statement or an expression"),
        (lambda: BUILDER.buffer_ptr(A), "buffer_ptr: buffer: a Tensor given, expected a buffer"),
        (
            lambda: te.decl_buffer((4,)).vload("i"),
            "an index of buffer 'buffer': 'i' given, expected a scalar",
        ),
        (lambda: te.decl_buffer((4,)).vload(1.5), "buffer 'buffer' is indexed with a float32 value"),
        (lambda: te.decl_buffer((4,)).vload(()), "buffer 'buffer' is indexed with nothing"),
        (lambda: te.decl_buffer((4,)).vload(0, np.ones(2)), "dtype 'of a ndarray' is not supported"),
        (
            lambda: tvmlite.tvm.ir.register_op_attr("f", np.ones(2)),
            "register_op_attr: attr_key: a ndarray given",
        ),
        (lambda: cblas.matmul(A, 3), "matmul: rhs: 3 given, expected a tensor"),
        (
            lambda: _schedule()[0].stages[-1].bind(K, CYCLE),
            "bind: thread_ivar: a list given, expected a te.thread_axis",
        ),
        (lambda: list(A), "tensor 'A' cannot be iterated over"),
        (lambda: list(A[0]), "tensor 'A' cannot be iterated over"),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TvmliteError) as raised:
        call()

    assert str(raised.value).startswith(message)
    assert "test_arguments.py" in str(raised.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, c: s[c].split(c.op.axis[0]), "split"),
        (lambda s, c: s[c].split(), "split: missing a required argument: 'parent'"),
        (lambda s, c: s[c].unroll(c.op.axis[0], 4), "unroll: too many positional arguments"),
        (lambda s, c: s[c].vectorize(axis=c.op.axis[0]), "vectorize: missing a required argument: 'var'"),
        (lambda s, c: s[c].reorder(CYCLE), "an argument is a list nested more than 8 deep"),
        (lambda s, c: s[c].transform_layout(int), "transform_layout: mapping: no signature found"),
        (
            lambda s, c: s[c].storage_align(c.op.axis[0], 2**40),
            "storage_align: factor: 1099511627776 given, expected an int of at least 1, at most 1048576",
        ),
        (
            lambda s, c: s[c].storage_align(c.op.axis[0], "8"),
            "storage_align: factor: '8' given, expected an int of at",
        ),
        (
            lambda s, c: s[c].align_bounds(c.op.axis[0], 0),
            "align_bounds: factor: 0 given, expected an int of at least 1",
        ),
        (
            lambda s, c: s[c].pragma(c.op.axis[0], np.zeros(3)),
            "pragma: pragma_type: a ndarray given",
        ),
        (lambda s, c: s[c].set_scope(1), "set_scope: scope: 1 given, expected a string"),
        (lambda s, c: s.replay("2"), "replay: steps: '2' given, expected an int of at least 0"),
        (lambda s, c: s.cache_write([], "local"), "cache_write: no tensors given, expected at least one"),
        (lambda s, c: s["C"], "the schedule has no stage 'C'"),
        (lambda s, c: s[c].split(c.op.axis[0], 2, tail=np.ones(2)), "split: axis i of stage C with tail"),
        (
            lambda s, c: s[c].split(c.op.axis[1], c.op.reduce_axis[0].var),
            "split: axis j of stage C by factor k: expected no variable of an axis",
        ),
        (lambda s, c: s[c].transform_layout(3), "transform_layout: mapping: 3 given, expected a function"),
        (
            lambda s, c: s[c].loop_partition(c.op.axis[0], 3),
            "loop_partition: sizes: 3 given, expected a list",
        ),
        (lambda s, c: s.rfactor(c, K, te.var("n")), "rfactor"),
        (
            lambda s, c: s.rfactor(c, c.op.reduce_axis[0], te.var("n")),
            "rfactor: factor_axis: a Var given, expected an int",
        ),
        (
            lambda s, c: s.create_group(c, A, te.var("n")),
            "create_group: include_inputs: a Var given, expected True",
        ),
    ],
)
def test_a_wrong_argument_of_a_primitive_is_named(call: Callable[..., Any], message: str) -> None:
    s, c = _schedule()

    with pytest.raises(ScheduleError) as raised:
        call(s, c)

    assert str(raised.value).startswith(message)
    assert "test_arguments.py" in str(raised.value)


@pytest.mark.parametrize(
    ("args", "name", "message"),
    [
        (A, "f", "lower: args: a Tensor given, expected a list of tensors and te.vars"),
        ([1], "f", "lower: argument 1 is neither a tensor nor a te.var"),
        ([A], 3, "name: 3 given, expected a string"),
    ],
)
def test_errors_of_build_name_the_wrong_argument(args: Any, name: Any, message: str) -> None:
    with pytest.raises(TvmliteError) as raised:
        tvmlite.build(_schedule()[0], args, name=name)

    assert str(raised.value).startswith(message)


def test_an_extern_can_use_buffers_declared_by_the_user() -> None:
    mine = te.decl_buffer((4, 8), "float32", "mine")

    def copied(ins: list[Any], outs: list[Any]) -> Any:
        assert ins == [mine]
        builder = te.ir_builder.create()
        source, target = builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0])
        with builder.for_range(0, 4) as i, builder.for_range(0, 8) as j:
            target[i, j] = source[i, j] + 1.0
        return builder.get()

    b = te.extern((4, 8), [A], copied, in_buffers=mine)
    x = np.arange(32, dtype="float32").reshape(4, 8)

    np.testing.assert_array_equal(tvmlite.build(te.create_schedule(b.op), [A, b])(x), x + 1)
    with pytest.raises(TensorExpressionError, match=r"in_buffers must be dense buffers of float32 \(4, 8\)"):
        te.extern((4, 8), [A], copied, in_buffers=te.decl_buffer((4, 9)))


def test_names_and_defaults_agree_with_tvm() -> None:
    assert te.var().name == "tindex"
    assert te.size_var().name == "size"
    assert te.placeholder((2,), None).dtype == "float32"
    s, c = _schedule()
    s[c].unroll(var=c.op.axis[1])
    s[c].pragma(var=c.op.axis[0], pragma_type="unroll_explicit", pragma_value=False)
    assert c.axis is c.op.axis
    assert A.axis == ()
    with pytest.raises(UnsupportedError, match="scalar_params are not supported"):
        te.decl_tensor_intrin(c.op, scalar_params=[te.var()])
