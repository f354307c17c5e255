import gc
import weakref

import pytest

from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir.infer import infer, type_of
from tvmlite.relay.ir.nodes import Call, Function, If, Let, Module, Tuple, TupleGetItem, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType, TupleType, dim, show_type

pytestmark = pytest.mark.usefixtures("toys")

h, w = dim("h"), dim("w")
x = var("x", (1, "h"))
y = var("y", (4, 1))


def test_named_dimensions_are_broadcast() -> None:
    assert show_type(type_of(make("test.add", x, y))) == "Tensor[(4, h), float32]"


def test_types_of_tuples_and_projections() -> None:
    pair = make("test.split", x)

    assert isinstance(type_of(pair), TupleType)
    assert show_type(type_of(TupleGetItem(pair, 1))) == "Tensor[(1, h), float32]"
    assert show_type(type_of(make("test.concatenate", Tuple((y, y))))) == "Tensor[(8, 1), float32]"


def test_a_projection_out_of_range_is_an_error() -> None:
    with pytest.raises(TypeInferError, match="field 2 of a tuple of 2"):
        type_of(TupleGetItem(make("test.split", x), 2))
    with pytest.raises(TypeInferError, match=r"field 0 of Tensor\[\(1, h\), float32\], which is no tuple"):
        type_of(TupleGetItem(x, 0))


def test_different_named_dimensions_do_not_broadcast() -> None:
    call = make("test.add", x, var("z", (1, "w")))

    with pytest.raises(TypeInferError, match=r"(?s)\(1, h\) and \(1, w\).*test_infer.py:\d+: call = make"):
        type_of(call)


def test_the_declared_type_of_a_let_is_checked() -> None:
    v = var("v", (1, "h"))

    assert (
        show_type(type_of(Let(v, make("test.relu", x), make("test.add", v, v)))) == "Tensor[(1, h), float32]"
    )
    with pytest.raises(TypeInferError, match=r"let %v: declared Tensor\[\(1, h\), float32\], its value is"):
        type_of(Let(v, y, v))


def test_branches_of_an_if_must_have_the_same_type() -> None:
    flag = var("flag", (), "bool")

    assert show_type(type_of(If(flag, x, make("test.relu", x)))) == "Tensor[(1, h), float32]"
    with pytest.raises(TypeInferError, match="one branch is"):
        type_of(If(flag, x, y))
    with pytest.raises(TypeInferError, match="expected a bool"):
        type_of(If(x, x, x))


def test_a_callees_named_dimensions_are_bound_to_the_callers() -> None:
    p = var("p", ("n", "m"))
    callee = Function((p,), make("test.concatenate", Tuple((p, p))))

    assert show_type(type_of(Call(callee, (x,)))) == "Tensor[(2, h), float32]"
    with pytest.raises(TypeInferError, match=r"parameter %p is Tensor\[\(n, m\), float32\], given"):
        type_of(Call(callee, (var("q", (2, 3, 4)),)))
    square = Function((s := var("s", ("n", "n")),), s)
    with pytest.raises(TypeInferError, match="parameter %s"):
        type_of(Call(square, (x,)))


def test_number_and_kind_of_arguments_are_checked() -> None:
    with pytest.raises(TypeInferError, match="takes 2 arguments, 1 given"):
        type_of(Call("test.add", (x,)))
    with pytest.raises(TypeInferError, match="takes one tuple"):
        type_of(Call("test.concatenate", (x,)))
    with pytest.raises(TypeInferError, match=r"argument 0 is \(.*expected a tensor"):
        type_of(Call("test.relu", (Tuple((x, y)),)))
    with pytest.raises(TypeInferError, match="0 arguments"):
        type_of(Call(Function((x,), x), ()))


def test_negative_and_too_large_extents_are_errors() -> None:
    with pytest.raises(TypeInferError, match=r"variable %n: shape \(2, -1\) has the negative extent -1"):
        type_of(var("n", (2, -1)))
    with pytest.raises(TypeInferError, match="beyond any memory"):
        type_of(var("n", (2**40, 2**40)))


def test_equal_dimension_expressions_are_recognized() -> None:
    parts = make("test.concatenate", Tuple((var("a", ("h", 2)), var("b", ("h", 2)))))

    assert isinstance(type_of(parts), TensorType)
    type_of(make("test.add", parts, var("c", (h * 2, 2))))


def test_a_deep_graph_needs_no_deep_stack() -> None:
    value = x
    for _ in range(10_000):
        value = make("test.relu", value)

    assert show_type(type_of(value)) == "Tensor[(1, h), float32]"


def test_type_cache_does_not_keep_graphs_alive() -> None:
    call = make("test.relu", constant([1.0], "float32"))
    type_of(Function((), call))
    gone = weakref.ref(call)

    del call
    gc.collect()

    assert gone() is None


def test_every_function_of_a_module_is_checked() -> None:
    module = Module({"main": Function((x,), x), "other": Function((), TupleGetItem(Tuple(()), 0))})

    with pytest.raises(TypeInferError, match="field 0 of a tuple of 0"):
        infer(module)
