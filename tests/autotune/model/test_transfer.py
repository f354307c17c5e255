"""Transfer: records of other shapes predict the speed of candidates of a task never measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up_tuning import MadeUpMachine, small_matmul

from tvmlite import autotune
from tvmlite.autotune.measure import Candidate, Outcome
from tvmlite.autotune.measure.build import Builder, Lowered
from tvmlite.autotune.model import transfer, trees
from tvmlite.autotune.model.loop_features import NAMES, loop_features
from tvmlite.autotune.records import records as rec
from tvmlite.machine.target import Target
from tvmlite.te.cost import bytes_per_cycle
from tvmlite.te.space import ConfigEntity, OptionChoice

pytest.importorskip("xgboost", reason="xgboost is of the extra tune")


class PrefersVectors(MadeUpMachine):
    """A machine on which vectorized candidates are fast, and fewer loads make them faster."""

    @staticmethod
    def cost(candidate: Candidate) -> float:
        text = candidate.ir_text
        return 1e-3 / (1 + text.count("<")) + 1e-6 * text.count(" load ")

    def measure(self, task: str, candidate: Candidate) -> Outcome:
        return Outcome((self.cost(candidate),) * 3)


def task_of(*shape: int) -> autotune.Task:
    autotune.template("tests.matmul", small_matmul)
    return autotune.create("tests.matmul", shape)


def measured(path: Path, *shape: int, seed: int = 1) -> list[rec.Record]:
    autotune.tune(task_of(*shape), path, trials=40, seed=seed, tuner="random", runner=PrefersVectors())
    return list(rec.load(path))


def test_a_model_trained_on_some_shapes_ranks_another_shape(tmp_path: Path) -> None:
    records = measured(tmp_path / "a.jsonl", 16, 16, 16) + measured(tmp_path / "b.jsonl", 32, 8, 16)
    task = task_of(24, 24, 8)
    builder = Builder(task)
    rows, costs = [], []
    for number in range(0, len(task.config_space), 3):
        built = builder.built(task.config_space.get(number))
        lowered = builder.lowered(task.config_space.get(number))
        assert isinstance(lowered, Lowered)
        rows.append(loop_features(lowered.function, task.target, task.flop))
        costs.append(PrefersVectors.cost(built))  # type: ignore[union-attr]

    prior = transfer.learned(records, task.target, transfer.estimate(task.target))
    said, quick = prior(np.stack(rows)), -np.array(costs)
    ranks = [np.argsort(np.argsort(x)) for x in (said, quick)]
    first = np.argsort(-said)[:8]

    assert np.corrcoef(*ranks)[0, 1] > 0.6
    assert quick[first].max() >= np.quantile(quick, 0.98)
    assert np.median(quick[first]) >= np.quantile(quick, 0.85)


def test_an_offset_of_a_whole_task_is_not_learned() -> None:
    """The prior overestimates all candidates of one task: the correction does not blame its loops."""
    generator = np.random.default_rng(0)
    rows = generator.uniform(0, 8, (200, len(NAMES))).astype(np.float32)
    rows[100:, 0] += 100  # a feature that tells the tasks apart
    scores = np.where(rows[:, 5] > 4, 0.0, -2.0).astype(np.float32)
    known = [(rows[:100], scores[:100]), (rows[100:], scores[100:])]

    def prior(some: np.ndarray) -> np.ndarray:
        return np.where(some[:, 0] > 50, 7.0, 0.0).astype(np.float32)

    said = transfer.correction(known, prior)(rows)

    assert abs(said[:100].mean() - said[100:].mean()) < 0.3
    assert np.corrcoef(said, scores)[0, 1] > 0.9


def test_slow_records_have_less_weight() -> None:
    """Equal loops are near the best in half of the records and very slow in the others: the former counts."""
    rows = np.zeros((200, len(NAMES)), np.float32)
    rows[100:, 5] = 1.0
    scores = np.zeros(200, np.float32)
    scores[100:] = np.tile([-6.0, -0.5], 50)

    said = transfer.correction([(rows, scores)], transfer.estimate(Target.parse("native")))(rows)

    assert -2.0 < said[150] - said[0] < -0.5


def test_without_records_the_prior_is_unchanged() -> None:
    target = Target.parse("native")
    prior = transfer.estimate(target)

    assert transfer.learned([], target, prior) is prior


def test_records_of_unknown_templates_and_other_machines_are_left_out(tmp_path: Path) -> None:
    records = measured(tmp_path / "a.jsonl", 16, 16, 16)
    elsewhere = Target.parse("llvm -mcpu=znver1 -mtriple=x86_64-linux-gnu")
    unknown = [rec.Record(("tests.gone", ()), r.target, r.config, r.costs, verified=True) for r in records]

    assert transfer.training_data(records, elsewhere) == []
    assert transfer.training_data(unknown, Target.parse("native")) == []


def test_records_that_do_not_fit_their_template_are_left_out(tmp_path: Path) -> None:
    records = measured(tmp_path / "a.jsonl", 16, 16, 16)
    target = Target.parse("native")
    odd = ConfigEntity({**records[0].config.settings, "y": OptionChoice("x")})
    strange = [replace(one, config=odd, costs=(1e-9,)) for one in records]
    calls = ["matmul", ((),), (16, 16), (16, 16, "x"), (16, 16, -1), (["TENSOR", ["x"], "y"], 1, 1)]
    uncalled = [replace(one, task=("tests.matmul", tuple(args))) for args in calls for one in records]
    timeouts = [replace(one, error="timeout", costs=(1e-12,)) for one in records]

    ((rows, scores),) = transfer.training_data([*records, *strange, *uncalled], target, 10**6)
    ((_, beside),) = transfer.training_data([*records, *timeouts], target, 10**6)

    assert (len(rows), scores.max()) == (40, 0)
    assert beside.max() == 0


def test_scores_are_relative_to_the_best_of_the_task(tmp_path: Path) -> None:
    records = measured(tmp_path / "a.jsonl", 16, 16, 16)

    ((rows, scores),) = transfer.training_data(records, Target.parse("native"))
    ((few, _),) = transfer.training_data(records, Target.parse("native"), most=20)

    assert rows.shape == (40, len(NAMES))
    assert scores.max() == 0 > scores.min() >= transfer.LOWEST_SCORE
    assert len(few) == 20


@pytest.mark.slow
def test_a_resumed_run_starts_from_the_same_prior(tmp_path: Path) -> None:
    """Its own records are not among those that train its prior."""
    path, whole = tmp_path / "tune.jsonl", tmp_path / "whole.jsonl"
    for one in (path, whole):
        measured(one, 16, 16, 16, seed=2)
    options = {"trials": 24, "seed": 5}
    autotune.tune(task_of(24, 24, 8), whole, runner=PrefersVectors(), **options)  # type: ignore[arg-type]

    autotune.tune(task_of(24, 24, 8), path, runner=PrefersVectors(), **options)  # type: ignore[arg-type]
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) - 13]))
    autotune.tune(task_of(24, 24, 8), path, runner=PrefersVectors(), resume=True, **options)  # type: ignore[arg-type]

    assert [str(r.config) for r in rec.load(path)] == [str(r.config) for r in rec.load(whole)]


@pytest.mark.parametrize(
    ("cpu", "like"), [("znver4", "znver5"), ("sapphirerapids", "graniterapids"), ("haswell", "znver3")]
)
def test_the_prior_is_the_model_of_the_most_similar_processor(cpu: str, like: str) -> None:
    """Processors without a trained model use that of the nearest one."""
    rows = np.random.default_rng(0).uniform(0, 8, (50, len(NAMES))).astype(np.float32)
    target = Target.parse(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")
    model = trees.shipped(Target.parse(f"llvm -mtriple=x86_64-linux-gnu -mcpu={like}"))
    assert model is not None

    said = transfer.shipped_prior(target)(rows)

    np.testing.assert_array_equal(said, transfer.estimate(target)(rows) + model(rows))


def test_a_tuner_has_the_prior_of_its_target() -> None:
    autotune.template("tests.matmul", small_matmul)
    rows = np.random.default_rng(0).uniform(0, 8, (50, len(NAMES))).astype(np.float32)
    for cpu in ("znver5", "sapphirerapids"):
        target = Target.parse(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")

        tuner = autotune.XGBTuner(autotune.create("tests.matmul", (16, 16, 16), target))

        np.testing.assert_array_equal(tuner.prior(rows), transfer.shipped_prior(target)(rows))


@pytest.mark.parametrize(
    ("cpu", "second"), [("znver5", 1 << 19), ("graniterapids", 1 << 21), ("znver3", 1 << 19)]
)
def test_the_estimate_is_the_slower_of_arithmetic_and_memory(cpu: str, second: int) -> None:
    """``second`` is the size of the machine's second-level cache, in bytes."""
    target = Target.parse(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")
    first, last, *_ = bytes_per_cycle(target.machine)
    rows = np.full((4, len(NAMES)), -30.0, np.float32)
    cycles, near, far = (NAMES.index(name) for name in ("cycles", "moved 32768", f"moved {second}"))
    rows[:, cycles] = 6.0  # 64 operations a cycle
    rows[1, near] = np.log2(first) - 6.0  # loads from beyond the first cache take as long
    rows[2, near] = 4.0
    rows[3, far] = 4.0

    estimates = transfer.estimate(target)(rows)

    assert estimates[0] == pytest.approx(6.0, abs=0.01)
    assert estimates[1] == pytest.approx(6.0 - 1 / 4, abs=0.01)
    assert estimates[2] == pytest.approx(np.log2(first) - 4, abs=0.01)
    assert estimates[3] == pytest.approx(np.log2(last) - 4, abs=0.01)
