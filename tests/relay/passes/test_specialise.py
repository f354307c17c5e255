"""Graphs for chosen sizes give the results of the general graph and are selected by the inputs' shapes."""

from __future__ import annotations

import models
import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.errors import InputError, ModelError, UnsupportedError
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.infer import type_of, walk
from tvmlite.relay.ir.interpret import interpret, trace
from tvmlite.relay.ir.nodes import If, Module
from tvmlite.relay.ir.types import dims_of
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes.specialise import specialise


def _module() -> Module:
    """Return ``(exp(x) summed over rows, x * 2)`` for n rows of m."""
    x = relay.var("x", ("n", "m"))
    both = relay.Tuple((relay.sum(relay.exp(x), axis=(0,)), relay.multiply(x, relay.const(2.0))))
    return Module({"main": relay.Function((x,), both)}, ("sums", "twice"))


@pytest.mark.parametrize("shape", [(1, 3), (4, 3), (4, 8), (2, 5)])
def test_results_are_the_same_for_every_size(shape: tuple[int, int]) -> None:
    made = specialise(_module(), {"n": [1, 4], "m": [3, 8]})
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)

    verify(made)
    assert made.output_names == ("sums", "twice")
    for got, want in zip(interpret(made, [x]), interpret(_module(), [x]), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_listed_size_runs_a_static_graph() -> None:
    made = specialise(_module(), {"n": [4], "m": [8]})

    def extents(shape: tuple[int, int]) -> set[str]:
        ran = trace(made, [np.ones(shape, np.float32)])
        return {d.name for node in ran if getattr(node, "op", None) == "exp" for d in dims_of(type_of(node))}

    assert extents((4, 8)) == set()
    assert extents((4, 7)) == {"n", "m"}


def test_a_single_size_fixes_a_dimension() -> None:
    made = specialise(_module(), {"n": 4})

    assert [d.name for d in dims_of(type_of(made.main))] == ["m"]
    assert not any(isinstance(node, If) for node in walk(made.main.body))


def test_no_sizes_change_nothing() -> None:
    module = _module()

    assert specialise(module, {}) is module
    assert specialise(module, {"n": []}) is module


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"k": [1]}, "no open dimension 'k'; there are 'n', 'm'"),
        ({"k": 1}, "no open dimension 'k'; there are 'n', 'm'"),
        ({"n": [1, 0]}, "dimension 'n': 0 is no size"),
        ({"n": True}, "dimension 'n': True is no size"),
        ({"n": "12"}, "dimension 'n' is '12', expected a number or a list of numbers"),
        (
            {"n": list(range(1, 10)), "m": list(range(1, 10))},
            "81 combinations of sizes are asked for, at most 64",
        ),
    ],
)
def test_invalid_sizes_are_an_error(sizes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        specialise(_module(), sizes)


def test_from_onnx_takes_sizes_of_dimensions_and_inputs() -> None:
    model = models.minilm(layers=1, hidden=24, heads=2)
    made = from_onnx(model, shape={"batch": 2, "sequence": [4, 6]})
    plain = from_onnx(model)

    for length in (4, 5):
        feeds = models.inputs_for(model, dims={"batch": 2, "sequence": length})
        np.testing.assert_allclose(interpret(made, feeds), interpret(plain, feeds), rtol=1e-6)
    assert {d.name for d in dims_of(type_of(made.main))} == {"sequence"}
    with pytest.raises(
        ModelError, match=r"'length'; the inputs are .*, the open dimensions 'batch', 'sequence'"
    ):
        from_onnx(model, shape={"length": 3})


def test_data_dependent_extents_have_distinct_names_in_each_graph() -> None:
    module = relay.parse(
        """def @main(%x: Tensor[(n, 3), float32]) {
             let dims (k) = count_nonzero(%x);
             sum(argwhere(%x, count=k), axis=[0, 1])
           }"""
    )
    made = specialise(module, {"n": [2, 4]})

    verify(made)
    for count in (2, 3, 4):
        x = np.arange(count * 3, dtype=np.float32).reshape(count, 3)
        assert interpret(made, [x]) == np.argwhere(x).sum()
        assert tvmlite.compile(made)(x) == np.argwhere(x).sum()


def test_loop_states_are_specialised() -> None:
    module = relay.parse(
        """def @main(%x: Tensor[(n, 3), float32]) {
             %0 = loop (%turn < n, %s: Tensor[(n, 3), float32] = %x) {
               (True, add(%s, %s))
             };
             %0.0
           }"""
    )
    made = specialise(module, {"n": [2]})

    verify(made)
    for count in (2, 3):
        x = np.ones((count, 3), np.float32)
        np.testing.assert_array_equal(tvmlite.compile(made)(x), x * 2**count)


def test_specialising_a_data_dependent_output_extent_is_refused() -> None:
    module = relay.parse(
        """def @main(%x: Tensor[(n, 3), float32]) {
             let dims (k) = count_nonzero(%x);
             argwhere(%x, count=k)
           }"""
    )

    with pytest.raises(
        UnsupportedError, match="sizes of 'n': an output has the extent 'k', which comes from"
    ):
        specialise(module, {"n": [2]})
