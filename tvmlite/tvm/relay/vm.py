"""TVM's ``relay.vm``: here control flow is compiled, so that what it compiles is a library, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.executors.benchmark import BenchmarkResult, of_call, timed
from tvmlite.tvm.relay.build_module import ExecutorFactoryModule, build, results
from tvmlite.tvm.runtime.devices import require_present


class Executable:
    """A compiled module: ``VirtualMachine(exe, device)`` runs it."""

    def __init__(self, factory: ExecutorFactoryModule) -> None:
        self.factory = factory
        self.lib = factory.lib


def compile(
    mod: Any, target: Any = None, target_host: Any = None, params: Mapping[str, Any] | None = None
) -> Executable:
    """``mod`` compiled for ``target``, with ``params`` as constants."""
    return Executable(build(mod, target, target_host, params=params))


class VirtualMachine:
    """Runs an executable."""

    def __init__(self, exe: Executable, device: Any = None, memory_cfg: Any = None) -> None:
        self._lib = exe.lib
        self._inputs: tuple[Any, ...] = ()
        self._results: Any = None

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """The arguments of the next ``run``."""
        names = [param.name for param in self._lib.module.main.params]
        self._inputs = (*args, *(kwargs[name] for name in names[len(args) :] if name in kwargs))

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """What the function, ``"main"``, gives."""
        if func_name != "main":
            raise InputError(f"invoke: there is no function {func_name!r}, there is 'main'")
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        self._results = results(self._lib(*self._inputs))
        return self._results

    def get_outputs(self) -> list[Any]:
        """The outputs of the last run."""
        if self._results is None:
            raise InputError("get_outputs: there was no run yet")
        return self._results if isinstance(self._results, list) else [self._results]

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """What ``main`` gives."""
        return self.invoke("main", *args, **kwargs)

    def benchmark(
        self,
        device: Any,
        *args: Any,
        func_name: str = "main",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: float | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """Seconds of a run: as ``contrib.graph_executor.GraphModule.benchmark``. Inputs are on the CPU
        anyway, so that ``end_to_end`` makes no difference."""
        require_present(device)
        self.set_input(func_name, *args, **kwargs)
        pauses = cooldown_interval_ms, repeats_to_cooldown
        return timed(of_call(lambda: self.invoke(func_name)), number, repeat, min_repeat_ms, *pauses)


__getattr__ = refusing(__name__)
