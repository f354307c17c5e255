"""An int8 cache: codes and scales rounded as in numpy, updated in the caller's memory, near a float cache."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.errors import InputError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Expr, Function, Module, Tuple
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.quantize_cache import quantize_cache
from tvmlite.relay.passes.update_in_place import update_in_place

HEADS, GROUPS, LENGTH, SIZE = 8, 2, 48, 32
CACHE = {"keys": "past_keys", "values": "past_values"}
rng = np.random.default_rng(0)


def step(rows: int = 1, dtype: str = "float32", axis: int = 2, mode: str = "linear") -> Module:
    """Return attention of the heads to all keys of a cache, some of which are new; a mask hides the rest."""
    past = [relay.var(name, shape=(1, GROUPS, LENGTH, SIZE), dtype=dtype) for name in CACHE.values()]
    new = [relay.var(name, shape=(1, GROUPS, rows, SIZE), dtype=dtype) for name in ("k", "v")]
    query = relay.var("q", shape=(1, HEADS, rows, SIZE), dtype=dtype)
    mask = relay.var("mask", shape=(1, 1, rows, LENGTH), dtype=dtype)
    at = relay.var("at", shape=(1,), dtype="int64")
    caches = [make("tensor_scatter", *pair, at, axis=axis, mode=mode) for pair in zip(past, new, strict=True)]
    made: Expr = make("nn.attention", query, *caches, mask, scale=SIZE**-0.5)
    main = Function((query, *new, at, mask, *past), Tuple((made, *caches)))
    return Module({"main": main}, ("y", *CACHE))


def rounded(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and scales, computed in float32."""
    scale = np.abs(rows).max(axis=-1) / np.float32(127)
    divisor = np.where(scale == 0, np.float32(1), scale)
    return np.rint(rows / divisor[..., None]).astype("int8"), scale


