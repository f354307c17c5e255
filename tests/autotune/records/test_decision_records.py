"""Records of decisions are read back as written, next to those of kernels; damaged lines are harmless."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tvmlite import autotune
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.records.decision_records import DecisionRecord, decoded, latest
from tvmlite.autotune.report.decisions import section, table
from tvmlite.core.errors import ParseError
from tvmlite.machine.target import Target
from tvmlite.te.space import ConfigEntity

TARGET = Target.parse("llvm -mcpu=znver4 -mtriple=x86_64-linux-gnu")


def decision(name: str = "fuse a | b", taken: str = "apart", **fields: object) -> DecisionRecord:
    given = {"costs": {"joined": (3e-6, 2e-6, 4e-6), "apart": (1e-6, 2e-6, 2e-6)}, "code": "1", **fields}
    return DecisionRecord(name, str(TARGET), taken, "joined", **given)  # type: ignore[arg-type]


def test_decisions_and_kernels_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    kernel = rec.Record(("matmul", (16,)), str(TARGET), ConfigEntity({}), (1.0,), verified=True)
    rec.append(path, [kernel, decision(seed=7, note="so it is"), kernel])

    loaded = rec.load(path)

    assert len(loaded) == 2
    assert loaded.damages == ()
    assert loaded.decisions == (decision(seed=7, note="so it is"),)
    assert rec.Records.of([kernel, decision()]).decisions == (decision(),)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"v": 2}, "not a decision of version 1"),
        ({"costs": {"apart": [-1.0]}}, "cost -1.0 is not a positive number"),
        ({"costs": {"apart": [True]}}, "cost True is not a positive number"),
        ({"costs": {"apart": 1.0}}, "the costs of 'apart' are 1.0"),
        ({"costs": {"apart": [10**400]}}, "is not a positive number"),
        ({"time": 10**400}, "time is 1000"),
        ({"taken": 1}, "field 'taken' is 1"),
        ({"threads": "2"}, "field 'threads' is '2'"),
        ({"seed": True}, "field 'seed' is True"),
        ({"extra": 1}, r"unknown fields \['extra'\]"),
    ],
)
def test_error_of_a_line_that_is_not_a_decision_says_why(
    tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    fields = json.loads(decision().to_json()) | change
    path = tmp_path / "tune.jsonl"
    path.write_text(json.dumps(fields) + "\n" + decision().to_json() + "\n")

    with pytest.raises(ParseError, match=reason):
        decoded(fields)
    loaded = rec.load(path)
    assert [damage.line for damage in loaded.damages] == [1]
    assert len(loaded.decisions) == 1


def test_a_missing_field_is_named() -> None:
    fields = json.loads(decision().to_json())
    del fields["taken"]

    with pytest.raises(ParseError, match=r"fields \['taken'\] are missing"):
        decoded(fields)


def test_the_latest_decision_of_this_target_version_and_threads_counts() -> None:
    other = DecisionRecord("fuse a | b", "llvm -mcpu=other", "joined", "joined", code="1")
    old = decision(taken="joined", code="0")

    wide = decision(taken="joined", threads=8)

    made = latest([decision(taken="joined"), decision(), other, old, wide], TARGET, "1", 1)

    assert made == {"fuse a | b": decision()}


def test_replaying_a_decision_is_an_error_that_says_what_it_is() -> None:
    with pytest.raises(ParseError, match="a decision about a graph, which has no kernel of its own"):
        rec.Record.from_json(decision().to_json())


def test_templates_skip_decisions_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    rec.append(path, [decision()])

    with (
        pytest.warns(UserWarning, match="1 decisions are about graphs, not templates: skipped"),
        autotune.apply_history_best(path, TARGET),
    ):
        pass


def test_the_table_shows_the_gain_of_each_decision() -> None:
    kept = decision("attention <x>", "joined", costs={}, note="not faster in the model as a whole")

    lines = table([kept, decision()])

    assert lines == [
        "decision       taken   alternatives             won",
        "fuse a | b     apart   joined 3 µs, apart 2 µs  1 µs (33%)",
        "attention <x>  joined                           not faster in the model as a whole",
    ]
    assert table([]) == []
    assert table([decision(taken="joined", costs={})]) == []
    assert section([]) == ""
    page = section([kept, decision()])
    assert "attention &lt;x&gt;" in page
    assert '<td class="words">1 µs (33%)</td>' in page


def test_alternatives_rejected_together_share_a_row() -> None:
    tried = [decision(f"layout {n}", "joined", costs={}, note="3 together: slower") for n in range(3)]

    lines = table([*tried, decision("layout 4", "joined", costs={}, note="else")])

    assert lines[1:] == [
        "layout 0 (and 2 more)  joined                3 together: slower",
        "layout 4               joined                else",
    ]


def test_an_unmeasured_alternative_has_infinite_cost() -> None:
    assert decision().cost("recomputed") == math.inf
