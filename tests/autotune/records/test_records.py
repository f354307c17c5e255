"""Records: lines are read back as they were written, and damaged lines are harmless."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tvmlite.autotune.records import records as rec
from tvmlite.core import VERSION
from tvmlite.core.errors import InputError, ParseError
from tvmlite.machine.target import Target
from tvmlite.te.space import ConfigEntity, OptionChoice, SplitChoice

TARGET = Target.parse("llvm -mcpu=znver4 -mtriple=x86_64-linux-gnu")


def record(cost: float = 1e-3, unroll: int = 16, **fields: object) -> rec.Record:
    config = ConfigEntity({"tile": SplitChoice((-1, 8)), "unroll": OptionChoice(unroll)})
    given = {"costs": (cost, cost * 1.1, cost * 0.9), "verified": True, "code": VERSION, **fields}
    return rec.Record(("matmul", (16, "float32")), str(TARGET), config, **given)  # type: ignore[arg-type]


def test_a_record_survives_a_round_trip_through_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    rec.append(path, [record(trial=3, seed=7, origin="random", trace=("x, y = s[C].split(i, 8)",))])
    rec.append(path, [record(error="crash", message="signal 11", costs=(), verified=False)])

    first, second = rec.load(path)

    assert (
        first.to_json()
        == record(trial=3, seed=7, origin="random", trace=("x, y = s[C].split(i, 8)",)).to_json()
    )
    assert (first.ok, second.ok, second.cost) == (True, False, math.inf)


def test_the_cost_is_the_median() -> None:
    assert record(2.0).cost == 2.0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"v": 2}, "not a record of version 1"),
        ({"costs": [float("nan")]}, "not JSON: NaN is not a number"),
        ({"costs": [-1.0]}, "not a positive number"),
        ({"costs": [True]}, "not a positive number"),
        ({"error": "bad luck"}, "error is 'bad luck'"),
        ({"verified": 1}, "field 'verified' is 1"),
        ({"task": ["matmul"]}, "expected a name and arguments"),
        ({"config": {"tile": "__import__('os').system('true')"}}, "is no setting of a knob"),
        ({"extra": 1}, r"unknown fields \['extra'\]"),
        ({"trace": [1]}, "trace is not a list of lines"),
    ],
)
def test_error_of_a_line_that_is_not_a_record_says_why(change: dict[str, object], reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        rec.Record.from_json(json.dumps(json.loads(record().to_json()) | change))


def test_a_missing_field_is_named() -> None:
    fields = json.loads(record().to_json())
    del fields["costs"]

    with pytest.raises(ParseError, match=r"fields \['costs'\] are missing"):
        rec.Record.from_json(json.dumps(fields))


def test_a_record_without_threads_has_zero_threads() -> None:
    fields = json.loads(record(threads=2).to_json())
    assert rec.Record.from_json(json.dumps(fields)).threads == 2
    del fields["threads"]

    assert rec.Record.from_json(json.dumps(fields)).threads == 0


def test_damaged_lines_are_reported_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    good = record().to_json().encode()
    path.write_bytes(b"\n".join([good, b"[" * 100_000, b"\xff\xfe", b"", good, good[:40]]))

    loaded = rec.load(path)

    assert len(loaded) == 2
    assert [damage.line for damage in loaded.damages] == [2, 3, 6]


def test_a_truncated_line_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    path.write_text(record().to_json()[:50])

    rec.append(path, [record()])

    assert (len(rec.load(path)), len(rec.load(path).damages)) == (1, 1)


def test_two_writers_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    code = (
        "import sys; from tvmlite.autotune.records import records as rec; "
        "one = rec.load(sys.argv[1]).records[0]; [rec.append(sys.argv[2], [one] * 3) for _ in range(20)]"
    )
    source = tmp_path / "one.jsonl"
    rec.append(source, [record()])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", code, str(source), str(path)]

    writers = [subprocess.Popen(command, env=environment) for _ in range(2)]

    assert [one.wait(60) for one in writers] == [0, 0]
    assert (len(rec.load(path)), rec.load(path).damages) == (120, ())


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl' cannot be read"):
        rec.load(tmp_path / "none.jsonl")


def test_the_best_record_is_the_fastest_verified_one_of_this_target() -> None:
    good, slow = record(1.0), record(2.0)
    others = [record(0.1, verified=False), record(0.1, error="wrong answer", costs=(), verified=False)]
    elsewhere = replace(record(0.1), target="llvm -mcpu=other")
    old = record(0.1, code="0.0.9")

    assert rec.best([slow, good, *others, elsewhere, old], TARGET) == {good.task_key: good}


def test_a_final_comparison_takes_precedence_over_a_faster_trial() -> None:
    lucky = record(0.5, origin="random")
    first, second = record(1.0, origin="final"), record(0.9, unroll=4, origin="final")

    assert rec.best([lucky, first, second], TARGET)[lucky.task_key] is first
    assert rec.best([lucky, first, second, lucky, second, first], TARGET)[lucky.task_key] is second


def test_a_repeated_configuration_begins_another_comparison() -> None:
    first, second = record(1.0, origin="final"), record(0.9, unroll=4, origin="final")

    assert rec.comparisons([first, second, second, first]) == {first.task_key: [second, first]}


@pytest.mark.parametrize("change", [{"costs": []}, {"verified": False}])
def test_a_record_without_an_error_needs_costs_and_verification(change: dict[str, object]) -> None:
    with pytest.raises(ParseError, match="it has neither an error nor costs"):
        rec.Record.from_json(json.dumps(json.loads(record().to_json()) | change))


def test_failures_come_last_in_a_comparison_and_alone_form_none() -> None:
    first, second = record(1.0, origin="final"), record(0.9, unroll=4, origin="final")
    failed = record(unroll=8, origin="final", costs=(), error="crash", verified=False)
    key = first.task_key

    assert rec.comparisons([first, failed, second]) == {key: [first, second, failed]}
    assert rec.comparisons([failed, first]) == {key: [first, failed]}
    assert rec.comparisons([first, second, replace(failed, time=60.0)]) == {key: [first, second]}
    assert rec.comparisons([failed]) == {}
    assert rec.winner([first, failed], failed.config) is first
    assert rec.best([first, failed], TARGET) == {key: first}


def test_another_time_or_trial_count_begins_another_comparison() -> None:
    default, first, second = (record(1.0, unroll=n, origin="final") for n in (0, 4, 8))
    key = first.task_key
    later = [replace(one, time=60.0) for one in (second, default, first)]
    further = [replace(one, trial=7) for one in (second, default)]
    apart = [replace(one, time=n / 100) for n, one in enumerate((second, default, first))]

    assert rec.comparisons([first, default, *later]) == {key: later}
    assert rec.comparisons([first, *further]) == {key: further}
    assert rec.comparisons(apart) == {key: apart}


def test_a_comparison_without_the_default_has_no_winner() -> None:
    default, first, second = (record(1.0, unroll=n, origin="final") for n in (0, 4, 8))

    assert rec.winner([first, default, second], default.config) is first
    assert rec.winner([default, first], default.config) is default
    assert rec.winner([first, second], default.config) is None
    assert rec.winner([], default.config) is None


def test_a_record_made_with_other_schedules_is_stale_and_used() -> None:
    known = record(schedules=rec.schedules_digest())
    stale = replace(known, schedules="0123456789abcdef")
    unknown = replace(known, schedules="")

    assert [one.is_stale for one in (known, stale, unknown)] == [False, True, False]
    assert rec.unusable(rec.Records.of([known, unknown]), TARGET) == []
    assert rec.unusable(rec.Records.of([known, stale, stale]), TARGET) == [
        "2 records are stale, the code of schedules has changed since: used, but tune again to measure it as "
        "it is now"
    ]
    assert rec.best([stale], TARGET) == {stale.task_key: stale}


def test_a_record_without_a_digest_of_schedules_is_read() -> None:
    fields = json.loads(record(schedules="0123456789abcdef").to_json())
    assert rec.Record.from_json(json.dumps(fields)).schedules == "0123456789abcdef"
    del fields["schedules"]

    assert rec.Record.from_json(json.dumps(fields)).schedules == ""
