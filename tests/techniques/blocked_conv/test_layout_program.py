"""With kernel costs given, the chosen layouts make the whole graph cheapest."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, Var, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.decisions import Decisions
from tvmlite.relay.passes.simplify.fold_constant import fold_constant
from tvmlite.techniques.blocked_conv.alter_op_layout import alter_op_layout

rng = np.random.default_rng(0)
wide = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")
x = var("x", (1, 8, 6, 6))


def conv(value: Expr, outputs: int, groups: int = 1) -> Expr:
    inputs = tensor_type_of(value).shape[1]
    assert isinstance(inputs, int)
    weight = constant(rng.standard_normal((outputs, inputs // groups, 3, 3)).astype("float32") / 9)
    return make("nn.conv2d", value, weight, padding=1, groups=groups)


def chain() -> Expr:
    return make("nn.softmax", conv(conv(conv(x, 16), 24), 8), axis=1)


def branches() -> Expr:
    a = make("nn.relu", conv(x, 16))
    b = make("nn.max_pool2d", conv(a, 16), pool_size=(3, 3), padding=1)
    return make("nn.softmax", make("add", conv(conv(a, 24), 16), b), axis=1)


def depthwise() -> Expr:
    a = conv(make("nn.relu", conv(x, 20)), 16)
    b = make("clip", conv(a, 16, groups=16), a_min=0.0, a_max=6.0)
    return make("nn.global_avg_pool2d", conv(make("nn.softmax", b, axis=1), 12))


NETWORKS = {"chain": chain, "branches": branches, "depthwise": depthwise}


def cost_of(call: Call, seed: int) -> float:
    """An artificial cost in seconds from what determines the kernel of ``call``; 0 for element-wise ones."""
    operator = str(call.op)
    if not operator.startswith("nn.") or operator in ("nn.relu", "nn.softmax"):
        if operator != "layout_transform":
            return 0.0
    attrs = dict(call.attrs)
    layouts = [
        attrs.get(name) for name in ("src_layout", "dst_layout", "data_layout", "out_layout", "layout")
    ]
    channels = math.prod(int(d) for d in tensor_type_of(call).shape)  # type: ignore[arg-type]
    size = 0 if operator == "layout_transform" else channels
    digest = hashlib.sha256(repr((seed, operator.split("_")[-1], size, layouts)).encode()).hexdigest()
    return 1.0 + int(digest[:4], 16) / 4096


def made_up(seed: int) -> Callable[[Function], float]:
    def cost(group: Function) -> float:
        assert all(isinstance(param, Var) for param in group.params)
        return sum(cost_of(node, seed) for node in postorder(group.body) if isinstance(node, Call))

    return cost


def total(module: Module, seed: int) -> float:
    """The cost of all kernels of a graph with folded constants."""
    return sum(cost_of(node, seed) for node in postorder(module.main.body) if isinstance(node, Call))


def altered(module: Module, table: Decisions) -> Module:
    return fold_constant(alter_op_layout(wide, table)(module))


def least(module: Module, asked: Mapping[str, tuple[str, ...]], seed: int) -> float:
    """The least cost of all assignments, found by trying each."""
    return min(
        total(altered(module, Decisions(dict(zip(asked, taken, strict=True)))), seed)
        for taken in itertools.product(*asked.values())
    )


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("seed", range(6))
def test_no_assignment_of_layouts_is_cheaper(name: str, seed: int) -> None:
    module = Module({"main": Function((x,), NETWORKS[name]())})
    table = Decisions(cost=made_up(seed))

    made = altered(module, table)

    assert total(made, seed) == pytest.approx(
        least(module, {one.name: one.alternatives for one in table.asked.values()}, seed)
    )
    data = [rng.standard_normal((1, 8, 6, 6)).astype("float32")]
    got, expected = (np.asarray(interpret(one, data)) for one in (made, module))
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_given_decisions_override_costs() -> None:
    module = Module({"main": Function((x,), chain())})
    names = dict.fromkeys(_asked(module), "plain")

    made = altered(module, Decisions(names, made_up(0)))

    assert str(made) == str(altered(module, Decisions(names)))
    assert "NCHW8c" not in str(made)


def test_with_unknown_costs_the_default_rule_applies() -> None:
    module = Module({"main": Function((x,), branches())})

    made = altered(module, Decisions(cost=lambda group: math.inf))

    assert str(made) == str(fold_constant(alter_op_layout(wide)(module)))


def test_kernels_to_estimate_have_weights_as_parameters() -> None:
    module = Module({"main": Function((x,), branches())})
    seen: list[Function] = []

    def cost(group: Function) -> float:
        seen.append(group)
        return 1.0

    altered(module, Decisions(cost=cost))

    assert seen
    for group in seen:
        assert not any(isinstance(node, Constant) for node in postorder(group.body))
        data = [rng.standard_normal(param.type.shape).astype("float32") for param in group.params]  # type: ignore[union-attr]
        assert np.isfinite(np.asarray(interpret(Module({"main": group}), data))).all()


def _asked(module: Module) -> list[str]:
    table = Decisions()
    altered(module, table)
    return list(table.asked)
