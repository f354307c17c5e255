"""Without each technique's registration, code differs and models stay correct."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core import techniques
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.entry.lower import lower_group
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Function, Module
from tvmlite.relay.passes import target_passes
from tvmlite.relay.passes.fusion.reuse_operands import IN_PLACE_RULES
from tvmlite.relay.quantize.weight_only import weight_only
from tvmlite.te.templates import table
from tvmlite.techniques.common import dot
from tvmlite.techniques.packed_matmul.pack_weights import APPROXIMATIONS

techniques.load()


def names() -> list[str]:
    """Every technique that has registered anything."""
    templates = [row.technique for rows in table.TEMPLATES.values() for row in rows]
    of_graphs = [row.technique for row in target_passes.TARGET_PASSES.values()]
    found = [
        *templates,
        *table.GENERATORS,
        *of_graphs,
        *dot.DOT_INSTRUCTIONS,
        *APPROXIMATIONS,
        *IN_PLACE_RULES,
    ]
    return sorted(set(found))


@pytest.fixture
def remove(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Remove a technique from every table."""

    def removed(name: str) -> None:
        rows = {key: [r for r in rows if r.technique != name] for key, rows in table.TEMPLATES.items()}
        kept = {k: row for k, row in target_passes.TARGET_PASSES.items() if row.technique != name}
        monkeypatch.setattr(target_passes, "TARGET_PASSES", kept)
        for anchor, left in rows.items():
            monkeypatch.setitem(table.TEMPLATES, anchor, left)
        for rules in (table.GENERATORS, dot.DOT_INSTRUCTIONS, APPROXIMATIONS, IN_PLACE_RULES):
            monkeypatch.delitem(rules, name, raising=False)

    return removed


def constant(*shape: int, seed: int = 0) -> relay.Constant:
    values = np.random.default_rng(seed).standard_normal(shape) / np.sqrt(max(1, np.prod(shape[1:])))
    return relay.const(values.astype("float32"))


def images() -> Module:
    """Convolutions of every kind (3x3 of many channels, depthwise, 1x1), pooling, and a mean."""
    x = relay.var("x", shape=(1, 16, 14, 14))
    y = relay.nn.relu(relay.nn.conv2d(x, constant(32, 16, 3, 3), padding=(1, 1)))
    y = relay.nn.conv2d(y, constant(32, 32, 3, 3, seed=1), padding=(1, 1))
    y = relay.nn.relu(relay.nn.conv2d(y, constant(32, 1, 3, 3, seed=2), padding=(1, 1), groups=32))
    y = relay.nn.max_pool2d(relay.nn.conv2d(y, constant(48, 32, 1, 1, seed=3)), (2, 2), (2, 2))
    y = relay.nn.conv2d_transpose(y, constant(48, 8, 2, 2, seed=4), strides=(2, 2))
    return Module.from_expr(relay.Function([x], relay.mean(y, axis=(2, 3))))


def text() -> Module:
    """The parts of an encoder: products of many rows, attention, softmax, normalization, a sum of rows."""
    x = relay.var("x", shape=(1, 24, 64))
    parts = [relay.nn.dense(x, constant(64, 64, seed=seed)) for seed in range(3)]
    q, k, v = (relay.transpose(relay.reshape(p, (1, 24, 2, 32)), (0, 2, 1, 3)) for p in parts)
    scores = relay.nn.batch_matmul(relay.reshape(q, (2, 24, 32)), relay.reshape(k, (2, 24, 32)))
    weights = relay.nn.softmax(relay.multiply(scores, relay.const(np.float32(0.2))), axis=-1)
    seen = relay.nn.batch_matmul(weights, relay.reshape(v, (2, 24, 32)), transpose_b=False)
    flat = relay.reshape(relay.transpose(relay.reshape(seen, (1, 2, 24, 32)), (0, 2, 1, 3)), (1, 24, 64))
    y = relay.nn.layer_norm(relay.add(flat, x), constant(64, seed=5), constant(64, seed=6))
    y = relay.nn.dense(relay.nn.gelu(relay.nn.dense(y, constant(128, 64, seed=7))), constant(64, 128, seed=8))
    return Module.from_expr(relay.Function([x], relay.nn.softmax(relay.sum(y, axis=1))))


def rows() -> Module:
    """One row times large weights."""
    x = relay.var("x", shape=(1, 512))
    y = relay.nn.dense(relay.nn.relu(relay.nn.dense(x, constant(512, 512))), constant(256, 512, seed=1))
    return Module.from_expr(relay.Function([x], y))


def integers() -> Module:
    """A dense layer of bytes."""
    x = relay.var("x", shape=(4, 64), dtype="uint8")
    weight = np.random.default_rng(0).integers(-100, 100, (32, 64)).astype("int8")
    y = relay.nn.dense(x, relay.const(weight), out_dtype="int32")
    return Module.from_expr(relay.Function([x], y))


