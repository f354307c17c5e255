"""Parts of graphs for other compilers: annotated, merged and partitioned into equivalent functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError
from tvmlite.tvm import relay
from tvmlite.tvm.relay import transform
from tvmlite.tvm.relay.analysis import AnnotatedRegionSet

BEGIN, END = relay.annotation.compiler_begin, relay.annotation.compiler_end
SHAPE = (2, 3)
X = np.linspace(0.5, 3, 6, dtype="float32").reshape(SHAPE)


@pytest.fixture(autouse=True)
def compiler() -> Any:
    """Register a compiler ``taker`` that supports three operators."""
    names = ("add", "exp", "concatenate")
    for name in names:
        tvm.ir.register_op_attr(name, "target.taker", lambda call: call.args[0].checked_type is not None)
    yield
    for name in names:
        relay.op.get(name).reset_attr("target.taker")


def module(body: Any) -> tvm.IRModule:
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


def same(made: tvm.IRModule, body: Any) -> None:
    tvm.ir.assert_structural_equal(made, transform.InferType()(module(body)))


def x() -> Any:
    return relay.var("x", shape=SHAPE)


def taker(value: Any) -> Any:
    return BEGIN(value, "taker")


def default(value: Any) -> Any:
    return BEGIN(value, "default")


def test_calls_are_annotated_for_the_compiler_that_supports_them() -> None:
    annotated = transform.AnnotateTarget("taker")(module(relay.tanh(relay.exp(x()))))

    same(annotated, END(relay.tanh(default(END(relay.exp(taker(x())), "taker"))), "default"))
    assert tvm.ir.structural_equal(transform.AnnotateTarget("taker")(annotated), annotated)


@pytest.mark.parametrize("with_tuples", [True, False])
def test_tuples_are_annotated_on_request(with_tuples: bool) -> None:
    def written() -> Any:
        value = x()
        fields = [END(relay.exp(taker(value)), "taker"), value]
        pair = relay.Tuple([default(one) for one in fields] if with_tuples else fields)
        pair = END(pair, "default") if with_tuples else pair
        return END(relay.concatenate(taker(pair), 0), "taker")

    value = x()
    body = relay.concatenate([relay.exp(value), value], 0)
    same(transform.AnnotateTarget(["taker"], with_tuples)(module(body)), written())


def test_a_composite_function_is_annotated_by_the_prefix_of_its_name() -> None:
    value, inner = x(), x()
    function = relay.Function([inner], relay.tanh(inner)).with_attr("Composite", "taker.tanh")

    annotated = transform.AnnotateTarget("taker")(module(function(value)))

    same(annotated, END(function(taker(value)), "taker"))


def test_branches_and_lets_are_annotated() -> None:
    value, flag, name = x(), relay.var("flag", shape=(), dtype="bool"), relay.var("y")
    branches = relay.If(flag, relay.exp(value), value)
    body = relay.Let(name, branches, relay.exp(name))

    made = transform.AnnotateTarget("taker")(module(body))["main"].body

    assert str(made.value.args[0].true_branch.op) == "annotation.compiler_end"
    assert (str(made.value.op), made.value.attrs.compiler) == ("annotation.compiler_begin", "default")
    assert made.body.attrs.compiler == "taker"


def test_neighbours_are_merged_unless_a_cycle_would_arise() -> None:
    value = x()
    first = relay.exp(value)
    merged = transform.Sequential([transform.AnnotateTarget("taker"), transform.MergeCompilerRegions()])

    same(merged(module(relay.exp(first))), END(relay.exp(relay.exp(taker(x()))), "taker"))
    apart = merged(module(relay.add(relay.exp(first), relay.tanh(first))))
    assert len(AnnotatedRegionSet(apart["main"])) == 3
    regions = AnnotatedRegionSet(apart["main"])
    region = regions.get_region(apart["main"].body)
    assert region is not None
    assert (region.target, len(region.args), len(region.rets), region.id) == ("taker", 2, 1, 1)
    assert regions.get_region(apart["main"].params[0]) is None


def pipeline(**options: Any) -> transform.Pass:
    return transform.Sequential(
        [
            transform.AnnotateTarget("taker"),
            transform.MergeCompilerRegions(),
            transform.PartitionGraph(**options),
        ]
    )


def run(mod: tvm.IRModule) -> np.ndarray:
    return relay.create_executor("debug", mod).evaluate()(X).numpy()


def test_regions_become_functions_that_compute_the_same() -> None:
    value = x()
    first = relay.exp(value)
    mod = module(relay.add(relay.exp(first), relay.tanh(first)))

    made = pipeline()(mod)

    names = [var.name for var in made.get_global_vars()]
    assert names == ["main", "tvmgen_default_taker_main_0", "tvmgen_default_taker_main_1"]
    assert "annotation" not in str(made)
    first_function = made[names[1]]
    assert dict(first_function.attrs.items()) == {
        "Compiler": "taker",
        "Inline": 1,
        "Primitive": 1,
        "global_symbol": names[1],
    }
    assert [one.op.name for one in first_function.body.fields] == ["exp", "exp"]
    np.testing.assert_allclose(run(made), np.exp(np.exp(X)) + np.tanh(np.exp(X)), rtol=1e-5)
    assert [var.name for var in pipeline()(made).get_global_vars()] == names
    assert tvm.ir.structural_equal(transform.SimplifyInference()(made)[names[1]], first_function)


def test_constants_are_bound_into_the_function_by_default() -> None:
    mod = module(x() + relay.const(np.ones(SHAPE, "float32")))

    for options, count in (({}, 1), ({"bind_constants": False}, 2)):
        made = pipeline(mod_name="net", **options)(mod)
        assert len(made["tvmgen_net_taker_main_0"].params) == count
        np.testing.assert_allclose(run(made), X + 1)


def test_a_tuple_leaving_a_region_becomes_several_results() -> None:
    value = taker(x())
    body = END(relay.Tuple([relay.exp(value), relay.tanh(value)]), "taker")

    made = transform.PartitionGraph()(module(body))

    call = made["main"].body.fields[0].tuple_value
    assert call is made["main"].body.fields[1].tuple_value
    assert "annotation" not in str(made)
    assert (call.op.name_hint, len(call.args)) == ("tvmgen_default_taker_main_0", 1)


def test_a_compiler_may_optimize_its_functions() -> None:
    tvm.register_func("relay.ext.folder.optimize", transform.FoldConstant(), override=True)
    one = BEGIN(relay.const(np.ones(SHAPE, "float32")), "folder")

    made = transform.PartitionGraph()(module(x() * END(relay.add(one, one), "folder")))

    assert made["tvmgen_default_folder_main_0"].body.data.tolist() == [[2.0] * 3] * 2


def test_inconsistent_annotations_are_errors() -> None:
    with pytest.raises(InputError, match=r"(?s)a part of add is in a region.*compiler_begin"):
        AnnotatedRegionSet(relay.add(taker(x()), x()))
    with pytest.raises(InputError, match="exp ends a region that begins nowhere"):
        AnnotatedRegionSet(END(relay.exp(x()), "taker"))
    with pytest.raises(InputError, match="a region that begins here does not end"):
        transform.PartitionGraph()(module(relay.exp(taker(x()))))
    value = x()
    through = relay.exp(taker(value))
    apart = relay.tanh(END(through, "taker"))
    with pytest.raises(InputError, match="regions depend on each other"):
        transform.PartitionGraph()(module(END(through + BEGIN(apart, "taker"), "taker")))
