"""Complete programs as in courses: ``import tvm`` after the lines that alias it to this package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = 'import sys\nimport tvmlite.tvm\nsys.modules["tvm"] = tvmlite.tvm\n'

BLOCKED_PRODUCT = """
import numpy as np
import tvm
from tvm import autotvm
from tvmlite import te
import tvmlite

@autotvm.template("course/blocked_product")
def blocked_product(rows, depth, columns, dtype):
    left = te.placeholder((rows, depth), name="left", dtype=dtype)
    right = te.placeholder((depth, columns), name="right", dtype=dtype)
    r = te.reduce_axis((0, depth), name="r")
    out = te.compute((rows, columns), lambda i, j: te.sum(left[i, r] * right[r, j], axis=r), name="out")
    s = te.create_schedule(out.op)
    i, j = s[out].op.axis
    (k,) = s[out].op.reduce_axis
    cfg = autotvm.get_config()
    cfg.define_split("rows", cfg.axis(i), num_outputs=2)
    cfg.define_split("columns", cfg.axis(j), num_outputs=2, filter=lambda one: one.size[-1] >= 4)
    cfg.define_knob("vectors", [True, False])
    cfg.add_flop(2 * rows * depth * columns)
    io, ii = cfg["rows"].apply(s, out, i)
    jo, ji = cfg["columns"].apply(s, out, j)
    s[out].reorder(io, jo, k, ii, ji)
    if cfg["vectors"].val:
        s[out].vectorize(ji)
    return s, [left, right, out]

target = tvm.target.Target("llvm")
task = autotvm.task.create("course/blocked_product", args=(32, 16, 32, "float32"), target=target)
assert task.flop == 2 * 32 * 16 * 32
print(task.config_space)
option = autotvm.measure_option(
    builder=autotvm.LocalBuilder(n_parallel=2),
    runner=autotvm.LocalRunner(number=1, repeat=2, timeout=60),
)
for Tuner in (autotvm.tuner.GridSearchTuner, autotvm.tuner.GATuner):
    tuner = Tuner(task) if Tuner is autotvm.tuner.GridSearchTuner else Tuner(task, pop_size=4)
    tuner.tune(
        n_trial=3,
        early_stopping=None,
        measure_option=option,
        callbacks=[autotvm.callback.progress_bar(3, prefix="[1/1]"),
        autotvm.callback.log_to_file("tune.log")],
    )
    assert tuner.best_flops > 0
records = list(autotvm.record.load_from_file("tune.log"))
assert len(records) == 6 and all(res.error_no == 0 for _, res in records), records
autotvm.record.pick_best("tune.log", "best.log")
with autotvm.apply_history_best("best.log"):
    with tvm.target.Target("llvm") if hasattr(target, "__enter__") else autotvm.utils.EmptyContext():
        s, args = blocked_product(32, 16, 32, "float32")
best = min(records, key=lambda pair: np.mean(pair[1].costs))[0].config
assert f"factor={best['rows'].size[-1]}" in str(s.trace)
function = tvmlite.build(s, args)
a, b = np.random.rand(32, 16).astype("float32"), np.random.rand(16, 32).astype("float32")
c = tvm.nd.array(np.zeros((32, 32), "float32"), tvmlite.cpu(0))
function(tvm.nd.array(a), tvm.nd.array(b), c)
np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4)
"""

NETWORK = """
import numpy as np
import tvmlite
from tvmlite import relay
import tvm
from tvm import autotvm, auto_scheduler
from tvm.contrib import graph_executor
from tvm.contrib.debugger import debug_executor
import tvmlite.tvm.tuned as tuned

rng = np.random.default_rng(0)
x, w = relay.var("data", shape=(1, 4, 8, 8)), relay.var("weight", shape=(8, 4, 3, 3))
main = relay.Function([x, w], relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1))))
params = {"weight": rng.normal(size=(8, 4, 3, 3)).astype("float32")}

def tune_kernels(tasks, measure_option, tuner, n_trial, log_filename):
    for number, task in enumerate(tasks):
        made = {"xgb": autotvm.tuner.XGBTuner, "random": autotvm.tuner.RandomTuner}[tuner](task)
        made.tune(
            n_trial=min(n_trial, len(task.config_space)),
            measure_option=measure_option,
            callbacks=[
                autotvm.callback.progress_bar(n_trial, prefix=f"[{number}]"),
                autotvm.callback.log_to_file(log_filename),
            ],
        )

