"""Dimensions computed at run time: typed, printed, checked, interpreted."""

import numpy as np
import pytest

from tvmlite.core.alike import alike
from tvmlite.core.errors import ExecutionError, TypeInferError, VerifyError
from tvmlite.relay.ir.blocks import Bind, Run, order
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Expr, Function, If, LetDims, Module, Tuple, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import dim, show_type
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.text.parser import parse

n, m = dim("n"), dim("m")
x = var("x", ("h", 3))
flag = var("flag", (), "bool")


def where(data: Expr = x) -> LetDims:
    return LetDims((n,), make("count_nonzero", data), make("argwhere", data, count=n))


def module(body: Expr, *params) -> Module:
    return Module({"main": Function(params or (x,), body)})


def test_a_result_has_the_extent_computed_at_run_time() -> None:
    assert show_type(type_of(where())) == "Tensor[(n, 2), int64]"

    got = interpret(module(where()), [np.array([[0, 1, 0], [2, 0, 3]], "float32")])

    np.testing.assert_array_equal(got, [[0, 1], [1, 0], [1, 2]])


def test_printed_text_is_parsed_back() -> None:
    for body in (where(), make("exp", make("cast", where(), dtype="float32")), Tuple((where(), x))):
        text = module(body).astext()

        assert "let dims (n) = %" in text
        assert alike(parse(text), module(body))
        assert parse(text).astext() == text


def test_values_of_dimensions_must_be_int64() -> None:
    with pytest.raises(TypeInferError, match=r"n, m stand for Tensor\[\(1,\), int64\], expected int64 and 2"):
        type_of(LetDims((n, m), make("count_nonzero", x), x))


def test_a_negative_extent_stops_the_run() -> None:
    body = LetDims((n,), var("size", (), "int64"), make("zeros", shape=(n,)))

    with pytest.raises(ExecutionError, match="the extent n must not be negative"):
        interpret(module(body, body.value), [np.int64(-1)])


def test_dimensions_are_used_only_where_they_are_bound() -> None:
    verify(module(where()))
    outside = make("zeros", shape=(n,))
    with pytest.raises(VerifyError, match="dimension n is used where it is not bound"):
        verify(module(Tuple((where(), outside))))
    with pytest.raises(VerifyError, match="dimension n is bound twice"):
        verify(module(Tuple((where(), where()))))
    one = LetDims((m,), make("count_nonzero", x), make("argwhere", x, count=m))
    with pytest.raises(VerifyError, match="dimension m leaves the block that binds it"):
        verify(module(If(flag, one, make("copy", one)), flag, x))


def test_dimensions_are_bound_before_steps_that_use_them() -> None:
    count, found = where().value, make("argwhere", x, count=n)
    filled = make("zeros", shape=(n,))
    root = order(Function((x,), LetDims((n,), count, Tuple((filled, found)))))

    kinds = [type(step) for step in root.steps]

    assert kinds == [Run, Bind, Run, Run]
    assert [s.call for s in root.steps if isinstance(s, Run)] == [count, filled, found]


def test_values_shared_by_two_branches_are_computed_before_them() -> None:
    shared = make("exp", x)
    only = make("tanh", x)
    body = If(flag, make("add", shared, constant(np.float32(1))), make("multiply", shared, only))
    root = order(Function((flag, x), body))

    assert [type(step).__name__ for step in root.steps] == ["Run", "Branch"]
    branch = root.steps[1]
    assert [len(branch.then.steps), len(branch.otherwise.steps)] == [1, 2]  # type: ignore[union-attr]
