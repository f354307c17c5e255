"""Placement of buffers: outputs in parameters, intermediates in the workspace, constants in one blob."""

from __future__ import annotations

import numpy as np

from tvmlite.relay.entry.buffer_placement import BufferPlacement, Constants
from tvmlite.relay.entry.memory import slots_of
from tvmlite.relay.ir.blocks import order
from tvmlite.relay.ir.nodes import Function, Tuple, constant, var
from tvmlite.relay.ir.op import make


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_repeated_outputs_are_copied_from_the_first() -> None:
    x = var("x", (4,))
    made = make("exp", x)
    main = Function((x,), Tuple((made, made, x)))
    root = order(main)

    places = BufferPlacement(main, root, ["a", "b", "x"])

    first, second, third = places.outputs
    assert [one.name for one in (*places.inputs, *places.outputs)] == ["x", "a", "b", "x_1"]
    assert places.place((made, 0)) == (first, None)
    assert places.copies == {root: [((made, 0), second), ((x, 0), third)]}


def test_intermediates_are_views_of_the_workspace_and_weights_are_constants() -> None:
    x, weight = var("x", (4,)), constant(floats(4))
    between = make("add", x, weight)
    main = Function((x,), make("exp", between))
    places = BufferPlacement(main, order(main), ["y"])

    scopes = [places.place(slots_of(one)[0])[0].scope for one in (x, weight, between, main.body)]

    assert scopes == ["param", "constant", "view", "param"]
    assert places.plan.size == 64
    assert places.constants.offsets == {weight: 0}


def test_constants_are_stored_once_and_aligned_in_the_blob() -> None:
    one, two = constant(floats(3)), constant(np.arange(20, dtype="int8"))
    constants = Constants()

    places = [constants.offset(c) for c in (one, two, one)]
    blob = constants.blob()

    assert places == [0, 64, 0]
    assert blob.ctypes.data % 64 == 0
    assert blob[:12].tobytes() == one.data.tobytes()
    assert blob[64:84].tobytes() == two.data.tobytes()
    assert not blob[12:64].any()
    assert blob.nbytes == constants.size == 128
