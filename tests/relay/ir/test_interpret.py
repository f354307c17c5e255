import numpy as np
import pytest

from tvmlite.core.errors import InputError, VerifyError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Function, If, Let, Module, Tuple, TupleGetItem, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.text.parser import parse

pytestmark = pytest.mark.usefixtures("toys")

x = var("x", (2, "h"))
array = np.arange(6, dtype="float32").reshape(2, 3) - 2


def test_a_graph_is_evaluated_with_its_dimensions_bound() -> None:
    body = make("test.add", make("test.relu", x), constant(np.float32(1)))

    np.testing.assert_array_equal(
        interpret(Module({"main": Function((x,), body)}), [array]), np.maximum(array, 0) + 1
    )
    assert interpret(Function((x,), body), {"x": array[:, :1]}).shape == (2, 1)


def test_tuples_are_evaluated_to_tuples() -> None:
    pair = make("test.split", x)
    value = interpret(Function((x,), Tuple((pair, TupleGetItem(pair, 1)))), [array])

    np.testing.assert_array_equal(value[0][0], array + 1)
    np.testing.assert_array_equal(value[1], array - 1)


def test_only_the_branch_taken_is_evaluated() -> None:
    def fails(call, a):
        raise AssertionError("evaluated")

    flag = var("flag", (), "bool")
    trap = Call("test.attrs", (x,), (("other", "x"), ("value", None)))
    from tvmlite.relay.ir import op

    row = op.OPERATORS["test.attrs"]
    op.OPERATORS["test.attrs"] = type(row)(**{**vars(row), "reference": fails})
    try:
        function = Function((flag, x), If(flag, x, trap))
        np.testing.assert_array_equal(interpret(function, [np.bool_(True), array]), array)
        with pytest.raises(AssertionError, match="evaluated"):
            interpret(function, [np.bool_(False), array])
    finally:
        op.OPERATORS["test.attrs"] = row


def test_a_let_binds_its_value_before_the_body() -> None:
    v = var("v", (2, "h"))

    np.testing.assert_array_equal(
        interpret(Function((x,), Let(v, make("test.scale", x), make("test.add", v, v))), [array]), array * 4
    )


def test_nested_function_calls_bind_parameters_separately() -> None:
    p = var("p", (2, "k"))
    double = Function((p,), make("test.add", p, p))
    once = Call(double, (x,))

    np.testing.assert_array_equal(interpret(Function((x,), Call(double, (once,))), [array]), array * 4)


def test_symbolic_attributes_are_evaluated_for_the_reference() -> None:
    from tvmlite.relay.ir.types import dim

    call = make("test.scale", x, factor=dim("h") + 1)

    np.testing.assert_array_equal(interpret(Function((x,), call), [array]), array * 4)


@pytest.mark.parametrize("m", [0, 3])
def test_reshape_copies_an_extent_for_a_literal_zero_only(m: int) -> None:
    data = np.arange(8 * m, dtype="float32").reshape(4, m, 2)
    copied = parse("def @main(%x: Tensor[(n, m, 2), float32]) { reshape(%x, newshape=[0, m * 2]) }")
    computed = parse("def @main(%x: Tensor[(4, m, 2), float32]) { reshape(%x, newshape=[m * 8]) }")

    np.testing.assert_array_equal(interpret(copied, [data]), data.reshape(4, m * 2))
    np.testing.assert_array_equal(interpret(computed, [data]), data.reshape(m * 8))


def test_errors_name_the_wrong_argument() -> None:
    function = Function((x,), x)
    with pytest.raises(InputError, match="input 'x': dtype is float64, expected float32"):
        interpret(function, [array.astype("float64")])
    with pytest.raises(InputError, match=r"x: shape is \(3,\), expected \(2, h\)"):
        interpret(function, [array[0]])
    with pytest.raises(InputError, match="x: an extent is 1, expected 2"):
        interpret(function, [array[:1]])
    with pytest.raises(InputError, match="0 arguments given, 1 expected: x"):
        interpret(function, [])
    with pytest.raises(InputError, match="input 'x' is missing; the inputs are x"):
        interpret(function, {})
    with pytest.raises(InputError, match="input 'y' is unknown"):
        interpret(function, {"x": array, "y": array})


def test_error_names_a_free_variable() -> None:
    with pytest.raises(VerifyError, match="variable %x is not bound here"):
        interpret(Function((), make("test.relu", x)), [])


def test_a_deep_graph_needs_no_deep_stack() -> None:
    value = x
    for _ in range(10_000):
        value = make("test.relu", value)

    np.testing.assert_array_equal(interpret(Function((x,), value), [array]), np.maximum(array, 0))
