"""Constants that are computed where they are wanted: like any other to who asks, and not kept."""

from __future__ import annotations

import numpy as np

from tvmlite import relay
from tvmlite.relay.entry.places import Constants
from tvmlite.relay.ir.deferred import DeferredConstant
from tvmlite.relay.ir.infer import type_of


def numbers(made: list[int]) -> DeferredConstant:
    """0 to 5; ``made`` counts how often they are computed."""

    def fill(out: np.ndarray) -> None:
        made.append(out.size)
        out[...] = np.arange(6).reshape(2, 3)

    return DeferredConstant((2, 3), np.dtype("float32"), fill)


def test_its_type_and_size_are_known_without_its_elements() -> None:
    made: list[int] = []
    constant = numbers(made)
    assert str(type_of(constant)) == "Tensor[(2, 3), float32]"
    assert (constant.size, constant.nbytes) == (6, 24)
    assert not made


def test_its_elements_are_those_of_a_plain_constant() -> None:
    constant = numbers([])
    plain = relay.const(np.arange(6, dtype="float32").reshape(2, 3))
    np.testing.assert_array_equal(constant.data, plain.data)
    assert str(constant) == str(plain)


def test_the_constants_of_a_model_are_filled_in_place_once() -> None:
    made: list[int] = []
    constants = Constants()
    first, second = relay.const(np.int8(3)), numbers(made)
    offsets = [constants.offset(one) for one in (first, second)]
    blob = constants.blob()
    assert offsets == [0, 64]
    assert made == [6]
    assert blob[:64].tolist() == [3] + [0] * 63
    np.testing.assert_array_equal(blob[64:88].view("float32"), np.arange(6))
    assert not blob[88:].any()


def test_joined_constants_are_their_rows_in_order() -> None:
    made: list[int] = []
    plain = relay.const(np.full((1, 3), 9, "float32"))
    whole = DeferredConstant.joined([numbers(made), plain])
    assert (whole.shape, made) == ((3, 3), [])
    np.testing.assert_array_equal(whole.data, [[0, 1, 2], [3, 4, 5], [9, 9, 9]])
