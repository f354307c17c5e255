"""Groups that differ only in numbers share a kernel, which takes the numbers as arguments."""

import numpy as np
import pytest

from tvmlite.core.alike import alike
from tvmlite.driver import compile
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple, Var, canonical, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes.fusion.share_kernels import share_kernels

rng = np.random.default_rng(0)
x, y = var("x", (4, 6)), var("y", (4, 6))


def group(body: Expr, *params: Var) -> Function:
    return Function(params, body, canonical({"Primitive": 1}))


def scaled(value: Expr, factor: float, added: float) -> Call:
    """Return a separate group applied to ``value``, which multiplies by ``factor`` and adds ``added``."""
    p = var("p0", (4, 6))
    body = make("add", make("multiply", p, constant(factor, "float32")), constant(added, "float32"))
    return Call(group(body, p), (value,))


def after(body: Expr) -> Expr:
    """Return the body after the pass, and check that it is well formed and bit-exact with the one before."""
    before = Module({"main": Function((x, y), body)})
    made = share_kernels(before)
    verify(made)
    data = [rng.standard_normal((4, 6)).astype("float32") for _ in range(2)]
    results = zip(interpret(made, data), interpret(before, data), strict=True)
    for result, expected in results:
        np.testing.assert_array_equal(result, expected)
    return made.main.body if made is not before else body


def test_only_the_number_that_differs_becomes_a_parameter() -> None:
    p, number = var("p0", (4, 6)), var("p1", ())
    one = group(make("add", make("multiply", p, number), constant(1.0, "float32")), p, number)
    expected = Tuple((Call(one, (x, constant(0.5, "float32"))), Call(one, (y, constant(0.25, "float32")))))

    assert alike(after(Tuple((scaled(x, 0.5, 1.0), scaled(y, 0.25, 1.0)))), expected)


@pytest.mark.parametrize("numbers", [(0.5, 0.5), (0.5,)], ids=["alike", "alone"])
def test_groups_with_equal_numbers_are_left_unchanged(numbers) -> None:
    body = Tuple(tuple(scaled(value, number, 1.0) for value, number in zip((x, y), numbers, strict=False)))

    assert after(body) is body


def test_numbers_that_operators_inspect_stay_constants() -> None:
    def clipped(value: Expr, limit: float) -> Call:
        p = var("p0", (4, 6))
        return Call(group(make("power", p, constant(limit, "float32")), p), (value,))

    body = Tuple((clipped(make("abs", x), 2.0), clipped(make("abs", y), 3.0)))

    assert after(body) is body


def test_different_scales_and_zero_points_become_parameters() -> None:
    def quantized(value: Expr, scale: float, zero: int) -> Call:
        p = var("p0", (4, 6))
        point = constant(zero, "int8")
        return Call(group(make("qnn.quantize", p, constant(scale, "float32"), point), p), (value,))

    made = after(Tuple((quantized(x, 0.5, 3), quantized(y, 0.25, -7))))

    assert isinstance(made, Tuple)
    first, second = made.fields
    assert isinstance(first, Call)
    assert isinstance(second, Call)
    assert len(first.args) == 3
    assert alike(first.op, second.op)


def test_integers_used_as_indices_stay_constants() -> None:
    def moved(value: Expr, places: int) -> Call:
        p = var("p0", (4, 6))
        body = make("take", p, make("add", constant(places, "int64"), constant(1, "int64")), axis=0)
        return Call(group(body, p), (value,))

    body = Tuple((moved(x, 0), moved(y, 1)))

    assert after(body) is body


def test_a_number_used_twice_becomes_one_parameter() -> None:
    def twice(value: Expr, factor: float) -> Call:
        p, number = var("p0", (4, 6)), constant(factor, "float32")
        return Call(group(make("add", make("multiply", p, number), number), p), (value,))

    made = after(Tuple((twice(x, 0.5), twice(y, 0.25))))

    assert isinstance(made, Tuple)
    assert [len(call.args) for call in made.fields if isinstance(call, Call)] == [2, 2]


def test_zeros_of_different_signs_are_different_numbers() -> None:
    made = after(Tuple((scaled(x, 0.0, 1.0), scaled(y, -0.0, 1.0))))

    assert isinstance(made, Tuple)
    assert [len(call.args) for call in made.fields if isinstance(call, Call)] == [2, 2]


def test_layers_that_differ_only_in_scales_are_compiled_once() -> None:
    value: Expr = x
    for scale in (0.5, 0.3, 0.7):
        total = make("sum", make("multiply", value, constant(scale, "float32")), axis=(1,), keepdims=True)
        value = make("divide", value, total)
    module = Module({"main": Function((x,), value)})
    data = np.abs(rng.standard_normal((4, 6))).astype("float32") + 1

    lib = compile(module)

    assert len([name for name in lib.kernel_names if "multiply" in name]) == 1
    np.testing.assert_allclose(lib(data), interpret(module, [data]), rtol=1e-5)