def signed_bytes() -> Module:
    """A dense layer of signed bytes, for machines without vectors."""
    x = relay.var("x", shape=(4, 64), dtype="int8")
    weight = np.random.default_rng(0).integers(-100, 100, (32, 64)).astype("int8")
    return Module.from_expr(relay.Function([x], relay.nn.dense(x, relay.const(weight), out_dtype="int32")))


def bytes_by_channel() -> Module:
    """A depthwise convolution of bytes between two 1x1 convolutions."""
    source = np.random.default_rng(0)
    y = x = relay.var("x", shape=(1, 32, 14, 14), dtype="uint8")
    for inputs, groups, window, dtype in ((32, 1, 1, "int32"), (1, 32, 3, "float32"), (32, 1, 1, "int32")):
        weight = relay.const(source.integers(-100, 100, (32, inputs, window, window)).astype("int8"))
        padding = (window // 2,) * 2
        y = relay.nn.conv2d(y, weight, padding=padding, groups=groups, out_dtype=dtype)
        y = relay.multiply(relay.cast(y, "float32"), relay.const(np.float32(1e-3)))
        y = relay.qnn.quantize(y, relay.const(np.float32(1)), relay.const(np.int32(3)), out_dtype="uint8")
    return Module.from_expr(relay.Function([x], y))


def sums() -> Module:
    """Sums along rows and columns of a large matrix."""
    x = relay.var("x", shape=(400, 1000))
    y = relay.add(relay.sum(relay.exp(x), axis=1), relay.const(np.float32(1)))
    return Module.from_expr(
        relay.Function([x], relay.Tuple((y, relay.max(x, axis=0), relay.argmax(x, axis=1))))
    )


def few_bits() -> Module:
    """One row times weights of 4 bits."""
    return weight_only(rows(), bits=4, group=32)


def few_bits_of_bytes() -> Module:
    """One row in 8 bits times weights of 4 bits: with two such layers another order of sums changes codes."""
    x = relay.var("x", shape=(1, 512))
    module = Module.from_expr(relay.Function([x], relay.nn.dense(x, constant(512, 512))))
    return weight_only(module, bits=4, group=32, data_bits=8)


MODELS = {
    "few bits": few_bits,
    "few bits of bytes": few_bits_of_bytes,
    "sums": sums,
    "images": images,
    "text": text,
    "rows": rows,
    "integers": integers,
    "signed bytes": signed_bytes,
    "bytes by channel": bytes_by_channel,
}


def code(target: str, precision: str, error_bound: float) -> str:
    """The loops of all kernels of all models for ``target``."""
    made, machine = [], Target.parse(target)
    for make in MODELS.values():
        module = passes.pipeline(3, machine, precision, error_bound).run(make())
        groups = [
            n.op for n in postorder(module.main.body) if isinstance(n, Call) and isinstance(n.op, Function)
        ]
        made += [str(lower_group(group, machine, "k")) for group in groups]
    return "\n".join(made)


@functools.cache
def with_all(target: str, precision: str, error_bound: float) -> str:
    """The code with all techniques."""
    return code(target, precision, error_bound)


ZEN, TILES = (f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}" for cpu in ("znver4", "sapphirerapids"))
SCALAR = "c -mcpu=cortex-m4"
CASES = ((ZEN, "float32", 0.0), (ZEN, "float32", 1e-4), (TILES, "bfloat16", 0.0), (SCALAR, "float32", 0.0))
"""Targets that together use every technique."""


@pytest.fixture(scope="module", autouse=True)
def _before() -> None:
    for case in CASES:
        with_all(*case)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*names()} - table.GENERATORS.keys()))  # those take what others leave
def test_without_a_technique_the_code_differs(name: str, remove: Callable[[str], None]) -> None:
    remove(name)

    assert any(code(*case) != with_all(*case) for case in CASES)


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("model", MODELS)
def test_without_a_technique_models_are_correct(name: str, model: str, remove: Callable[[str], None]) -> None:
    module = MODELS[model]()
    type_ = module.main.params[0].type
    random = np.random.default_rng(1)
    floats = random.standard_normal(type_.shape).astype("float32")
    x = floats if type_.dtype == "float32" else random.integers(0, 255, type_.shape).astype(type_.dtype)
    expected = interpret(module, [x])
    remove(name)

    got = tvmlite.compile(module, error_bound=1e-4)(x)

    for one, wanted in zip(flat(got), flat(expected), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=2e-4, atol=2e-4 * float(np.abs(wanted).max()))


def flat(value: Any) -> list[np.ndarray]:
    return list(value) if isinstance(value, tuple) else [value]
