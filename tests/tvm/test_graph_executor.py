"""Executors: inputs by name and number, outputs, graphs in JSON, libraries in files, and debugging."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tvmlite import relay, te
from tvmlite.core.errors import InputError, LibraryError, UnsupportedError
from tvmlite.driver import build, compile
from tvmlite.runtime.ndarray import cpu
from tvmlite.tvm import nd
from tvmlite.tvm.contrib import graph_executor, graph_runtime
from tvmlite.tvm.contrib.debugger import debug_executor
from tvmlite.tvm.executors.graph import GraphExecutor
from tvmlite.tvm.executors.model import ModelExecutor, remember_parameters
from tvmlite.tvm.runtime import load_module
from tvmlite.tvm.runtime_params import save_param_dict

X = np.arange(12, dtype=np.float32).reshape(3, 4)
Y = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


class Factory:
    """The part of ``relay.build``'s result that executors need."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib

    def __getitem__(self, name: str) -> Any:
        assert name == "default"
        return lambda device: ModelExecutor(self.lib)


@pytest.fixture(scope="module")
def lib() -> Any:
    """Two outputs: ``exp(x) + y`` and the row sums of ``x``."""
    x, y = relay.var("x", shape=(3, 4)), relay.var("y", shape=(3, 4))
    return compile(relay.Function((x, y), relay.Tuple((relay.exp(x / 8.0) + y, relay.sum(x, axis=1)))))


def expected() -> list[np.ndarray]:
    return [np.exp(X / 8) + Y, X.sum(axis=1)]


def check(module: Any) -> None:
    for index, wanted in enumerate(expected()):
        np.testing.assert_allclose(module.get_output(index).numpy(), wanted, rtol=1e-5)


def test_inputs_are_set_by_name_number_and_keyword(lib: Any) -> None:
    module = graph_executor.GraphModule(Factory(lib)["default"](cpu()))
    assert (module.get_num_inputs(), module.get_num_outputs()) == (2, 2)

    module.set_input("x", X)
    module.set_input(1, nd.array(Y))
    module.run()
    check(module)

    module.set_input(x=X * 0, y=Y)
    module.run(x=X)
    check(module)
    assert [module.get_input_index(name) for name in ("y", "nothing")] == [1, -1]
    assert module.get_input_info() == ({"x": (3, 4), "y": (3, 4)}, {"x": "float32", "y": "float32"})


def test_functions_are_found_by_name(lib: Any) -> None:
    raw = Factory(lib)["default"](cpu())

    raw["set_input"]("x", nd.array(X))
    raw["set_input"]("y", nd.array(Y))
    raw["run"]()

    np.testing.assert_allclose(raw["get_output"](0).numpy(), expected()[0], rtol=1e-5)
    with pytest.raises(AttributeError, match="no function 'nothing'"):
        raw["nothing"]


def test_outputs_and_inputs_are_written_into_given_arrays(lib: Any) -> None:
    module = graph_executor.create(None, Factory(lib), cpu())
    out, whole = nd.empty((3, 4)), np.empty((3,), np.float32)
    module.set_output_zero_copy(1, whole)
    module.run(x=X, y=Y)

    assert module.get_output(0, out) is out
    np.testing.assert_allclose(out.numpy(), expected()[0], rtol=1e-5)
    np.testing.assert_allclose(whole, expected()[1], rtol=1e-5)
    np.testing.assert_array_equal(module.get_input("x", np.empty((3, 4), np.float32)), X)


