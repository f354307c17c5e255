"""Operators with a rule are replaced by other operators before all other passes, with the same results."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.node import postorder
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ops.written_out import RULES
from tvmlite.relay.passes.write_out import write_out


def operators_of(module: relay.Module) -> list[str]:
    return [str(one.op) for one in postorder(module.main.body) if isinstance(one, relay.Call)]


def test_an_operator_with_a_rule_is_replaced() -> None:
    x = relay.var("x", shape=("n", 3))
    module = relay.Module.from_expr(relay.add(relay.zeros_like(x), x))

    after = write_out(module)

    assert operators_of(after) == ["zeros", "add"]
    span = module.main.body.args[0].span
    assert [one.span for one in postorder(after.main.body) if getattr(one, "op", "") == "zeros"] == [span]


def test_a_module_without_such_operators_is_left_unchanged() -> None:
    data, weight = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    module = relay.Module.from_expr(relay.nn.conv2d(data, weight))

    assert write_out(module) is module


def test_a_convolution_of_another_layout_is_put_between_transposes() -> None:
    data, weight = relay.var("x", shape=(1, 8, 8, 3)), relay.var("w", shape=(3, 3, 3, 4))
    call = relay.nn.conv2d(data, weight, data_layout="NHWC", kernel_layout="HWIO")

    after = write_out(relay.Module.from_expr(call))

    assert operators_of(after) == ["transpose", "transpose", "nn.conv2d", "transpose"]
    assert str(relay.type_of(after.main.body)) == str(relay.type_of(call))


def test_error_about_the_number_of_axes_names_the_call() -> None:
    call = relay.make("nn.max_pool2d", relay.var("x", shape=(1, 8, 3)), layout="NHWC")

    with pytest.raises(TypeError, match=r"^nn.max_pool2d: data has 3 axes, expected 4, as its layout has"):
        relay.type_of(call)


def test_a_projection_of_several_results_becomes_that_result() -> None:
    x = relay.var("x", shape=(4, 6))
    moments = relay.make("mean_variance", x, axis=(1,))
    module = relay.Module.from_expr(relay.TupleGetItem(moments, 1))
    value = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)

    after = write_out(module)

    assert not [one for one in postorder(after.main.body) if isinstance(one, relay.TupleGetItem)]
    np.testing.assert_allclose(interpret(after.main, [value]), value.var(axis=1), rtol=1e-5)


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("level", [0, 3])
def test_rewritten_models_compile_for_each_target_and_level(target: str, level: int) -> None:
    x, w = relay.var("x", shape=("n", 6, 5, 3)), relay.var("w", shape=(3, 3, 3, 4))
    made = relay.nn.conv2d(x, w, padding=1, data_layout="NHWC", kernel_layout="HWIO")
    made = relay.nn.max_pool2d(relay.nn.relu(made), (2, 2), (2, 2), layout="NHWC")
    made = relay.nn.batch_flatten(relay.add(made, relay.ones_like(made)))
    module = relay.Module.from_expr(relay.Function([x, w], made))
    rng = np.random.default_rng(1)
    values = [rng.standard_normal(s).astype(np.float32) for s in ((2, 6, 5, 3), (3, 3, 3, 4))]

    lib = tvmlite.compile(module, target=target, opt_level=level)

    np.testing.assert_allclose(lib(*values), interpret(module, values), rtol=1e-4, atol=1e-5)


def test_operators_composed_of_others_have_a_rule() -> None:
    assert {"zeros_like", "nn.batch_flatten", "nn.upsampling", "einsum", "variance"} <= set(RULES)


def test_a_reshape_to_a_quotient_is_checked_at_run_time() -> None:
    x = relay.var("x", shape=("n", 6))
    module = relay.Module.from_expr(relay.reshape(x, (-1, 4)))

    assert operators_of(write_out(module)) == ["reshape", "assume_shape", "reshape"]
    lib = tvmlite.compile(module)
    value = np.arange(12, dtype=np.float32)
    np.testing.assert_array_equal(lib(value.reshape(2, 6)), value.reshape(3, 4))
    with pytest.raises(tvmlite.TvmliteError, match=r"the extents n \* 6 and .* must be equal \(n is 3\)"):
        lib(np.zeros((3, 6), np.float32))


def test_a_reshape_known_to_fit_is_left_unchanged() -> None:
    module = relay.Module.from_expr(relay.reshape(relay.var("x", shape=("n", 6)), (-1, 3)))

    assert write_out(module) is module
