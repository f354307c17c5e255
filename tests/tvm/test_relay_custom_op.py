"""User-defined operators: ``relay.op.op.register`` and its companions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import ConfigError, TypeInferError, UnsupportedError
from tvmlite.relay.ir.op import OPERATORS
from tvmlite.tvm import relay, te
from tvmlite.tvm.relay.op import op

X = relay.var("x", shape=(2, 3))
ARRAY = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def twice() -> Iterator[Any]:
    """``twice``: the sum of its argument and itself, times ``attrs.times``."""
    op.register("twice", "x + x")
    made = op.get("twice")
    made.add_argument("data", "Tensor", "What is doubled.")
    made.set_attrs_type_key("DictAttrs")
    made.set_support_level(10)
    yield made
    del OPERATORS["twice"]


def doubled(attrs: Any, inputs: list[Any], out_type: Any) -> list[Any]:
    (x,) = inputs
    return [te.compute(out_type.shape, lambda *i: (x[i] + x[i]) * attrs.times, name="twice")]


def call(times: float = 1.0) -> Any:
    return relay.Call(op.get("twice"), [X], {"times": times})


@pytest.mark.parametrize("kind", ["debug", "graph"])
@pytest.mark.parametrize("pattern", [op.OpPattern.ELEMWISE, op.OpPattern.OPAQUE])
def test_a_user_defined_operator_is_typed_fused_and_run(twice: Any, kind: str, pattern: int) -> None:
    twice.add_type_rel("Identity")
    op.register_compute("twice", doubled)
    op.register_pattern("twice", pattern)
    op.register_injective_schedule("twice")
    op.register_stateful("twice", False)
    expr = relay.exp(call(3.0)) + X

    found = relay.create_executor(kind).evaluate(relay.Function([X], expr))(ARRAY).numpy()

    np.testing.assert_allclose(found, np.exp(ARRAY * 6) + ARRAY, rtol=1e-5)
    assert (twice.num_inputs, twice.arguments) == (1, ("data",))
    assert (twice.get_attr("TOpPattern"), twice.get_attr("TOpIsStateful")) == (pattern, False)


def test_a_type_relation_may_be_a_function(twice: Any) -> None:
    twice.add_type_rel("wider", lambda types, attrs: relay.TensorType((7, *types[0].shape), attrs.dtype))

    made = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Call(twice, [X], {"dtype": "int8"})))

    assert made["main"].ret_type == relay.TensorType((7, 2, 3), "int8")


def test_missing_parts_of_an_operator_are_named(twice: Any) -> None:
    with pytest.raises(TypeInferError, match="twice: it has no type relation"):
        _ = call().checked_type
    twice.add_type_rel("Identity")
    with pytest.raises(UnsupportedError, match="twice has no compute"):
        relay.create_executor("debug").evaluate(relay.Function([X], call()))(ARRAY)
    with pytest.raises(ConfigError, match="'Other' is no relation known here; expected one of Identity"):
        twice.add_type_rel("Other")
    with pytest.raises(ConfigError, match="'twice' is an operator already"):
        op.register("twice")
    with pytest.raises(UnsupportedError, match="twice has side effects"):
        op.register_stateful("twice", True)
    with pytest.raises(UnsupportedError, match="register_pattern of exp, an operator of the table"):
        op.register_pattern("exp", 1)


def test_a_type_relation_gets_attributes_and_its_error_is_reported(twice: Any) -> None:
    def relation(arg_types: Any, attrs: Any) -> Any:
        assert isinstance(attrs, tvm.ir.DictAttrs)
        if attrs.get_int("times") > 3:
            raise RuntimeError("too often")
        return arg_types[0]

    twice.add_type_rel("Twice", relation)

    assert call(2.0).checked_type == X.type
    with pytest.raises(tvm.TVMError, match="RuntimeError: too often"):
        _ = call(4.0).checked_type


def test_a_failed_assertion_in_a_type_relation_is_an_assertion_error(twice: Any) -> None:
    def relation(arg_types: Any, attrs: Any) -> Any:
        assert len(arg_types) == 2, "two are wanted"

    twice.add_type_rel("Two", relation)

    for kind in (AssertionError, tvm.TVMError):
        with pytest.raises(kind, match="two are wanted"):
            _ = call().checked_type
