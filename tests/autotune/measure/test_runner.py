"""The worker times correct candidates, reports wrong results, crashes and endless loops, and goes on."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from made_up_tuning import small_matmul

from tvmlite import autotune, te
from tvmlite.autotune.measure import BuildRequest, Candidate, LocalRunner, Outcome, ReferenceFailed
from tvmlite.autotune.measure.build import Builder, Lowered, candidate_of, reference
from tvmlite.core.errors import InputError
from tvmlite.machine.target import Target
from tvmlite.te.space import OptionChoice, SplitChoice, Task, create


@pytest.fixture(scope="module")
def runner() -> Iterator[LocalRunner]:
    with LocalRunner(budget=0.002, timeout=5.0) as made:
        yield made


def candidate(task: Task, number: int = 0) -> Candidate:
    built = Builder(task).built(task.config_space.get(number))
    assert isinstance(built, Candidate)
    return built


def with_body(right: Candidate, body: str) -> Candidate:
    """``right`` with other instructions: LLVM IR by hand."""
    head = next(line for line in right.ir_text.splitlines() if line.startswith("define"))
    return replace(right, ir_text=f"{head}\n{body}\n}}\ndeclare void @abort()\ndeclare i32 @close(i32)\n")


def test_a_correct_candidate_is_timed(task: Task, runner: LocalRunner) -> None:
    runner.prepare(task.key, reference(task), 0)

    outcome = runner.measure(task.key, candidate(task, 7))

    assert outcome.error == ""
    assert len(outcome.costs) >= 3
    assert all(0 < cost < 1 for cost in outcome.costs)


def reversed_rows() -> tuple[te.Schedule, list[te.Tensor]]:
    x = te.placeholder((64, 8192), name="x")
    twice = te.compute((64, 8192), lambda i, j: x[i, j] * 2.0, name="twice")
    back = te.compute((64, 8192), lambda i, j: twice[i, 8191 - j], name="back")
    s = te.create_schedule(back.op)
    cfg = autotune.get_config()
    cfg.define_knob("stored", [False, True])
    if not cfg["stored"].val:
        s[twice].compute_inline()
    return s, [x, back]


def test_candidates_that_need_more_memory_than_the_first_are_compared(runner: LocalRunner) -> None:
    autotune.template("rows turned round", reversed_rows)
    task = create("rows turned round", ())
    runner.prepare(task.key, reference(task), 0)
    plain, stored = candidate(task, 0), candidate(task, 1)

    outcomes = runner.compare(task.key, [plain, stored, plain, stored])

    assert plain.signature != stored.signature
    assert [one.error for one in outcomes] == [""] * 4


def test_a_candidate_with_a_workspace_for_each_thread_is_timed(runner: LocalRunner) -> None:
    def rows() -> tuple[te.Schedule, list[te.Tensor]]:
        x = te.placeholder((8, 4096), name="x")
        twice = te.compute((8, 4096), lambda i, j: x[i, j] * 2.0, name="twice")
        back = te.compute((8, 4096), lambda i, j: twice[i, 4095 - j], name="back")
        s = te.create_schedule(back.op)
        s[twice].compute_at(s[back], back.op.axis[0])
        s[back].parallel(back.op.axis[0])
        return s, [x, back]

    autotune.template("rows of one's own", rows)
    task = create("rows of one's own", ())
    runner.prepare(task.key, reference(task), 0)

    assert runner.measure(task.key, candidate(task)).error == ""


ENDLESS = "  br label %again\nagain:\n  br label %again"
CLOSE_ALL = "\n".join(f"  %c{n} = call i32 @close(i32 {n})" for n in range(3, 64))

PARENT = """
import pickle, sys
from tvmlite.autotune.measure import LocalRunner
right, endless = pickle.load(sys.stdin.buffer)
runner = LocalRunner(budget=0.002, timeout=30)
runner.prepare("task", right, 0)
assert not runner.measure("task", right).error
print(runner._process.pid, flush=True)
runner.timeout = 0.5
runner.measure("task", endless)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="where processes are looked for")
def test_an_endless_candidate_ends_after_the_tuner_was_killed(task: Task) -> None:
    right = candidate(task)
    endless = with_body(right, ENDLESS)
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=PIPE, stdout=PIPE) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        pickle.dump((right, endless), parent.stdin)
        parent.stdin.close()
        worker = int(parent.stdout.readline())
        time.sleep(0.1)
        parent.kill()
        end = time.monotonic() + 30
        while is_alive(worker) and time.monotonic() < end:
            time.sleep(0.1)

    assert not is_alive(worker)