def attention(query: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    keys, values = (np.repeat(one, HEADS // GROUPS, axis=1) for one in (keys, values))
    scores = query @ keys.swapaxes(2, 3) * np.float32(SIZE**-0.5) + mask
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) @ values


def inputs(start: int, rows: int) -> list[np.ndarray]:
    """Return queries, new keys and values, their position, and a mask that hides all later positions."""
    made = [rng.standard_normal((1, n, rows, SIZE)).astype("float32") for n in (HEADS, GROUPS, GROUPS)]
    made[1] *= 3
    mask = np.where(np.arange(LENGTH) <= start + np.arange(rows)[:, None], 0, -np.inf).astype("float32")
    return [*made, np.array([start]), mask[None, None]]


def empty() -> list[np.ndarray]:
    shape = (1, GROUPS, LENGTH)
    codes = [np.zeros((*shape, SIZE), "int8") for _ in CACHE]
    return [*codes, *(np.zeros(shape, "float32") for _ in CACHE)]


@pytest.mark.parametrize("target", ["native", "llvm -mcpu=haswell", "c"])
def test_codes_and_scales_equal_numpys_and_attention_reads_them(target: str) -> None:
    prompt, token = (tvmlite.compile(quantize_cache(step(rows), CACHE), target) for rows in (5, 1))
    cache, expected = empty(), empty()
    floats = [np.zeros((1, GROUPS, LENGTH, SIZE), "float32") for _ in CACHE]
    ratios = []
    for start, rows in ((0, 5), (5, 1), (6, 1), (7, 1)):
        given = inputs(start, rows)
        for k in range(2):
            place = np.s_[:, :, start : start + rows]
            expected[k][place], expected[k + 2][place] = rounded(given[1 + k])
            floats[k][place] = given[1 + k]

        y, *made = (prompt if rows == 5 else token)(*given, *cache)

        assert all(a is b for a, b in zip(made, cache, strict=True))
        for a, b in zip(cache, expected, strict=True):
            np.testing.assert_array_equal(a, b)
        keys, values = (expected[k] * expected[k + 2][..., None] for k in range(2))
        np.testing.assert_allclose(y, attention(given[0], keys, values, given[-1]), rtol=1e-4, atol=1e-5)
        exact = attention(given[0], floats[0], floats[1], given[-1])
        ratios.append(10 * np.log10((exact**2).sum() / ((exact - y) ** 2).sum()))
    assert min(ratios) > 30, ratios


def test_signature_lists_the_quantized_caches_and_scales() -> None:
    module = quantize_cache(step(), CACHE)

    assert module.output_names == ("y", "keys", "values", "keys_scale", "values_scale")
    assert [(p.name, str(p.type)) for p in module.main.params[-4:]] == [
        ("past_keys", f"Tensor[(1, {GROUPS}, {LENGTH}, {SIZE}), int8]"),
        ("past_values", f"Tensor[(1, {GROUPS}, {LENGTH}, {SIZE}), int8]"),
        ("past_keys_scale", f"Tensor[(1, {GROUPS}, {LENGTH}), float32]"),
        ("past_values_scale", f"Tensor[(1, {GROUPS}, {LENGTH}), float32]"),
    ]
    assert [p.in_place for p in tvmlite.compile(module).signature.outputs][1:] == [
        "past_keys", "past_values", "past_keys_scale", "past_values_scale"
    ]  # fmt: skip


def test_quantizing_caches_one_by_one_equals_quantizing_them_together() -> None:
    first, second = ({name: CACHE[name]} for name in CACHE)
    one_by_one = quantize_cache(quantize_cache(step(), first), second)
    together = quantize_cache(update_in_place(step(), CACHE), CACHE)
    assert sorted(dict(one_by_one.attrs)["in_place"]) == sorted(dict(together.attrs)["in_place"])
    given = inputs(3, 1)
    cache = dict(zip(together.main.params[5:], empty(), strict=True))
    arrays = {param.name: array for param, array in cache.items()}
    results = []
    for module in (one_by_one, together):
        made = interpret(module, [*given, *(arrays[p.name] for p in module.main.params[5:])])
        results.append(dict(zip(module.output_names, made, strict=True)))
    for name, value in results[0].items():
        np.testing.assert_array_equal(value, results[1][name])


def test_without_caches_the_module_is_left_unchanged() -> None:
    module = step()
    assert quantize_cache(module, {}) is module


def test_rows_of_zeros_tiny_and_non_finite_elements() -> None:
    lib = tvmlite.compile(quantize_cache(step(), CACHE))
    given = inputs(0, 1)
    given[1][0, 0], given[1][0, 1] = 0, 1e-44
    given[2][0, 0, 0, 3], given[2][0, 1, 0, 3] = np.inf, np.nan

    y, keys, _, key_scale, value_scale = lib(*given, *empty())

    assert not keys[0, 0, 0].any()
    assert key_scale[0, 0, 0] == 0
    assert not np.isfinite(value_scale[0, :, 0]).any()
    assert np.abs(keys[0, 1, 0] * np.float64(key_scale[0, 1, 0]) - 1e-44).max() <= 1e-44
    assert np.isnan(y).all()


def test_a_circular_float16_cache_wraps_around() -> None:
    module = quantize_cache(step(dtype="float16", mode="circular"), CACHE)
    given = [one.astype("float16") if one.dtype == "float32" else one for one in inputs(LENGTH + 2, 1)]
    given[-1] = np.zeros_like(given[-1])

    y, keys, *_ = tvmlite.compile(module)(*given, *empty())

    assert y.dtype == "float16"
    np.testing.assert_array_equal(keys[:, :, 2], rounded(given[1].astype("float32"))[0][:, :, 0])


def test_caches_that_cannot_be_quantized_are_refused() -> None:
    with pytest.raises(InputError, match=r"output 'y' is a nn\.attention, expected a tensor_scatter"):
        quantize_cache(step(), {"y": "past_keys"})
    twice = quantize_cache(step(), CACHE)
    with pytest.raises(InputError, match="input 'past_keys' is int8, expected float32, float16, bfloat16"):
        quantize_cache(twice, {"keys": "past_keys"})
    past, new = relay.var("past", shape=(2, 8)), relay.var("new", shape=(2, 1))
    at = relay.var("at", shape=(2,), dtype="int64")
    body = make("tensor_scatter", past, new, at, axis=1)
    flat = Module({"main": Function((past, new, at), body)}, ("present",))
    with pytest.raises(InputError, match="input 'past' is written along its last axis, expected another"):
        quantize_cache(flat, {"present": "past"})
    taken = relay.var("past_scale", shape=(1, GROUPS, 1, SIZE))
    past = relay.var("past", shape=(1, GROUPS, LENGTH, SIZE))
    at = relay.var("at", shape=(1,), dtype="int64")
    named = Function((past, taken, at), make("tensor_scatter", past, taken, at, axis=2))
    with pytest.raises(InputError, match="there is an input or output 'past_scale' already"):
        quantize_cache(Module({"main": named}, ("present",)), {"present": "past"})
    pairs = make(
        "scatter_nd", past, relay.var("i", shape=(3, 1), dtype="int64"), relay.var("u", shape=(1, SIZE))
    )
    scattered = Function((past, *pairs.args[1:]), pairs)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="output 'present' is a scatter_nd, expected a tensor_scatter"):
        quantize_cache(Module({"main": scattered}, ("present",)), {"present": "past"})
