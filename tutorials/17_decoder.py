"""A language model's decoder
==========================

This tutorial generates tokens with a decoder, with weights of 32 bits and of 4, and with data of 32 bits and
of 8.

Run it::

    python tutorials/17_decoder.py
    python tutorials/17_decoder.py --hidden 2048 --layers 4 --tokens 16 --bits 8
    python tutorials/17_decoder.py --cache int8

The weights are random, so the generated text has no meaning. The sizes are like those of the LLaMA models,
but with fewer layers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import tvmlite
from tvmlite import relay
from tvmlite.relay.passes.quantize_cache import quantize_cache
from tvmlite.relay.passes.update_in_place import update_in_place
from tvmlite.relay.quantize.weight_only import weight_only

MICROSOFT = "com.microsoft"


# %%
# Sizes
# -----
#
# A decoder is a stack of layers with the same structure. Each layer has attention, and a *feed-forward* part
# of three matrix products. There are more heads of queries than of keys and values, so that less memory is
# needed for the keys and values of earlier tokens.


@dataclass(frozen=True)
class Config:
    """The sizes of a decoder; ``heads`` are those of queries, ``groups`` those of keys and values."""

    vocabulary: int = 4000
    hidden: int = 1024
    layers: int = 4
    heads: int = 16
    groups: int = 4
    inner: int = 2816
    length: int = 512

    @property
    def size(self) -> int:
        """The number of elements of a head."""
        return self.hidden // self.heads

    def weights(self) -> Iterator[tuple[int, int]]:
        """The columns and terms of every product of one layer."""
        yield from ((self.hidden, self.hidden), (self.groups * self.size, self.hidden))
        yield from ((self.groups * self.size, self.hidden), (self.hidden, self.hidden))
        yield from ((self.inner, self.hidden), (self.inner, self.hidden), (self.hidden, self.inner))


# %%
# The model, as an ONNX graph
# ---------------------------
#
# We write the graph that an exporter would write, node by node. A matrix product has either float weights
# (``MatMul``), or integer codes of a few bits, with one scale for each group of weights (``MatMulNBits``). We
# use the first form here; ``weight_only`` rounds the weights later.


@dataclass
class Builder:
    """An ONNX graph that is being built. Products have float weights, or codes of ``bits`` bits in groups.
    The keys and values of earlier tokens are in arrays that grow, or in ``one_buffer`` of fixed length."""

    config: Config
    bits: int = 32
    group: int = 32
    one_buffer: bool = False
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    tensors: list[onnx.TensorProto] = field(default_factory=list)
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def node(self, op_type: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its first output; the names of others end in ``.1``, ``.2``."""
        name = f"{op_type.lower()}{len(self.nodes)}"
        names = [name, *(f"{name}.{n}" for n in range(1, outputs))]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, name, domain=domain, **attributes))
        return name

    def tensor(self, array: np.ndarray) -> str:
        """Add a constant and return its name."""
        name = f"tensor{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(array, name))
        return name

    def normal(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        """Random numbers around 0."""
        return self.random.standard_normal(shape, np.float32) * np.float32(scale)

    def product(self, data: str, columns: int, terms: int) -> str:
        """``data`` times a random weight."""
        if self.bits == 32:
            return self.node("MatMul", data, self.tensor(self.normal(terms, columns, scale=terms**-0.5)))
        groups = terms // self.group
        codes = self.random.integers(0, 256, (columns, groups, self.group * self.bits // 8), np.uint8)
        scales = self.random.random((columns, groups), np.float32) + 0.5
        scales *= np.float32(terms**-0.5 * 2.0 ** (1 - self.bits))
        scales = scales.astype(np.float16).astype(np.float32)
        sizes = {"K": terms, "N": columns, "bits": self.bits, "block_size": self.group}
        return self.node(
            "MatMulNBits", data, self.tensor(codes), self.tensor(scales), domain=MICROSOFT, **sizes
        )

    def norm(self, data: str) -> str:
        """``data`` divided by its root mean square."""
        ones = self.tensor(np.ones(self.config.hidden, np.float32))
        return self.node("SimplifiedLayerNormalization", data, ones, axis=-1, epsilon=1e-5)

    def attention(self, data: str, layer: int, tables: list[str]) -> str:
        """Attention of each token to all tokens so far, with the products before and after it."""
        sizes = list(self.config.weights())[:4]
        queries, keys, values = (self.product(data, *size) for size in sizes[:3])
        past = [f"past_key{layer}", f"past_value{layer}"]
        made = self.node(
            "GroupQueryAttention", queries, keys, values, *past, "last", "total", *tables,
            outputs=3, domain=MICROSOFT, do_rotary=1,
            num_heads=self.config.heads, kv_num_heads=self.config.groups,
        )  # fmt: skip
        for number, kind in enumerate(("key", "value"), 1):
            self.nodes[-1].output[number] = f"present_{kind}{layer}"
        return self.product(made, *sizes[3])

    def feed_forward(self, data: str) -> str:
        """The feed-forward part: one product is multiplied by the gate of another, and a third follows."""
        *_, gate, up, down = self.config.weights()
        opened = self.product(data, *gate)
        opened = self.node("Mul", opened, self.node("Sigmoid", opened))
        return self.product(self.node("Mul", opened, self.product(data, *up)), *down)

    def model(self) -> onnx.ModelProto:
        """The model: tokens ``(1, n)`` and the past of every layer to scores of all words and the present."""
        config, kind = self.config, helper.make_tensor_value_info
        angles = np.arange(config.length)[:, None] / 10000 ** (np.arange(config.size // 2) * 2 / config.size)
        tables = [self.tensor(one(angles).astype(np.float32)) for one in (np.cos, np.sin)]
        x = self.node("Gather", self.tensor(self.normal(config.vocabulary, config.hidden)), "tokens")
        for layer in range(config.layers):
            x = self.node("Add", x, self.attention(self.norm(x), layer, tables))
            x = self.node("Add", x, self.feed_forward(self.norm(x)))
        scores = self.product(self.norm(x), config.vocabulary, config.hidden)
        self.nodes[-1].output[0] = "scores"
        assert scores
        inputs = [kind("tokens", 7, [1, "n"]), kind("last", 6, [1]), kind("total", 6, [])]
        outputs = [kind("scores", 1, [1, "n", config.vocabulary])]
        for layer in range(config.layers):
            for one in ("key", "value"):
                shape = [1, config.groups, "past", config.size]
                inputs.append(kind(f"past_{one}{layer}", 1, shape))
                total = "past" if self.one_buffer else "total"
                outputs.append(kind(f"present_{one}{layer}", 1, [*shape[:2], total, shape[3]]))
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.tensors)
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


# %%
# Running it
# ----------
#
# The inputs of a step are tokens, and the keys and values of all tokens before them, the *key-value cache*.
# The outputs are a score for each word of the vocabulary as the next token, and the cache with the new tokens
# appended. The axes ``n`` and ``past`` are symbolic dimensions, so one library can process the whole prompt
# as well as single tokens.


def inputs_of(
    config: Config, tokens: np.ndarray, past: list[np.ndarray] | None = None
) -> dict[str, np.ndarray]:
    """The model's inputs for ``tokens (1, n)`` after a ``past``: the keys and values of each layer."""
    if past is None:
        past = [np.zeros((1, config.groups, 0, config.size), np.float32)] * (2 * config.layers)
    total = past[0].shape[2] + tokens.shape[1]
    given = {"tokens": tokens, "last": np.array([total - 1], np.int32), "total": np.array(total, np.int32)}
    names = [f"past_{kind}{layer}" for layer in range(config.layers) for kind in ("key", "value")]
    return given | dict(zip(names, past, strict=True))


def generate(lib: Any, config: Config, prompt: np.ndarray, count: int) -> tuple[list[int], float]:
    """Generate ``count`` tokens after ``prompt (1, n)``, each with the highest score; and tokens per
    second."""
    scores, *past = lib(**inputs_of(config, prompt))
    said = [int(scores[0, -1].argmax())]
    start = time.perf_counter()
    while len(said) < count:
        scores, *past = lib(**inputs_of(config, np.array([[said[-1]]]), past))
        said.append(int(scores[0, -1].argmax()))
    return said, (count - 1) / (time.perf_counter() - start)


def asked() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=32, help="how many to generate")
    parser.add_argument("--bits", type=int, default=4, choices=(4, 8))
    parser.add_argument("--cache", choices=("float32", "int8"), help="also generate with a cache in place")
    return parser.parse_args()


def megabytes(config: Config, bits: int, group: int = 32) -> float:
    """The megabytes read for a token: the weights of all products, and a float32 scale for each group."""
    elements = config.layers * sum(columns * terms for columns, terms in config.weights())
    elements += config.vocabulary * config.hidden
    return elements * (bits / 8 + (4 / group if bits < 32 else 0)) / 1e6


def step_times(lib: Any, config: Config, lengths: list[int]) -> list[float]:
    """Milliseconds for one token after each of ``lengths`` earlier tokens."""
    found = []
    for length in lengths:
        shape = (1, config.groups, length, config.size)
        past = [np.zeros(shape, np.float32) for _ in range(2 * config.layers)]
        inputs = inputs_of(config, np.array([[1]]), past)
        lib(**inputs)
        times = []
        for _ in range(8):
            start = time.perf_counter()
            lib(**inputs)
            times.append(time.perf_counter() - start)
        found.append(min(times) * 1e3)
    return found


def main() -> tuple[dict[str, float], dict[str, Any]]:
    """Compile the decoder in three forms and generate with each; return tokens per second and libraries."""
    args = asked()
    config = Config(hidden=args.hidden, layers=args.layers, inner=args.hidden * 11 // 4)
    prompt = np.random.default_rng(1).integers(0, config.vocabulary, (1, 8))

    module = relay.frontend.from_onnx(Builder(config).model())
    models = {
        "float32": module,
        f"int{args.bits}": weight_only(module, args.bits, 32),
        "int8 data": weight_only(module, args.bits, 32, data_bits=8),
    }
    rates: dict[str, float] = {}
    libraries: dict[str, Any] = {}
    expected = None
    for name, one in models.items():
        lib = libraries[name] = tvmlite.compile(one)
        generate(lib, config, prompt, 3)  # threads wake up
        said, rate = generate(lib, config, prompt, args.tokens)
        rates[name] = rate
        scores = lib(**inputs_of(config, prompt))[0][0, -1]
        print(f"{name:9} {rate:8.1f} tokens a second: {' '.join(map(str, said[:8]))} ...")
        if expected is None:
            expected = scores
        else:
            off = np.linalg.norm(scores - expected) / np.linalg.norm(expected)
            print(f"scores of the next token are off by {off:.1%} of their norm")
    return rates, libraries


# %%
# Generate
# --------
#
# We generate tokens three times: with float32 weights, with rounded weights, and with rounded weights and
# data that are rounded to 8 bits. Random weights are the hardest case for rounding: trained models have fewer
# groups with large weights, and scores that are further apart.

if __name__ == "__main__":
    rates, libraries = main()

# %%
# Why few bits are fast
# ---------------------
#
# For one token, each weight is read once and used for one multiplication. So the time is that of reading the
# weights. Weights of 4 bits need less than a sixth of the bytes, scales included. The data itself is only a
# few kilobytes, so 8 bits hardly reduce the number of bytes. But with data of 8 bits, one instruction
# multiplies four codes, so arithmetic is not the limit. The left picture shows the megabytes that are read
# for a token, the right one the tokens per second.

if __name__ == "__main__":
    from pictures import OURS, PLAIN, SECOND, bars, plt, show

    COLOURS = [PLAIN, OURS, SECOND]
    options = asked()
    config = Config(hidden=options.hidden, layers=options.layers, inner=options.hidden * 11 // 4)
    sizes = {name: megabytes(config, 32 if name == "float32" else options.bits) for name in rates}
    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.2))
    bars(sizes, "megabytes a token", "to be read", colours=COLOURS, axes=left)
    bars(rates, "tokens a second", "generated", colours=COLOURS, axes=right)
    for name, rate in rates.items():
        print(f"{name:9} {sizes[name]:7.1f} MB a token: {rate * sizes[name] / 1e3:6.1f} GB/s of weights")

# %%
# The key-value cache grows with each token, and has to be read as well. The picture shows the time for one
# token over the number of tokens before it.

if __name__ == "__main__":
    lengths = [0, 64, 128, 256, 384, config.length - 1]
    figure = plt.figure(figsize=(6, 2.8))
    axes = figure.gca()
    for (name, lib), colour in zip(libraries.items(), COLOURS, strict=True):
        times = step_times(lib, config, lengths)
        axes.plot(lengths, times, "o-", color=colour, label=name)
        print(f"{name:9}", " ".join(f"{one:.2f}" for one in times), "ms")
    axes.set_ylim(0)
    axes.set_xlabel("tokens before")
    axes.set_ylabel("milliseconds a token")
    axes.legend(frameon=False)
    show()

# %%
# A cache in place
# ----------------
#
# So far each step copies the cache into a longer one. If past and present are declared with the same length,
# they can share *one buffer*, in which each step writes only its own rows (``update_in_place``). With
# ``quantize_cache``, the cache is of int8, a quarter of the bytes, with a scale for each head of a token. The
# inputs ``last`` and ``total`` give the number of tokens so far. Try ``--cache int8``.


def generate_in_place(config: Config, dtype: str, bits: int, prompt: np.ndarray, count: int) -> list[int]:
    """Generate ``count`` tokens after ``prompt``, with ``bits``-bit weights and one buffer of ``dtype``."""
    module = weight_only(relay.frontend.from_onnx(Builder(config, one_buffer=True).model()), bits, 32)
    kinds = [f"{kind}{layer}" for layer in range(config.layers) for kind in ("key", "value")]
    pairs = {f"present_{kind}": f"past_{kind}" for kind in kinds}
    module = (quantize_cache if dtype == "int8" else update_in_place)(module, pairs)
    lib = tvmlite.compile(module, shape={"n": [1]})  # a graph for single tokens, too
    shape = (1, config.groups, config.length, config.size)
    cache = {past: np.zeros(shape, dtype) for past in pairs.values()}
    if dtype == "int8":
        cache |= {f"{past}_scale": np.zeros(shape[:3], np.float32) for past in pairs.values()}
    print(f"cache of {dtype}: {sum(one.nbytes for one in cache.values()) / 1e6:.1f} MB")
    said: list[int] = []
    tokens, total = prompt, prompt.shape[1]
    while len(said) < count:
        last = np.array([total - 1], np.int32)
        scores, *_ = lib(tokens=tokens, last=last, total=np.array(total, np.int32), **cache)
        said.append(int(scores[0, -1].argmax()))
        tokens, total = np.array([[said[-1]]]), total + 1
    return said


if __name__ == "__main__" and options.cache:
    prompt = np.random.default_rng(1).integers(0, config.vocabulary, (1, 8))
    said = generate_in_place(config, options.cache, options.bits, prompt, options.tokens)
    print(" ".join(map(str, said[:8])), "...")

# %%
# `The page on weights of few bits <../weight_only.html>`_ gives the errors and explains the formats.
#
# Exercises
# ---------
#
# 1. Try ``--bits 8``. Is its speed nearer to that of 4 bits or to that of float32?
# 2. Process 8 tokens in one step, and compare the time with that of one token. Why is there hardly a
#    difference?
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. It reads 1.1 bytes per weight, scales included; 4 bits need 0.6 bytes, and float32 needs 4. So it is
#    nearer to 4 bits.
# 2. Each weight is read once for all 8 tokens, and reading the weights takes most of the time. Arithmetic is
#    the limit only with many more tokens.
#
# .. raw:: html
#
#     </details>
