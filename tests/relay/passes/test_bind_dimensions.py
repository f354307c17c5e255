"""Dimensions become numbers everywhere: in types, attributes and called functions."""

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


def test_a_size_stands_where_its_name_stood() -> None:
    before, expected = _module("n"), _module(3, 24)

    after = bind_dimensions({"n": 3})(before)

    assert alike(after, expected)
    assert str(type_of(after.main.body)) == "Tensor[(24,), float32]"


def test_groups_are_bound_with_what_calls_them() -> None:
    after = bind_dimensions({"n": 3})(fuse(_module("n")))

    assert "n" not in {d.name for d in dims_of([type_of(p) for p in after.main.params])}
    assert str(after.main.body.op.params[0].type) == "Tensor[(3, 8), float32]"


def test_no_size_changes_nothing() -> None:
    module = _module("n")

    assert bind_dimensions({})(module) is module


def test_promises_that_are_kept_go_and_others_stay() -> None:
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


def test_the_meaning_at_that_size_is_kept() -> None:
    model = models.minilm(layers=1, hidden=24, heads=2)
    module = from_onnx(model)
    feeds = models.inputs_for(model, dims={"batch": 2, "sequence": 6})

    bound = bind_dimensions({"batch": 2, "sequence": 6})(module)

    assert not dims_of(type_of(bound.main))
    np.testing.assert_allclose(interpret(bound, feeds), interpret(module, feeds), rtol=1e-6)


def test_an_unknown_dimension_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(InputError, match="no open dimension 'm'; there are 'n'"):
        bind_dimensions({"m": 3})(_module("n"))
