"""Random numbers as in TVM: Threefry, a counter-based generator that splits (Salmon and others, 2011).

A generator is ten uint64 words: a key of four, a path of two, a counter of two of which only the second
counts, and two words with one bit set, at the position of the path's next step. Random numbers are the hash
of path and counter under the key; a split gives two generators whose paths differ in that bit. A generator
always gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import TvmliteError
from tvmlite.core.span import Span
from tvmlite.relay.ir.attributes import DIMENSIONS, INTEGER, Attribute, choice
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr, Tuple, TupleGetItem
from tvmlite.relay.ir.op import REQUIRED, make
from tvmlite.relay.ir.types import TensorType, TupleType, same_shape, show_shape
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import FLOAT, expect, fault, unravelled
from tvmlite.relay.ops.register import statement
from tvmlite.relay.ops.written_out import cast, number, written_out
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor

WORDS, STATE, ROUNDS = 4, 10, 20
"""The number of words that are hashed, of words of a generator, and of rounds. As in TVM, the key is not
added after the last round."""
PARITY = 0x1BD11BDAA9FC1A22
"""The initial value of a key's fifth word (Ferguson and others, the Skein hash function, 1.3)."""
ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
"""The bits by which a round rotates the second word of both pairs (Skein, table 4)."""
ORDER = (0, 3, 2, 1)
"""The order in which a round leaves the words."""
MAX_WORD = 2**64 - 1
KEY = TensorType((STATE,), "uint64")

_SHAPE = Attribute(REQUIRED, lambda _: DIMENSIONS)


def threefry_key(seed: int) -> np.ndarray:
    """Return the generator for ``seed``, an integer of at most 256 bits, as TVM's ``threefry_key`` does."""
    if not isinstance(seed, int) or not 0 <= seed < 2**256:
        raise TvmliteError(f"threefry_key: seed is {seed!r}, expected 0 to 2**256 - 1", Span.of_caller())
    key = np.frombuffer(seed.to_bytes(32, "little"), "<u8").astype(np.uint64)
    return np.concatenate([key, np.array([0, 0, 0, 0, 1 << 63, 0], np.uint64)])


# --- in numpy ---------------------------------------------------------------------------------------


