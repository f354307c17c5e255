"""Lowering of a fused group to one kernel: parameters, dimensions, and results in the loop interpreter."""

import numpy as np
import pytest

from tvmlite.core.errors import ExecutionError
from tvmlite.machine.target import Target
from tvmlite.relay.entry.lower import anchor, constant_tensor, dimensions, lower_group
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Constant, Expr, Function, Tuple, TupleGetItem, Var, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TupleType
from tvmlite.te import create_schedule, lower
from tvmlite.te.loop.interpret import interpret as run_loops

native = Target.parse("native")
rng = np.random.default_rng(0)


def check(group: Function, arrays: list[np.ndarray], sizes: tuple[int, ...] = ()) -> None:
    """Check that the kernel of ``group`` computes on ``arrays`` what the numpy references do."""
    wanted = interpret(group, arrays)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    outputs = [np.full(w.shape, 7, w.dtype) for w in wanted]
    run_loops(lower_group(group, native, "kernel"), [*arrays, *outputs, *sizes])
    for got, want in zip(outputs, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def group(params: tuple[Var, ...], body: Expr) -> Function:
    return Function(params, body)


def floats(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype("float32")


def test_an_anchor_and_its_epilogue_form_one_kernel() -> None:
    x, w, b = var("x", (2, 3, 6, 6)), var("w", (4, 3, 3, 3)), var("b", (4,))
    conv = make("nn.conv2d", x, w, padding=(1, 1, 1, 1))
    one = group((x, w, b), make("nn.relu", make("nn.bias_add", conv, b)))

    assert anchor(one).name == "nn.conv2d"
    check(one, [floats(2, 3, 6, 6), floats(4, 3, 3, 3), floats(4)])


def test_the_kernel_checks_the_assumed_equality_of_extents() -> None:
    x, y = var("x", ("n", 3)), var("y", ("m", 3))
    (m,) = (d for d in y.type.shape if not isinstance(d, int))  # type: ignore[union-attr]
    one = group((x, y), make("add", make("assume_shape", make("exp", x), newshape=(m, 3)), y))

    check(one, [floats(4, 3), floats(4, 3)], (4, 4))
    with pytest.raises(ExecutionError, match="the extents n and m must be equal"):
        run_loops(lower_group(one, native, "k"), [floats(2, 3), floats(4, 3), floats(4, 3), 4, 2])


def test_dimensions_are_passed_in_alphabetical_order() -> None:
    x = var("x", ("w", "h"))
    one = group((x,), make("nn.relu", make("transpose", x, axes=(1, 0))))

    assert [d.name for d in dimensions(one)] == ["h", "w"]
    function = lower_group(one, native, "kernel")
    assert [p.name for p in function.params[-2:]] == ["h", "w"]
    check(one, [floats(5, 3)], (3, 5))


def test_a_dimension_may_occur_in_attributes_only() -> None:
    x = var("x", (1, 3))
    one = group((x,), make("broadcast_to", x, shape=(var("y", ("n",)).type.shape[0], 3)))

    assert [d.name for d in dimensions(one)] == ["n"]
    out = np.zeros((4, 3), "float32")
    data = floats(1, 3)
    run_loops(lower_group(one, native, "kernel"), [data, out, 4])
    np.testing.assert_array_equal(out, np.broadcast_to(data, (4, 3)))


def test_a_tuple_result_becomes_several_outputs() -> None:
    x = var("x", (4, 6))
    halves = make("split", x, indices_or_sections=2, axis=1)

    assert isinstance(type_of(halves), TupleType)
    check(group((x,), halves), [floats(4, 6)])
    relu = make("nn.relu", TupleGetItem(halves, 1))
    check(group((x,), Tuple((relu, TupleGetItem(halves, 0)))), [floats(4, 6)])


def test_repeated_outputs_and_inputs_as_outputs_are_copied() -> None:
    x = var("x", (3, 3))
    relu = make("nn.relu", x)

    check(group((x,), Tuple((relu, relu))), [floats(3, 3)])
    check(group((x,), Tuple((x, relu))), [floats(3, 3)])


@pytest.mark.parametrize(
    "data",
    [
        np.float32(2.5),
        np.array([1, -2, 3], "int64"),
        np.array([[True, False]]),
        np.arange(4.0).reshape(2, 1, 2),
    ],
    ids=str,
)
def test_small_constants_are_embedded_in_the_code(data: np.ndarray) -> None:
    tensor = constant_tensor(np.asarray(data))
    out = np.zeros(np.shape(data), np.asarray(data).dtype)

    run_loops(lower(create_schedule(tensor.op), [tensor]), [out])

    np.testing.assert_array_equal(out, data)


def test_constants_inside_a_group_are_lowered_with_it() -> None:
    x = var("x", (2, 3))
    half: Constant = constant(np.float32(0.5))

    check(group((x,), make("multiply", x, half)), [floats(2, 3)])