tasks = autotvm.task.extract_from_program(main, target="llvm", params=params, ops=("nn.conv2d",))
assert tasks, "no task"
option = autotvm.measure_option(autotvm.LocalBuilder(), autotvm.LocalRunner(number=1, repeat=1, timeout=60))
tune_kernels(tasks, option, "random", 3, "kernels.log")
assert sum(1 for _ in autotvm.record.load_from_file("kernels.log")) == 3 * len(tasks)
from tvmlite.tvm.autotvm.task.relay_integration import bound
from tvmlite.machine.target import Target
with autotvm.apply_history_best("kernels.log"):
    lib = tvmlite.compile(bound(main, params), records=tuned.records_in_force(Target.parse("native")) or None)
data = rng.normal(size=(1, 4, 8, 8)).astype("float32")
padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)))
windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
wanted = np.maximum(np.einsum("nchwyx,kcyx->nkhw", windows, params["weight"]), 0)
module = graph_executor.create(None, lib, tvmlite.cpu())
module.set_input("data", data)
module.run()
np.testing.assert_allclose(module.get_output(0).numpy(), wanted, atol=1e-4)
print(module.benchmark(tvmlite.cpu(), repeat=2, number=1))
debug = debug_executor.create(None, lib, tvmlite.cpu(), dump_root="debug")
debug.run(data=data)
np.testing.assert_allclose(debug.get_output(0).numpy(), wanted, atol=1e-4)

tasks, weights = auto_scheduler.extract_tasks(main, params, "llvm")
tuner = auto_scheduler.TaskScheduler(tasks, weights)
tuner.tune(auto_scheduler.TuningOptions(
    num_measure_trials=2 * len(tasks),
    runner=auto_scheduler.LocalRunner(number=1, repeat=1, min_repeat_ms=0, timeout=60),
    measure_callbacks=[auto_scheduler.RecordToFile("sketches.json")],
))
with auto_scheduler.ApplyHistoryBest("sketches.json"):
    lib = tvmlite.compile(bound(main, params), records=tuned.records_in_force(Target.parse("native")) or None)
np.testing.assert_allclose(lib(data), wanted, atol=1e-4)
"""

GENERATED = """
import numpy as np
import tvmlite
from tvmlite import te
import tvm
from tvm import auto_scheduler

@auto_scheduler.register_workload
def product_and_add(n, m, k, dtype):
    a = te.placeholder((n, k), name="a", dtype=dtype)
    b = te.placeholder((k, m), name="b", dtype=dtype)
    c = te.placeholder((n, m), name="c", dtype=dtype)
    r = te.reduce_axis((0, k), name="r")
    product = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="product")
    return [a, b, c, te.compute((n, m), lambda i, j: product[i, j] + c[i, j], name="out")]

target = tvm.target.Target("llvm")
task = auto_scheduler.SearchTask(func=product_and_add, args=(32, 24, 16, "float32"), target=target)
print("Computational DAG:")
print(task.compute_dag)
options = auto_scheduler.TuningOptions(
    num_measure_trials=3,
    measure_callbacks=[auto_scheduler.RecordToFile("product.json")],
    runner=auto_scheduler.LocalRunner(number=1, repeat=1, min_repeat_ms=0, timeout=60),
    verbose=2,
)
task.tune(options)
sch, args = task.apply_best("product.json")
function = tvmlite.build(sch, args, name="product_and_add")
a, b, c = (np.random.rand(*shape).astype("float32") for shape in ((32, 16), (16, 24), (32, 24)))
out = np.zeros((32, 24), "float32")
function(a, b, c, out)
np.testing.assert_allclose(out, a @ b + c, rtol=1e-4)
print("Equivalent python schedule:")
print(task.print_best("product.json"))
"""

COMMAND = """
import numpy as np
import onnx
from tvm.driver import tvmc

helper, kind = onnx.helper, onnx.TensorProto.FLOAT
weight = np.arange(8, dtype=np.float32).reshape(4, 2)
graph = helper.make_graph(
    [helper.make_node("MatMul", ["data", "weight"], ["out"])],
    "g",
    [helper.make_tensor_value_info("data", kind, [1, 4])],
    [helper.make_tensor_value_info("out", kind, [1, 2])],
    [onnx.numpy_helper.from_array(weight, "weight")],
)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "small.onnx")
model = tvmc.load("small.onnx")
model.summary()
package = tvmc.compile(model, target="llvm", package_path="small.tar")
again = tvmc.TVMCPackage(package.package_path)
result = tvmc.run(again, device="cpu", inputs={"data": np.ones((1, 4), np.float32)}, repeat=2, number=1)
np.testing.assert_allclose(result.get_output("output_0"), weight.sum(axis=0)[None])
print(result)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(BLOCKED_PRODUCT, id="a template from knobs to history"),
        pytest.param(NETWORK, id="a network tuned kernel by kernel"),
        pytest.param(GENERATED, id="a generated schedule"),
        pytest.param(COMMAND, id="the functions of tvmc"),
    ],
)
def test_a_program_from_a_course_runs(program: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", HEAD + program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
