"""Toy operators and random graphs, so that the tests of the graph IR do not depend on real operators."""

import random

import numpy as np
import pytest
from same_meaning import assert_same_meaning, make_arguments  # noqa: F401  (a fixture)

from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple, TupleGetItem, Var, constant, var
from tvmlite.relay.ir.op import Fuse, make, operator
from tvmlite.relay.ir.types import TensorType, TupleType, broadcast_shapes


def _broadcast_type(call: Call, a: TensorType, b: TensorType) -> TensorType:
    if a.dtype != b.dtype:
        raise TypeInferError(f"{call.op}: dtypes {a.dtype} and {b.dtype}", call.span)
    return TensorType(broadcast_shapes(a.shape, b.shape, str(call.op), call.span), a.dtype)


def _never(call, *tensors):
    raise AssertionError("toy operators are only interpreted")


def _register() -> None:
    """Add the toy operators to the operator table."""

    def toy(name, infer, reference, fuse, inputs=1, **attrs):
        compute = {
            1: lambda call, a: _never(call, a),
            2: lambda call, a, b: _never(call, a, b),
            None: lambda call, *tensors: _never(call, *tensors),
        }[inputs]
        operator(name, infer=infer, reference=reference, fuse=fuse, attrs=attrs, open_attrs=tuple(attrs))(
            compute
        )

    same = lambda call, a: a  # noqa: E731
    toy("test.add", _broadcast_type, lambda c, a, b: a + b, Fuse.BROADCAST, 2)
    toy("test.multiply", _broadcast_type, lambda c, a, b: a * b, Fuse.BROADCAST, 2)
    toy("test.relu", same, lambda c, a: np.maximum(a, 0), Fuse.ELEMWISE)
    toy("test.scale", same, lambda c, a: (a * c["factor"]).astype(a.dtype), Fuse.ELEMWISE, factor=2.0)
    toy("test.flip", same, lambda c, a: a[::-1].copy() if a.ndim else a, Fuse.INJECTIVE)
    toy(
        "test.sum",
        lambda c, a: TensorType(a.shape[:-1] + (1,) if a.ndim else (), a.dtype),
        lambda c, a: a.sum(axis=-1, keepdims=True).astype(a.dtype) if a.ndim else a,
        Fuse.COMM_REDUCE,
    )
    toy(
        "test.dense",
        lambda c, a, b: TensorType((a.shape[0], b.shape[0]), a.dtype),
        lambda c, a, b: a @ b.T,
        Fuse.OUT_ELEMWISE_FUSABLE,
        2,
    )
    toy("test.opaque", same, lambda c, a: a.copy(), Fuse.OPAQUE)
    toy("test.split", lambda c, a: TupleType((a, a)), lambda c, a: (a + 1, a - 1), Fuse.INJECTIVE)
    toy(
        "test.concatenate",
        lambda c, *t: TensorType(
            (sum((x.shape[0] for x in t[1:]), t[0].shape[0]), *t[0].shape[1:]), t[0].dtype
        ),
        lambda c, *a: np.concatenate(a),
        Fuse.INJECTIVE,
        None,
        axis=0,
    )
    toy("test.attrs", same, lambda c, a: a, Fuse.ELEMWISE, value=None, other="x")


@pytest.fixture
def toys():
    """Register the operators ``test.*`` during a test."""
    operators.names()  # loads the operators that techniques add; they stay registered
    before = dict(operators.OPERATORS)
    _register()
    yield
    operators.OPERATORS.clear()
    operators.OPERATORS.update(before)


def make_random_graph(seed: int, nodes: int = 30, shape=(2, 3), params: int = 2) -> Module:
    """Return a graph of toy operators over float32 tensors: diamonds, tuples, constants, several outputs."""
    rng = random.Random(seed)
    data = np.random.default_rng(seed)
    inputs: list[Var] = [var(f"x{i}", shape) for i in range(params)]
    values: list[Expr] = list(inputs)
    literal = [s if isinstance(s, int) else 1 for s in shape]

    def pick() -> Expr:
        return rng.choice(values[-6:]) if rng.random() < 0.7 else rng.choice(values)

    for _ in range(nodes):
        kind = rng.randrange(9)
        if kind == 0:
            small = constant(data.standard_normal(rng.choice([(), (1,), tuple(literal)])).astype("float32"))
            values.append(make("test.add", pick(), small))
        elif kind == 1:
            values.append(make("test.multiply", pick(), constant(np.float32(rng.choice([0.5, 1.0, -1.0])))))
        elif kind == 2:
            values.append(make("test.add", pick(), make("test.sum", pick())))
        elif kind == 3:
            values.append(TupleGetItem(make("test.split", pick()), rng.randrange(2)))
        elif kind == 4:
            parts = make("test.concatenate", Tuple((pick(), pick())))
            values.append(make("test.add", pick(), make("test.sum", make("test.flip", pick()))))
            values.insert(0, TupleGetItem(Tuple((values[-1], parts)), 0))
        elif kind == 5:
            values.append(make("test.opaque", pick()))
        elif kind == 6:
            values.append(make("test.add", pick(), pick()))
        else:
            values.append(make(rng.choice(["test.relu", "test.scale", "test.flip"]), pick()))
    outputs = (values[-1], *(pick() for _ in range(rng.randrange(3))))
    body = outputs[0] if len(outputs) == 1 else Tuple(outputs)
    return Module({"main": Function(tuple(inputs), body)})


@pytest.fixture
def random_graph():
    return make_random_graph


@pytest.fixture
def arguments():
    return make_arguments
