"""Wrong arguments of the driver, tuning and the runtime: the error names each at the caller's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from made_up_tuning import MadeUpMachine, small_matmul

import tvmlite
from tvmlite import autotune, relay, runtime, te
from tvmlite.autotune.records.records import append
from tvmlite.core.errors import TvmliteError
from tvmlite.machine.target import Target
from tvmlite.tvm.contrib import cc

X = relay.var("x", shape=(2, 3))
MODEL = relay.Module({"main": relay.Function((X,), relay.nn.relu(X))})
SPACE = autotune.ConfigSpace()
CYCLE: list[Any] = []
CYCLE.append(CYCLE)


def _task() -> autotune.Task:
    autotune.template("tests.bad_arguments", small_matmul)
    return autotune.create("tests.bad_arguments", (4, 4, 4))


def _function() -> Any:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="b")
    return tvmlite.build(te.create_schedule(b.op), [a, b])


def _page(**changed: Any) -> Any:
    b = te.compute((4,), lambda i: i * 2, name="b")
    given = {"schedule": te.create_schedule(b.op), "args": [b], "target": "llvm", "budget": None}
    return tvmlite.visualize(**{**given, **changed})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Target("llvm", features="+avx2"),
            "Target: features: '+avx2' given, expected a tuple of strings",
        ),
        (
            lambda: Target("llvm", vector_bits="512"),
            "Target: vector_bits: '512' given, expected an int of at",
        ),
        (lambda: autotune.RandomTuner("task"), "RandomTuner: task: 'task' given, expected a task"),
        (
            lambda: autotune.RandomTuner(_task(), -1),
            "RandomTuner: seed: -1 given, expected an int of at least 0",
        ),
        (lambda: autotune.RandomTuner(_task()).propose("2"), "propose: count: '2' given, expected an int"),
        (
            lambda: autotune.RandomTuner(_task()).tune(0),
            "tune: n_trial: 0 given, expected an int of at least 1",
        ),
        (
            lambda: autotune.RandomTuner(_task()).tune(1, "here"),
            "tune: measure_option: 'here' given, expected a",
        ),
        (
            lambda: autotune.GATuner(_task(), mutation=2),
            "GATuner: mutation: 2 given, expected a number from 0",
        ),
        (
            lambda: autotune.XGBTuner(_task(), handed=3),
            "XGBTuner: handed: 3 given, expected a list of numbers",
        ),
        (lambda: autotune.XGBTuner(_task(), loss_type=[]), "loss a list: there are rank, reg"),
        (lambda: autotune.tune("task", trials=1), "tune: tasks: 'task' given, expected a list of tasks"),
        (lambda: autotune.tune([1], trials=1), "tune: tasks: 1 given, expected a task"),
        (lambda: autotune.tune(_task(), trials=1, seed="0"), "tune: seed: '0' given, expected an int of at"),
        (
            lambda: autotune.tune(_task(), trials=1, runner=MODEL),
            "tune: runner: a Module given, expected a runner",
        ),
        (
            lambda: autotune.tune(_task(), trials=1, callbacks=[1]),
            "tune: callbacks: 1 given, expected a function",
        ),
        (lambda: autotune.tune(_task(), trials=1, early_stopping="x"), "tune: early_stopping: 'x' given"),
        (lambda: autotune.tune(_task(), "a\0b", trials=1), r"tune: records: 'a\x00b' given, expected a path"),
        (
            lambda: autotune.tune(_task(), trials=1, learn_from=[1]),
            "tune: learn_from: 1 given, expected a record",
        ),
        (lambda: autotune.tune(_task(), budget=[]), "budget is a list, expected a time such as '90s'"),
        (lambda: autotune.create(3, ()), "create: name: 3 given, expected a string"),
        (lambda: autotune.template("f", 3), "template: function: 3 given, expected a function"),
        (
            lambda: autotune.LocalRunner(number=0),
            "LocalRunner: number: 0 given, expected an int of at least 1",
        ),
        (
            lambda: autotune.LocalRunner(processors=(-1,)),
            "LocalRunner: processors: -1 given, expected an int",
        ),
        (lambda: autotune.Watch(stream=3), "Watch: stream: 3 given, expected a stream to write text to"),
        (
            lambda: autotune.Record("f", "llvm", _task().default),
            "Record: task: 'f' given, expected a name and",
        ),
        (lambda: autotune.Record.from_json(3), "from_json: text: 3 given, expected a string"),
        (lambda: autotune.Record.from_json("{"), "not JSON: "),
        (lambda: autotune.apply_history_best(3).__enter__(), "records: 3 given, expected records or a file"),
        (lambda: autotune.apply_history_best([3]).__enter__(), "records: 3 given, expected a record"),
        (
            lambda: append("no/such/folder", [_record()]),
            "records 'no/such/folder' cannot be written: No such",
        ),
        (lambda: autotune.ConfigEntity(3), "ConfigEntity: settings: 3 given, expected a dict"),
        (
            lambda: autotune.ConfigEntity({"tile": 3}),
            "ConfigEntity: settings: 3 given, expected a choice of a",
        ),
        (lambda: _task().instantiate(3), "instantiate: config: 3 given, expected a configuration"),
        (lambda: SPACE.define_split("s", 8, "2"), "define_split: num_outputs: '2' given, expected an int"),
        (lambda: SPACE.define_split("s", 8, 1 << 70), "define_split: num_outputs is 1180591620717411303424"),
        (lambda: SPACE.define_split("s", 1 << 62), "define_split: a loop of 4611686018427387904 iterations"),
        (lambda: SPACE.define_split([], 8), "a knob's name: a list given, expected a string"),
        (
            lambda: SPACE.define_reorder("r", 3, "all"),
            "define_reorder: axes: 3 given, expected a list of axes",
        ),
        (
            lambda: SPACE.define_annotate("a", [1], "candidate", [1]),
            "define_annotate: candidate: 1 given, expected a",
        ),
        (lambda: SPACE.define_knob("k", 3), "define_knob: candidate: 3 given, expected a list of values"),
        (lambda: SPACE.define_knob("k", [CYCLE]), "define_knob: a list given, expected a number, a word"),
        (lambda: SPACE.add_flop("many"), "add_flop: flop: 'many' given, expected a number of at least 0"),
        (lambda: SPACE.get("0"), "get: index: '0' given, expected an int"),
        (lambda: SPACE[CYCLE], "there is no knob a list; there are none so far"),
        (lambda: tvmlite.tune(3, trials=1), "tune: model: 3 given, expected a model"),
        (lambda: tvmlite.tune(MODEL, trials=1, run=3), "tune: run: 3 given, expected a function"),
        (lambda: tvmlite.tune(MODEL, trials=1, resume=3), "tune: resume: 3 given, expected True or False"),
        (lambda: tvmlite.tune(MODEL, trials=1, opt=3), "tune: there is no option opt; there are opt_level"),
        (lambda: tvmlite.tune(MODEL, trials=1, shape=3), "tune: shape is 3, expected sizes by the name"),
        (lambda: tvmlite.tune(MODEL, trials=1, inputs={}, runner=MadeUpMachine()), "tune: inputs has no x"),
        (lambda: runtime.load("missing.so"), "there is no file 'missing.so'"),
        (lambda: runtime.set_num_threads(CYCLE), "set_num_threads: a list threads, expected a number from 1"),
        (lambda: cc.create_shared("a.so", [1]), "create_shared: objects: 1 given, expected a path"),
        (lambda: cc.create_shared("a.so", [], ["-g"]), "create_shared: options: a list given, expected none"),
        (lambda: _function().source([]), "source: form: a list given, expected a string"),
        (lambda: _function().export(3), "export: path: 3 given, expected a path"),
        (
            lambda: _function().time(np.ones(4, "float32"), others=3),
            "time: others: 3 given, expected a list of",
        ),
        (
            lambda: _function().time(np.ones(4, "float32"), clock=3),
            "time: clock: 3 given, expected a function",
        ),
        (lambda: _page(schedule=3), "visualize: schedule: 3 given, expected a schedule"),
        (lambda: _page(name="\0"), r"name '\x00' is not a C identifier that a library can define"),
        (lambda: _page(path=""), "visualize: '' cannot be written: Is a directory"),
    ],
)
def test_error_of_a_wrong_argument_names_it_at_the_callers_line(
    call: Callable[[], Any], message: str
) -> None:
    with pytest.raises(TvmliteError) as raised:
        call()

    assert str(raised.value).startswith(message)
    assert "test_bad_arguments.py" in str(raised.value)


def _record() -> autotune.Record:
    return autotune.Record(("f", ()), "llvm", autotune.ConfigEntity({}), (1e-3,), verified=True)
