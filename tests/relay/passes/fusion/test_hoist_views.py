"""Reshapes at the edges of groups become views, which need neither a kernel nor memory."""

import numpy as np
import pytest

from tvmlite.core.alike import alike
from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.relay.entry.memory import plan, slots_of
from tvmlite.relay.ir.blocks import order
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple, Var, canonical, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes import pipeline
from tvmlite.relay.passes.fusion.hoist_views import hoist_views

rng = np.random.default_rng(0)
x = var("x", (4, 6))


def group(param: Var, body: Expr) -> Function:
    return Function((param,), body, canonical({"Primitive": 1}))


def reshape(value: Expr, *shape) -> Call:
    return make("reshape", value, newshape=shape, allowzero=True)


def body_of(body: Expr, *params: Var) -> Expr:
    """Return the body after the pass, and check that it is well formed with the same results."""
    before = Module({"main": Function(params or (x,), body)})
    after = hoist_views(before)
    verify(after)
    data = [rng.standard_normal((4, 6)).astype("float32") for _ in after.main.params]
    np.testing.assert_array_equal(interpret(after, data), interpret(before, data))
    return after.main.body


def test_reshapes_at_both_edges_leave_the_group() -> None:
    p, q = var("p0", (4, 6)), var("p0", (24,))
    before = Call(group(p, reshape(make("exp", reshape(p, 24)), 2, 12)), (x,))
    expected = reshape(Call(group(q, make("exp", q)), (reshape(x, 24),)), 2, 12)

    assert alike(body_of(before), expected)


def test_a_group_of_reshapes_only_is_removed() -> None:
    p = var("p0", (4, 6))
    made = body_of(Call(group(p, make("expand_dims", reshape(p, 24), axis=0)), (x,)))

    assert [node.op for node in postorder(made) if isinstance(node, Call)] == ["reshape", "expand_dims"]
    assert slots_of(made)[0] == (x, 0)


def test_a_parameter_read_in_two_shapes_is_two_parameters() -> None:
    p = var("p0", (4, 6))
    total = make("sum", make("exp", reshape(p, 3, 8)), keepdims=True, axis=(0, 1))
    made = body_of(Call(group(p, make("add", p, total)), (x,)))

    assert isinstance(made, Call)
    assert len(made.args) == 2
    assert {slots_of(a)[0] for a in made.args} == {(x, 0)}


def test_a_group_without_reshapes_at_its_edges_is_left_unchanged() -> None:
    p = var("p0", (4, 6))
    inside = make("transpose", reshape(make("exp", p), 3, 8), axes=(1, 0))
    module = Module({"main": Function((x,), Call(group(p, inside), (x,)))})

    assert hoist_views(module) is module


def test_views_need_no_kernel_and_no_memory() -> None:
    def opaque(value: Expr) -> Expr:
        return make("nn.softmax", value)

    body = opaque(reshape(opaque(reshape(opaque(x), 2, 12)), 4, 6))
    module = pipeline(3).run(Module({"main": Function((x,), body)}))
    lib = compile(Module({"main": Function((x,), body)}))
    data = rng.standard_normal((4, 6)).astype("float32")

    assert plan(order(module.main), slots_of(module.main.body)).size == 2 * 128
    assert len(lib.report.rows) == 2
    np.testing.assert_allclose(lib(data), interpret(module, [data]), rtol=1e-5)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_views_of_inputs_constants_and_outputs_are_valid_outputs(levels: int) -> None:
    y = var("y", ("n", 6))
    made = make("exp", y)
    fields = (
        reshape(y, -1),
        reshape(constant(np.arange(6.0)), 2, 3),
        made,
        reshape(made, -1, 3),
        reshape(y, -1),
    )
    module = Module({"main": Function((y,), Tuple(fields))})
    data = rng.standard_normal((3, 6)).astype("float32")

    for got, want in zip(compile(module, opt_level=levels)(data), interpret(module, [data]), strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-6)
