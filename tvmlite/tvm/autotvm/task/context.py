"""Dispatch contexts: nested contexts that supply the configuration of a running template."""

from __future__ import annotations

import threading
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span, warn
from tvmlite.te.space import Config
from tvmlite.tvm.autotvm.env import GLOBAL_SCOPE
from tvmlite.tvm.autotvm.task.space import FallbackConfigEntity


class _Current(type):
    """Gives the class the attribute ``current``, the innermost context of this thread."""

    _thread = threading.local()

    @property
    def current(cls) -> Any:
        return getattr(cls._thread, "context", None) or _ROOT

    @current.setter
    def current(cls, context: Any) -> None:
        cls._thread.context = context


class DispatchContext(metaclass=_Current):
    """Within ``with context:`` templates take their configurations from this context, or from an enclosing
    one where this context has none."""

    warning_messages: set[str] = set()  # noqa: RUF012  TVM's programs clear it
    """The warnings already issued."""

    def __init__(self) -> None:
        self._old_ctx: DispatchContext | None = None

    def query(self, target: Any, workload: Any) -> Config:
        """Return the configuration of ``workload``, a template's name and its arguments, for ``target``."""
        found = self._query_inside(target, workload)
        if found is None:
            return (self._old_ctx or _ROOT).query(target, workload)
        return found

    def update(self, target: Any, workload: Any, cfg: Config) -> None:
        """Set the configuration of ``workload`` to ``cfg``."""
        raise NotImplementedError

    def _query_inside(self, target: Any, workload: Any) -> Config | None:
        raise NotImplementedError

    def __enter__(self) -> Any:
        self._old_ctx = DispatchContext.current
        DispatchContext.current = self
        return self

    def __exit__(self, *_: object) -> None:
        DispatchContext.current = self._old_ctx


class ApplyConfig(DispatchContext):
    """Returns the same configuration for every workload."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._config = config
        self.workload: Any = None

    def _query_inside(self, target: Any, workload: Any) -> Config:
        self.workload = workload
        return self._config

    def update(self, target: Any, workload: Any, cfg: Config) -> None:
        """See ``DispatchContext``."""
        self.workload, self._config = workload, cfg


class ApplyFixedConfig(DispatchContext):
    """Returns the first configuration of the task among ``tasks`` that has the workload's template. Its cost
    is set very low if ``schedule_names`` contains the template's name, else very high."""

    def __init__(self, tasks: Any, schedule_names: str | list[str]) -> None:
        super().__init__()
        self._tasks = list(tasks)
        self._schedule_names = [schedule_names] if isinstance(schedule_names, str) else list(schedule_names)
        self.workload: Any = None

    def _query_inside(self, target: Any, workload: Any) -> Config:
        self.workload = workload
        name = workload[0] if workload else None
        for task in self._tasks:
            if task.name == name:
                config = task.config_space.get(0)
                config.cost = 1e-6 if name in self._schedule_names else 100000.0
                return config
        known = ", ".join(task.name for task in self._tasks) or "none"
        raise UnsupportedError(
            f"workload {workload}: there is no task {name!r}; there are {known}", Span.of_caller()
        )

    def update(self, target: Any, workload: Any, cfg: Config) -> None:
        """See ``DispatchContext``; ``cfg`` has no effect because the configurations are fixed."""
        self.workload = workload


class FallbackContext(DispatchContext):
    """The outermost context: templates use their default configurations, with a warning for each workload."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: dict[Any, Config] = {}

    def _query_inside(self, target: Any, workload: Any) -> Config:
        key = str(target), workload
        if key not in self.memory:
            if not GLOBAL_SCOPE.silent and workload is not None:
                self._warn(f"no configuration of {workload} for {target} was measured: its defaults are used")
            self.memory[key] = FallbackConfigEntity()
        return self.memory[key]

    @staticmethod
    def _warn(message: str) -> None:
        if message not in DispatchContext.warning_messages:
            DispatchContext.warning_messages.add(message)
            warn(message)

    def clear_cache(self, target: Any, workload: Any) -> None:
        """Remove the configuration of ``workload``."""
        self.memory.pop((str(target), workload), None)

    def update(self, target: Any, workload: Any, cfg: Config) -> None:
        """See ``DispatchContext``."""
        self.memory[str(target), workload] = cfg


_ROOT = FallbackContext()


def clear_fallback_cache(target: Any, workload: Any) -> None:
    """Remove the configuration of ``workload`` from the outermost context."""
    _ROOT.clear_cache(target, workload)
