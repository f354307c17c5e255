"""Tuning a model: records are kept and used, and never make the model slower."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from made_up_tuning import MadeUpMachine
from onnx import TensorProto, helper, numpy_helper

import tvmlite
from tvmlite import runtime
from tvmlite.autotune.records import records as rec
from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.entry import tasks
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.nodes import Module
from tvmlite.runtime.library.profile import Profile
from tvmlite.te.space import Task
from tvmlite.tuning.tune import TunedModel, TuningInterrupted

tune = functools.partial(tvmlite.tune, decisions=False)
"""Tunes kernels only: decisions on the graph are tested in ``test_graph_search.py``."""


def convolutions(rows: int | str = 12) -> onnx.ModelProto:
    """Two convolutions and a sum over the last axis."""
    random = np.random.default_rng(0)
    weights = [random.standard_normal(s).astype("float32") / 9 for s in ((32, 16, 3, 3), (16, 32, 1, 1))]
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w1"], ["c"]),
        helper.make_node("ReduceSum", ["c", "last"], ["y"]),
    ]
    constants = [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)]
    constants.append(numpy_helper.from_array(np.array([3]), "last"))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, rows, 10])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "net", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture(scope="module")
def module() -> Module:
    return from_onnx(convolutions())


class MadeUpModel:
    """Runs that take 1 us for a kernel, or ``tuned`` ns if its schedule is a tuned one."""

    def __init__(self, tuned: int) -> None:
        self.tuned = tuned

    def __call__(self, lib: CompiledModule, inputs: Sequence[np.ndarray]) -> Profile:
        configs = {one.task.symbol: one.task.config for one in lib.kernels}
        rows = [(name, 1000 if configs[name] is None else self.tuned) for name in lib.signature.kernels]
        return Profile(tuple(rows), sum(nanoseconds for _, nanoseconds in rows))


@pytest.mark.slow
def test_schedules_faster_in_the_model_are_used(module: Module, tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"

    tuned = tune(
        module,
        records=path,
        trials=80,
        early_stopping=8,  # so that even the smallest task gets trials
        tuner="random",
        runner=MadeUpMachine(),
        run=MadeUpModel(tuned=500),
    )
    lib = tvmlite.compile(module, records=path, require_tuned=True)

    assert tuned.turns is not None
    assert tuned.turns.is_better
    assert tuned.dropped == {}
    assert "x of the default" in str(tuned)
    assert re.fullmatch(
        r"the model: \d µs before, [\d.]+ µs after: [\d.]+x \[[\d., ]+\], .* rounds.*",
        str(tuned).splitlines()[-1],
    )
    assert [row.schedule.split()[0] for row in lib.report.rows[:2]] == ["tuned", "tuned"]
    assert lib.kernel_names == tuned.lib.kernel_names
    assert lib.kernel_names != tvmlite.compile(module).kernel_names
    x = np.random.default_rng(1).standard_normal((1, 16, 12, 10)).astype("float32")
    np.testing.assert_allclose(lib(x), tvmlite.compile(module)(x), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_schedules_slower_in_the_model_are_not_used(module: Module, tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    plain = tvmlite.compile(module)

    tuned = tune(
        module, records=path, trials=40, tuner="random", runner=MadeUpMachine(), run=MadeUpModel(tuned=1500)
    )
    lib = tvmlite.compile(module, records=path)

    assert tuned.dropped
    assert tuned.turns is None
    assert tuned.gain == 1.0
    assert "timed in the model, not significantly faster there: not used" in str(tuned)
    assert "x alone; 0.667x [0.667, 0.667] in the model: it is slower there" in str(tuned)
    assert str(tuned).endswith("nothing that was found is significantly faster in it")
    assert tuned.lib.kernel_names == lib.kernel_names == plain.kernel_names


@pytest.mark.slow
def test_winners_without_a_gain_together_are_not_used(module: Module, tmp_path: Path) -> None:
    class SlowerTogether(MadeUpModel):
        """Each kernel is faster, but the model is not."""

        def __call__(self, lib: CompiledModule, inputs: Sequence[np.ndarray]) -> Profile:
            profile = super().__call__(lib, inputs)
            return dataclasses.replace(profile, nanoseconds=10_000)

    path = tmp_path / "tune.jsonl"

    tuned = tune(
        module, records=path, trials=40, tuner="random", runner=MadeUpMachine(), run=SlowerTogether(tuned=500)
    )

    assert "the winners together: 10 µs before, 10 µs after: 1.000x [1.000, 1.000], " in str(tuned)
    assert "not taken: may be chance: the interval reaches 1 or below" in str(tuned)
    assert tuned.lib.kernel_names == tvmlite.compile(module, records=path).kernel_names
    assert all(one.task.config is None for one in tuned.lib.kernels)


@pytest.mark.slow
def test_the_fastest_candidate_in_the_model_is_chosen(module: Module, tmp_path: Path) -> None:
    class OneIsQuick(MadeUpModel):
        """The time of each kernel depends on its schedule."""

        def __call__(self, lib: CompiledModule, inputs: Sequence[np.ndarray]) -> Profile:
            configs = {one.task.symbol: one.task.config for one in lib.kernels}
            rows = [(name, self._of(configs[name])) for name in lib.signature.kernels]
            return Profile(tuple(rows), sum(nanoseconds for _, nanoseconds in rows))

        def _of(self, config: object) -> int:
            return 50_000 if config is None else 1000 + zlib.crc32(str(config).encode()) % 2_003

    path = tmp_path / "tune.jsonl"

    tuned = tune(module, records=path, trials=60, tuner="random", runner=MadeUpMachine(), run=OneIsQuick(0))

    blocks = [one for one in rec.comparisons(rec.load(path)).values() if len(one) > 2]
    assert blocks
    for winner, *others in blocks:
        assert all(winner.cost < other.cost for other in others)
    assert any(block[0].config.settings != first_found(path, block[0].task_key) for block in blocks)
    assert all(
        one.best is None or one.gain > 10
        for one in tuned.kernels
        if one.task.key in {block[0].task_key for block in blocks}
    )


def first_found(path: Path, key: str) -> object:
    """The fastest configuration in the trials of a task."""
    trials = [r for r in rec.load(path) if r.task_key == key and r.origin != rec.FINAL and r.ok]
    return min(trials, key=lambda r: r.cost).config.settings


@pytest.mark.slow
def test_the_comparison_in_the_model_decides_also_for_a_single_task(tmp_path: Path) -> None:
    """Its comparison in the model directly follows that of the search in the file."""
    model = convolutions()
    del model.graph.node[1:]
    model.graph.node[0].output[0] = "y"
    path = tmp_path / "tune.jsonl"

    tuned = tune(
        from_onnx(model), records=path, trials=8, runner=MadeUpMachine(), run=MadeUpModel(tuned=2000)
    )

    assert len(tuned.kernels) == 1
    assert all(one.task.config is None for one in tvmlite.compile(from_onnx(model), records=path).kernels)


def _run(path: Path, delay: float = 0.0, resume: bool = False) -> subprocess.Popen[bytes]:
    script = f"""
