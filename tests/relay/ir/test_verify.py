import pytest

from tvmlite.core.errors import TypeInferError, UnsupportedError, VerifyError
from tvmlite.relay.ir.nodes import Call, Function, If, Let, Module, Tuple, canonical, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.verify import verify

pytestmark = pytest.mark.usefixtures("toys")

x, y = var("x", (2, 3)), var("y", (2, 3))
primitive = canonical({"Primitive": 1})


def check(body, *params, **functions) -> None:
    verify(Module({"main": Function(params or (x,), body), **functions}))


@pytest.mark.parametrize("seed", range(5))
def test_random_graphs_are_well_formed(random_graph, seed: int) -> None:
    verify(random_graph(seed))


def test_variables_must_be_bound_where_they_are_used() -> None:
    check(Let(y, make("exp", x), make("add", x, y)))
    with pytest.raises(VerifyError, match="variable %y is not bound where it is used"):
        check(make("add", x, y))
    with pytest.raises(VerifyError, match="variable %y is not bound"):
        check(Tuple((Let(y, x, y), y)))
    with pytest.raises(VerifyError, match="variable %x is not bound"):
        check(Call(Function((y,), make("add", x, y)), (x,)))


def test_a_variable_may_be_bound_only_once() -> None:
    with pytest.raises(VerifyError, match="variable %x is bound twice"):
        check(x, x, x)
    with pytest.raises(VerifyError, match="variable %y is bound twice"):
        check(Tuple((Let(y, x, y), Let(y, make("exp", x), y))))


def test_attributes_of_calls_are_checked_against_the_operator() -> None:
    with pytest.raises(VerifyError, match="clip: attribute 'a_max' is missing"):
        check(Call("clip", (x,), canonical({"a_min": 0.0})))
    with pytest.raises(VerifyError, match="exp: attribute 'axis' is unknown"):
        check(Call("exp", (x,), canonical({"axis": 0})))
    with pytest.raises(VerifyError, match="clip: attributes are not sorted by name"):
        check(Call("clip", (x,), (("a_min", 0.0), ("a_max", 1.0))))
    with pytest.raises(UnsupportedError, match="operator 'nothing' is not in the table"):
        check(Call("nothing", (x,)))
    with pytest.raises(VerifyError, match="a call of a function has attributes"):
        check(Call(Function((), constant(1)), (), (("a", 1),)))


def test_a_fused_group_may_hold_operator_calls_only() -> None:
    check(Call(Function((y,), make("exp", y), primitive), (x,)))
    flag = constant(True)
    with pytest.raises(VerifyError, match="a fused group holds a If"):
        check(Call(Function((y,), If(flag, y, y), primitive), (x,)))
    inner = Call(Function((z := var("z", (2, 3)),), z), (y,))
    with pytest.raises(VerifyError, match="a fused group holds a Call"):
        check(Call(Function((y,), inner, primitive), (x,)))


def test_types_are_checked_and_a_main_is_required() -> None:
    with pytest.raises(TypeInferError):
        check(make("add", x, constant([1.0, 2.0], "float32")))
    with pytest.raises(VerifyError, match="a module needs a 'main'; this one has f"):
        verify(Module({"f": Function((), constant(1))}))


def test_a_deep_graph_needs_no_deep_stack() -> None:
    value = x
    for _ in range(10_000):
        value = make("exp", value)

    check(value)
