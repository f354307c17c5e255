"""TVM's debug executor: a run that prints the time of each node and writes its values to files."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.contrib.debugger.debug_result import DebugResult
from tvmlite.tvm.contrib.graph_executor import GraphModule, executor
from tvmlite.tvm.executors.benchmark import BenchmarkResult, of_call, timed
from tvmlite.tvm.executors.graph import GraphExecutor
from tvmlite.tvm.executors.model import ModelExecutor, library_of
from tvmlite.tvm.runtime.profiling import Report, report

_PREFIX = "tvmdbg_"


def create(graph_json_str: Any, libmod: Any, device: Any, dump_root: Any = None) -> GraphModuleDebug:
    """Like ``graph_executor.create``; files go to a folder in ``dump_root``, by default a temporary one."""
    return GraphModuleDebug(executor(graph_json_str, libmod, device), device, graph_json_str, dump_root)


class GraphModuleDebug(GraphModule):
    """Runs the model and writes results into a folder: the graph, a trace for a browser's profiler, and
    values.

    For a model that ``relay.build`` compiled, the nodes are its kernels in the order of execution; their
    values are not kept. ``debug_datum`` holds the nodes and their times; ``exit`` removes the folder.
    """

    def __init__(self, module: Any, device: Any, graph_json_str: Any, dump_root: Any = None) -> None:
        lib = library_of(module)
        if not isinstance(module, (GraphExecutor, ModelExecutor)) and lib is not None:
            module = ModelExecutor(lib)
        super().__init__(module)
        if dump_root is not None:
            Path(dump_root).mkdir(parents=True, exist_ok=True)
        self._dump_root = dump_root
        self._dump_path = tempfile.mkdtemp(prefix=_PREFIX, dir=dump_root)
        graph = module.graph if isinstance(module, GraphExecutor) else kernel_graph(module)
        self.debug_datum = DebugResult(graph, Path(self._dump_path))

    def run(self, number: int = 10, repeat: int = 1, min_repeat_ms: float = 1, **input_dict: Any) -> None:
        """Run once, then time each node in ``repeat`` runs, and print the table of times."""
        self.set_input(**input_dict)
        self.module["run"]()
        seconds = self.run_individual(number, repeat, min_repeat_ms)
        self.debug_datum.take(seconds, self._values())
        print(self.debug_datum.get_debug_result())

    def run_individual(
        self, number: int = 10, repeat: int = 1, min_repeat_ms: float = 0, **options: Any
    ) -> list[list[float]]:
        """Return the seconds of each node in ``repeat`` runs."""
        if isinstance(self.module, GraphExecutor):
            count = len(self.module.nodes)
            return [
                list(self.run_individual_node(node, number, repeat, min_repeat_ms).results)
                for node in range(count)
            ]
        nodes = self.debug_datum.get_graph_nodes()
        inputs = len(nodes) - len(self.module.lib.signature.kernels)
        runs = [[time * 1e-9 for _, time in self.module.profiled().kernels] for _ in range(repeat)]
        return [*([0.0] * repeat for _ in range(inputs)), *(list(times) for times in zip(*runs, strict=True))]

    def run_individual_node(
        self,
        index: int,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
    ) -> BenchmarkResult:
        """Return ``repeat`` measurements of the node ``index`` in seconds, each the mean of ``number`` calls,
        or of as many as fill ``min_repeat_ms``. After every ``repeats_to_cooldown`` measurements there is a
        pause of ``cooldown_interval_ms``, except for kernels of a compiled model."""
        count = len(self.debug_datum.get_graph_nodes())
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)) or not 0 <= index < count:
            raise InputError(f"run_individual_node: there is no node {index!r}; there are {count}")
        if not isinstance(self.module, GraphExecutor):
            return BenchmarkResult(tuple(self.run_individual(number, repeat)[index]))
        if self.module.nodes[index]["op"] == "null":
            return BenchmarkResult((0.0,) * repeat)
        self._up_to(int(index))
        pauses = cooldown_interval_ms, repeats_to_cooldown
        return timed(of_call(lambda: self.module.run_node(index)), number, repeat, min_repeat_ms, *pauses)

    def debug_get_output(self, node: Any, out: Any = None) -> Any:
        """Return the value of ``node``, a number or a name, in the last run; also written to ``out`` if
        given.

        For a compiled model, ``node`` names a value of the model; the operators that it depends on are
        compiled and run.
        """
        if isinstance(self.module, GraphExecutor):
            names = [one["name"] for one in self.module.nodes]
            if node not in names and not (isinstance(node, int) and 0 <= node < len(names)):
                raise InputError(f"debug_get_output: there is no node {node!r}; there are {', '.join(names)}")
            value = self.module.node_outputs(node if isinstance(node, int) else names.index(node))[0]
        else:
            value = self._of_model(node)
        if out is None:
            return value
        out[...] = np.asarray(value)
        return out

    def get_node_output(self, node: Any, out: Any = None) -> Any:
        """Same as ``debug_get_output``."""
        return self.debug_get_output(node, out)

    def profile(self, collectors: Any = None, **input_dict: Any) -> Report:
        """Return a report of one run by kernel. ``collectors``, TVM's hardware counters, must be left out."""
        if collectors:
            raise InputError("profile: collectors are given, expected none: times are measured")
        self.set_input(**input_dict)
        if isinstance(self.module, GraphExecutor):
            raise UnsupportedError("profile: a graph of functions is timed by run()", Span.of_caller())
        self.module["run"]()  # a warm-up run, as in TVM: one-time work is not timed
        return report(self.module.profiled(), "Graph")

    def exit(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._dump_path, ignore_errors=True)

    def _of_model(self, node: Any) -> Any:
        lib = self.module.lib
        until = getattr(lib, "run_until", None)
        if not isinstance(node, str) or until is None:
            raise UnsupportedError(
                f"debug_get_output: node {node!r}: a compiled model keeps no values of its kernels",
                Span.of_caller(),
                hint="give the name of a value of the model, of a model that was not loaded from a file",
            )
        return until(node, *(self.module.get_input(name) for name in lib.input_names))

    def _up_to(self, index: int) -> None:
        """Compute the values of all nodes before ``index``."""
        module = self.module
        module.take([np.asarray(module.get_input(one.name)) for one in module.inputs])
        for node in range(index):
            module.run_node(node)

    def _values(self) -> dict[str, Any]:
        """The values of the last run by node and output number; for a compiled model only its outputs."""
        if not isinstance(self.module, GraphExecutor):
            return {f"output____{n}": self.get_output(n) for n in range(self.get_num_outputs())}
        names = [node["name"] for node in self.module.nodes]
        return {
            f"{name}____{place}": np.asarray(value)
            for number, name in enumerate(names)
            for place, value in enumerate(self.module.node_outputs(number))
        }


def kernel_graph(module: ModelExecutor) -> dict[str, Any]:
    """Return the inputs and kernels of a compiled model as a TVM graph without edges: these are not known."""
    inputs = [{"op": "null", "name": one.name, "inputs": []} for one in module.inputs]
    kernels = [
        {"op": "tvm_op", "name": label, "inputs": [], "attrs": {"func_name": symbol, "num_outputs": "1"}}
        for symbol, label in zip(module.lib.signature.kernels, module.lib.kernel_labels, strict=True)
    ]
    nodes = [*inputs, *kernels]
    shapes: list[Any] = [list(one.shape) for one in module.inputs] + [[] for _ in kernels]
    dtypes = [one.dtype for one in module.inputs] + [""] * len(kernels)
    return {
        "nodes": nodes,
        "arg_nodes": list(range(len(inputs))),
        "heads": [[len(nodes) - 1, 0, 0]],
        "node_row_ptr": list(range(len(nodes) + 1)),
        "attrs": {"shape": ["list_shape", shapes], "dltype": ["list_str", dtypes]},
    }
