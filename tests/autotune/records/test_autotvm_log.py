"""Logs of AutoTVM 0.2: settings mean the same, damage is reported and skipped, no code is executed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tvmlite import autotune, te
from tvmlite.autotune.records import records as rec
from tvmlite.core.errors import ParseError
from tvmlite.machine.target import Target
from tvmlite.te.space import AnnotateChoice, OptionChoice, ReorderChoice, SplitChoice

LINE = (
    '{"input": ["llvm -keys=cpu -link-params=0 -mcpu=znver4", "tests.tvm", '
    '[512, ["TENSOR", [1, 3], "float32"]], {}], "config": {"index": 86, "code_hash": null, "entity": '
    '[["tile_y", "sp", [-1, 8]], ["order", "re", [1, 0]], ["ann", "an", ["unroll", "vectorize"]], '
    '["auto", "ot", 1500]]}, "result": [[0.002, 0.003, 0.004], 0, 1.5, 1607225602.9], '
    '"version": 0.2, "tvm_version": "0.8.dev0"}'
)


def changed(**fields: object) -> str:
    return json.dumps(json.loads(LINE) | fields)


def test_a_line_of_an_autotvm_log_is_read_as_a_record() -> None:
    record = rec.Record.from_json(LINE)

    assert record.task == ("tests.tvm", (512, ["TENSOR", [1, 3], "float32"]))
    assert record.target == str(Target.parse("llvm -mcpu=znver4"))
    assert record.config.settings == {
        "tile_y": SplitChoice((-1, 8)),
        "order": ReorderChoice((1, 0)),
        "ann": AnnotateChoice(("unroll", "vectorize")),
        "auto": OptionChoice(1500),
    }
    assert (record.cost, record.ok, record.origin, record.code) == (0.003, True, "autotvm", "tvm 0.8.dev0")


def test_a_failed_autotvm_trial_is_read_as_a_failure() -> None:
    record = rec.Record.from_json(changed(result=[[1000000000.0], 5, 1.5, 1607225602.9]))

    assert (record.error, record.ok, record.costs) == ("wrong answer", False, ())


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": 0.1}, "AutoTVM's version 0.1, expected 0.2"),
        ({"input": ["llvm"]}, "input is"),
        ({"input": ["", "tests.tvm", [1], {}]}, "target '' is not a CPU"),
        ({"result": [[], 0, 1.0, 1.0]}, "it has neither an error nor costs"),
        ({"result": [[10**400], 0, 1.0, 1.0]}, "cost 1000"),
        ({"result": [[0.1], 0, 1.0, 10**400]}, "time is 1000"),
        ({"input": ["cuda", "tests.tvm", [1], {}]}, "target 'cuda' is not a CPU"),
        ({"input": ["llvm -mcpu=z80", "tests.tvm", [1], {}]}, "target 'llvm -mcpu=z80'"),
        ({"config": {"index": 1}}, "expected an entity"),
        ({"config": {"entity": [["a", "sp", "__import__('os')"]]}}, "is no setting of a knob"),
        ({"config": {"entity": [["a", "zz", 1]]}}, "is no setting of a knob"),
        ({"result": [[0.1], 0]}, "result is"),
        ({"result": [["fast"], 0, 1.0, 1.0]}, "cost 'fast' is not a positive number"),
        ({"result": [[0.1], 77, 1.0, 1.0]}, "there is no error 77"),
    ],
)
def test_error_of_a_damaged_line_says_why(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        rec.Record.from_json(changed(**fields))


def test_a_template_applies_the_best_configuration_of_an_autotvm_log(tmp_path: Path) -> None:
    @autotune.template("tests.tvm.copy")
    def copy(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
        a = te.placeholder((n,), name="A")
        c = te.compute((n,), lambda i: a[i] * 2.0, name="C")
        s = te.create_schedule(c.op)
        cfg = autotune.get_config()
        cfg.define_split("tile", c.op.axis[0], num_outputs=2)
        cfg["tile"].apply(s, c, c.op.axis[0])
        return s, [a, c]

    path = tmp_path / "tvm.log"
    lines = [
        changed(
            input=["llvm -keys=cpu", "tests.tvm.copy", [64], {}],
            config={"index": 0, "code_hash": None, "entity": [["tile", "sp", [-1, tile]]]},
            result=[[cost], 0, 1.0, 1.0],
        )
        for tile, cost in ((8, 0.2), (16, 0.1))
    ]
    path.write_text("\n".join([*lines, lines[0][:60]]))

    with pytest.warns(UserWarning, match="line 3: not JSON"), autotune.apply_history_best(path):
        schedule, _ = copy(64)

    assert str(schedule.trace[0]).endswith("split(i, factor=16)")
