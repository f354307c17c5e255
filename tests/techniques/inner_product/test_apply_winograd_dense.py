"""Winograd's inner product is used where its error is allowed and the processor gains, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite.core.errors import ConfigError
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.decisions import Decisions
from tvmlite.techniques.inner_product.apply_winograd_dense import apply_winograd_dense
from tvmlite.techniques.inner_product.operator import DENSE

WIDE = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")
OTHERS = ["-mcpu=icelake-server", "-mcpu=znver3", "-mcpu=sapphirerapids"]

rng = np.random.default_rng(0)


def weight_of(*shape: int, dtype: str = "float32") -> Expr:
    return constant(rng.standard_normal(shape).astype(dtype))


def network(
    rows: Any = 16, terms: int = 48, columns: int = 130, op: str = "nn.dense", **attrs: Any
) -> Module:
    x = var("x", (rows, terms))
    turned = op == "nn.matmul" and not attrs.get("transpose_b")
    weight = weight_of(terms, columns) if turned else weight_of(columns, terms)
    return Module({"main": Function((x,), make("nn.relu", make(op, x, weight, **attrs)))})


def operators(module: Module) -> list[Any]:
    return [node.op for node in postorder(module.main.body) if isinstance(node, Call)]


@pytest.mark.parametrize(
    "module",
    [network(), network(op="nn.matmul"), network(op="nn.matmul", transpose_b=True), network(terms=64)],
    ids=["dense", "matmul", "matmul, transposed", "turns of 16"],
)
def test_a_layer_with_enough_rows_and_columns_is_replaced(module: Module) -> None:
    made = apply_winograd_dense(WIDE, 1e-4)(module)

    assert operators(made) == [DENSE, "nn.relu"]
    data = rng.standard_normal((16, int(module.main.params[0].type.shape[1]))).astype("float32")  # type: ignore[union-attr]
    np.testing.assert_allclose(interpret(made, [data]), interpret(module, [data]), rtol=1e-4, atol=1e-4)


def open_weight() -> Module:
    x, w = var("x", (16, 48)), var("w", (130, 48))
    return Module({"main": Function((x, w), make("nn.dense", x, w))})


def of_dtype(dtype: str) -> Module:
    x = var("x", (16, 48), dtype)
    return Module({"main": Function((x,), make("nn.dense", x, weight_of(130, 48, dtype=dtype)))})


def infinite() -> Module:
    x, weight = var("x", (16, 48)), rng.standard_normal((130, 48)).astype("float32")
    weight[3, 5] = np.inf
    return Module({"main": Function((x,), make("nn.dense", x, constant(weight)))})


@pytest.mark.parametrize(
    "module",
    [
        network(rows=7),
        network(rows="n"),
        network(columns=127),
        network(terms=50),
        network(op="nn.matmul", rows=48, terms=48, transpose_a=True),
        open_weight(),
        of_dtype("float64"),
        of_dtype("float16"),
        infinite(),
    ],
    ids=["few rows", "open rows", "few columns", "50 terms", "data transposed", "open weight", "float64"]
    + ["float16", "infinite"],
)
def test_other_layers_are_the_same_object(module: Module) -> None:
    assert apply_winograd_dense(WIDE, 1.0)(module) is module


def test_a_bound_below_the_stated_error_leaves_the_same_object() -> None:
    module = network()

    assert apply_winograd_dense(WIDE, 1e-6)(module) is module
    assert apply_winograd_dense(WIDE, 0)(module) is module


@pytest.mark.parametrize("processor", OTHERS)
def test_processors_without_separate_adders_leave_the_same_object(processor: str) -> None:
    module = network()
    target = Target.parse(f"llvm -mtriple=x86_64-linux-gnu {processor}")

    assert apply_winograd_dense(target, 1e-4)(module) is module


def test_a_decision_can_choose_the_direct_product() -> None:
    module = network()
    asked = Decisions()
    apply_winograd_dense(WIDE, 1e-4, asked)(module)
    ((name, decision),) = asked.asked.items()

    made = apply_winograd_dense(WIDE, 1e-4, Decisions({name: "direct"}))(module)

    assert name.startswith("winograd nn.dense, (16, 130) #")
    assert (decision.alternatives, decision.default) == (("direct", "inner product"), "inner product")
    assert made is module


def test_the_pipeline_has_the_pass_only_with_an_error_bound() -> None:
    def names(bound: float) -> list[str]:
        return [one.__name__ for one in passes.pipeline(3, WIDE, error_bound=bound).passes]

    assert names(1e-4).index("apply_winograd_dense") < names(1e-4).index("pack_weights")
    assert "apply_winograd_dense" not in names(0)


@pytest.mark.parametrize("bound", [-1e-4, float("nan"), "small"])
def test_an_invalid_bound_is_refused(bound: Any) -> None:
    with pytest.raises(ConfigError, match=r"error_bound is .*, expected a relative error such as 1e-4, or 0"):
        apply_winograd_dense(WIDE, bound)
