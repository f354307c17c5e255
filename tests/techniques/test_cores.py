"""Kernels are cut for as many cores as the machine has: the chunks of whole models, simulated."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from tvmlite import runtime, te
from tvmlite.driver import compile
from tvmlite.machine.target import Target
from tvmlite.model.kernels import lowered_kernel
from tvmlite.relay import passes
from tvmlite.relay.entry.kernels import kernel_tasks
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.nodes import Module
from tvmlite.runtime.pool import claiming
from tvmlite.te.loop.chunks import WORTH_A_THREAD, ChunkPlan, chunk_plans
from tvmlite.te.templates import anchors, templates
from tvmlite.te.templates.share import MOST_UNEVEN

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # last: it has a models.py, as tests has

import networks

MODELS = (
    "resnet18", "resnet50", "mobilenet_v2", "bert_base", "minilm", "mlp", "lstm", "light_densenet121",
    "light_inception_v1", "light_inception_v2", "light_shufflenet", "light_squeezenet",
)  # fmt: skip

SMALL = ("mlp", "lstm", "minilm", "light_squeezenet")
MOST_KERNELS = ("light_densenet121", "light_inception_v1", "light_inception_v2", "light_shufflenet")
MARKS = {
    **{name: [pytest.mark.slow] for name in MODELS},
    **{name: [] for name in SMALL},
    **{name: [pytest.mark.slow, pytest.mark.exhaustive] for name in MOST_KERNELS},
}

CORES = (1, 2, 4, 8, 16, 32, 64, 128)

WITH_REASONS = 0.10
"""The most of a model's work that may be in kernels which are uneven, though they are large, for a reason."""

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"


@cache
def module(name: str) -> Module:
    return from_onnx(networks.model(name)).unnamed()


def plans(name: str, cores: int) -> list[tuple[str, ChunkPlan]]:
    """The plan of each loop nest of each kernel of a model."""
    target = replace(Target.parse(TARGET), num_cores=cores)
    tasks, _ = kernel_tasks(passes.pipeline(3, target).run(module(name)), target)
    return [
        (task.symbol, plan) for task in tasks for plan in chunk_plans(lowered_kernel(task, target), cores)
    ]


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS[name]) for name in MODELS])
def test_the_busiest_thread_has_little_more_than_the_mean(name: str) -> None:
    for cores in CORES:
        found = plans(name, cores)
        uneven = [(s, plan) for s, plan in found if plan.busiest > MOST_UNEVEN]
        assert not [(cores, s, plan) for s, plan in uneven if not plan.reason]
        large = sum(plan.work for _, plan in uneven if plan.work >= 2 * cores * WORTH_A_THREAD)
        assert large <= WITH_REASONS * sum(plan.work for _, plan in found), (cores, uneven)


def test_a_dense_layer_keeps_64_cores_busy() -> None:
    data, weight = te.placeholder((2048, 768), name="x"), te.placeholder((48, 768, 16), name="w")
    k = te.reduce_axis(768, name="k")
    sums = te.compute(
        (2048, 48, 16), lambda i, o, n: te.sum(data[i, k] * weight[o, k, n], k), tag="matmul_packed"
    )
    result = te.compute((2048, 768), lambda i, j: sums[i, j // 16, j % 16], tag="matmul_unpack")

    def plan(cores: int) -> ChunkPlan:
        schedule = templates.apply(anchors.DENSE, [result], replace(Target.parse(TARGET), num_cores=cores))
        (found,) = chunk_plans(te.lower(schedule, [data, weight, result]), cores)
        return found

    assert plan(1).iterations == plan(2).iterations
    assert plan(64).busiest <= MOST_UNEVEN
    assert (plan(64).iterations or 0) >= 64 > (plan(2).iterations or 0)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_library_cut_for_64_cores_is_right_on_fewer_threads(threads: int) -> None:
    model = networks.model("mlp")
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    data = np.random.default_rng(0).standard_normal(given.shape).astype(np.float32)
    (expected,) = session.run(None, {given.name: data})
    lib = compile(from_onnx(model), replace(Target.parse("native"), num_cores=64))
    before = runtime.num_threads()
    runtime.set_num_threads(threads)
    try:
        np.testing.assert_allclose(lib(data), expected, rtol=1e-4, atol=1e-4)
    finally:
        runtime.set_num_threads(before)


def test_work_too_small_to_share_says_so() -> None:
    a = te.placeholder((64, 64), name="a")
    b = te.compute((64, 64), lambda i, j: a[i, j] + 1, name="b")
    (plan,) = chunk_plans(te.lower(te.create_schedule(b.op), [a, b]), 8)
    assert plan.iterations == 1
    assert plan.reason == "12288 units of work run on one thread"


def test_turns_that_are_cut_short_have_less_work() -> None:
    a = te.placeholder((100,), name="a")
    b = te.compute((100,), lambda i: a[i] + 1, name="b")
    schedule = te.create_schedule(b.op)
    outer, _ = schedule[b].split(b.op.axis[0], factor=32)
    schedule[b].parallel(outer)
    (plan,) = chunk_plans(te.lower(schedule, [a, b]), 4)
    assert plan.work == 300
    assert plan.busiest == pytest.approx(32 / 25)


def test_threads_claim_chunks_as_the_pool_deals_them() -> None:
    source = (Path(claiming.__file__).parent / "pool.c").read_text()
    stated = re.search(r"CHUNKS_A_THREAD = (\d+)", source)
    assert stated is not None
    assert int(stated[1]) == claiming.CHUNKS_A_THREAD
    assert claiming.busiest([1.0] * 12, 8) == 2
    assert claiming.busiest([1.0] * 5, 8) == 1
    assert claiming.busiest([4.0, 1, 1, 1, 1, 1, 1, 1], 2) == 6
    work = np.random.default_rng(0).random(200).tolist()
    assert claiming.busiest(work, 1) == pytest.approx(sum(work))
    assert sum(work) / 7 <= claiming.busiest(work, 7) <= sum(work) / 7 * 1.2
