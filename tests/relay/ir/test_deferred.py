"""Deferred constants: computed when needed and not kept, otherwise like other constants."""

from __future__ import annotations

import numpy as np

import tvmlite
from tvmlite import relay
from tvmlite.relay.entry.buffer_placement import Constants
from tvmlite.relay.ir.deferred import LARGE_BYTES, DeferredConstant
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Function, constant, var
from tvmlite.relay.ir.op import make


def numbers(made: list[int]) -> DeferredConstant:
    """Return the numbers 0 to 5; ``made`` records each computation."""

    def fill(out: np.ndarray) -> None:
        made.append(out.size)
        out[...] = np.arange(6).reshape(2, 3)

    return DeferredConstant((2, 3), np.dtype("float32"), fill)


def test_type_and_size_are_known_without_computing_the_data() -> None:
    made: list[int] = []
    constant = numbers(made)
    assert str(type_of(constant)) == "Tensor[(2, 3), float32]"
    assert (constant.size, constant.nbytes) == (6, 24)
    assert not made


def test_data_equals_that_of_a_plain_constant() -> None:
    constant = numbers([])
    plain = relay.const(np.arange(6, dtype="float32").reshape(2, 3))
    np.testing.assert_array_equal(constant.data, plain.data)
    assert str(constant) == str(plain)


def test_deferred_constants_are_written_into_the_blob_once() -> None:
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


def test_joined_constants_are_concatenated_by_rows() -> None:
    made: list[int] = []
    plain = relay.const(np.full((1, 3), 9, "float32"))
    whole = DeferredConstant.joined([numbers(made), plain])
    assert (whole.shape, made) == ((3, 3), [])
    np.testing.assert_array_equal(whole.data, [[0, 1, 2], [3, 4, 5], [9, 9, 9]])


def test_a_deferred_call_is_recomputed_at_each_access() -> None:
    made: list[int] = []
    constant = DeferredConstant.of_call(make("transpose", numbers(made), axes=(1, 0)))
    assert (constant.shape, str(constant.dtype), made) == ((3, 2), "float32", [])
    wanted = np.arange(6, dtype="float32").reshape(2, 3).T
    np.testing.assert_array_equal(constant.data, wanted)
    out = np.empty((2, 3), "float32").T
    constant.write_to(out)
    np.testing.assert_array_equal(out, wanted)
    assert made == [6, 6]


def test_copying_the_constants_of_a_model_does_not_recompute_them() -> None:
    made: list[int] = []
    constants = Constants()
    constants.offset(numbers(made))
    copy = constants.copy()
    assert made == [6]
    assert not np.shares_memory(copy.blob(), constants.blob())
    assert copy.blob().ctypes.data % 64 == 0
    np.testing.assert_array_equal(copy.blob(), constants.blob())


def test_a_compiled_model_keeps_one_layout_of_its_weights() -> None:
    """Scaled, re-laid-out and transformed large weights are computed directly into the blob."""
    random = np.random.default_rng(0)
    x = var("x", (1, 32, 8, 8))
    scale = constant(random.uniform(1, 2, (64, 1, 1)), "float32")
    weight = constant(random.standard_normal((64, 32, 3, 3)), "float32")
    conv = make("nn.conv2d", x, weight, padding=(1, 1, 1, 1))
    flat = make("reshape", make("multiply", conv, scale), newshape=(1, 4096))
    dense = make("nn.dense", flat, constant(random.standard_normal((10, 4096)), "float32"))
    for bound in (0.0, 1e-4):
        lib = tvmlite.compile(Function((x,), dense), error_bound=bound)
        large = [one for one in lib.constants.offsets if one.nbytes >= LARGE_BYTES]
        assert len(large) == 2
        assert all(isinstance(one, DeferredConstant) for one in large)
