"""TVM's relay nodes on top of our own: constructors, fields, types, visitors."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite import te
from tvmlite.core.errors import TvmliteError, TypeInferError, UnsupportedError
from tvmlite.relay.ir import nodes
from tvmlite.tvm import relay
from tvmlite.tvm.relay.testing import run_infer_type


def small() -> relay.Function:
    """A dense layer whose weights have no type yet."""
    data = relay.var("data", shape=(4, 8))
    body = relay.nn.dense(data, relay.var("weight"), units=3)
    return relay.Function(relay.analysis.free_vars(body), relay.nn.relu(body))


def test_a_call_has_the_fields_of_tvm() -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(3,))
    call = relay.nn.softmax(x + y, axis=0)

    assert call.op.name == "nn.softmax"
    assert call.op == relay.op.get("nn.softmax")
    assert isinstance(call.op, tvm.ir.Op)
    assert call.attrs.axis == call.attrs["axis"] == 0
    assert call.attrs.keys() == ["axis"]
    assert [arg.op.name for arg in call.args] == ["add"]
    assert type(call) is relay.Call
    assert isinstance(call, nodes.Call)


def test_attributes_of_functions_may_be_given_in_several_ways() -> None:
    x = relay.var("x", shape=(2,))
    made = relay.Function([x], x, attrs=tvm.ir.make_node("DictAttrs", level=3))

    assert made.attrs.level == 3
    assert made.with_attr({"Primitive": 1, "name": "g"}).attrs.keys() == ["Primitive", "level", "name"]
    assert made.without_attr("level").attrs.keys() == []
    assert (tvm._ffi.base.TVMError, tvm._ffi.register_func) == (TvmliteError, tvm.register_func)


def test_error_of_a_missing_attribute_lists_the_known_ones() -> None:
    call = relay.nn.softmax(relay.var("x", shape=(2, 3)))

    with pytest.raises(AttributeError, match="no attribute 'axes'; there are axis"):
        call.attrs.axes  # noqa: B018


def test_a_constant_holds_an_ndarray() -> None:
    one = relay.const([1.5, 2.5])

    assert isinstance(one.data, tvm.nd.NDArray)
    assert one.data.numpy().tolist() == [1.5, 2.5]
    assert str(one.data.dtype) == "float32"


def test_types_are_compared_by_structure_and_dimensions_by_name() -> None:
    n = te.var("n")
    x = relay.var("x", shape=(n, 4))
    joined = run_infer_type(relay.concatenate([x, x], axis=0))

    assert joined.checked_type == relay.TensorType((n + n, 4))
    assert run_infer_type(relay.zeros((n, 2), "int8")).checked_type == relay.TensorType((n, 2), "int8")
    assert joined.checked_type != relay.TensorType((n, 4))
    assert relay.TupleType([relay.scalar_type("int8")]) == relay.TupleType([relay.TensorType((), "int8")])
    assert relay.FuncType([relay.TensorType((2,))], relay.TensorType((2,))).arg_types[0].concrete_shape == (
        2,
    )


def test_extents_may_be_rounded_products_with_whole_floats() -> None:
    n, by = te.size_var("n"), tvm.tir.const

    assert relay.TensorType((tvm.tir.Cast("int32", te.round(n * by(2.0, "float64"))),)) == relay.TensorType(
        (n * 2,)
    )
    for wrong in (n * by(2.5, "float64"), n / by(2.0, "float64")):
        with pytest.raises(TypeInferError, match=r"an extent has .*2.*, expected whole numbers"):
            relay.TensorType((tvm.tir.Cast("int32", te.round(wrong)),))


def test_types_are_printed_as_in_tvm() -> None:
    made = relay.FuncType([relay.TensorType((2,))], relay.TensorType((relay.Any(), 3), "int8"))

    assert str(made) == "fn (Tensor[(2), float32]) -> Tensor[(?, 3), int8]"
    assert str(relay.TupleType([relay.scalar_type("bool")])) == "(bool,)"
    assert str(relay.IncompleteType()) == "_"


def test_the_type_of_a_variable_is_inferred_from_its_readers() -> None:
    function = small()

    assert function.params[1].type_annotation is None
    inferred = run_infer_type(function)
    assert inferred.params[1].checked_type == relay.TensorType((3, 8))
    assert inferred.ret_type == relay.TensorType((4, 3))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda d, w: relay.nn.conv2d(d, w, channels=6, kernel_size=(3, 5)), (6, 4, 3, 5)),
        (lambda d, w: relay.nn.conv2d(d, w, channels=4, kernel_size=(3, 3), groups=4), (4, 1, 3, 3)),
        (lambda d, w: relay.nn.conv2d_transpose(d, w, channels=6, kernel_size=(2, 2)), (4, 6, 2, 2)),
        (lambda d, w: relay.nn.bias_add(d, w), (4,)),
        (lambda d, w: relay.nn.prelu(d, w, axis=1), (4,)),
    ],
)
def test_types_of_weights_are_inferred_from_attributes(make: object, expected: tuple[int, ...]) -> None:
    weight = relay.var("w")
    call = make(relay.var("d", shape=(1, 4, 9, 9)), weight)  # type: ignore[operator]

    found = run_infer_type(relay.Function(relay.analysis.free_vars(call), call))

    assert found.params[1].checked_type.concrete_shape == expected


def test_error_of_an_undetermined_parameter_type_names_the_variable() -> None:
    x = relay.var("mystery")

    with pytest.raises(TypeInferError, match="the type of %mystery is not determined"):
        run_infer_type(relay.Function([x], relay.nn.relu(x)))


def test_parameter_types_are_inferred_from_a_call() -> None:
    x, y = relay.var("x"), relay.var("y", shape=(2,))
    twice = relay.Function([x], relay.add(x, x))

    assert run_infer_type(relay.Call(twice, [y])).checked_type == relay.TensorType((2,))


def test_the_type_of_an_argument_is_inferred_from_the_called_function() -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y")
    mod = tvm.IRModule({"double": relay.Function([x], x + x)})
    mod["main"] = relay.Function([y], mod.get_global_var("double")(y))

    assert relay.transform.InferType()(mod)["main"].params[0].checked_type == x.checked_type


def test_functions_of_a_module_call_each_other_by_name() -> None:
    name, x = relay.GlobalVar("double"), relay.var("x", shape=(3,))
    mod = tvm.IRModule({name: relay.Function([x], x + x)})
    y = relay.var("y", shape=(3,))
    mod["main"] = relay.Function([y], name(relay.nn.relu(y)))

    given = np.array([-1, 2, 3], np.float32)
    for kind in ("debug", "graph"):
        found = relay.create_executor(kind, mod=mod).evaluate()(given)
        np.testing.assert_array_equal(found.numpy(), 2 * np.maximum(given, 0))
    assert mod.get_global_var("double").name_hint == "double"
    with pytest.raises(ValueError, match="no function @triple; it has @double, @main"):
        mod["triple"]


def test_two_modules_may_have_equally_named_functions_of_other_types() -> None:
    for extent in (2, 5):
        f, x = relay.GlobalVar("f"), relay.var("x", shape=(extent,))
        mod = tvm.IRModule({f: relay.Function([x], relay.exp(x))})
        mod["main"] = relay.Function([x], f(x))
        assert relay.transform.InferType()(mod)["main"].ret_type == relay.TensorType((extent,))


def test_a_recursive_global_function_is_typed_and_interpreted() -> None:
    f, n = relay.GlobalVar("sum_to"), relay.var("n", shape=(), dtype="int32")
    step = n + f(n - relay.const(1))
    body = relay.If(relay.equal(n, relay.const(0)), relay.const(0), step)
    mod = tvm.IRModule({f: relay.Function([n], body)})

    typed = relay.transform.InferType()(mod)
    assert typed["sum_to"].checked_type == relay.FuncType(
        [relay.scalar_type("int32")], relay.scalar_type("int32")
    )
    assert relay.create_executor("debug", mod=mod).evaluate(f)(np.int32(10)).numpy() == 55
    with pytest.raises(UnsupportedError, match="@sum_to calls itself"):
        relay.create_executor("graph", mod=mod).evaluate(f)


def test_a_recursive_let_function_is_typed_and_interpreted() -> None:
    loop, n, total = (
        relay.var("loop"),
        relay.var("n", shape=(), dtype="int32"),
        relay.var("total", shape=(2,)),
    )
    step = loop(n - relay.const(1), total + total)
    function = relay.Function([n, total], relay.If(relay.equal(n, relay.const(0)), total, step))
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Let(loop, function, loop(relay.const(3), x))))

    typed = relay.transform.InferType()(mod)["main"]
    assert typed.body.var.checked_type.ret_type == typed.ret_type == x.checked_type
    with pytest.warns(UserWarning, match="%loop calls itself"):
        run = relay.create_executor("vm", mod=mod).evaluate()
    assert run(np.array([1, 2], "float32")).numpy().tolist() == [8, 16]
    with pytest.raises(UnsupportedError, match=r"(?s)%loop calls itself.*relay.loops.while_loop"):
        relay.create_executor("graph", mod=mod).evaluate()


def test_a_function_may_be_a_value() -> None:
    f, x, y = relay.var("f"), relay.var("x", shape=()), relay.var("y", shape=())
    twice = relay.Let(f, relay.Function([x], x * y), f(f(relay.const(3.0))))

    found = relay.create_executor("debug").evaluate(relay.Function([y], twice))(np.float32(2))

    assert found.numpy() == 12


def test_split_returns_a_wrapper_with_length_and_unpacking() -> None:
    first, second = relay.split(relay.var("x"), 2, axis=1)
    pair = relay.split(relay.var("x", shape=(2, 6)), 2, axis=1)
    assert [one.index for one in relay.concatenate(pair, 1).args[0].fields] == [0, 1]

    assert isinstance(first, relay.TupleGetItem)
    assert second.index == 1
    assert isinstance(pair, relay.TupleWrapper)
    assert len(pair) == 2
    assert run_infer_type(pair.astuple()).checked_type == relay.TupleType([relay.TensorType((2, 3))] * 2)


def test_positional_arguments_are_in_the_order_of_tvm() -> None:
    x = relay.var("x", shape=(2, 3))
    one_hot = relay.one_hot(relay.const([0, 1]), relay.const(1.0), relay.const(0.0), 4, -1, "float32")
    assert run_infer_type(one_hot).checked_type == relay.TensorType((2, 4))
    assert relay.nn.conv2d_transpose(
        relay.var("d", shape=(1, 2, 4, 4)), relay.var("w"), (2, 2), (0, 0), (1, 1), 1, 3, (2, 2)
    ).attrs.channels == 3  # fmt: skip
    assert run_infer_type(relay.topk(x, 2, 1, "indices", False, "int64")).checked_type.dtype == "int64"
    assert relay.argsort(x, is_ascend=1).attrs.is_ascend is True


def test_padding_is_expanded_to_both_sides() -> None:
    image = relay.var("x", shape=(1, 1, 4, 4))

    assert relay.nn.max_pool2d(image, (2, 2), padding=(1, 0)).attrs.padding == (1, 0, 1, 0)


def test_visitors_see_every_node_once_and_mutators_rebuild() -> None:
    class Counting(relay.ExprVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.calls: list[str] = []

        def visit_call(self, call: relay.Call) -> None:
            super().visit_call(call)
            self.calls.append(call.op.name)

    class ReluToTanh(relay.ExprMutator):
        def visit_call(self, call: relay.Call) -> relay.Call:
            made = super().visit_call(call)
            return relay.tanh(made.args[0]) if made.op.name == "nn.relu" else made

    x = relay.var("x", shape=(2,))
    shared = relay.nn.relu(x)
    function = relay.Function([x], shared + shared)
    counting = Counting()
    counting.visit(function)

    assert counting.calls == ["nn.relu", "add"]
    changed = ReluToTanh().visit(function)
    assert relay.analysis.list_op_freqs(changed) == {"tanh": 1, "add": 1}
    assert changed.body.args[0] is changed.body.args[1]
    assert relay.ExprMutator().visit(function) is function
    with pytest.raises(NotImplementedError, match="ExprFunctor has no method for a Function"):
        relay.ExprFunctor().visit(function)


def test_analysis_functions_answer_as_in_tvm() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    inner = relay.Let(y, relay.exp(x), y + x)
    seen: list[str] = []
    relay.analysis.post_order_visit(relay.Function([x], inner), lambda node: seen.append(type(node).__name__))

    assert relay.analysis.free_vars(inner) == [x]
    assert relay.analysis.bound_vars(inner) == [y]
    assert relay.analysis.all_vars(relay.Function([x], inner)) == [x, y]
    assert relay.analysis.well_formed(relay.Function([x], inner))
    assert not relay.analysis.well_formed(relay.Function([x], relay.Let(y, x, relay.Let(y, x, y))))
    assert seen[0] == "Var"
    assert seen[-1] == "Function"
    assert "Op" in seen
    dense = relay.nn.dense(relay.var("d", shape=(4, 8)), relay.var("w", shape=(3, 8)))
    assert relay.analysis.get_total_mac_number(dense) == 4 * 8 * 3


def test_equality_is_up_to_the_names_of_bound_variables() -> None:
    def double(name: str, extent: int = 2) -> relay.Function:
        x = relay.var(name, shape=(extent,))
        return relay.Function([x], x + x)

    assert tvm.ir.structural_equal(double("a"), double("b"))
    assert tvm.ir.structural_hash(double("a")) == tvm.ir.structural_hash(double("b"))
    assert not tvm.ir.structural_equal(double("a"), double("a", 3))
    assert not tvm.ir.structural_equal(double("a").body, double("a").body)
    assert tvm.ir.structural_equal(double("a").body, double("a").body, map_free_vars=True)
    x = relay.var("x", shape=(2,))
    with pytest.raises(ValueError, match=r"(?s)StructuralEqual check failed: add and subtract.*lhs:.*rhs:"):
        tvm.ir.assert_structural_equal(relay.Function([x], x + x), relay.Function([x], x - x))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: relay.RefCreate(relay.const(1)), "relay.RefCreate is not in tvmlite"),
        (lambda: relay.Match(relay.const(1), []), "relay.Match is not in tvmlite"),
        (lambda: relay.TypeVar("t"), "relay.TypeVar is not in tvmlite"),
        (
            lambda: tvm.IRModule().import_from_std("nat.rly"),
            r"import_from_std\('nat.rly'\) is not in tvmlite",
        ),
        (lambda: relay.frontend.from_keras(None), "relay.frontend.from_keras is not in tvmlite"),
        (lambda: relay.transform.PartialEvaluate(), "relay.transform.PartialEvaluate is not in tvmlite"),
        (lambda: relay.var("x", relay.scalar_type("int8"), shape=(2,)), "both given, expected one"),
        (lambda: relay.nn.relu(1.0, 2.0), "nn.relu: takes at most 1 arguments, 2 given"),
        (
            lambda: relay.op.register_compute("add"),
            "register_compute of add, an operator of the table, is not in tvmlite",
        ),
        (lambda: relay.op.get("nn.no_such"), "operator 'nn.no_such' is not in the table"),
        (lambda: relay.analysis.free_vars(tvm.IRModule()), "expected a relay expression"),
        (lambda: relay.analysis.list_op_freqs(3), "3 given, expected a relay expression"),
        (lambda: relay.analysis.CallGraph(3), "CallGraph: 3 given, expected a module"),
        (lambda: relay.TensorType([2, 3.5]), "an extent is 3.5, expected an integer"),
        (lambda: relay.TensorType(3.5), "a shape is 3.5, expected extents"),
        (lambda: relay.TensorType([tvm.script.tir.int32(1)]), "TVMScript is not in tvmlite"),
    ],
)
def test_missing_names_and_wrong_arguments_are_errors(use: object, message: str) -> None:
    with pytest.raises(TvmliteError, match=message):
        use()  # type: ignore[operator]


def test_checked_type_infers_the_type_of_an_expression() -> None:
    x, double = relay.var("x", shape=(2, 3)), relay.var("double")
    let = relay.Let(double, relay.add(x, x), relay.concatenate([double, x], axis=1))

    assert let.checked_type == relay.TensorType((2, 6))
    assert relay.Function([x], let).checked_type == relay.FuncType([x.type], relay.TensorType((2, 6)))


def test_error_of_an_undetermined_type_names_the_variable() -> None:
    x = relay.var("unknown")

    with pytest.raises(TypeInferError, match="the type of %unknown is not determined"):
        _ = relay.add(x, x).checked_type


def test_a_module_keeps_the_global_var_of_a_function() -> None:
    mod, name = tvm.IRModule(), relay.GlobalVar("f")
    mod[name] = relay.Function([], relay.const(1.0))

    assert mod.get_global_var("f") is name
    assert list(mod.functions) == [name]
