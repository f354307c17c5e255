"""``tvm.topi.random``: random numbers. The state of a generator is a key of ten uint64 words; each function
returns the advanced generator first."""

from __future__ import annotations

import math
from typing import Any

from tvmlite import relay
from tvmlite.relay.ir import builders
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.operate import operate


def _sized(shape: Any) -> tuple[int, ...]:
    return tuple(int(one) for one in shape)


def threefry_generate(gen: Tensor, out_shape: Any) -> list[Tensor]:
    """Return the next generator, and random uint64 words, which are generated in groups of four."""
    make, shape = builders.builder("random.threefry_generate"), _sized(out_shape)
    count = math.prod(shape)

    def formula(key: Any) -> Any:
        made = make(key, out_shape=(-(-count // 4) * 4,))
        words = relay.strided_slice(made[1], (0,), (count,))
        return relay.Tuple((made[0], relay.reshape(words, shape)))

    return operate("random.threefry_generate", formula, gen)


def threefry_split(gen: Tensor) -> list[Tensor]:
    """Return two independent generators derived from ``gen``."""
    return operate("random.threefry_split", builders.builder("random.threefry_split"), gen)


def threefry_test_wrapping(target: Any, device: Any) -> bool:
    """Return True: sums of unsigned ints wrap around on every target."""
    return True


def uniform(gen: Tensor, low: Tensor, high: Tensor, out_shape: Any, out_dtype: str) -> list[Tensor]:
    """Return the next generator, and uniformly distributed numbers from ``low`` to below ``high``."""
    return _distribution("random.uniform", out_shape, out_dtype, gen, low, high)


def normal(gen: Tensor, mean: Tensor, scale: Tensor, out_shape: Any, out_dtype: str) -> list[Tensor]:
    """Return the next generator, and normally distributed numbers with ``mean`` and standard deviation
    ``scale``."""
    return _distribution("random.normal", out_shape, out_dtype, gen, mean, scale)


def multinomial(gen: Tensor, probs: Tensor, num_samples: int) -> list[Tensor]:
    """Return the next generator, and ``num_samples`` indices along the last axis of ``probs``, drawn with
    these probabilities."""
    draw = builders.builder("random.multinomial")
    return operate("random.multinomial", lambda *x: draw(*x, num_samples=num_samples), gen, probs)


def _distribution(name: str, shape: Any, dtype: str, *tensors: Tensor) -> list[Tensor]:
    options = {"out_shape": _sized(shape), "out_dtype": dtype}
    return operate(name, lambda *x: builders.builder(name)(*x, **options), *tensors)


__getattr__ = refusing(__name__)
