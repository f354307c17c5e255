"""A tuning run of a model, killed at any point and resumed, ends like an uninterrupted run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from made_up_tuning import MadeUpMachine, small_matmul

from tvmlite import autotune
from tvmlite.autotune.records import records as rec

TRIALS, SEED = 40, 3

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Story:
    """The records of the run with ``SEED`` without measured times: each decision, each trial, and the
    comparisons in force, in the order of the file."""

    decisions: list[tuple[object, ...]]
    trials: list[tuple[object, ...]]
    comparisons: dict[str, list[str]]

    @staticmethod
    def of(path: Path) -> Story:
        loaded = rec.load(path)
        mine = [one for one in loaded if one.seed == SEED]
        return Story(
            [(one.name, one.taken, one.default) for one in loaded.decisions if one.seed == SEED],
            [
                (one.task_key, str(one.config), one.trial, one.origin, one.error, one.ok)
                for one in mine
                if one.origin != rec.FINAL
            ],
            {key: [str(one.config) for one in block] for key, block in rec.comparisons(mine).items()},
        )


def run(
    path: Path, event: str = "never", number: int = 0, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Tune in a separate process, which kills itself at the ``number``-th ``event``."""
    program = Path(__file__).with_name("killed_tuning.py")
    given = json.dumps({"seed": SEED} | options)
    command = [sys.executable, str(program), str(path), event, str(number), given]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True)


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What a finished run printed: the selected kernels, and the count of each event."""
    assert done.returncode == 0
    return json.loads(done.stdout)


def killed(path: Path, event: str, number: int, whole: dict[str, Any], **options: Any) -> Story:
    """The records of a run killed at an event, which counts from the last one if ``number`` is negative."""
    place = number if number > 0 else whole["seen"][event] + 1 + number
    assert run(path, event, place, **options).returncode == -signal.SIGKILL
    return Story.of(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("killed")


@pytest.fixture(scope="module")
def whole(folder: Path) -> dict[str, Any]:
    """An uninterrupted run; its records are in ``whole.jsonl``."""
    return told(run(folder / "whole.jsonl", trials=TRIALS))


@pytest.mark.parametrize(
    ("event", "number", "phase"),
    [
        pytest.param("run", 300, "decisions", id="while a decision is tried"),
        pytest.param("cut", 2, "decisions", id="in the line of a decision", marks=pytest.mark.exhaustive),
        pytest.param("measure", -TRIALS + 11, "search", id="in the middle of a batch"),
        pytest.param(
            "measure",
            -TRIALS + 16,
            "search",
            id="when another task's turn has come",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            "write", -3, "search", id="when a batch is measured and not written", marks=pytest.mark.exhaustive
        ),
        pytest.param("cut", -3, "search", id="in the lines of a batch", marks=pytest.mark.exhaustive),
        pytest.param("tuned run", 60, "judge", id="in the final comparison", marks=pytest.mark.exhaustive),
        pytest.param(
            "cut", -1, "judge", id="in the lines of the final comparison", marks=pytest.mark.exhaustive
        ),
        pytest.param("tuned run", -20, "end", id="when all is decided", marks=pytest.mark.exhaustive),
    ],
)
def test_a_resumed_killed_run_ends_like_an_uninterrupted_one(
    folder: Path, whole: dict[str, Any], tmp_path: Path, event: str, number: int, phase: str
) -> None:
    path, expected = tmp_path / "cut.jsonl", Story.of(folder / "whole.jsonl")

    kept = killed(path, event, number, whole, trials=TRIALS)
    resumed = told(run(path, trials=TRIALS, resume=True))

    assert expected.decisions
    assert len(expected.comparisons) > 1  # how many kernels have better schedules depends on the machine
    assert any("apart" in decision for decision in expected.decisions)
    if phase == "decisions":
        assert 0 < len(kept.decisions) < len(expected.decisions)
    else:
        assert kept.decisions == expected.decisions
    assert (len(kept.trials) in range(1, TRIALS)) == (phase == "search")
    assert (kept.trials == expected.trials) == (phase in ("judge", "end"))
    assert (kept.comparisons == expected.comparisons) == (phase == "end")
    assert Story.of(path) == expected
    assert resumed["kernels"] == whole["kernels"]


def test_a_resumed_run_keeps_decisions_that_are_no_longer_faster(
    folder: Path, whole: dict[str, Any], tmp_path: Path
) -> None:
    """Kernels of the graph were searched since the decision: another graph would lose those trials."""
    path = tmp_path / "cut.jsonl"

    killed(path, "measure", -TRIALS + 11, whole, trials=TRIALS)
    resumed = told(run(path, trials=TRIALS, resume=True, doubted=True))

    assert Story.of(path) == Story.of(folder / "whole.jsonl")
    assert resumed["kernels"] == whole["kernels"]


@pytest.mark.exhaustive
def test_a_resumed_run_does_not_take_reverted_decisions_again(tmp_path: Path) -> None:
    before, path = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    whole = told(run(before, trials=16, doubted=True))

    kept = killed(path, "measure", -12, whole, trials=16, doubted=True)
    resumed = told(run(path, trials=16, resume=True))

    taken = [taken for _, taken, _ in kept.decisions]
    assert taken[-1] != "apart" in taken
    assert Story.of(path) == Story.of(before)
    assert resumed["kernels"] == whole["kernels"]


def test_trials_of_other_tasks_in_the_file_do_not_stop_the_decisions(
    folder: Path, whole: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "cut.jsonl"
    autotune.template("tests.matmul", small_matmul)
    task = autotune.create("tests.matmul", (16, 16, 16))
    autotune.tune(task, path, trials=8, seed=SEED, tuner="random", runner=MadeUpMachine())

    killed(path, "run", 300, whole, trials=TRIALS)
    told(run(path, trials=TRIALS, resume=True))

    assert Story.of(path).decisions == Story.of(folder / "whole.jsonl").decisions


@pytest.mark.exhaustive
def test_a_resumed_run_with_a_time_budget_repeats_the_trials_and_adds_more(tmp_path: Path) -> None:
    """The budget starts when the run is resumed: trials of the killed run are not repeated and cost none."""
    before, path = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    whole = told(run(before, budget=40))

    kept = killed(path, "measure", -20, whole, budget=40)
    resumed = told(run(path, budget=40, resume=True))

    expected, found = Story.of(before), Story.of(path)
    assert 0 < len(kept.trials) < len(expected.trials) < len(found.trials)
    assert found.trials[: len(expected.trials)] == expected.trials
    assert found.decisions == expected.decisions
    assert resumed["seconds"] <= 1.1 * whole["seconds"]
