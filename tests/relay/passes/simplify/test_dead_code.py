import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Expr, Function, If, Let, Module, Tuple, TupleGetItem, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.simplify.dead_code import dead_code

pytestmark = pytest.mark.usefixtures("toys")

x, v, u = var("x", (2, 3)), var("v", (2, 3)), var("u", (2, 3))
flag = var("flag", (), "bool")


def cleaned(body: Expr) -> Expr:
    return dead_code(Module({"main": Function((flag, x), body)})).main.body


def test_an_unused_let_is_removed_with_its_value() -> None:
    assert cleaned(Let(v, make("exp", x), x)) is x


def test_a_let_becomes_a_shared_node() -> None:
    value = make("exp", x)
    body = cleaned(Let(v, value, Let(u, make("add", v, v), make("add", u, v))))

    assert body.args[1] is value
    assert body.args[0].args == (value, value)


def test_projections_of_known_tuples_are_resolved() -> None:
    assert cleaned(TupleGetItem(Tuple((x, make("exp", x))), 0)) is x
    assert cleaned(Let(v, TupleGetItem(Tuple((make("exp", x), x)), 1), v)) is x
    assert cleaned(TupleGetItem(TupleGetItem(Tuple((Tuple((x, flag)), x)), 0), 1)) is flag


def test_an_if_with_equal_branches_is_removed() -> None:
    assert cleaned(If(flag, x, x)) is x
    assert cleaned(If(flag, Let(v, x, v), x)) is x


def test_unused_parameters_are_kept() -> None:
    module = dead_code(Module({"main": Function((flag, x), Let(v, x, v))}))

    assert module.main.params == (flag, x)


def test_results_of_branches_are_unchanged() -> None:
    body = Let(v, make("exp", x), If(flag, Let(u, make("add", v, v), u), make("negative", v)))
    before = Module({"main": Function((flag, x), body)})
    after = dead_code(before)
    data = np.ones((2, 3), "float32")

    assert not any(isinstance(n, Let) for n in postorder(after.main.body))
    for choice in (True, False):
        np.testing.assert_array_equal(interpret(after, [choice, data]), interpret(before, [choice, data]))


def test_a_graph_without_lets_is_left_unchanged(random_graph) -> None:
    module = Module({"main": Function((flag, x), If(flag, make("exp", x), x))})

    assert dead_code(module) is module


@pytest.mark.parametrize("seed", range(10))
def test_results_are_unchanged(random_graph, assert_same_meaning, seed: int) -> None:
    module = random_graph(seed, nodes=40)

    assert_same_meaning(module, dead_code(module))


def test_a_long_chain_of_lets_needs_no_deep_stack() -> None:
    variables = [var(f"v{i}", (2, 3)) for i in range(5000)]
    body: Expr = variables[-1]
    for index in reversed(range(5000)):
        body = Let(variables[index], make("exp", variables[index - 1] if index else x), body)

    assert sum(1 for _ in postorder(cleaned(body))) == 5001
