"""Extents told in the plainest way: what groups become, which kernels they share, and what they compute."""

from __future__ import annotations

import numpy as np

import tvmlite
from tvmlite import relay, te
from tvmlite.machine.target import Target
from tvmlite.relay.entry.canonical_dims import with_canonical_extents
from tvmlite.relay.entry.kernels import kernel_tasks
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Function, Module, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import dim, show_shape

h, w = dim("h"), dim("w")


def test_each_part_of_an_extent_is_a_dimension() -> None:
    x, y = var("x", ((h + 31) // 32 * 8, w)), var("y", ((h + 31) // 32 * 8, 1))
    group = Function((x, y), make("add", make("exp", x), y), (("Primitive", 1),))

    plain, values = with_canonical_extents(group)

    assert str(type_of(plain.body)) == "Tensor[(extent0 * 8, extent1), float32]"
    assert {name.name: str(value) for name, value in values.items()} == {
        "extent0": "(h + 31) // 32",
        "extent1": "w",
    }
    assert dict(plain.attrs) == {"Primitive": 1}


def test_attributes_follow() -> None:
    x = var("x", (1, 3, (h + 1) // 2, w))
    size = ((h + 1) // 2 * 2, w * 3)
    group = Function((x,), make("image.resize2d", x, size=size, method="nearest_neighbor"))

    plain, _ = with_canonical_extents(group)

    assert show_shape(plain.body["size"]) == "(extent0 * 2, extent1 * 3)"  # type: ignore[index]


def test_a_quotient_that_may_be_negative_is_no_dimension() -> None:
    x = var("x", (h, w))
    begin = (te.max((h - w) // 2, 0), (w + 1) // 2)
    group = Function((x,), make("strided_window", x, begin=begin, shape=(1, 1), strides=(1, 1)))

    plain, _ = with_canonical_extents(group)

    assert str(plain.body["begin"][0]) == "max((extent0 - extent1) // 2, 0)"  # type: ignore[index]
    assert str(plain.body["begin"][1]) == "extent2"  # type: ignore[index]


def test_numbers_and_types_that_do_not_follow_stay() -> None:
    x = var("x", (4, 3))
    fixed = Function((x,), make("exp", x))
    a, b = var("a", (1, 1, h, 8)), var("b", (1, 1, (h + 1) // 2, 4))
    halves = make("nn.max_pool2d", a, pool_size=(2, 2), strides=(2, 2), ceil_mode=True)
    related = Function((a, b), make("add", halves, b))
    promising = Function((a,), make("assume_shape", a, newshape=(1, 1, w, 8)))

    for group in (fixed, related, promising):
        assert with_canonical_extents(group) == (group, {})


def test_groups_that_differ_in_open_extents_alone_share_a_kernel() -> None:
    x, y = var("x", (h, w)), var("y", ("n", (w + 1) // 2))
    module = Module({"main": Function((x, y), relay.Tuple((relay.exp(x), relay.exp(y))))})
    separate = relay.passes.separate(relay.passes.infer_types(module))

    tasks, task_of = kernel_tasks(separate, Target.parse("native"))

    exps = [task for task in tasks if task.operators == ("exp",)]
    assert [task.calls for task in exps] == [2]
    assert len({str(task.extents) for task in task_of.values() if task.operators == ("exp",)}) == 2
    lib = tvmlite.compile(module, opt_level=0)
    given = [np.random.default_rng(0).standard_normal(shape).astype("float32") for shape in ((5, 3), (2, 2))]
    for got, data in zip(lib(*given), given, strict=True):
        np.testing.assert_allclose(got, np.exp(data), rtol=1e-5)
