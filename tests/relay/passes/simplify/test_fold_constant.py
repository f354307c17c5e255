import dataclasses

import numpy as np
import pytest

from tvmlite.core.errors import ExecutionError
from tvmlite.relay.ir import op
from tvmlite.relay.ir.deferred import LARGE_BYTES, DeferredConstant
from tvmlite.relay.ir.nodes import Call, Constant, Function, If, Module, Tuple, TupleGetItem, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import dim
from tvmlite.relay.passes.simplify.fold_constant import fold_constant

pytestmark = pytest.mark.usefixtures("toys")

x = var("x", (2, 3))
ones = constant(np.ones((2, 3), "float32"))


def folded(body, *params):
    return fold_constant(Module({"main": Function(params or (x,), body)})).main.body


def test_calls_on_constants_become_constants() -> None:
    body = folded(make("add", x, make("exp", make("multiply", ones, constant(np.float32(2))))))

    assert isinstance(body, Call)
    assert isinstance(body.args[1], Constant)
    np.testing.assert_allclose(body.args[1].data, np.exp(np.full((2, 3), 2, "float32")))


def test_a_scalar_stays_a_scalar() -> None:
    body = folded(make("add", constant(np.float32(1)), constant(np.float32(2))))

    assert isinstance(body, Constant)
    assert body.data.shape == ()


def test_calls_with_tuples_are_folded() -> None:
    assert isinstance(folded(make("concatenate", Tuple((ones, ones)), axis=0)), Constant)
    body = folded(TupleGetItem(make("split", ones, indices_or_sections=3, axis=1), 1))
    assert isinstance(body, Constant)
    assert body.data.shape == (2, 1)
    assert body.data.flags.c_contiguous


def test_an_if_on_a_constant_is_resolved() -> None:
    assert folded(If(constant(True), x, make("exp", x))) is x
    assert folded(If(constant(False), make("exp", x), x)) is x


def test_a_static_shape_becomes_a_constant() -> None:
    body = folded(make("shape_of", make("exp", x), dtype="int64"))

    assert isinstance(body, Constant)
    assert body.data.tolist() == [2, 3]
    assert body.data.dtype == "int64"


@pytest.mark.parametrize(
    "body",
    [
        make("exp", x),
        make("broadcast_to", constant(np.float32(1)), shape=(1024, 1024)),
        make("zeros", shape=(1024, 1024), dtype="float32"),
        make("broadcast_to", constant(np.float32(1)), shape=(dim("h"), 2)),
        make("shape_of", var("s", ("h",)), dtype="int64"),
    ],
)
def test_unknown_and_too_large_results_are_left_unchanged(body) -> None:
    module = Module({"main": Function((x,), body)})

    assert fold_constant(module) is module


def test_a_rearranged_large_constant_is_deferred() -> None:
    data = np.arange(2 * LARGE_BYTES // 4, dtype="float32").reshape(2, -1)
    body = folded(make("negative", make("transpose", constant(data), axes=(1, 0))))

    assert isinstance(body, DeferredConstant)
    np.testing.assert_array_equal(body.data, -data.T)


def test_large_results_of_arithmetic_are_computed_immediately() -> None:
    data = constant(np.ones(LARGE_BYTES, "float32"))
    body = folded(make("add", data, data))

    assert type(body) is Constant


def test_large_weights_are_folded() -> None:
    weights = make("transpose", make("broadcast_to", constant(np.float32(1)), shape=(3, 200_000)))
    body = folded(make("nn.dense", x, weights))

    assert isinstance(body, Call)
    assert isinstance(body.args[1], Constant)
    assert body.args[1].data.shape == (200_000, 3)


def test_weights_computed_by_many_operators_are_folded() -> None:
    weights = make("broadcast_to", constant(np.float32(1)), shape=(3, 200_000))
    for _ in range(40):  # each reads the previous one twice: evaluation must be linear
        weights = make("subtract", make("add", weights, weights), weights)
    body = folded(make("nn.dense", x, make("transpose", weights)))

    assert isinstance(body, Call)
    assert isinstance(body.args[1], Constant)
    np.testing.assert_array_equal(body.args[1].data, np.ones((200_000, 3), "float32"))


def test_large_weights_that_depend_on_inputs_are_left_unchanged() -> None:
    large = make("broadcast_to", constant(np.float32(1)), shape=(3, 200_000))
    module = Module(
        {
            "main": Function(
                (x,), make("nn.dense", x, make("transpose", make("add", large, var("w", (1, 200_000)))))
            )
        }
    )

    assert fold_constant(module) is module


def test_an_error_in_the_data_is_left_to_run_time(monkeypatch) -> None:
    def refuses(call, data):
        raise ExecutionError("an index is out of range")

    row = dataclasses.replace(op.OPERATORS["test.opaque"], reference=refuses)
    monkeypatch.setitem(op.OPERATORS, "test.opaque", row)
    module = Module({"main": Function((x,), make("test.opaque", ones))})

    assert fold_constant(module) is module


@pytest.mark.parametrize("seed", range(10))
def test_results_are_unchanged(random_graph, assert_same_meaning, seed: int) -> None:
    module = random_graph(seed, nodes=40)

    assert_same_meaning(module, fold_constant(module))
