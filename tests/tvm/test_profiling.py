"""``runtime.profiling``: reports of the debug executor and of ``profiler_vm``."""

from __future__ import annotations

import csv
import json
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError
from tvmlite.tvm import relay
from tvmlite.tvm.contrib.debugger import debug_executor
from tvmlite.tvm.relay.testing import mlp
from tvmlite.tvm.runtime import profiler_vm
from tvmlite.tvm.runtime.profiling import Report

X = np.random.default_rng(0).random((1, 1, 28, 28)).astype("f4")


def _of_graph() -> Report:
    mod, params = mlp.get_workload(1)
    lib = relay.build(mod, "llvm", params=params)
    return debug_executor.create(lib.get_graph_json(), lib.lib, tvm.cpu()).profile(data=X)


def _of_vm() -> Report:
    mod, params = mlp.get_workload(1)
    assert tvm.runtime.profiler_vm.enabled()
    vm = profiler_vm.VirtualMachineProfiler(relay.vm.compile(mod, "llvm", params=params), tvm.cpu())
    return vm.profile(X, func_name="main")


@pytest.mark.parametrize(("make", "executor"), [(_of_graph, "Graph"), (_of_vm, "VM")])
def test_a_report_has_each_kernel_and_the_total(make: Any, executor: str) -> None:
    report = make()

    text = str(report)
    assert report.configuration["Executor"] == executor
    for word in ("fused_nn_softmax ", "Sum", "Total", "Hash", f"Executor: {executor}"):
        assert word in text
    times = [one["Duration (us)"] for one in report.calls]
    assert all(one > 0 for one in times)
    assert report.device_metrics["cpu0"]["Duration (us)"] >= sum(times)
    rows = list(csv.DictReader(report.csv().splitlines()))
    assert [float(row["Duration (us)"]) for row in rows] == times
    assert all(len(row["Hash"]) == 10 for row in rows)


def test_a_report_is_written_and_read() -> None:
    report = _of_vm()

    parts = json.loads(report.json())
    assert set(parts) == {"calls", "device_metrics", "configuration"}
    first = parts["calls"][0]
    assert isinstance(first["Name"]["string"], str)
    assert isinstance(first["Count"]["count"], int)
    assert parts["configuration"]["Executor"] == {"string": "VM"}
    assert isinstance(first["Duration (us)"]["microseconds"], float)
    again = Report.from_json(report.json())
    assert again.table(aggregate=False, col_sums=False) == report.table(aggregate=False, col_sums=False)
    with pytest.raises(
        InputError, match=r"Report\.from_json: '\[\]' given, expected what Report\.json gives"
    ):
        Report.from_json("[]")


def test_calls_of_one_kernel_are_one_row() -> None:
    call = {"Name": "f", "Duration (us)": 2.0, "Percent": 20.0, "Device": "cpu0", "Count": 1, "Hash": "0"}
    report = Report([call, {**call, "Duration (us)": 3.0}], {}, {})

    rows = report.table(col_sums=False).split("\n\n")[0].splitlines()
    assert [row.split() for row in rows[1:]] == [["f", "5.00", "40.00", "cpu0", "2", "0"]]
    assert len(report.table(aggregate=False, col_sums=False).split("\n\n")[0].splitlines()) == 3
