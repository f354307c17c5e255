"""Every output is written by a separate call."""

import numpy as np
import pytest

import tvmlite
from tvmlite.core.errors import UnsupportedError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple, TupleGetItem, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.fusion.materialize_outputs import materialize_outputs

x = var("x", (2, 4))


def run(body: Expr) -> Module:
    before = Module({"main": Function((x,), body)})
    after = materialize_outputs(before)
    data = np.random.default_rng(0).standard_normal((2, 4)).astype("float32")
    wanted, got = interpret(before, [data]), interpret(after, [data])
    several = isinstance(wanted, (tuple, list))
    for a, b in zip(wanted, got, strict=True) if several else [(wanted, got)]:
        np.testing.assert_array_equal(a, b)
    return after


def test_parameters_and_constants_as_outputs_are_copied() -> None:
    one = constant(np.ones((2, 4), "float32"))
    relu = make("nn.relu", x)

    fields = run(Tuple((x, relu, one))).main.body.fields

    assert [f.op for f in fields] == ["copy", "nn.relu", "copy"]
    assert [fields[0].args[0], fields[1], fields[2].args[0]] == [x, relu, one]


def test_views_of_parameters_and_of_other_outputs_are_copied() -> None:
    relu = make("nn.relu", x)
    turned = make("reshape", relu, newshape=(8,))

    fields = run(
        Tuple((make("squeeze", make("expand_dims", x, axis=0), axis=(0,)), relu, turned))
    ).main.body.fields

    assert [f.op for f in fields] == ["copy", "nn.relu", "copy"]
    assert fields[2].args[0] is turned


def test_a_repeated_output_is_copied() -> None:
    relu = make("nn.relu", x)

    fields = run(Tuple((relu, relu))).main.body.fields

    assert fields[0] is relu
    assert isinstance(fields[1], Call)
    assert (fields[1].op, fields[1].args) == ("copy", (relu,))


def test_an_input_returned_as_the_result_is_copied() -> None:
    assert run(x).main.body.op == "copy"


def test_outputs_that_are_distinct_calls_are_left_unchanged() -> None:
    halves = make("split", x, indices_or_sections=2, axis=1)
    bodies = [
        make("nn.relu", x),
        halves,
        Tuple((make("nn.relu", x), make("negative", x))),
        Tuple((TupleGetItem(halves, 0), TupleGetItem(halves, 1))),
    ]
    for body in bodies:
        module = Module({"main": Function((x,), body)})
        assert materialize_outputs(module) is module


def test_a_repeated_projection_is_copied() -> None:
    halves = make("split", x, indices_or_sections=2, axis=1)

    fields = run(Tuple((TupleGetItem(halves, 0), TupleGetItem(halves, 0)))).main.body.fields

    assert isinstance(fields[0], TupleGetItem)
    assert fields[1].op == "copy"


def test_outputs_in_nested_tuples_are_copied() -> None:
    relu, halves = make("nn.relu", x), make("split", x, indices_or_sections=2, axis=1)
    before = Tuple((relu, Tuple((x, Tuple((relu,)))), halves, halves))
    module = Module({"main": Function((x,), before)})

    fields = materialize_outputs(module).main.body.fields

    assert fields[0] is relu
    assert fields[1].fields[0].op == "copy"
    assert fields[1].fields[1].fields[0].args == (relu,)
    assert fields[2] is halves
    assert [part.op for part in fields[3].fields] == ["copy", "copy"]
    fresh = Module({"main": Function((x,), Tuple((relu, Tuple((make("negative", x),)), halves)))})
    assert materialize_outputs(fresh) is fresh


def test_compiling_a_nested_tuple_result_is_refused() -> None:
    module = Module({"main": Function((x,), Tuple((make("nn.relu", x), Tuple((make("negative", x),)))))})

    with pytest.raises(UnsupportedError, match=r"a value is of type \(Tensor.*, which is not compiled"):
        tvmlite.compile(module)