def is_alive(process: int) -> bool:
    """Whether ``process`` runs; an ended process nobody has waited for is a zombie, and counts as ended."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_another_thread_can_interrupt_a_measurement(task: Task) -> None:
    right = candidate(task)
    endless = with_body(right, ENDLESS)
    with LocalRunner(budget=0.002, timeout=100) as machine, ThreadPoolExecutor(1) as measuring:
        machine.interrupt()  # nothing is measured
        machine.prepare(task.key, reference(task), 0)
        machine.measure(task.key, right)
        waiting = measuring.submit(machine.measure, task.key, endless)
        time.sleep(0.1)
        machine.interrupt()

        assert waiting.result(50).costs == ()
        assert machine.measure(task.key, right).error == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("  ret i32 0", "wrong answer", "the reference has"),
        ("  call void @abort()\n  ret i32 0", "crash", "signal 6"),
        ("  br label %again\nagain:\n  br label %again", "timeout", "not ended after 1 s"),
        ("  store i32 0, ptr null\n  ret i32 0", "crash", "signal"),
        ("  nonsense", "compile", "nonsense"),
        ("  ret i32 1", "compile", ""),
        (f"{CLOSE_ALL}\n{ENDLESS}", "crash", "the process closed its pipe but did not end"),
    ],
)
def test_a_failing_candidate_is_reported_and_the_next_one_runs(
    task: Task, runner: LocalRunner, body: str, error: str, message: str
) -> None:
    runner.prepare(task.key, reference(task), 0)
    right = candidate(task)
    runner.timeout = 1.0 if error == "timeout" else 30.0

    outcome = runner.measure(task.key, with_body(right, body))
    runner.timeout = 30.0

    assert outcome.error == error
    assert message in outcome.message
    assert outcome.costs == ()
    assert runner.measure(task.key, right).error == ""


PHYSICAL = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("size", [1 << 50, PHYSICAL * 97 // 100], ids=["no machine has", "others need"])
def test_a_candidate_that_needs_too_much_memory_is_reported(runner: LocalRunner, size: int) -> None:
    autotune.template("rows turned round", reversed_rows)
    task = create("rows turned round", ())
    runner.prepare(task.key, reference(task), 0)
    right, stored = candidate(task, 0), candidate(task, 1)
    large = replace(stored, signature=json.dumps(json.loads(stored.signature) | {"workspace": size}))

    outcomes = [runner.measure(task.key, large), *runner.compare(task.key, [right, large])]

    assert [one.error for one in outcomes] == ["memory", "", "memory"]
    assert outcomes[0].message == f"main: no memory for a workspace of {size:,} bytes"
    assert runner.measure(task.key, right).error == ""


def test_a_worker_killed_by_the_system_is_reported_as_out_of_memory(
    task: Task, runner: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner.prepare(task.key, reference(task), 0)
    right = candidate(task)
    kills = with_body(right, "  %p = call i32 @getpid()\n  call i32 @kill(i32 %p, i32 9)\n  ret i32 0")
    kills = replace(kills, ir_text=kills.ir_text + "declare i32 @getpid()\ndeclare i32 @kill(i32, i32)\n")

    outcome = runner.measure(task.key, kills)

    assert (outcome.error, outcome.message) == ("memory", "the process ended with signal 9")
    assert runner.measure(task.key, right).error == ""


def test_a_task_out_of_memory_is_retried_in_a_fresh_worker(
    task: Task, other_task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: set[str] = set()

    def request(self: LocalRunner, target: Target, fields: dict[str, Any], *_: object) -> dict[str, Any]:
        if held - {fields["task"]}:
            return {"error": "memory", "message": "not enough memory"}
        held.add(fields["task"])
        return {"costs": [1.0], "busy": 0.0}

    monkeypatch.setattr(LocalRunner, "_request", request)
    machine = LocalRunner()
    for one in (task, other_task):
        machine.prepare(one.key, reference(one), 0)
    close = machine.close

    def close_and_forget() -> None:
        held.clear()
        close()

    monkeypatch.setattr(machine, "close", close_and_forget)

    outcomes = [machine.measure(one.key, candidate(one)) for one in (task, other_task, task)]

    assert [one.error for one in outcomes] == ["", "", ""]


def test_a_candidate_that_writes_into_its_input_does_not_affect_others(
    task: Task, runner: LocalRunner
) -> None:
    runner.prepare(task.key, reference(task), 0)
    right = candidate(task)
    writes = with_body(right, "  store float 7.0, ptr %p.A\n  ret i32 0")
    writes = replace(writes, ir_text=writes.ir_text.replace("readonly", ""))

    outcomes = [runner.measure(task.key, one) for one in (writes, right)]

    assert [one.error for one in outcomes] == ["wrong answer", ""]


def test_a_task_prepared_again_is_checked_against_its_new_reference(
    task: Task, other_task: Task, runner: LocalRunner
) -> None:
    first, second = candidate(task), candidate(other_task)
    outcomes = []
    for one, its_reference in ((first, reference(task)), (second, reference(other_task))):
        runner.prepare("a name for both", its_reference, 0)
        outcomes.append(runner.measure("a name for both", one))

    assert [one.error for one in outcomes] == ["", ""]


def test_compared_candidates_have_at_least_seven_times_each(task: Task, runner: LocalRunner) -> None:
    runner.prepare(task.key, reference(task), 0)

    outcomes = runner.compare(task.key, [candidate(task, 0), candidate(task, 9)])

    assert [len(one.costs) >= 7 for one in outcomes] == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("  ret i32 0", "wrong answer"),
        ("  nonsense", "compile"),
        ("  call void @abort()\n  ret i32 0", "crash"),
        ("  br label %again\nagain:\n  br label %again", "timeout"),
    ],
)
def test_a_failing_candidate_is_reported_and_the_others_are_compared(
    task: Task, body: str, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = candidate(task)
    with LocalRunner(budget=0.002, timeout=2.0) as machine:
        machine.prepare(task.key, reference(task), 0)
        machine.measure(task.key, right)  # so that its reference is not hurried
        monkeypatch.setattr(machine, "reference_timeout", 5.0)
        outcomes = machine.compare(task.key, [right, with_body(right, body), candidate(task, 9)])

    assert [one.error for one in outcomes] == ["", error, ""]
    assert [len(one.costs) >= 7 for one in outcomes] == [True, False, True]


def test_if_all_candidates_fail_each_has_its_error(task: Task, runner: LocalRunner) -> None:
    runner.prepare(task.key, reference(task), 0)
    wrong = with_body(candidate(task), "  ret i32 0")
    ends = with_body(candidate(task), "  call void @abort()\n  ret i32 0")

    assert [one.error for one in runner.compare(task.key, [wrong, wrong])] == ["wrong answer"] * 2
    assert [one.error for one in runner.compare(task.key, [wrong, ends])] == ["wrong answer", "crash"]


def test_candidates_that_fail_only_together_are_not_compared(
    task: Task, runner: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(self: LocalRunner, task: str, target: Target, fields: dict[str, object], *_: object) -> object:
        if fields["do"] == "compare":
            return {"error": "crash", "message": "signal 11"}
        return {"costs": [1.0], "busy": 0.0}

    monkeypatch.setattr(LocalRunner, "_ask", ask)

    outcomes = runner.compare(task.key, [candidate(task), candidate(task, 9)])

    assert outcomes == [Outcome(error="crash", message="signal 11")] * 2


def test_times_must_be_positive() -> None:
    with pytest.raises(InputError, match="timeout: 0 given, expected a number more than 0"):
        LocalRunner(timeout=0)


def test_a_candidate_many_times_slower_than_the_best_is_timed_once(runner: LocalRunner) -> None:
    autotune.template("tests.matmul", small_matmul)
    task = autotune.create("tests.matmul", (256, 64, 64))
    runner.prepare(task.key, reference(task), 0)
    quick = task.config_space.index_of(
        {"y": SplitChoice((-1, 1)), "x": SplitChoice((-1, 64)), "vectorize": OptionChoice(True)}
    )
    slow = task.config_space.index_of(
        {"y": SplitChoice((-1, 256)), "x": SplitChoice((-1, 1)), "vectorize": OptionChoice(True)}
    )
    assert quick is not None
    assert slow is not None

    outcomes = [runner.measure(task.key, candidate(task, number)) for number in (quick, slow, quick)]

    assert [len(one.costs) > 1 for one in outcomes] == [True, False, True]
    assert outcomes[1].costs[0] > 4 * max(outcomes[0].costs[0], outcomes[2].costs[0])


def test_the_tuners_own_load_does_not_count_as_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker reports the load of all other processes; the tuner is one of them."""

    def ask(self: LocalRunner, *_: object) -> dict[str, object]:
        end = time.thread_time() + 0.05
        while time.thread_time() < end:
            pass
        return {"costs": [1.0], "busy": 1 / (os.cpu_count() or 1)}

    monkeypatch.setattr(LocalRunner, "_ask", ask)
    nothing = Candidate("", "", Target.parse("llvm"))

    busy = LocalRunner().measure("task", nothing).busy

    assert busy < 0.7 / (os.cpu_count() or 1)


