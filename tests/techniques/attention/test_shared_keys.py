"""Attention with heads that share keys, of floats and of quantized codes, against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.machine.target import Target
from tvmlite.relay.ir.nodes import Expr, Function
from tvmlite.relay.ir.op import make

pytestmark = pytest.mark.filterwarnings("error")  # e.g. about schedules that do not fit

rng = np.random.default_rng(0)
SLOW, EXHAUSTIVE = pytest.mark.slow, pytest.mark.exhaustive
TARGETS = ["native", "llvm -mcpu=haswell", pytest.param("c", marks=SLOW)]
OPEN = [
    ("native", False),
    ("llvm -mcpu=haswell", False),
    pytest.param("c", False, marks=SLOW),
    pytest.param("native", True, marks=SLOW),
    pytest.param("llvm -mcpu=haswell", True, marks=SLOW),
    pytest.param("c", True, marks=[SLOW, EXHAUSTIVE]),
]
"""Targets, and whether the extents are symbolic."""


def normal(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype("float32")


def attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The expected result, computed in float64."""
    shared = query.shape[1] // key.shape[1]
    wide = [np.repeat(one.astype("float64"), shared, axis=1) for one in (key, value)]
    scores = query.astype("float64") @ wide[0].swapaxes(2, 3) * 0.25 + mask
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ wide[1]


def dequantized(codes: Expr, scales: Expr) -> Expr:
    return make("multiply", make("cast", codes, dtype="float32"), scales)


@pytest.mark.parametrize(("target", "is_open"), OPEN)
@pytest.mark.parametrize(
    ("heads", "groups", "queries", "keys", "size"),
    [
        (8, 1, 1, 40, 16),
        (32, 4, 1, 33, 64),
        (6, 2, 5, 17, 32),
        (14, 2, 3, 16, 24),
        (12, 6, 9, 50, 16),
        (11, 1, 2, 7, 20),
        (48, 1, 1, 15, 32),
        (2, 2, 4, 1, 16),
        (8, 2, 1, 20, 8),
        (3, 3, 1, 33, 24),
    ],
)
def test_heads_that_share_keys_have_their_own_results(
    heads: int, groups: int, queries: int, keys: int, size: int, target: str, is_open: bool
) -> None:
    query, key, value = normal(2, heads, queries, size), *(normal(2, groups, keys, size) for _ in range(2))
    mask = normal(2, 1, queries, keys)
    mask[:, :, :, 1 : keys // 2] = -np.inf
    expected = attention(query, key, value, mask).transpose(0, 2, 1, 3)
    n, m = ("n", "m") if is_open else (queries, keys)
    shapes = [(2, heads, n, size), *[(2, groups, m, size)] * 2, (2, 1, n, m)]
    params = [relay.var(f"p{k}", shape=shape) for k, shape in enumerate(shapes)]
    body = make("nn.attention", *params, scale=0.25, layout="bshd")

    lib = tvmlite.compile(Function(tuple(params), body), target)

    np.testing.assert_allclose(lib(query, key, value, mask), expected, rtol=1e-4, atol=1e-5)


def codes_group(queries: int | str, length: int | str = "m") -> Function:
    """8 query heads that share 2 key heads of int8 codes; each row has a scale."""
    query, mask = relay.var("q", shape=(1, 8, queries, 32)), relay.var("mask", shape=())
    codes = [relay.var(name, shape=(1, 2, length, 32), dtype="int8") for name in "kv"]
    scales = [relay.var(name, shape=(1, 2, length, 1)) for name in ("ks", "vs")]
    key, value = map(dequantized, codes, scales)
    return Function((query, *codes, *scales, mask), make("nn.attention", query, key, value, mask, scale=0.25))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("queries", [1, 7, pytest.param("n", marks=pytest.mark.slow)])
def test_codes_are_dequantized_inside_the_attention_kernel(queries: int | str, target: str) -> None:
    lib = tvmlite.compile(codes_group(queries), target)
    assert [kernel.count("attention") for kernel in lib.kernel_labels] == [1]
    query = normal(1, 8, 3 if queries == "n" else int(queries), 32)
    codes = [rng.integers(-127, 128, (1, 2, 37, 32)).astype("int8") for _ in range(2)]
    scales = [rng.random((1, 2, 37, 1), np.float32) * np.float32(0.02) for _ in range(2)]

    made = lib(query, *codes, *scales, np.float32(0))

    key, value = (code * scale for code, scale in zip(codes, scales, strict=True))
    np.testing.assert_allclose(made, attention(query, key, value, np.zeros(())), rtol=1e-4, atol=1e-5)


def test_for_one_token_no_float_copy_of_the_cache_is_made() -> None:
    """Only the scores and their exponentials, of 8 heads, grow with the cache: no rows of 32 elements."""

    def scratch(length: int) -> int:
        return int(tvmlite.compile(codes_group(1, length)).signature.workspace or 0)

    threads = Target.parse("native").machine.cores
    assert scratch(8192) - scratch(4096) <= 4096 * 2 * 8 * 4 * threads
