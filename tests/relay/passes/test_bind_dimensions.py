"""Dimensions are replaced by numbers everywhere: in types, attributes and called functions."""

import models
import numpy as np
import pytest

from tvmlite import relay
from tvmlite.core.alike import alike
from tvmlite.core.errors import InputError
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Function, Module
from tvmlite.relay.ir.types import dims_of
from tvmlite.relay.passes import fuse
from tvmlite.relay.passes.bind_dimensions import bind_dimensions


def _module(rows: int | str, total: int | None = None) -> Module:
    x = relay.var("x", (rows, 8))
    extent = relay.dim(rows) if isinstance(rows, str) else rows
    flat = relay.reshape(relay.exp(x), newshape=(extent * 8 if total is None else total,))
    return Module({"main": Function((x,), flat)})


def test_a_size_replaces_its_dimension_everywhere() -> None:
    before, expected = _module("n"), _module(3, 24)

    after = bind_dimensions({"n": 3})(before)

    assert alike(after, expected)
    assert str(type_of(after.main.body)) == "Tensor[(24,), float32]"


def test_dimensions_are_bound_in_groups() -> None:
    after = bind_dimensions({"n": 3})(fuse(_module("n")))

    assert "n" not in {d.name for d in dims_of([type_of(p) for p in after.main.params])}
    assert str(after.main.body.op.params[0].type) == "Tensor[(3, 8), float32]"


def test_no_sizes_change_nothing() -> None:
    module = _module("n")

    assert bind_dimensions({})(module) is module


def test_assumptions_that_hold_are_removed_and_others_kept() -> None:
    x = relay.var("x", ("n", "m"))
    n, m = relay.dim("n"), relay.dim("m")
    square = relay.make("assume_shape", x, newshape=(n, n))
    some = relay.make("assume", square, conditions=(m > 2,), message="too few")
    module = Module({"main": Function((x,), relay.exp(some))})

    both = bind_dimensions({"n": 3, "m": 3})(module)
    one = bind_dimensions({"n": 3})(module)

    assert both.main.body.args[0] is both.main.params[0]
    names = {node.op for node in relay.infer.walk(one.main.body) if isinstance(node, Call)}
    assert names == {"exp", "assume_shape", "assume"}


def test_results_at_the_bound_sizes_are_unchanged() -> None:
    model = models.minilm(layers=1, hidden=24, heads=2)
    module = from_onnx(model)
    feeds = models.inputs_for(model, dims={"batch": 2, "sequence": 6})

    bound = bind_dimensions({"batch": 2, "sequence": 6})(module)

    assert not dims_of(type_of(bound.main))
    np.testing.assert_allclose(interpret(bound, feeds), interpret(module, feeds), rtol=1e-6)


def test_error_for_an_unknown_dimension_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="no open dimension 'm'; there are 'n'"):
        bind_dimensions({"m": 3})(_module("n"))
