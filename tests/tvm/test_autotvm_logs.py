"""Logs in AutoTVM's format, and the contexts that apply them."""

from __future__ import annotations

import copy
import io
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from tvmlite.autotune.records.decision_records import DecisionRecord
from tvmlite.autotune.records.records import Record, append
from tvmlite.core.errors import InputError, ParseError, UnsupportedError
from tvmlite.te import space
from tvmlite.tvm import autotvm
from tvmlite.tvm.autotvm import database
from tvmlite.tvm.autotvm.measure import MeasureErrorNo, MeasureInput, MeasureResult
from tvmlite.tvm.autotvm.record import (
    ApplyHistoryBest,
    decode,
    encode,
    load_from_file,
    measure_str_key,
    pick_best,
)
from tvmlite.tvm.testing.autotvm import get_sample_records, get_sample_task, matmul

LINE = (
    '{"input": ["llvm -keys=cpu -link-params=0", "testing/matmul", [64, 64, 64, "float32"], {}], '
    '"config": {"index": 21, "code_hash": null, "entity": [["tile_y", "sp", [-1, 8]], '
    '["tile_x", "sp", [-1, 16]]]}, "result": [[0.0012, 0.0011], 0, 1.5, 1600000000.5], '
    '"version": 0.2, "tvm_version": "0.11.1"}'
)
"""A line as TVM 0.11 writes one."""


def batch(costs: list[float], first: int = 0) -> tuple[list[Any], list[Any]]:
    task, target = get_sample_task()
    inputs = [MeasureInput(target, task, task.config_space.get(first + i)) for i in range(len(costs))]
    return inputs, [MeasureResult((cost,), 0, 0, 0) for cost in costs]


def written(path: Path, costs: list[float], first: int = 0) -> Path:
    autotvm.callback.log_to_file(str(path))(None, *batch(costs, first))
    return path


def queried(context: ApplyHistoryBest) -> str:
    task, target = get_sample_task()
    return str(context.query(target, task.workload))


def test_a_line_is_read_back_as_it_was_written() -> None:
    task, target = get_sample_task()
    inp = MeasureInput(target, task, task.config_space.get(3))
    result = MeasureResult((2.0, 0.123), MeasureErrorNo.NO_ERROR, 2.3, 12.5)

    again, same = decode(encode(inp, result))

    assert measure_str_key(again) == measure_str_key(inp)
    assert same == result
    assert again.task.workload == task.workload


def test_a_line_of_tvm_is_read() -> None:
    inp, res = decode(LINE)

    assert inp.task.workload == ("testing/matmul", 64, 64, 64, "float32")
    assert inp.config["tile_x"].size == [-1, 16]
    assert (inp.config.index, res.costs, res.error_no, res.timestamp) == (
        21,
        (0.0012, 0.0011),
        0,
        1600000000.5,
    )
    fields = json.loads(encode(inp, res))
    expected = json.loads(LINE)
    assert {key: fields[key] for key in ("input", "config", "result", "version")} == {
        key: expected[key] for key in ("input", "config", "result", "version")
    }


def test_a_failure_has_no_costs_in_a_log() -> None:
    inputs, _ = batch([1.0])
    failed = MeasureResult((RuntimeError("x"),), MeasureErrorNo.RUN_TIMEOUT, 10, 1.0)

    assert json.loads(encode(inputs[0], failed))["result"] == [[1e9], 7, 10, 1.0]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("{}", "expected input, config, result and version"),
        (LINE.replace("0.2", "0.1"), "version 0.1, expected 0.2"),
        ('{"i": [], "r": [], "v": 0.1}', "version 0.1, expected 0.2"),
        (LINE.replace('"sp"', '"zz"', 1), "expected \\[name, kind, setting\\]"),
        (LINE.replace("[0.0012, 0.0011]", '["a"]'), "expected input"),
        (LINE.replace(", 0, 1.5", ", 12, 1.5"), "expected input"),
        ("x" * (1 << 22) + "y", "characters, expected at most"),
    ],
)
def test_a_damaged_line_is_an_error(row: str, text: str) -> None:
    with pytest.raises(ParseError, match=text):
        decode(row)


def test_a_damaged_line_of_a_file_is_reported_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f"# a comment\n{LINE}\n\nnonsense\n")

    with pytest.raises(ParseError, match=r"log, line 4: a line of a log is no JSON"):
        list(load_from_file(path))


def test_lines_of_the_first_version_are_skipped_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f'{{"i": ["llvm"], "r": [[1]], "v": 0.1}}\n{LINE}\n')

    with pytest.warns(UserWarning, match=r"log, line 1: a line of AutoTVM's version 0\.1.*left out"):
        assert len(list(load_from_file(path))) == 1


def test_error_of_a_missing_file_names_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone.log' cannot be read"):
        list(load_from_file(tmp_path / "gone.log"))


def test_pickles_are_refused() -> None:
    inputs, results = batch([1.0])
    with pytest.raises(UnsupportedError, match="can run anything"):
        encode(inputs[0], results[0], protocol="pickle")
    with pytest.raises(InputError, match="protocol is 'xml'"):
        decode(LINE, protocol="xml")


def test_the_best_record_is_found_in_any_form_of_records(tmp_path: Path) -> None:
    task, _ = get_sample_task()
    expected = str(task.config_space.get(2))
    first, second = written(tmp_path / "1.log", [1.0, 2.0]), written(tmp_path / "2.log", [0.5, 3.0], 2)
    text = io.StringIO(first.read_text() + second.read_text())
    pairs = list(zip(*batch([1.0, 2.0, 0.5]), strict=True))

    for records in (
        [first, str(second)],
        text,
        pairs,
        iter(pairs),
        zip([first, second], strict=True),
        [iter(pairs[:2]), iter(pairs[2:])],
    ):
        assert queried(ApplyHistoryBest(records)) == expected


