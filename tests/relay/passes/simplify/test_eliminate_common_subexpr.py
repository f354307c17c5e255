import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import Call, Function, Module, Tuple, TupleGetItem, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import dim
from tvmlite.relay.passes.simplify.eliminate_common_subexpr import eliminate_common_subexpr

pytestmark = pytest.mark.usefixtures("toys")

x = var("x", (2, "h"))


def calls(module: Module) -> int:
    return sum(isinstance(n, Call) for n in postorder(module.main.body))


def unified(body) -> Module:
    return eliminate_common_subexpr(Module({"main": Function((x,), body)}))


def test_equal_calls_are_merged() -> None:
    one, two = (
        make("exp", make("add", x, constant(np.float32(1)))),
        make("exp", make("add", x, constant(np.float32(1)))),
    )
    module = unified(make("multiply", one, two))

    assert calls(module) == 3
    assert module.main.body.args[0] is module.main.body.args[1]


def test_attributes_are_compared_by_value() -> None:
    h = dim("h")

    def both(a, b) -> int:
        return calls(unified(Tuple((make("reshape", x, newshape=a), make("reshape", x, newshape=b)))))

    assert both((h * 2,), (h * 2,)) == 1
    assert both((h * 2,), (-1,)) == 2


def test_equal_numbers_of_different_types_are_not_merged() -> None:
    def clip(low):
        return make("clip", x, a_min=low, a_max=2.0)

    assert calls(unified(Tuple((clip(0), clip(0.0), clip(-0.0), clip(False))))) == 4
    one, whole = constant(np.float32(1)), constant(np.int32(1))
    assert unified(Tuple((one, whole))).main.body.fields == (one, whole)


def test_projections_of_equal_tuples_are_merged() -> None:
    first, second = make("split", x, indices_or_sections=2), make("split", x, indices_or_sections=2)
    module = unified(Tuple((TupleGetItem(first, 0), TupleGetItem(second, 0))))

    assert module.main.body.fields[0] is module.main.body.fields[1]


def test_a_module_without_common_subexpressions_is_left_unchanged() -> None:
    module = Module({"main": Function((x,), make("add", make("exp", x), make("log", x)))})

    assert eliminate_common_subexpr(module) is module


@pytest.mark.parametrize("seed", range(10))
def test_results_are_unchanged(random_graph, assert_same_meaning, seed: int) -> None:
    module = random_graph(seed, nodes=40)

    assert_same_meaning(module, eliminate_common_subexpr(module))