import sys, time
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
from test_tune import MadeUpMachine, MadeUpModel, convolutions, tune
from tvmlite.relay.frontend import from_onnx

class Slow(MadeUpMachine):
    def measure(self, task, candidate):
        time.sleep({delay})
        return super().measure(task, candidate)

tune(from_onnx(convolutions()), records={str(path)!r}, trials=48, seed=3, tuner="random", runner=Slow(),
     run=MadeUpModel(tuned=500), resume={resume})
"""
    return subprocess.Popen([sys.executable, "-c", script], env=os.environ.copy())


def _story(path: Path) -> list[tuple[object, ...]]:
    """The content of the records without times."""
    return [(r.task, str(r.config), r.trial, r.origin, r.error, r.seed, r.ok) for r in rec.load(path)]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_resumed_killed_run_ends_like_an_uninterrupted_one(module: Module, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    assert _run(whole).wait() == 0

    process = _run(cut, delay=0.05)
    while not cut.exists() or cut.read_bytes().count(b"\n") < 16:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = len(rec.load(cut))
    with cut.open("ab") as file:
        file.write(b'{"v": 1, "task": ["fu')  # like an interrupted write
    assert _run(cut, resume=True).wait() == 0

    assert 16 <= kept < 48
    assert _story(cut) == _story(whole)
    names = [tvmlite.compile(module, records=rec.load(p).records).kernel_names for p in (whole, cut)]
    assert names[0] == names[1]


@pytest.mark.slow
def test_a_model_is_tuned_with_real_measurements(module: Module, tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    tuned = tune(module, records=path, trials=6, tuner="random", early_stopping=100)

    default = tvmlite.compile(module)
    assert (tuned.turns is None) == (tuned.lib.kernel_names == default.kernel_names)
    assert sum(r.origin == "random" for r in rec.load(path)) == 6
    lib = tvmlite.compile(module, records=path)
    x = np.random.default_rng(1).standard_normal((1, 16, 12, 10)).astype("float32")
    assert lib.kernel_names == tuned.lib.kernel_names
    np.testing.assert_allclose(lib(x), default(x), rtol=1e-4, atol=1e-4)


def test_kernels_with_open_dimensions_are_not_tuned_and_reported(tmp_path: Path) -> None:
    module = from_onnx(convolutions("h"))
    x = np.ones((1, 16, 9, 10), np.float32)

    tuned = tune(module, records=tmp_path / "t.jsonl", trials=2, runner=MadeUpMachine(), inputs={"x": x})
    (tmp_path / "t.jsonl").touch()
    lib = tvmlite.compile(module, records=tmp_path / "t.jsonl")

    assert tuned.kernels == ()
    assert "not tuned: open dimensions h" in str(tuned)
    assert "? (open dimensions h)" in str(lib.report)


def test_error_when_nothing_is_measured_has_the_first_cause(module: Module, tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match=r"nothing could be measured for .*; the first: crash: as told"):
        tune(module, records=tmp_path / "t.jsonl", trials=6, runner=MadeUpMachine(error="crash"))


def test_a_target_other_than_this_machine_is_an_error(module: Module, tmp_path: Path) -> None:
    for target in ("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", "c"):
        with pytest.raises(InputError, match="cannot be measured here: "):
            tune(module, target, tmp_path / "t.jsonl", trials=1)


@pytest.mark.slow
def test_results_of_an_interrupted_search_are_used(module: Module, tmp_path: Path) -> None:
    path, said = tmp_path / "tune.jsonl", []

    with pytest.raises(TuningInterrupted) as stopped:
        tune(
            module,
            records=path,
            budget=3600,
            tuner="random",
            runner=MadeUpMachine(stop_after=30),
            run=MadeUpModel(tuned=500),
            say=said.append,
        )

    tuned = stopped.value.tuned
    assert tuned.turns is not None
    assert tuned.gain > 1
    assert said == [
        "the best are timed in the model beside the default, about 5 s; "
        "Ctrl-C again to stop without timing them"
    ]
    assert tvmlite.compile(module, records=path).kernel_names == tuned.lib.kernel_names
    assert any(one.task.config is not None for one in tuned.lib.kernels)


@pytest.mark.slow
def test_a_second_interruption_leaves_only_the_trials(module: Module, tmp_path: Path) -> None:
    class Interrupted(MadeUpModel):
        """Is interrupted when it times a tuned schedule."""

        def __call__(self, lib: CompiledModule, inputs: Sequence[np.ndarray]) -> Profile:
            if any(one.task.config is not None for one in lib.kernels):
                raise KeyboardInterrupt
            return super().__call__(lib, inputs)

    path = tmp_path / "tune.jsonl"

    with pytest.raises(KeyboardInterrupt) as stopped:
        tune(
            module,
            records=path,
            trials=80,
            tuner="random",
            runner=MadeUpMachine(stop_after=30),
            run=Interrupted(tuned=500),
        )

    assert not isinstance(stopped.value, TuningInterrupted)
    assert {r.origin for r in rec.load(path)} == {"random"}


@pytest.mark.slow
def test_an_interrupted_run_can_be_resumed(module: Module, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    options = {"trials": 48, "seed": 3, "tuner": "random", "run": MadeUpModel(tuned=500)}

    tuned = tune(module, records=whole, runner=MadeUpMachine(), **options)  # type: ignore[arg-type]
    with pytest.raises(TuningInterrupted):
        tune(module, records=cut, runner=MadeUpMachine(stop_after=30), **options)  # type: ignore[arg-type]
    again = tune(module, records=cut, runner=MadeUpMachine(), resume=True, **options)  # type: ignore[arg-type]

    assert again.lib.kernel_names == tuned.lib.kernel_names
    trials = [[line for line in _story(path) if line[3] != rec.FINAL] for path in (whole, cut)]
    assert trials[0] == trials[1]


# Unusable records are reported and skipped.


@pytest.fixture(scope="module")
def good(module: Module, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    """The lines of a run."""
    path = tmp_path_factory.mktemp("good") / "tune.jsonl"
    machine = MadeUpMachine()
    tune(
        module,
        records=path,
        trials=80,
        early_stopping=8,
        tuner="random",
        runner=machine,
        run=MadeUpModel(500),
    )
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"target": "llvm -mcpu=other"}, "records are of another machine, the first 'llvm -mcpu=other'"),
        ({"code": "0.0.1"}, "records are of another version, the first '0.0.1', not "),
        ({"more": 1}, r"lines are not records; line 1: unknown fields \['more'\]"),
        ({"costs": [float("nan")]}, "lines are not records; line 1: not JSON: NaN is not a number"),
        ({"config": {"tile": "__import__('os').abort()"}}, "lines are not records; line 1: knob 'tile'"),
        ({"config": {"tile": ["ot", "__import__('os').abort()"]}}, "a record has knobs that are not of this"),
        ({"config": {"rule": ["ot", "no such"]}}, "a record has knobs that are not of this"),
        ({"task": ["fused", ["__import__('os').abort()"]]}, "a record's task cannot be read: "),
        ({"task": ["fused", ["fn (%p0: Tensor[(1,), float32]) { %p0 }"]]}, "a record's task cannot be read"),
        ({"task": ["fused", []]}, "tasks of other kinds"),
        ({"threads": 63}, r"records were measured with 63 threads, here are \d+: skipped"),
        ({"threads": -1}, "lines are not records; line 1: threads is -1, expected 0 or more"),
    ],
)
def test_unusable_records_are_skipped_with_a_warning(
    module: Module, good: list[dict[str, object]], tmp_path: Path, change: dict[str, object], told: str
) -> None:
    path = tmp_path / "tune.jsonl"
    path.write_text("".join(json.dumps(line | change) + "\n" for line in good))

    with pytest.warns(UserWarning, match=told) as warned:
        lib = tvmlite.compile(module, records=path)

    assert len(warned) <= 2
    assert all(one.task.config is None for one in lib.kernels)
    assert lib.kernel_names == tvmlite.compile(module).kernel_names
    assert str(warned[0].message) in str(lib.report)


@pytest.mark.slow
def test_unusable_records_are_reported_once_in_a_run(
    module: Module, good: list[dict[str, object]], tmp_path: Path
) -> None:
    path = tmp_path / "tune.jsonl"
    lines = [json.dumps(good[0] | {"more": 1}), *(json.dumps(one | {"threads": 63}) for one in good)]
    path.write_text("\n".join(lines) + "\n")

    def tuned(**options: object) -> TunedModel:
        given = {"runner": MadeUpMachine(), "run": MadeUpModel(500), "tuner": "random"} | options
        with pytest.warns(UserWarning, match="1 lines are not records") as warned:
            found = tvmlite.tune(module, records=path, trials=20, **given)  # type: ignore[arg-type]
        told.append([(str(one.message).removeprefix(f"{path}: ")[:18], one.filename) for one in warned])
        return found

    told: list[list[tuple[str, str]]] = []
    found = tuned(seed=1)
    tuned(resume=True, seed=1)

    assert found.turns is not None
    assert told == [[("1 lines are not re", __file__), (f"{len(good)} records were me"[:18], __file__)]] * 2


@pytest.mark.slow
def test_a_comparison_that_lost_its_default_is_not_used(
    module: Module, good: list[dict[str, object]], tmp_path: Path
) -> None:
    """If the default won, its line came first, and the next line is of a loser."""
    default = {key: task.default.to_json_dict() for key, task in _tasks_of(module).items()}
    path = tmp_path / "tune.jsonl"
    kept = [line for line in good if line["config"] != default.get(json.dumps(line["task"]))]
    path.write_text("".join(json.dumps(line) + "\n" for line in kept))

    with pytest.warns(UserWarning, match="a comparison lacks the default's record, which may have won: skip"):
        lib = tvmlite.compile(module, records=path)

    assert len(kept) < len(good)
    assert all(one.task.config is None for one in lib.kernels)


def _tasks_of(module: Module) -> dict[str, Task]:
    """The tasks of the kernels of ``module``, by their keys."""
    lib = tvmlite.compile(module)
    groups = [one.task.group for one in lib.kernels if not tasks.why_no_task(one.task.group)]
    return {task.key: task for task in (tasks.task_of(group, lib.target) for group in groups)}


def test_floats_of_whole_value_in_a_record_mean_the_same_setting(
    module: Module, good: list[dict[str, object]], tmp_path: Path
) -> None:
    lines = json.loads(json.dumps(good), parse_int=float)
    for line, was in zip(lines, good, strict=True):
        words = {name: word for name, (kind, word) in line["config"].items() if kind == "ot"}
        line |= was | {"config": was["config"] | {name: ["ot", word] for name, word in words.items()}}
    path, odd = tmp_path / "tune.jsonl", tmp_path / "odd.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in good))
    odd.write_text("".join(json.dumps(line) + "\n" for line in lines))

    expected, lib = tvmlite.compile(module, records=path), tvmlite.compile(module, records=odd)

    assert odd.read_text() != path.read_text()
    assert [one.task.key for one in lib.kernels] == [one.task.key for one in expected.kernels]
    assert any(one.task.config is not None for one in lib.kernels)


@pytest.mark.usefixtures("threads")
def test_records_are_used_only_with_their_number_of_threads(
    module: Module, good: list[dict[str, object]], tmp_path: Path
) -> None:
    path = tmp_path / "tune.jsonl"
    path.write_text("".join(json.dumps(line | {"threads": 1}) + "\n" for line in good))

    runtime.set_num_threads(1)
    tuned = tvmlite.compile(module, records=path)
    runtime.set_num_threads(2)
    with pytest.warns(
        UserWarning, match=f"{len(good)} records were measured with 1 threads, here are 2: skip"
    ):
        untuned = tvmlite.compile(module, records=path)

    assert any(one.task.config is not None for one in tuned.kernels)
    assert all(one.task.config is None for one in untuned.kernels)


def test_require_tuned_makes_a_kernel_without_a_record_an_error(
    module: Module, good: list[dict[str, object]], tmp_path: Path
) -> None:
    path = tmp_path / "tune.jsonl"
    first = good[0]["task"]
    path.write_text("".join(json.dumps(line) + "\n" for line in good if line["task"] != first))

    with pytest.raises(
        InputError, match=r"require_tuned: 1 of 4 kernels are not tuned: fused_.*\(no record; .*\)"
    ):
        tvmlite.compile(module, records=path, require_tuned=True)
    rows = tvmlite.compile(module, records=path).report.rows

    (untuned,) = [row for row in rows if row.reason]
    assert untuned.schedule == "default conv2d"
    assert untuned.reason == "no record; estimated from other kernels of its template"
    assert untuned.loss is not None
    assert untuned.loss > 0
    assert all(row.seconds and row.loss == 0 for row in rows if row.schedule.startswith("tuned"))


def test_the_loss_of_a_default_is_estimated_from_the_nearest_shape(
    good: list[dict[str, object]], tmp_path: Path
) -> None:
    path = tmp_path / "tune.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in good))

    report = tvmlite.compile(from_onnx(convolutions(14)), records=path).report

    assert [row.reason for row in report.rows[:2]] == ["no record; estimated from the nearest shape"] * 2
    assert "% (no record; estimated from the nearest shape)" in str(report)


def test_a_missing_file_of_records_is_an_error(module: Module) -> None:
    with pytest.raises(InputError, match=r"records 'none\.jsonl' cannot be read"):
        tvmlite.compile(module, records="none.jsonl")
