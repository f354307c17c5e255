"""Public names outside ``te`` and ``relay``, called with wrong values by ``tests/fuzz/constructors.py``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.constructors import Subject, faults_as_asked, public, subjects
from made_up_tuning import MadeUpMachine, small_matmul

import tvmlite
from tvmlite import autotune, relay, runtime, te
from tvmlite.machine.target import Target
from tvmlite.tvm import nd, target
from tvmlite.tvm.contrib import cblas, cc
from tvmlite.tvm.ir import intrinsics

LEFT_OUT = {
    "autotune.Crew": "starts processes",
    "autotune.ParallelRunner": "starts processes",
    "autotune.Runner": "a protocol",
    "runtime.CompiledFunction": "made of addresses: a wrong one ends the process",
    "runtime.Library": "made of a compiled function",
    "runtime.Profile": "a result, made by us",
    "runtime.Timing": "a result, made by us",
    "autotune.Tuned": "a result, made by us",
    "runtime.NDArray": "numpy's own",
    "nd.NDArray": "numpy's own",
    "nd.context": "tried as nd.device",
    "tvmlite.TvmliteError": "an error",
    "tvmlite.visualize": "writes a page: it is tried with the methods below",
    "tvmlite.compile": "tried with relay",
    "tvmlite.lower": "tried with te",
}
"""Public names that are not called, and why."""

ROOMS = {
    "tvmlite": tvmlite,
    "autotune": autotune,
    "autotune.callback": autotune.callback,
    "runtime": runtime,
    "nd": nd,
    "target": target,
    "ir": intrinsics,
    "contrib.cblas": cblas,
    "contrib.cc": cc,
}


def _template(n: int, m: int, k: int) -> Any:
    return small_matmul(n, m, k)


autotune.template("fuzzed.matmul", small_matmul)


def _task() -> autotune.Task:
    return autotune.create("fuzzed.matmul", (4, 4, 4))


def _record() -> autotune.Record:
    task = _task()
    return autotune.Record((task.name, task.args), "llvm", task.default, (1e-3,), verified=True)


def _module() -> relay.Module:
    x = relay.var("x", shape=(2, 3))
    return relay.Module({"main": relay.Function((x,), relay.nn.relu(x))})


@functools.cache
def _library() -> Any:
    return tvmlite.compile(_module())


@functools.cache
def _function() -> Any:
    """``b = a + 1`` of a vector of open length."""
    a = te.placeholder((te.var("n"),), name="a")
    b = te.compute(a.shape, lambda i: a[i] + 1.0, name="b")
    return tvmlite.build(te.create_schedule(b.op), [a, b])


def _examples() -> dict[str, list[dict[str, Any]]]:
    """Valid arguments of functions."""
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    s, task, record = te.create_schedule(b.op), _task(), _record()
    square = [te.placeholder((2, 2), name=name) for name in "AB"]
    tuning = {"trials": 2, "tuner": "random", "runner": MadeUpMachine()}
    return {
        "tvmlite.Target": [{"kind": "llvm", "cpu": "haswell"}],
        "tvmlite.build": [{"schedule": s, "args": [a, b], "target": "llvm", "name": "f"}],
        "tvmlite.cpu": [{"index": 0}],
        "tvmlite.device": [{"kind": "llvm", "index": 0}],
        "tvmlite.get_global_func": [{"name": "f"}],
        "tvmlite.register_func": [{"name": "f", "function": print}],
        "tvmlite.tune": [{"model": _module(), "records": "tune.jsonl", "decisions": False, **tuning}],
        "visualize": [{"schedule": s, "args": [a, b], "path": "page.html", "target": "llvm", "budget": None}],
        "autotune.ConfigEntity": [{"settings": dict(task.default.settings), "index": 0}],
        "autotune.GATuner": [{"task": task}],
        "autotune.GridSearchTuner": [{"task": task}],
        "autotune.RandomTuner": [{"task": task}],
        "autotune.XGBTuner": [{"task": task}],
        "autotune.Tuner": [{"task": task}],
        "autotune.LocalRunner": [{"number": 3, "budget": 0.02, "threads": 1}],
        "autotune.Record": [
            {name: getattr(record, name) for name in inspect.signature(autotune.Record).parameters}
        ],
        "autotune.Task": [
            {name: getattr(task, name) for name in inspect.signature(autotune.Task).parameters}
        ],
        "autotune.apply_history_best": [{"records": [record], "target": "llvm"}],
        "autotune.complete": [{"schedule": s}],
        "autotune.create": [{"name": "fuzzed.matmul", "args": (4, 4, 4)}],
        "autotune.template": [{"name": "fuzzed.other", "function": _template}],
        "autotune.tune": [{"tasks": [task], "records": "tune.jsonl", **tuning}],
        "autotune.callback.log_to_file": [{"path": "log.jsonl"}],
        "runtime.Tensor": [{"array": np.ones((2, 3), "float32")}],
        "runtime.empty": [{"shape": (2, 3), "dtype": "int8", "alignment": 64}],
        "runtime.set_num_threads": [{"threads": 1}],
        "runtime.tensor": [{"source": np.ones((2, 3)), "dtype": "float64"}, {"source": [[1, 2], [3, 4]]}],
        "nd.array": [{"arr": np.ones((2, 3))}, {"arr": [1, 2, 3], "device": nd.cpu()}],
        "nd.device": [{"dev_type": "llvm"}],
        "nd.empty": [{"shape": (2, 3), "dtype": "float32", "device": nd.cpu()}],
        "target.Target": [
            {"target": "llvm -mcpu=haswell", "host": "llvm"},
            {"target": {"kind": "llvm", "mcpu": "haswell"}},
        ],
        "ir.register_op_attr": [{"op_name": "tir.f", "attr_key": "TCallEffectKind", "value": "Pure"}],
        "contrib.cblas.matmul": [{"lhs": square[0], "rhs": square[1], "transa": True, "transb": False}],
        "contrib.cc.create_shared": [{"output": "made.so", "objects": ["missing.o"]}],
        "runtime.load": [{"path": "missing.so"}, {"path": "broken.so"}],
        "runtime.load_module": [{"path": "broken.so"}],
    }


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for room, namespace in ROOMS.items():
        own = getattr(namespace, "__all__", None)
        for name, function in public(namespace, f"{room}."):
            mine = own is not None or getattr(function, "__module__", "") == namespace.__name__
            if mine and name not in LEFT_OUT and not hasattr(te, name.rpartition(".")[2]):
                yield name, function
    yield "visualize", tvmlite.visualize


# --- methods ----------------------------------------------------------------------------------------


def _objects() -> dict[str, tuple[Any, dict[str, dict[str, Any]]]]:
    """Objects, and valid arguments of their methods."""
    x, y = np.ones((2, 3), "float32"), np.ones(5, "float32")
    space, task = autotune.ConfigSpace(), _task()
    space.define_split("tile", 8, num_outputs=2)
    tuner = autotune.RandomTuner(task)
    timed = {"number": 1, "repeat": 1, "budget": 0.01}
    return {
        "function": (
            _function(),
            {
                "__call__": {"args": (y, np.empty_like(y))},
                "time": {"args": (y,), **timed},
                "profile": {"args": (y,)},
                "source": {"form": "c"},
                "export": {"path": "made.c"},
            },
        ),
        "library": (
            _library(),
            {
                "__call__": {"inputs": (x,)},
                "run": {"inputs": {"x": x}},
                "time": {"inputs": (x,), **timed},
                "profile": {"inputs": (x,)},
                "source": {"form": "loops", "kernel": None},
                "until": {"name": "x"},
                "run_until": {"name": "x", "inputs": (x,)},
                "export": {"path": "made.c"},
                "copy": {},
            },
        ),
        "space": (
            space,
            {
                "define_split": {
                    "name": "other",
                    "axis": 8,
                    "num_outputs": 2,
                    "policy": "factors",
                    "max_factor": 4,
                    "no_tail": True,
                },
                "define_reorder": {"name": "order", "axes": [1, 2, 3], "policy": "all"},
                "define_annotate": {
                    "name": "notes",
                    "axes": [1, 2],
                    "policy": "candidate",
                    "candidate": [["none", "unroll"]],
                },
                "define_knob": {"name": "knob", "candidate": [1, "two", None]},
                "get": {"index": 1},
                "__getitem__": {"name": "tile"},
                "add_flop": {"flop": 10.0},
                "axis": {"length": 8},
            },
        ),
        "config": (
            task.default,
            {"__getitem__": {"name": "x"}, "from_json_dict": {"fields": task.default.to_json_dict()}},
        ),
        "task": (task, {"instantiate": {"config": task.default}}),
        "tuner": (
            tuner,
            {
                "tune": {"n_trial": 2, "measure_option": MadeUpMachine(), "callbacks": ()},
                "propose": {"count": 2},
            },
        ),
        "record": (_record(), {"from_json": {"text": _record().to_json()}}),
        "ndarray": (nd.array([1, 2, 3]), {"copyfrom": {"source": [1, 2, 3]}, "copyto": {"target": nd.cpu()}}),
    }


def _method(kind: str, name: str) -> Subject:
    """The method ``name`` of a new object of that ``kind``."""
    owner, methods = _objects()[kind]
    words = ("input", "shape", "knob", "argument", "given", "json", "fields", "error is", kind)
    fixed = ("number", "repeat", "budget") if name.startswith("time") else ()
    return Subject(
        name.strip("_"),
        getattr(owner, name),
        methods[name],
        words,
        fixed=fixed,
        callbacks=("clock", "until", "filter", "callbacks"),
        renew=lambda: _method(kind, name),
    )


@functools.cache
def _subjects() -> list[Subject]:
    words = {
        "autotune.create": ("extent", "processor", "knob"),
        "autotune.XGBTuner": ("loss",),
        "nd.array": ("dtype",),
        "target.Target": ("processor",),
        "tvmlite.tune": ("processor",),
    }
    more: dict[str, Any] = {
        "callbacks": ("function", "run", "say", "rules", "callbacks"),
        "places": ("model file ",),
    }
    functions = subjects(_functions(), _examples(), {}, words, **more)
    return [
        *functions,
        *(_method(kind, name) for kind, (_, methods) in _objects().items() for name in methods),
    ]


def _wrong() -> list[Any]:
    """Values of many kinds, each valid for some argument."""
    a = te.placeholder((4,), name="A")
    return [
        a, te.create_schedule(te.compute((4,), lambda i: a[i]).op), _module(), _task(), _record(),
        autotune.ConfigSpace(), te.var("n"), te.const(2), Target.parse("llvm"), nd.cpu(), nd.array([1, 2]),
        runtime.tensor([1, 2]), _library(), _function(), Path("missing"), "missing.so", "broken.so", "cuda",
        "llvm -mcpu=none", "llvm -bogus=1", "c", "native", "10m", "soon", np.ones((2, 3)),
        np.ones((3, 2), "float32"), np.ones((2, 3), "float32")[:, ::2], np.ones(5, "int32"),
        {"x": np.ones((2, 3))}, {"y": 1}, [_task()], [_record()], MadeUpMachine(), autotune.LocalRunner(),
    ]  # fmt: skip


def _used(result: Any) -> None:
    """Use ``result`` as a user would: print it, enter it as a context."""
    if not isinstance(result, (np.ndarray, autotune.Task, autotune.Record)):  # nor what Python prints of them
        str(result)
        repr(result)
    if hasattr(result, "__enter__") and not isinstance(result, autotune.Watch):
        with result:
            pass


@pytest.mark.usefixtures("threads")
@pytest.mark.filterwarnings("ignore")
def test_every_call_succeeds_or_raises_a_clear_error(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.so").write_bytes(b"\x7fELF and no more")

    found = faults_as_asked(request, _subjects(), _wrong(), _used)

    assert not found, found
