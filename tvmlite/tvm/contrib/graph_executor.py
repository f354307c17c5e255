"""TVM's graph executor: ``GraphModule(lib["default"](device))``."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.runtime.ndarray import require_cpu
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.executors.benchmark import BenchmarkResult, of_call, timed
from tvmlite.tvm.executors.graph import GraphExecutor
from tvmlite.tvm.executors.model import ModelExecutor, library_of
from tvmlite.tvm.runtime.container import Map


def create(graph_json_str: Any, libmod: Any, device: Any = None, ctx: Any = None) -> GraphModule:
    """Return an executor of the graph ``graph_json_str`` with the functions of ``libmod``. ``ctx`` is the
    older name of ``device``.

    ``libmod`` is a compiled model, whose own graph is used, or a module with the functions that the graph
    calls by name.
    """
    return GraphModule(executor(graph_json_str, libmod, device if ctx is None else ctx))


def executor(graph_json_str: Any, libmod: Any, device: Any) -> Any:
    """Return the module that ``create`` wraps."""
    for one in device if isinstance(device, (list, tuple)) else [device]:
        require_cpu("graph_executor: device", one)
    lib = library_of(libmod)
    if lib is not None and "input_names" in lib.metadata:
        return ModelExecutor(lib)
    if not isinstance(graph_json_str, str):
        raise InputError(f"create: the graph is a {type(graph_json_str).__name__}, expected TVM's JSON")
    return GraphExecutor(graph_json_str, libmod)


class GraphModule:
    """Set inputs, run the model, get outputs. ``module`` is the result of ``lib["default"](device)``, which
    has the functions ``set_input``, ``run`` and others by name."""

    def __init__(self, module: Any) -> None:
        for name in ("set_input", "run", "get_output"):
            try:
                callable(module[name])
            except (AttributeError, KeyError, TypeError):
                raise InputError(
                    f"GraphModule: a {type(module).__name__} given, which has no function {name!r}",
                    hint='lib["default"](device) makes one',
                ) from None
        self.module = module

    def __getitem__(self, key: str) -> Any:
        """The function ``key`` of the module."""
        return self.module[key]

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Set the input ``key``, a name or a number, and others by name."""
        if key is not None:
            self.module["set_input"](key, value)
        for name, one in params.items():
            self.module["set_input"](name, one)

    def set_input_zero_copy(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Like ``set_input``, but without a copy: arrays are read when the model runs."""
        given = params if key is None else {**params, key: value}
        for name, one in given.items():
            self.module["set_input_zero_copy"](name, one)

    def set_output_zero_copy(self, key: Any, value: Any) -> None:
        """Make each run also write the output ``key`` into the array ``value``."""
        self.module["set_output_zero_copy"](key, value)

    def run(self, **input_dict: Any) -> None:
        """Compute the outputs from inputs set before or given here."""
        self.set_input(**input_dict)
        self.module["run"]()

    def get_num_outputs(self) -> int:
        """Return the number of outputs."""
        return self.module["get_num_outputs"]()

    def get_num_inputs(self) -> int:
        """Return the number of inputs."""
        return self.module["get_num_inputs"]()

    def get_input(self, index: Any, out: Any = None) -> Any:
        """Return the input ``index``, a name or a number; it is also written into ``out`` if given."""
        return self.module["get_input"](index, out)

    def get_input_index(self, name: str) -> int:
        """Return the number of the input ``name``; -1 if there is none."""
        return self.module["get_input_index"](name)

    def get_input_info(self) -> tuple[Map, Map]:
        """Return the shapes, each a ``ShapeTuple``, and the dtypes of the inputs by name."""
        return self.module["get_input_info"]()

    def get_output(self, index: int, out: Any = None) -> Any:
        """Return the output ``index`` of the last run; it is also written into ``out`` if given."""
        return self.module["get_output"](index, out)

    def debug_get_output(self, node: Any, out: Any) -> Any:
        """Raise an UnsupportedError: only the debug executor returns intermediate values."""
        raise UnsupportedError(
            "debug_get_output: this executor keeps no values inside of the model",
            Span.of_caller(),
            hint="tvm.contrib.debugger.debug_executor does",
        )

    def load_params(self, params_bytes: Any) -> None:
        """Set parameters from bytes written by ``relay.save_param_dict``."""
        self.module["load_params"](bytes(params_bytes))

    def share_params(self, other: GraphModule, params_bytes: Any) -> None:
        """Take the parameters named in ``params_bytes`` (``relay.save_param_dict``) from ``other``, without a
        copy."""
        self.module["share_params"](other.module, bytes(params_bytes))

    def benchmark(
        self,
        device: Any,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: float | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """Return ``repeat`` measurements of a run in seconds, each the mean of ``number`` runs, or of as many
        as fill ``min_repeat_ms``. With ``end_to_end`` setting the inputs ``kwargs`` and reading the outputs
        is included. After every ``repeats_to_cooldown`` measurements there is a pause of
        ``cooldown_interval_ms``."""
        require_cpu("benchmark: device", device)
        if func_name != "run":
            raise InputError(f"benchmark: func_name is {func_name!r}, expected 'run'")
        self.set_input(**kwargs)
        run = self.module["run"]

        def whole() -> None:
            self.run(**kwargs)
            for index in range(self.get_num_outputs()):
                self.get_output(index)

        pauses = cooldown_interval_ms, repeats_to_cooldown
        return timed(of_call(whole if end_to_end else run), number, repeat, min_repeat_ms, *pauses)


__getattr__ = refusing(__name__)