def test_the_worker_builds_and_measures_a_lowered_candidate(task: Task, runner: LocalRunner) -> None:
    runner.prepare(task.key, reference(task), 0)
    lowered = Builder(task).lowered(task.config_space.get(7))
    assert isinstance(lowered, Lowered)

    outcome = runner.build_and_measure(task.key, BuildRequest(lowered.function, task.target))

    assert outcome.error == ""
    assert outcome.costs


def test_a_build_failure_in_the_worker_is_that_of_the_tuner(task: Task, runner: LocalRunner) -> None:
    runner.prepare(task.key, reference(task), 0)
    n = te.var("n", "int64")
    x = te.placeholder((n,), name="x")
    y = te.compute((n,), lambda i: x[i] * 2.0, name="y")
    function = te.lower(te.create_schedule(y.op), [x, y])

    outcome = runner.build_and_measure(task.key, BuildRequest(function, task.target))

    assert (outcome.error, outcome.message) == ("schedule", "a tuning task has fixed shapes")
    assert outcome == candidate_of(function, task.target)


def test_a_reference_that_does_not_end_is_an_error(task: Task) -> None:
    with LocalRunner(reference_timeout=0.001) as hurried:
        hurried.prepare(task.key, reference(task), 0)
        with pytest.raises(ReferenceFailed, match=r"timeout: not ended after 0\.001 s"):
            hurried.measure(task.key, candidate(task))
