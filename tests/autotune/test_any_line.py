"""Files of records load whatever value a field has, and loaded records are written back unchanged."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tvmlite.autotune.records import records as rec
from tvmlite.autotune.records.decision_records import DecisionRecord
from tvmlite.machine.target import Target
from tvmlite.te.space import AnnotateChoice, ConfigEntity, OptionChoice, ReorderChoice, SplitChoice

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"
KERNEL = rec.Record(
    ("matmul", (16, ["TENSOR", [1, 3], "float32"])),
    TARGET,
    ConfigEntity(
        {
            "tile": SplitChoice((-1, 8)),
            "order": ReorderChoice((1, 0)),
            "marks": AnnotateChoice(("none", "unroll")),
            "unroll": OptionChoice(16),
        }
    ),
    (1e-3, 2e-3),
    verified=True,
    trace=("s[C].parallel(i)",),
)

DECISION = DecisionRecord("fuse a | b", TARGET, "apart", "joined", {"joined": (3e-6,), "apart": (1e-6, 2e-6)})
TVM = (
    '{"input": ["llvm -keys=cpu -mcpu=znver4", "tests.tvm", [512, ["TENSOR", [1, 3], "float32"]], {}], '
    '"config": {"index": 8, "code_hash": null, "entity": [["tile", "sp", [-1, 8]], ["auto", "ot", 1500]]}, '
    '"result": [[0.002, 0.003], 0, 1.5, 1607225602.9], "version": 0.2, "tvm_version": "0.8.dev0"}'
)

DEEP, LONG = "<deep>", "<long>"
"""Placeholders for nested lists and for an integer too long for Python to format."""

NASTY: list[Any] = [
    10**400,
    -(10**400),
    10**4000,
    1 << 62,
    0,
    -1,
    True,
    False,
    None,
    0.5,
    -0.0,
    1e308,
    5e-324,
    float("inf"),
    float("nan"),
    "",
    " ",
    "x",
    "\0",
    "\ud800",
    "llvm",
    "llvm -mcpu=",
    "llvm -mcpu=\ud800",
    "llvm -mcpu=" + "x" * 200_000,
    "llvm -mtriple=\0-\0",
    "x" * 100_000,
    [],
    {},
    [[]],
    [{}],
    {"": ""},
    ["ot", "x"],
    ["sp", [1 << 70]],
    [["x", "ot", 1]],
    ["TENSOR", [], ""],
    [10**400],
    [["x"] * 20_000],
    {"x": 10**400},
    [[["x"]]],
    DEEP,
    LONG,
]


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to every value inside ``value``, itself included."""
    yield here
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from places(one, (*here, key))


def with_instead(fields: Any, place: tuple[Any, ...], value: Any) -> Any:
    """``fields`` with ``value`` at ``place``."""
    if not place:
        return value
    made = copy.deepcopy(fields)
    inner = made
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", [KERNEL.to_json(), DECISION.to_json(), TVM], ids=("kernel", "decision", "tvm")
)
def test_a_file_loads_whatever_value_a_field_has(line: str, tmp_path: Path) -> None:
    fields = json.loads(line)
    lines = []
    for place in places(fields):
        for nasty in NASTY:
            text = json.dumps(with_instead(fields, place, nasty))
            text = text.replace("Infinity", "1e999") if nasty == float("inf") else text
            text = text.replace(json.dumps(LONG), "1" + "0" * 5000)
            depths = (60, 900, 100_000) if nasty == DEEP else (0,)
            lines += [text.replace(json.dumps(DEEP), "[" * depth + "]" * depth) for depth in depths]
    path, again = tmp_path / "tune.jsonl", tmp_path / "again.jsonl"
    path.write_text("\n".join(lines))

    loaded = rec.load(path)
    rec.append(again, [*loaded, *loaded.decisions])
    reloaded = rec.load(again)

    assert len(loaded) + len(loaded.decisions) + len(loaded.damages) == len(lines)
    assert loaded.damages
    assert len(loaded) + len(loaded.decisions) > 10
    assert max(len(damage.reason) for damage in loaded.damages) < 300
    assert reloaded.damages == ()
    assert [one.to_json() for one in reloaded] == [one.to_json() for one in loaded]
    assert reloaded.decisions == loaded.decisions
    assert all(one.ok or one.error for one in loaded)


def test_notes_about_unusable_records_are_short(tmp_path: Path) -> None:
    foreign = json.loads(KERNEL.to_json()) | {"target": "x" * 100_000, "code": "y" * 100_000}
    path = tmp_path / "tune.jsonl"
    path.write_text(json.dumps(foreign))

    notes = rec.unusable(rec.load(path), Target.parse("native"))

    assert len(notes) == 2
    assert max(map(len, notes)) < 300
