import numpy as np

from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import (
    Constant,
    Expr,
    Function,
    LetDims,
    Loop,
    Module,
    Tuple,
    TupleGetItem,
    Var,
    constant,
    var,
)
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType, dim
from tvmlite.relay.passes.simplify.simplify_loops import simplify_loops

x = var("x", (2, 3))
weight = constant(np.arange(9, dtype="float32").reshape(3, 3))
index = Var("turn", TensorType((), "int64"))
going = constant(True, "bool")


def state(name: str, shape: tuple[int, ...] = (2, 3), dtype: str = "float32") -> Var:
    return Var(name, TensorType(shape, dtype))


def field(value: Expr, k: int) -> Expr:
    return TupleGetItem(value, k)


def simplified(body: Expr) -> Expr:
    return simplify_loops(module(body)).main.body


def module(body: Expr) -> Module:
    return Module({"main": Function((x,), body)})


def loops(body: Expr) -> list[Loop]:
    return [node for node in postorder(body) if isinstance(node, Loop)]


def test_an_unchanged_state_is_replaced_by_its_initial_value(assert_same_meaning) -> None:
    moving, staying = state("moving"), state("staying", (3, 3))
    body = Tuple((going, make("nn.dense", moving, staying), staying))
    before = module(field(Loop(index, (moving, staying), 3, None, (x, weight), body), 0))
    after = simplify_loops(before)

    (loop,) = loops(after.main.body)
    assert loop.states == (moving,)
    assert loop.body.fields[1].args == (moving, weight)
    assert_same_meaning(before, after)


def test_the_final_value_of_an_unchanged_state_is_its_initial_value() -> None:
    moving, staying = state("moving"), state("staying", (3, 3))
    body = Tuple((going, make("nn.dense", moving, staying), staying))
    loop = Loop(index, (moving, staying), 3, None, (x, weight), body)
    after = simplified(Tuple((field(loop, 0), field(loop, 1), field(loop, 2))))

    assert after.fields[1] is weight
    assert after.fields[2].index == 1  # the number of iterations, after the only state


def test_unused_states_and_rows_are_removed(assert_same_meaning) -> None:
    moving, unread = state("moving"), state("unread")
    body = Tuple((going, make("exp", moving), make("add", moving, unread), make("tanh", moving), moving))
    before = module(field(Loop(index, (moving, unread), 2, None, (x, x), body), 3))
    after = simplify_loops(before)

    (loop,) = loops(after.main.body)
    assert loop.states == (moving,)
    assert loop.body.fields[2:] == (moving,)
    assert_same_meaning(before, after)


def test_states_that_the_condition_needs_are_kept(assert_same_meaning) -> None:
    count, limit, costly = state("count", (), "int32"), state("limit", (), "int32"), state("costly")
    counted = make("add", count, constant(1, "int32"))
    body = Tuple((make("less", counted, limit), counted, limit, make("exp", costly)))
    initial = (constant(0, "int32"), constant(5, "int32"), x)
    before = module(field(Loop(index, (count, limit, costly), 99, going, initial, body), 3))
    after = simplify_loops(before)

    (loop,) = loops(after.main.body)
    assert loop.states == (count,)
    assert isinstance(loop.body.fields[0].args[1], Constant)
    assert_same_meaning(before, after)


def test_states_needed_by_other_states_or_bindings_are_kept() -> None:
    first, second, sized = state("first"), state("second"), state("sized", (), "int64")
    fields = Tuple((going, second, make("exp", second), make("add", sized, index)))
    body = LetDims((dim("found"),), sized, fields)
    before = module(field(Loop(index, (first, second, sized), 2, None, (x, x, index_of(4)), body), 0))

    assert simplify_loops(before) is before


def index_of(value: int) -> Expr:
    return constant(value, "int64")


def test_the_condition_of_a_counted_loop_is_not_computed() -> None:
    moving = state("moving")
    truth = make("greater", make("sum", moving), constant(np.float32(0)))
    after = simplified(field(Loop(index, (moving,), 2, None, (x,), Tuple((truth, make("exp", moving)))), 0))

    assert isinstance(loops(after)[0].body.fields[0], Constant)


def test_loops_without_unused_parts_are_left_unchanged() -> None:
    moving = state("moving")
    before = module(field(Loop(index, (moving,), 2, None, (x,), Tuple((going, make("exp", moving)))), 0))
    whole = module(Loop(index, (moving,), 2, None, (x,), Tuple((going, moving))))

    assert simplify_loops(before) is before
    assert simplify_loops(whole) is whole