def test_a_failure_is_never_the_best(tmp_path: Path) -> None:
    inputs, results = batch([1.0, 0.1])
    results[1] = results[1]._replace(error_no=4)

    assert queried(ApplyHistoryBest(zip(inputs, results, strict=True))) == str(inputs[0].config)


def test_pick_best_writes_the_best_record_of_each_task(tmp_path: Path) -> None:
    path, out = written(tmp_path / "all.log", [3.0, 1.0, 2.0]), tmp_path / "best.log"

    pick_best(str(path), str(out))

    [(inp, res)] = load_from_file(out)
    assert (inp.config.index, res.costs) == (1, (1.0,))


def test_split_workload_writes_a_file_for_each_task(tmp_path: Path) -> None:
    path = written(tmp_path / "all.log", [3.0, 1.0])
    written(path, [3.0])
    path.write_text(path.read_text() + LINE + "\n")

    autotvm.record.split_workload(str(path))

    assert [len(list(load_from_file(f"{path}.{n:03d}.wkl"))) for n in range(2)] == [2, 1]


def test_apply_history_best_applies_the_measured_configuration(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(LINE + "\n")

    with autotvm.apply_history_best(str(path)):
        schedule, _ = matmul(64, 64, 64, "float32")
        with pytest.warns(UserWarning, match=r"no configuration of .*32.* was measured"):
            other, _ = matmul(32, 32, 32, "float32")

    assert "factor=16" in str(schedule.trace)
    assert "factor=16" not in str(other.trace)


def test_a_silent_scope_does_not_warn() -> None:
    autotvm.GLOBAL_SCOPE.silent = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            matmul(48, 48, 48, "float32")
    finally:
        autotvm.GLOBAL_SCOPE.silent = False


def test_an_updated_context_gives_the_new_configuration() -> None:
    task, target = get_sample_task()
    context = ApplyHistoryBest([])

    context.update(target, task.workload, task.config_space.get(7))

    assert context.query(target, task.workload).index == 7


def test_a_fixed_configuration_is_the_first_of_its_task() -> None:
    task, target = get_sample_task()
    context = autotvm.apply_fixed_config([task], ["testing/matmul"])

    with context:
        assert context.query(target, task.workload).index == 0
        with pytest.raises(UnsupportedError, match="there is no task 'other'; there are testing/matmul"):
            context.query(target, ("other",))


def test_a_database_keeps_results_by_their_inputs() -> None:
    (first, one), (second, two), (third, _) = get_sample_records(3)
    db = database.DummyDatabase()
    db.save(first, one)
    db.save(second, two)

    assert db.load(first).costs == one.costs
    assert db.load(third) is None
    assert [res.costs for _, res in db.filter(lambda _inp, all: all[0].costs[0] > 1)] == [two.costs]
    assert database.filter_inputs(db, [first, third])[1] == [third]


def test_a_database_gives_the_latest_result_or_all() -> None:
    inp, res = get_sample_records(1)[0]
    db = database.DummyDatabase()
    for when in (0.5, 9.5, 1.5):
        db.save(inp, res._replace(timestamp=when), extend=True)
    other = copy.deepcopy(inp)
    other.config.code_hash = "cafe"

    assert db.load(inp).timestamp == 9.5
    assert [one.timestamp for one in db.load(inp, get_all=True)] == [0.5, 9.5, 1.5]
    assert db.load(other) is None


def test_a_redis_database_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match="RedisDatabase: servers are not supported"):
        database.RedisDatabase()


def test_tophub_downloads_nothing() -> None:
    _, target = get_sample_task()
    with pytest.warns(UserWarning, match="no logs are downloaded"):
        context = autotvm.tophub.context(target)

    with context:
        assert autotvm.task.DispatchContext.current is context


def test_records_of_tvmlite_are_read_as_a_log(tmp_path: Path) -> None:
    task, target = get_sample_task()
    key, machine = ("testing/matmul", (128, 128, 128, "float32")), str(task.core.target)
    slow, fast, wrong = (space.ConfigEntity(task.config_space.get(index).settings) for index in (5, 9, 2))
    failed = Record(key, machine, wrong, error="wrong answer", message="all zeros")
    rows = [Record(key, machine, slow, (0.3, 0.4), verified=True), failed]
    append(tmp_path / "tuned.jsonl", [*rows, Record(key, machine, fast, (0.2,), verified=True)])
    append(tmp_path / "tuned.jsonl", [DecisionRecord("layout", machine, "NCHW", "NCHW")])

    pairs = list(load_from_file(tmp_path / "tuned.jsonl"))

    assert [inp.task.workload for inp, _ in pairs] == [task.workload] * 3
    assert [res.error_no for _, res in pairs] == [
        MeasureErrorNo.NO_ERROR,
        MeasureErrorNo.WRONG_ANSWER,
        MeasureErrorNo.NO_ERROR,
    ]
    best = ApplyHistoryBest(tmp_path / "tuned.jsonl").query(target, task.workload)
    assert best["tile_y"] == fast["tile_y"]
    assert best["tile_x"] == fast["tile_x"]
    pick_best(tmp_path / "tuned.jsonl", tmp_path / "best.log")
    assert json.loads((tmp_path / "best.log").read_text())["result"][0] == [0.2]
    with pytest.raises(ParseError, match="config"):
        decode('{"v": 1, "task": ["a", []], "target": "llvm", "config": 3}')


def test_ref_input_of_a_runner_is_refused() -> None:
    runner = autotvm.LocalRunner()
    runner.ref_input = None

    assert runner.ref_input is None
    with pytest.raises(UnsupportedError, match="LocalRunner: ref_input is given"):
        runner.ref_input = [1.0]
