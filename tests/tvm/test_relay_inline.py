"""Inlining of functions of a module, and passes over functions local to another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.tvm import relay
from tvmlite.tvm.relay import transform
from tvmlite.tvm.relay.testing import run_opt_pass


def vector(name: str) -> Any:
    return relay.var(name, shape=(3,))


def marked(function: Any, **attrs: object) -> Any:
    return function.with_attr("Inline", 1).with_attr(attrs) if attrs else function.with_attr("Inline", 1)


def names(mod: Any) -> set[str]:
    return {var.name_hint for var in mod.get_global_vars()}


def module(body: Callable[..., Any], **functions: Any) -> Any:
    """A module of ``functions`` and a ``main``; ``body`` makes its body from its variable and their names."""
    mod, x = tvm.IRModule(), vector("x")
    called = {name: relay.GlobalVar(name) for name in functions}
    for name, one in functions.items():
        mod[called[name]] = one(**called) if callable(one) and not isinstance(one, relay.Function) else one
    mod["main"] = relay.Function([x], body(x, **called))
    return mod


def same(found: Any, expected: Any) -> None:
    tvm.ir.assert_structural_equal(found, expected, map_free_vars=True)


def test_nested_calls_are_inlined_and_unused_functions_removed() -> None:
    p, q = vector("p"), vector("q")
    mod = module(
        lambda x, outer, **_: outer(x),
        inner=marked(relay.Function([p], relay.exp(p))),
        outer=lambda inner, **_: marked(relay.Function([q], inner(q) + q)),
    )

    same(transform.Inline()(mod), module(lambda x: relay.exp(x) + x))


def test_a_function_used_as_a_value_replaces_its_name() -> None:
    one, two = (marked(relay.Function([], relay.const(number))) for number in (1, 2))
    flag = relay.var("flag", shape=(), dtype="bool")
    mod = tvm.IRModule()
    first, second = relay.GlobalVar("first"), relay.GlobalVar("second")
    mod[first], mod[second] = one, two
    mod["main"] = relay.Function([flag], relay.Call(relay.If(flag, first, second), []))

    found = transform.Inline()(mod)

    assert names(found) == {"main"}
    same(found["main"], relay.Function([flag], relay.Call(relay.If(flag, one, two), [])))


def test_a_function_for_another_compiler_is_inlined_as_a_whole() -> None:
    p = vector("p")
    theirs = marked(relay.Function([p], relay.exp(p)), Compiler="other")

    found = transform.Inline()(module(lambda x, f: x + f(x), f=theirs))

    same(found, module(lambda x: x + relay.Call(theirs, [x])))


def test_a_recursive_function_is_kept_and_its_callees_inlined() -> None:
    p, i = relay.var("p", shape=(), dtype="int32"), relay.var("i", shape=(), dtype="int32")
    mod = tvm.IRModule()
    total, same_one = relay.GlobalVar("total"), relay.GlobalVar("same_one")
    mod[same_one] = marked(relay.Function([p], p))
    zero, one = relay.const(0, "int32"), relay.const(1, "int32")
    step = relay.If(relay.equal(i, zero), i, same_one(i) + total(i - one))
    mod[total] = marked(relay.Function([i], step, relay.TensorType((), "int32")))
    mod["main"] = relay.Function([p], total(p))

    found = transform.Inline()(mod)

    assert names(found) == {"main", "total"}
    assert str(found["main"]) == str(mod["main"])
    assert relay.create_executor("debug", mod=found).evaluate()(4).numpy() == 10


def test_a_function_never_called_is_kept() -> None:
    p = vector("p")

    assert names(transform.Inline()(module(lambda x, f: x, f=marked(relay.Function([p], p))))) == {
        "main",
        "f",
    }


def test_each_inlined_copy_has_its_own_variables() -> None:
    p, bound = vector("p"), relay.var("bound")
    helper = marked(relay.Function([p], relay.Let(bound, relay.exp(p), bound + bound)))
    mod = module(lambda x, f: f(x) + f(f(relay.negative(x))), f=helper)
    data = np.array([0.0, 0.5, 1.0], np.float32)
    expected = 2 * np.exp(data) + 2 * np.exp(2 * np.exp(-data))

    for last in (transform.InferType(), transform.ToANormalForm(), transform.ToBasicBlockNormalForm()):
        found = last(transform.Inline()(mod))
        answer = relay.create_executor("debug", mod=found).evaluate()(data).numpy()
        np.testing.assert_allclose(answer, expected, rtol=1e-6)


def twice(body: Callable[[Any], Any]) -> Any:
    """A local function with ``body``, called on its own result."""
    x, p = vector("x"), vector("p")
    local = relay.Function([p], body(p))
    return relay.Function([x], relay.Call(local, [relay.Call(local, [x])]))


def let(value: Any, body: Callable[[Any], Any]) -> Any:
    bound = relay.var("bound")
    return relay.Let(bound, value, body(bound))


@pytest.mark.parametrize(
    ("one", "before", "after"),
    [
        (transform.SimplifyExpr, lambda p: p + p, lambda p: p * relay.const(2.0)),
        (
            transform.FoldConstant,
            lambda p: p + (relay.const(1.0) + relay.const(2.0)),
            lambda p: p + relay.const(3.0),
        ),
        (transform.FastMath, relay.exp, lambda p: relay.op.get("fast_exp")(p)),
        (transform.SimplifyInference, relay.nn.dropout, lambda p: p),
        (transform.CanonicalizeOps, lambda p: relay.nn.bias_add(p, p, axis=0), lambda p: p + p),
        (transform.DeadCodeElimination, lambda p: let(relay.exp(p), lambda _: p), lambda p: p),
        (transform.ToGraphNormalForm, lambda p: let(p, relay.exp), relay.exp),
    ],
)  # fmt: skip
def test_a_pass_rewrites_a_shared_local_function_once(one: Any, before: Any, after: Any) -> None:
    found = run_opt_pass(twice(before), one())

    same(run_opt_pass(found, transform.InferType()), run_opt_pass(twice(after), transform.InferType()))
    assert found.body.op is found.body.args[0].op


def test_equal_expressions_of_a_local_function_become_one() -> None:
    found = run_opt_pass(twice(lambda p: relay.exp(p) + relay.exp(p)), transform.EliminateCommonSubexpr())

    assert found.body.op is found.body.args[0].op
    assert found.body.op.body.args[0] is found.body.op.body.args[1]


def test_passes_do_not_change_fused_groups() -> None:
    fused = run_opt_pass(relay.Function([x := vector("x")], relay.exp(x)), transform.FuseOps())

    same(run_opt_pass(fused, transform.FastMath()), fused)
