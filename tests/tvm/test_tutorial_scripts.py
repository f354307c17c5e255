"""Programs from TVM's tutorials: topi, sessions, instruments, continued searches."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import UnsupportedError
from tvmlite.tvm import auto_scheduler, relay, rpc, te, topi

NEEDS_LINKER = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a linker")


def test_a_row_sum_is_lowered_with_only_its_input_as_argument() -> None:
    n, m = te.var("n"), te.var("m")
    a = te.placeholder((n, m), name="a")
    total = topi.sum(a, axis=1)

    text = str(tvm.lower(te.create_schedule(total.op), [a], simple_mode=True))

    assert "a: float32[n, m]" in text
    assert total.op.name in text


def test_topi_fuses_a_convolution_and_relu() -> None:
    data, kernel = te.placeholder((1, 3, 12, 12)), te.placeholder((4, 3, 5, 5))
    with tvm.target.Target("llvm"):
        out = topi.nn.relu(topi.nn.conv2d_nchw(data, kernel, 1, 2, 1))
        s = topi.generic.schedule_conv2d_nchw([out])
    x, w = (np.random.default_rng(0).normal(size=one.shape).astype("float32") for one in (data, kernel))
    found = tvm.nd.empty((1, 4, 12, 12))

    tvm.build(s, [data, kernel, out], "llvm")(x, w, found)

    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2))), (5, 5), (2, 3)
    )
    wanted = np.maximum(np.einsum("nchwyx,kcyx->nkhw", windows, w), 0)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-4)


@NEEDS_LINKER
def test_a_kernel_is_uploaded_to_a_session_and_timed_there(tmp_path: Path) -> None:
    n = tvm.runtime.convert(64)
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="b")
    tvm.build(te.create_schedule(b.op), [a, b], target="llvm", name="add_one").export_library(
        tmp_path / "lib.tar"
    )
    remote = rpc.LocalSession()

    remote.upload(str(tmp_path / "lib.tar"))
    function, device = remote.load_module("lib.tar"), remote.cpu()
    given, out = tvm.nd.array(np.ones(64, "float32"), device), tvm.nd.array(np.zeros(64, "float32"), device)
    function(given, out)

    np.testing.assert_array_equal(out.numpy(), np.full(64, 2, "float32"))
    assert function.time_evaluator(function.entry_name, device, number=2)(given, out).mean > 0


class Counts:
    """Counts the calls of each operator before and after each pass."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, Counter[str]]] = []
        self._before: list[Counter[str]] = []

    def run_before_pass(self, mod: Any, info: Any) -> None:
        self._before.append(self._calls(mod))

    def run_after_pass(self, mod: Any, info: Any) -> None:
        before, after = self._before.pop(), self._calls(mod)
        after.subtract(before)
        if any(after.values()):
            self.changes.append((info.name, after))

    @staticmethod
    def _calls(mod: Any) -> Counter[str]:
        found: Counter[str] = Counter()

        def visit(node: Any) -> None:
            if isinstance(node, relay.expr.Call) and hasattr(node.op, "name"):
                found[node.op.name] += 1

        relay.analysis.post_order_visit(mod["main"], visit)
        return found


def test_an_instrument_sees_which_calls_a_pass_removes() -> None:
    x = relay.var("x", shape=(2, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.add(relay.nn.relu(x), relay.nn.relu(x))))
    counts = tvm.instrument.pass_instrument(Counts)()

    with tvm.transform.PassContext(opt_level=3, instruments=[counts]):
        relay.transform.EliminateCommonSubexpr()(mod)

    assert ("EliminateCommonSubexpr", {"nn.relu": -1}) in [
        (name, {op: n for op, n in change.items() if n}) for name, change in counts.changes
    ]


@pytest.mark.slow
def test_a_search_continues_from_a_log(tmp_path: Path) -> None:
    log = str(tmp_path / "log.json")
    task = auto_scheduler.SearchTask(
        func=tvm.testing.auto_scheduler.matmul_auto_scheduler_test, args=(16, 16, 16), target="llvm"
    )
    runner = auto_scheduler.LocalRunner(number=1, repeat=1, min_repeat_ms=0, timeout=60)
    options = auto_scheduler.TuningOptions(
        2, runner=runner, measure_callbacks=[auto_scheduler.RecordToFile(log)]
    )
    task.tune(options)
    model = auto_scheduler.XGBModel()
    model.update_from_file(log)

    task.tune(options, auto_scheduler.SketchPolicy(task, model))

    inputs, results = auto_scheduler.RecordReader(log).read_lines()
    assert len(results) == 4
    assert {one.task.workload_key for one in inputs} == {task.workload_key}
    best, result = auto_scheduler.load_best_record(log, task.workload_key, "llvm")
    assert result.error_no == 0
    line = auto_scheduler.measure_record.dump_record_to_string(best, result)
    assert auto_scheduler.measure_record.load_record_from_string(line)[1].costs == result.costs


@pytest.mark.slow
def test_round_robin_gives_tasks_equal_numbers_of_trials(tmp_path: Path) -> None:
    product = tvm.testing.auto_scheduler.matmul_auto_scheduler_test
    tasks = [auto_scheduler.SearchTask(func=product, args=(n, n, n), target="llvm") for n in (4, 8)]
    log = str(tmp_path / "log.json")

    auto_scheduler.TaskScheduler(tasks, strategy="round-robin").tune(
        auto_scheduler.TuningOptions(
            4,
            runner=auto_scheduler.LocalRunner(number=1, repeat=1, min_repeat_ms=0, timeout=60),
            measure_callbacks=[auto_scheduler.RecordToFile(log)],
        ),
        search_policy="sketch.random",
    )

    keys = Counter(inp.task.workload_key for inp, _ in auto_scheduler.load_records(log))
    assert keys == {task.workload_key: 2 for task in tasks}


def test_a_generated_state_changed_by_hand_cannot_be_recorded() -> None:
    task = auto_scheduler.SearchTask(
        func=tvm.testing.auto_scheduler.matmul_auto_scheduler_test, args=(4, 4, 4), target="llvm"
    )
    record, result = auto_scheduler.measure_record, auto_scheduler.MeasureResult([0.1], 0, "", 0.2, 1)

    line = record.dump_record_to_string(
        auto_scheduler.MeasureInput(task, task.compute_dag.init_state), result
    )
    assert record.load_record_from_string(line)[0].state == task.compute_dag.init_state
    changed = auto_scheduler.loop_state.State(task.core.default, task.core)
    changed.pragma(2, changed.stages[2].iters[0], "auto_unroll_max_step$16")
    with pytest.raises(UnsupportedError, match="a state that a search gave, and that was changed by hand"):
        record.dump_record_to_string(auto_scheduler.MeasureInput(task, changed), result)


def test_a_session_finds_functions_and_refuses_missing_ones() -> None:
    session = rpc.LocalSession()

    @tvm.register_func("tests.session.add_one", override=True)
    def add_one(x: int) -> int:
        return x + 1

    assert session.get_function("tests.session.add_one")(10) == 11
    assert not session.cuda(0).exist
    assert not hasattr(session, "system_lib")
    with pytest.raises(UnsupportedError, match=r"LocalSession\.system_lib is not in tvmlite"):
        session.system_lib()