def test_an_input_set_without_a_copy_is_read_at_the_run(lib: Any) -> None:
    module, later = graph_executor.create(None, lib, cpu()), X * 0
    module.set_input(x=later, y=Y)
    module.set_input_zero_copy("x", later)
    later[...] = X

    module.run()

    check(module)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda m: m.set_input("z", X), "there is no input 'z'; there are x, y"),
        (lambda m: m.set_input(7, X), "there is no input 7"),
        (lambda m: m.set_input("x", X[:2]), r"'x' is float32\[2, 4\], expected float32\[3, 4\]"),
        (
            lambda m: m.set_input("x", nd.array(X.astype(np.float64))),
            r"'x' is float64\[3, 4\], expected float32",
        ),
        (lambda m: m.set_input_zero_copy("x", X.astype("f8")), r"'x' is float64\[3, 4\], expected float32"),
        (lambda m: m.set_input("x", X.astype(str)), r"'x' is <U\d+\[3, 4\], expected float32"),
        (lambda m: m.run(x=X), "inputs y have not been set"),
        (lambda m: m.get_output(0), "there was no run yet"),
        (lambda m: m.get_output(2), "there is no output 2; there are 2"),
    ],
)
def test_invalid_inputs_and_outputs_are_errors(lib: Any, call: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        call(graph_executor.create(None, lib, cpu()))


def test_a_module_without_functions_is_refused() -> None:
    with pytest.raises(InputError, match="a dict given, which has no function 'set_input'"):
        graph_executor.GraphModule({})


def test_parameters_are_loaded_and_shared(lib: Any) -> None:
    source = graph_executor.create(None, lib, cpu())
    source.load_params(save_param_dict({"x": X}))
    other = graph_runtime.create(None, lib, cpu())
    other.share_params(source, save_param_dict({"x": X}))

    other.run(y=Y)

    check(other)


def test_a_parameter_in_the_library_cannot_be_changed(lib: Any) -> None:
    remember_parameters(lib, {"w": X})
    module = graph_executor.create(None, lib, cpu())
    remember_parameters(lib, {})

    module.set_input(w=X, x=X, y=Y)
    module.run()

    check(module)
    with pytest.raises(InputError, match="the parameter 'w' is in the library, with another value"):
        module.set_input(w=Y)


def test_a_benchmark_has_the_requested_number_of_runs(lib: Any) -> None:
    module = graph_executor.create(None, lib, cpu())

    found = module.benchmark(cpu(), repeat=4, number=2, end_to_end=True, x=X, y=Y)

    assert len(found.results) == 4
    assert found.min <= found.median <= found.max
    assert found.min <= found.mean <= found.max
    assert found.std >= 0
    with pytest.raises(InputError, match="func_name is 'get_output'"):
        module.benchmark(cpu(), func_name="get_output")


@pytest.mark.parametrize("ending", ["so", "tar"])
def test_an_exported_model_is_loaded_and_run(lib: Any, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"deploy.{ending}"
    lib.export(path)

    module = graph_executor.GraphModule(load_module(str(path))["default"](cpu()))
    module.run(x=X, y=Y)

    check(module)


def test_a_loaded_function_is_called_by_its_name(tmp_path: Path) -> None:
    add_one().export(tmp_path / "f.so")
    loaded, out = load_module(tmp_path / "f.so"), np.empty(4, np.float32)

    loaded["myadd"](X[0], out)
    np.testing.assert_array_equal(out, X[0] + 1)
    loaded(out, out2 := np.empty(4, np.float32))
    np.testing.assert_array_equal(out2, X[0] + 2)
    times = loaded.time_evaluator(loaded.entry_name, cpu(), number=2, repeat=3)(X[0], out)
    assert len(times.results) == 3
    assert "mean (ms)" in str(times)
    with pytest.raises(InputError, match="no function 'f'; there are: myadd"):
        loaded.time_evaluator("f", cpu())
    with pytest.raises(InputError, match="no function 'default'; there are: myadd"):
        loaded["default"]


def test_error_of_loading_a_file_names_it(tmp_path: Path, lib: Any) -> None:
    with pytest.raises(LibraryError, match=r"there is no file .*gone\.tar"):
        load_module(tmp_path / "gone.tar")
    with pytest.raises(InputError, match=r"x\.zip is expected to end in \.so, .*\.tar"):
        load_module(tmp_path / "x.zip")
    lib.export(tmp_path / "m.tar")
    content = bytearray((tmp_path / "m.tar").read_bytes())
    content[content.index(b"!<arch>") + 100] ^= 255
    (tmp_path / "m.tar").write_bytes(content)
    with pytest.raises(LibraryError, match="is damaged"):
        load_module(tmp_path / "m.tar")


def add_one() -> Any:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    return build(te.create_schedule(b.op), [a, b], name="myadd")


def graph(**changes: Any) -> str:
    """A graph with x, x + 1, that reshaped to two rows, and the reshaped one + 1."""
    call = {"func_name": "myadd", "num_inputs": "1", "num_outputs": "1", "flatten_data": "1"}
    nodes = [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "tvm_op", "name": "add", "inputs": [[0, 0, 0]], "attrs": call},
        {"op": "tvm_op", "name": "rows", "inputs": [[1, 0, 0]], "attrs": {**call, "func_name": "__nop"}},
        {"op": "tvm_op", "name": "again", "inputs": [[2, 0, 0]], "attrs": call},
    ]
    shapes = [[4], [4], [2, 2], [2, 2]]
    made = {
        "nodes": nodes,
        "arg_nodes": [0],
        "node_row_ptr": [0, 1, 2, 3, 4],
        "heads": [[3, 0, 0], [1, 0, 0]],
        "attrs": {
            "shape": ["list_shape", shapes],
            "dltype": ["list_str", ["float32"] * 4],
            "storage_id": ["list_int", [0, 1, 1, 0]],
        },
    }
    return json.dumps({**made, **changes})


def test_a_graph_calls_functions_by_their_names() -> None:
    module = graph_executor.create(graph(), add_one(), cpu(0))

    module.run(x=X[0])

    np.testing.assert_array_equal(module.get_output(0).numpy(), (X[0] + 2).reshape(2, 2))
    np.testing.assert_array_equal(module.get_output(1, nd.empty((4,))).numpy(), X[0] + 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the graph is no JSON"),
        ("[" * 100_000, "the graph is no JSON"),
        ("{}", "the graph lacks nodes, arg_nodes"),
        (graph(node_row_ptr=[0, 1, 1, 3]), "the graph lacks nodes"),
        (graph(node_row_ptr=[0, 2, 1, 3, 4]), "does not number the results"),
        (graph(arg_nodes=[1]), "are not its inputs"),
        (graph(arg_nodes=[-1]), "are not its inputs"),
        (graph(heads=[[4, 0, 0]]), "are not results"),
        (graph(heads=[[0, 1, 0]]), "are not results"),
        (graph().replace("[[1, 0, 0]]", "[[3, 0, 0]]", 1), "node 2 of the graph"),
        (graph().replace('"tvm_op"', '"host"', 1), "node 1 of the graph"),
        (graph().replace("[[4], [4]", "[[4], [-4]"), "has a value of float32"),
        (graph().replace("[[4], [4]", "[[4], [4611686018427387904]"), "expected at most"),
    ],
)
def test_a_damaged_graph_is_an_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        GraphExecutor(text, add_one())