def _threefry_numpy(key: Sequence[int], counter: Sequence[int]) -> list[int]:
    """The hash of four words, in Python's integers."""
    key_words = [*key, PARITY]
    for word in key:
        key_words[WORDS] ^= word
    x = list(counter)
    for r in range(ROUNDS):
        if r % 4 == 0:
            added = [key_words[(r // 4 + j) % (WORDS + 1)] for j in range(WORDS)]
            added[-1] += r // 4
            x = [(a + b) & MAX_WORD for a, b in zip(x, added, strict=True)]
        for j in range(2):
            a, b, rotation = x[2 * j], x[2 * j + 1], ROTATIONS[r % 8][j]
            a = (a + b) & MAX_WORD
            x[2 * j], x[2 * j + 1] = a, a ^ (((b << rotation) | (b >> (64 - rotation))) & MAX_WORD)
        x = [x[k] for k in ORDER]
    return x


def _next_path_bit_numpy(a: int, b: int) -> tuple[int, int]:
    """Shift the one set bit of 128 bits to the right by one."""
    if a == 1:
        return 0, 1 << 63
    return (0, b >> 1) if a == 0 else (a >> 1, 0)


def _generate_numpy(call: Call, key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    state, shape = [int(word) for word in key], tuple(call["out_shape"])
    count = math.prod(shape)
    if not state[7] < MAX_WORD - count:
        if state[8] == 0 and state[9] == 0:
            state = [*_threefry_numpy(state[:4], [MAX_WORD] * 4), 0, 0, 0, 0, 1 << 63, 0]
        else:
            path = [state[4] | state[8], state[5] | state[9]]
            state = [*state[:4], *path, 0, 0, *_next_path_bit_numpy(state[8], state[9])]
    numbers = [
        word
        for i in range(-(-count // WORDS))
        for word in _threefry_numpy(state[:4], [(one + i) & MAX_WORD for one in state[4:8]])
    ][:count]
    state[6], state[7] = 0, (state[7] + count) & MAX_WORD
    return np.array(state, np.uint64), np.array(numbers, np.uint64).reshape(shape)


def _split_numpy(call: Call, key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    state = [int(word) for word in key]
    if state[8] == 0 and state[9] == 0:
        new = _threefry_numpy(state[:4], state[4:8])
        left, right = [*new, 0, 0, 0, 0, 1 << 62, 0], [*new, 1 << 63, 0, 0, 0, 1 << 62, 0]
    else:
        next_bit = _next_path_bit_numpy(state[8], state[9])
        left = [*state[:8], *next_bit]
        right = [*state[:4], state[4] | state[8], state[5] | state[9], *state[6:8], *next_bit]
    return np.array(left, np.uint64), np.array(right, np.uint64)


# --- in loops ---------------------------------------------------------------------------------------


def _word(value: int) -> e.Expr:
    return e.const(value, "uint64")


def _bitwise(name: str, a: e.Expr, b: e.Expr) -> e.Expr:
    return e.Call(name, (a, b), "uint64")


def _threefry(
    key: Sequence[e.Expr], counter: Sequence[e.Expr], use: Callable[[list[e.Expr]], loop.Stmt]
) -> loop.Stmt:
    """Pass the hash of four words to ``use``, with the words of each round in variables."""
    parity = _word(PARITY)
    for word in key:
        parity = _bitwise("bitwise_xor", parity, word)

    def rounds(key_words: list[e.Expr], x: list[e.Expr], r: int) -> loop.Stmt:
        if r == ROUNDS:
            return use(x)
        if r % 4 == 0:
            added = [key_words[(r // 4 + j) % (WORDS + 1)] for j in range(WORDS)]
            added[-1] = added[-1] + _word(r // 4)
            x = [a + b for a, b in zip(x, added, strict=True)]
        mixed: list[e.Expr] = []
        for j in range(2):
            a, b, rotation = x[2 * j], x[2 * j + 1], ROTATIONS[r % 8][j]
            rotated = _bitwise(
                "bitwise_or",
                _bitwise("shift_left", b, _word(rotation)),
                _bitwise("shift_right", b, _word(64 - rotation)),
            )
            mixed += [a + b, _bitwise("bitwise_xor", a + b, rotated)]
        return _let_all("x", [mixed[k] for k in ORDER], lambda found: rounds(key_words, found, r + 1))

    return _let_all("k", [*key, parity], lambda whole: rounds(whole, list(counter), 0))


def _let_all(
    name: str,
    values: Sequence[e.Expr],
    body: Callable[[list[e.Expr]], loop.Stmt],
    done: tuple[e.Expr, ...] = (),
) -> loop.Stmt:
    """Bind variables to ``values`` in ``body``."""
    if len(done) == len(values):
        return body(list(done))
    return loops.let(
        f"{name}{len(done)}", values[len(done)], lambda var: _let_all(name, values, body, (*done, var))
    )


def _next_path_bit(a: e.Expr, b: e.Expr) -> list[e.Expr]:
    """Shift the one set bit of 128 bits to the right by one."""
    one = _word(1)
    last, none = e.Equal(a, one), e.Equal(a, _word(0))
    half = _bitwise("shift_right", b, one)
    second = e.Select(last, _word(1 << 63), e.Select(none, half, _word(0)))
    return [_bitwise("shift_right", a, one), second]


def _store_words(target: loop.Buffer, values: Sequence[e.Expr], start: Any = 0) -> loop.Stmt:
    return loop.sequence(*(loops.store(target, (start + k,), value) for k, value in enumerate(values)))


def _load_state(source: loop.Buffer) -> list[e.Expr]:
    return [loops.load(source, k) for k in range(STATE)]


def _is_path_full(state: Sequence[e.Expr]) -> e.Expr:
    return e.And(e.Equal(state[8], _word(0)), e.Equal(state[9], _word(0)))


def _check_key(call: Call, key: TensorType) -> None:
    if key.dtype != KEY.dtype or not same_shape(key.shape, KEY.shape):
        raise fault(call, f"key is {key}, expected {KEY}, as threefry_key makes it")


def _shape_of(call: Call) -> tuple[int, ...]:
    shape = call["out_shape"]
    if any(not isinstance(n, int) or n < 0 for n in shape):
        raise fault(call, f"out_shape is {show_shape(shape)}, expected known extents")
    return tuple(shape)


def _generate_type(call: Call, key: TensorType) -> TupleType:
    _check_key(call, key)
    return TupleType((KEY, TensorType(_shape_of(call), "uint64")))


@statement(
    "random.threefry_generate", infer=_generate_type, reference=_generate_numpy, attrs={"out_shape": _SHAPE}
)
def threefry_generate(call: Call, key: Tensor) -> list[Tensor]:
    """Return the next generator, and random bits of ``out_shape`` in uint64."""
    shape = _shape_of(call)
    count = math.prod(shape)
    blocks, rest = divmod(count, WORDS)

    def body(given: loop.Buffer, next_key: loop.Buffer, out: loop.Buffer) -> loop.Stmt:
        state = loops.buffer("state", (STATE,), "uint64")
        old = _load_state(given)

        def new_key(words: list[e.Expr]) -> loop.Stmt:
            zero = _word(0)
            return _store_words(state, [*words, zero, zero, zero, zero, _word(1 << 63), zero])

        path = [_bitwise("bitwise_or", old[4], old[8]), _bitwise("bitwise_or", old[5], old[9])]
        extended = _store_words(state, [*old[:4], *path, _word(0), _word(0), *_next_path_bit(old[8], old[9])])
        restart = loop.If(
            _is_path_full(old), _threefry(old[:4], [_word(MAX_WORD)] * WORDS, new_key), extended
        )
        begin = loop.If(e.Less(old[7], _word(MAX_WORD - count)), _store_words(state, old), restart)

        def block(i: e.Expr, taken: int = WORDS) -> loop.Stmt:
            now = _load_state(state)
            counter = [one + e.cast("uint64", i) for one in now[4:8]]

            def put(words: list[e.Expr]) -> loop.Stmt:
                stores = [
                    loops.store(out, unravelled(i * WORDS + k, shape), word)
                    for k, word in enumerate(words[:taken])
                ]
                return loop.sequence(*stores)

            return _threefry(now[:4], counter, put)

        now = _load_state(state)
        done = _store_words(next_key, [*now[:6], _word(0), now[7] + _word(count), *now[8:]])
        numbers = [loops.over(blocks, block, "i")] if blocks else []
        if rest:
            numbers.append(block(loops.index(blocks), rest))
        return loops.allocated(loop.sequence(begin, *numbers, done), state)

    return loops.extern("threefry_generate", [key], [((STATE,), "uint64"), (shape, "uint64")], body)


def _split_type(call: Call, key: TensorType) -> TupleType:
    _check_key(call, key)
    return TupleType((KEY, KEY))


@statement("random.threefry_split", infer=_split_type, reference=_split_numpy)
def threefry_split(call: Call, key: Tensor) -> list[Tensor]:
    """Return two generators, independent of each other and of ``key``, which must not be used again."""

    def body(given: loop.Buffer, left: loop.Buffer, right: loop.Buffer) -> loop.Stmt:
        old, zero, second = _load_state(given), _word(0), _word(1 << 62)

        def new_key(words: list[e.Expr]) -> loop.Stmt:
            tail = [zero, zero, zero, second, zero]
            return loop.sequence(
                _store_words(left, [*words, zero, *tail]),
                _store_words(right, [*words, _word(1 << 63), *tail]),
            )

        next_bit = _next_path_bit(old[8], old[9])
        path = [_bitwise("bitwise_or", old[4], old[8]), _bitwise("bitwise_or", old[5], old[9])]
        extended = loop.sequence(
            _store_words(left, [*old[:8], *next_bit]),
            _store_words(right, [*old[:4], *path, *old[6:8], *next_bit]),
        )
        return loop.If(_is_path_full(old), _threefry(old[:4], old[4:8], new_key), extended)

    return loops.extern("threefry_split", [key], [((STATE,), "uint64"), ((STATE,), "uint64")], body)


# --- distributions ----------------------------------------------------------------------------------

_FRACTION = {"float32": 23, "float64": 52}
"""The number of random bits, of 64, that a number of each dtype uses."""


def _unit_uniform(key: Expr, shape: tuple[int, ...], dtype: str) -> tuple[Expr, Expr]:
    """Return the next generator, and numbers from 0 to below 1."""
    made = make("random.threefry_generate", key, out_shape=shape)
    bits = make("right_shift", TupleGetItem(made, 1), number(64 - _FRACTION[dtype], "uint64"))
    return TupleGetItem(made, 0), make("divide", cast(bits, dtype), number(2 ** _FRACTION[dtype], dtype))


def _unit_uniform_numpy(call: Call, key: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    attrs = (("out_shape", shape),)
    next_key, bits = _generate_numpy(Call("random.threefry_generate", (), attrs), key)
    fraction = _FRACTION[call["out_dtype"]]
    return next_key, (bits >> np.uint64(64 - fraction)).astype(call["out_dtype"]) / 2**fraction


def _check_scalars(call: Call, key: Expr, **given: Expr) -> None:
    _check_key(call, tensor_type_of(key))
    for name, one in given.items():
        type_ = tensor_type_of(one)
        if type_.ndim or type_.dtype != call["out_dtype"]:
            raise fault(call, f"{name} is {type_}, expected a scalar of {call['out_dtype']}")


_DISTRIBUTION: dict[str, Any] = {"out_shape": _SHAPE, "out_dtype": choice("float32", "float64")}


def _uniform_numpy(
    call: Call, key: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    next_key, values = _unit_uniform_numpy(call, key, tuple(call["out_shape"]))
    return next_key, (values * (high - low) + low).astype(call["out_dtype"])


@written_out("random.uniform", reference=_uniform_numpy, attrs=_DISTRIBUTION)
def uniform(call: Call, key: Expr, low: Expr, high: Expr) -> Expr:
    """Return the next generator, and uniformly distributed numbers from ``low`` to below ``high``."""
    _check_scalars(call, key, low=low, high=high)
    next_key, values = _unit_uniform(key, _shape_of(call), call["out_dtype"])
    return Tuple((next_key, make("add", make("multiply", values, make("subtract", high, low)), low)))


def _normal_numpy(
    call: Call, key: np.ndarray, mean: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    next_key, values = _unit_uniform_numpy(call, key, (2, *call["out_shape"]))
    root = np.sqrt(-2 * np.log(1 - values[0]))
    made = root * np.sin(2 * np.pi * values[1].astype(np.float64)) * scale + mean
    return next_key, made.astype(call["out_dtype"])


@written_out("random.normal", reference=_normal_numpy, attrs=_DISTRIBUTION)
def normal(call: Call, key: Expr, mean: Expr, scale: Expr) -> Expr:
    """Return the next generator, and normally distributed numbers.

    ``mean`` and ``scale`` are the mean and the standard deviation. A number is made from two uniform ones
    (Box and Muller).
    """
    _check_scalars(call, key, mean=mean, scale=scale)
    shape, dtype = _shape_of(call), call["out_dtype"]
    next_key, values = _unit_uniform(key, (2, *shape), dtype)
    first, second = (
        make("squeeze", make("strided_slice", values, begin=(k,), end=(k + 1,), axes=(0,)), axis=(0,))
        for k in range(2)
    )
    complement = make("subtract", number(1, dtype), first)
    root = make("sqrt", make("multiply", number(-2, dtype), make("log", complement)))
    wave = make("sin", make("multiply", number(2 * math.pi, dtype), second))
    return Tuple((next_key, make("add", make("multiply", make("multiply", root, wave), scale), mean)))


def _multinomial_numpy(call: Call, key: np.ndarray, probs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    cumulative = np.cumsum(np.maximum(probs.astype(np.float32), 0), axis=-1, dtype=np.float32)
    generate = Call("random.uniform", (), (("out_dtype", "float32"),))
    next_key, values = _unit_uniform_numpy(generate, key, (*probs.shape[:-1], call["num_samples"]))
    wanted = values.astype(np.float32) * cumulative[..., -1:]
    found = (cumulative[..., None, :] <= wanted[..., None]).sum(-1)
    return next_key, np.minimum(found, probs.shape[-1] - 1).astype(np.int32)


@written_out(
    "random.multinomial",
    reference=_multinomial_numpy,
    attrs={"num_samples": Attribute(REQUIRED, lambda _: INTEGER)},
)
def multinomial(call: Call, key: Expr, probs: Expr) -> Expr:
    """Return the next generator, and ``num_samples`` random indices (int32) for each row of ``probs``.

    An index into the last axis is as likely as its element, relative to the row's sum; negative elements
    count as 0.
    """
    _check_key(call, tensor_type_of(key))
    type_, count = tensor_type_of(probs), call["num_samples"]
    expect(call, "probs are", type_.dtype, FLOAT)
    extents = [extent for extent in type_.shape if isinstance(extent, int)]
    if count < 0 or len(extents) != type_.ndim or not extents or extents[-1] == 0:
        raise fault(call, f"probs are {type_}, num_samples is {count}, expected known extents above 0")
    chances = make("maximum", cast(probs, "float32"), number(0, "float32"))
    cumulative = make("cumsum", chances, axis=-1)
    total = make("strided_slice", cumulative, begin=(-1,), end=(extents[-1],), axes=(-1,))
    next_key, values = _unit_uniform(key, (*extents[:-1], count), "float32")
    found = make("searchsorted", cumulative, make("multiply", values, total), right=True, dtype="int32")
    return Tuple((next_key, make("minimum", found, number(extents[-1] - 1, "int32"))))
