"""Who is asked for the configuration of a template that runs: contexts, one inside the other."""

from __future__ import annotations

import threading
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span, warn
from tvmlite.te.space import Config
from tvmlite.tvm.autotvm.env import GLOBAL_SCOPE
from tvmlite.tvm.autotvm.task.space import FallbackConfigEntity


class _Current(type):
    """Gives the class its ``current``, the innermost context of this thread."""

    _thread = threading.local()

    @property
    def current(cls) -> Any:
        return getattr(cls._thread, "context", None) or _ROOT

    @current.setter
    def current(cls, context: Any) -> None:
        cls._thread.context = context


class DispatchContext(metaclass=_Current):
    """Within ``with context:`` templates take their configurations from it, and from those around it what it
    does not know."""

    warning_messages: set[str] = set()  # noqa: RUF012  TVM's programs clear it
    """What was warned of already."""

    def __init__(self) -> None:
        self._old_ctx: DispatchContext | None = None

    def query(self, target: Any, workload: Any) -> Config:
        """The configuration of a ``workload``, a template's name and its arguments, for ``target``."""
        found = self._query_inside(target, workload)
        if found is None:
            return (self._old_ctx or _ROOT).query(target, workload)
        return found

    def update(self, target: Any, workload: Any, cfg: Config) -> None:
        """From now on ``cfg`` is the configuration of ``workload``."""
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
    """One configuration for whatever is asked."""

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
    """Of each of ``tasks`` its first configuration, where the template is named in ``schedule_names``."""

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
        """See ``DispatchContext``: of no account, the configurations are fixed."""
        self.workload = workload


class FallbackContext(DispatchContext):
    """The outermost context: templates choose their own defaults, with a warning for each workload."""

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
        """Forget the configuration of ``workload``."""
        self.memory.pop((str(target), workload), None)

    def update(self, target: Any, workload: Any, cfg: Config) -> None:
        """See ``DispatchContext``."""
        self.memory[str(target), workload] = cfg


_ROOT = FallbackContext()


def clear_fallback_cache(target: Any, workload: Any) -> None:
    """Forget what the outermost context has for ``workload``."""
    _ROOT.clear_cache(target, workload)
