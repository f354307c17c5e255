import numpy as np
import pytest

from tvmlite import relay
from tvmlite.core.alike import alike
from tvmlite.core.errors import TvmliteError

x = relay.var("x", shape=(1, 3, "h", "w"))


def test_operators_are_available_as_functions() -> None:
    w = relay.var("w", shape=(8, 3, 3, 3))
    call = relay.nn.conv2d(x, w, strides=(2, 2), padding=[1, 1, 1, 1])

    assert alike(call, relay.make("nn.conv2d", x, w, strides=(2, 2), padding=(1, 1, 1, 1)))
    assert alike(relay.add(lhs=x, rhs=x), relay.make("add", x, x))
    assert relay.nn.relu.__doc__
    assert relay.nn.relu is relay.nn.relu


def test_attributes_may_be_given_by_position() -> None:
    assert alike(relay.clip(x, 0.0, 6.0), relay.make("clip", x, a_min=0.0, a_max=6.0))
    assert alike(relay.reshape(x, (1, -1)), relay.make("reshape", x, newshape=(1, -1)))


def test_an_operator_on_a_tuple_takes_a_list() -> None:
    expected = relay.make("concatenate", relay.Tuple((x, x)), axis=1)

    assert alike(relay.concatenate([x, x], axis=1), expected)
    assert alike(relay.concatenate(relay.Tuple([x, x]), 1), expected)


def test_results_of_a_multi_output_operator_are_indexed_and_unpacked() -> None:
    parts = relay.split(x, 3, axis=1)

    assert alike(parts[1], relay.TupleGetItem(parts, 1))
    assert parts["axis"] == 1
    first, second, last = parts
    assert [one.index for one in (first, second, last)] == [0, 1, 2]
    assert (len(parts), parts[-1].index) == (3, 2)


def test_errors_point_at_the_callers_line() -> None:
    with pytest.raises(
        TvmliteError, match=r"(?s)add: argument 1 is a float, expected.*test_builders.py.*relay.const"
    ):
        relay.add(x, 1.0)
    with pytest.raises(TvmliteError, match=r"nn\.relu: takes at most 1 arguments, 2 given"):
        relay.nn.relu(x, x)
    with pytest.raises(TvmliteError, match="clip: 'a_min' is given twice"):
        relay.clip(x, 0.0, a_min=1.0)
    with pytest.raises(TvmliteError, match="add: takes 2 arguments, 1 given"):
        relay.add(x)
    with pytest.raises(TvmliteError, match="clip: attribute 'a_max' must be given"):
        relay.clip(x, 0.0)
    with pytest.raises(AttributeError, match="no attribute 'nothing', nor has the operator table"):
        relay.nothing  # noqa: B018
    with pytest.raises(AttributeError, match=r"relay has no operator 'nn\.nothing'"):
        relay.nn.nothing  # noqa: B018


def test_python_constants_get_tvms_default_dtypes() -> None:
    assert relay.const(1.5).data.dtype == "float32"
    assert relay.const(1).data.dtype == "int32"
    assert relay.const(True).data.dtype == "bool"
    assert relay.const([1, 2]).data.dtype == "int32"
    assert relay.const(np.float64(1)).data.dtype == "float64"
    assert relay.const(1, "int8").data.dtype == "int8"


def test_lists_are_accepted_and_modules_are_made_from_expressions() -> None:
    body = relay.add(x, x)
    function = relay.Function([x], body)

    assert function.params == (x,)
    assert alike(relay.IRModule.from_expr(body), relay.Module.from_expr(function))
    v = relay.var("v", shape=(1, 3, "h", "w"))
    assert relay.Module.from_expr(relay.Let(v, x, v)).main.params == (x,)


def test_operator_names_are_listed_by_dir() -> None:
    assert {"add", "nn", "parse", "frontend"} <= set(dir(relay))
    assert "conv2d" in dir(relay.nn)
    assert repr(relay.nn) == "<the relay operators nn.*>"