def test_error_of_a_missing_function_names_it() -> None:
    module = graph_executor.create(graph().replace("myadd", "other"), {}, cpu())

    with pytest.raises(InputError, match="the graph calls 'other', which the library does not have"):
        module.run(x=X[0])


def test_the_debug_executor_dumps_graph_trace_and_values(tmp_path: Path, capsys: Any) -> None:
    module = debug_executor.create(graph(), {"myadd": add_one()}, cpu(0), dump_root=tmp_path / "dump")
    folder = Path(module._dump_path)
    assert [one.name for one in folder.iterdir()] == ["_tvmdbg_graph_dump.json"]

    module.run(number=1, repeat=2, min_repeat_ms=0, x=X[0])

    dumped = json.loads((folder / "_tvmdbg_graph_dump.json").read_text())
    assert {"nodes", "arg_nodes", "node_row_ptr", "heads", "attrs"} <= dumped.keys()
    nodes = module.debug_datum.get_graph_nodes()
    assert [node["op"] for node in nodes] == ["param", "myadd", "__nop", "myadd"]
    assert nodes[2]["shape"] == [2, 2]
    trace = json.loads((folder / "_tvmdbg_execution_trace.json").read_text())
    assert [event["name"] for event in trace["traceEvents"]][::2] == ["x", "add", "rows", "again"]
    assert trace["traceEvents"][0] == {"ts": 0, "ph": "B", "pid": 1, "tid": 1, "name": "x"}
    lines = module.debug_datum.get_debug_result(sort_by_time=False).split("\n")
    assert re.split("  +", lines[0])[:4] == ["Node Name", "Ops", "Time(us)", "Time(%)"]
    assert [line.split()[0] for line in lines[2:]] == ["add", "rows", "again", "Total_time"]
    assert "Total_time" in capsys.readouterr().out
    np.testing.assert_array_equal(module.debug_get_output("add"), X[0] + 1)
    np.testing.assert_array_equal(module.debug_get_output(3, np.empty((2, 2))), (X[0] + 2).reshape(2, 2))
    module.exit()
    assert not folder.exists()


def test_a_single_node_is_run_the_requested_number_of_times() -> None:
    calls: list[Any] = []
    add = add_one()

    def counted(*args: Any) -> None:
        calls.append(args)
        add(*args)

    module = debug_executor.create(graph(), {"myadd": counted}, cpu())
    module.set_input(x=X[0])

    assert module.run_individual_node(0, number=1).mean == 0
    assert len(module.run_individual_node(1, number=2, repeat=3).results) == 3
    assert len(calls) == 1 + 2 * 3  # with the warm-up
    with pytest.raises(InputError, match="there is no node 4; there are 4"):
        module.run_individual_node(4)
    with pytest.raises(InputError, match="there is no node 'z'"):
        module.debug_get_output("z")


def test_the_debug_executor_lists_kernels_of_a_compiled_model(lib: Any, capsys: Any) -> None:
    module = debug_executor.GraphModuleDebug(ModelExecutor(lib), [cpu()], None)
    module.run(x=X, y=Y)
    table = capsys.readouterr().out

    check(module)
    assert all(label in table for label in lib.kernel_labels)
    assert len(os.listdir(module._dump_path)) == 3
    assert len(module.profile(x=X, y=Y).calls) == len(lib.kernel_labels)
    with pytest.raises(UnsupportedError, match="a compiled model keeps no values of its kernels"):
        module.debug_get_output(3)
    module.exit()


def test_the_plain_executor_refers_to_the_debug_executor_for_values(lib: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"keeps no values inside of the model(.|\n)*debug_executor"):
        graph_executor.create(None, lib, cpu()).debug_get_output(0, None)
