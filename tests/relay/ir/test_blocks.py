import numpy as np

from tvmlite.relay.ir.blocks import Block, Repeat, Run, order
from tvmlite.relay.ir.nodes import (
    Call,
    Expr,
    Function,
    If,
    LetDims,
    Loop,
    Tuple,
    TupleGetItem,
    Var,
    constant,
    var,
)
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType, dim

x, flag = var("x", (2, 3)), var("flag", (), "bool")
index = Var("turn", TensorType((), "int64"))
state = Var("state", TensorType((2, 3), "float32"))
going = constant(True, "bool")


def ordered(result: Expr) -> Block:
    body = Tuple((going, result))
    return order(Function((flag, x), TupleGetItem(Loop(index, (state,), 3, None, (x,), body), 0)))


def operators(block: Block) -> list[object]:
    return [step.call.op if isinstance(step, Run) else type(step).__name__ for step in block.steps]


def inside(block: Block) -> Block:
    return next(step.body for step in block.steps if isinstance(step, Repeat))


def test_loop_invariants_are_computed_before_the_loop() -> None:
    root = ordered(make("add", state, make("tanh", make("exp", x))))

    assert operators(root) == ["exp", "tanh", "Repeat"]
    assert operators(inside(root)) == ["add"]


def test_values_that_depend_on_the_iteration_stay_inside() -> None:
    turned = make("cast", index, dtype="float32")
    root = ordered(make("add", state, make("multiply", x, turned)))

    assert operators(root) == ["Repeat"]
    assert operators(inside(root)) == ["cast", "multiply", "add"]


def test_checks_stay_in_a_loop_that_may_have_no_iterations() -> None:
    n = dim("n")
    promised = make("assume", x, conditions=(n > 4,), message="too short", always=True)
    body = Tuple((going, make("add", state, make("exp", promised))))

    def turned(turns: object, condition: Expr | None = None) -> Block:
        loop = Loop(index, (state,), turns, condition, (x,), body)  # type: ignore[arg-type]
        return order(Function((flag, x), TupleGetItem(loop, 0)))

    for root in (turned(n), turned(0), turned(3, flag)):
        assert operators(root) == ["Repeat"]
        assert operators(inside(root)) == ["assume", "exp", "add"]
    for root in (turned(3), turned(3, going)):
        assert operators(root) == ["assume", "exp", "Repeat"]


def test_values_needed_only_by_a_branch_stay_in_it() -> None:
    root = ordered(make("add", state, If(make("less", index, constant(1, "int64")), make("exp", x), x)))

    assert operators(root) == ["Repeat"]
    assert operators(inside(root)) == ["less", "Branch", "add"]


def test_values_that_use_a_dimension_bound_in_the_loop_stay_inside() -> None:
    count = dim("count")
    zeros = make("full", constant(np.float32(0)), shape=(count,), dtype="float32")
    rows = LetDims((count,), make("add", index, constant(1, "int64")), make("sum", make("exp", zeros)))
    root = ordered(make("add", state, rows))

    assert operators(root) == ["Repeat"]
    assert {"full", "exp", "sum"} <= set(operators(inside(root)))


def test_values_are_hoisted_out_of_nested_loops_as_far_as_possible() -> None:
    inner = Var("inner", TensorType((2, 3), "float32"))
    turn = Var("inner_turn", TensorType((), "int64"))
    fixed, outer = make("exp", x), make("tanh", state)
    body = Tuple((going, make("add", make("add", inner, fixed), outer)))
    root = ordered(TupleGetItem(Loop(turn, (inner,), 2, None, (state,), body), 0))

    assert operators(root) == ["exp", "Repeat"]
    assert operators(inside(root)) == ["tanh", "Repeat"]
    assert isinstance(inside(root).steps[-1], Repeat)


def test_a_group_call_is_hoisted_only_if_its_operators_can_be() -> None:
    count, argument = dim("count"), var("argument", (2, 3))
    sized = Function((argument,), make("add", argument, make("shape_value", values=(count,))))
    group = Call(sized, (x,))
    rows = LetDims((count,), make("add", index, constant(1, "int64")), group)

    assert len(ordered(make("add", state, rows)).steps) == 1
