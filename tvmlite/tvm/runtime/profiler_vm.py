"""``tvm.runtime.profiler_vm``: profile a run of a compiled module, kernel by kernel."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.relay.vm import VirtualMachine
from tvmlite.tvm.runtime.profiling import Report, report


def enabled() -> bool:
    """Whether profiling is available: always true."""
    return True


class VirtualMachineProfiler(VirtualMachine):
    """A ``VirtualMachine`` that can also time the kernels of a run."""

    def profile(self, *args: Any, func_name: str = "main", collectors: Any = None, **kwargs: Any) -> Report:
        """Return a report of one run with ``args``, or with the inputs given to ``set_input``.
        ``collectors``, TVM's hardware counters, are not supported and must be left out."""
        if collectors:
            raise InputError("profile: collectors are given, expected none: times are measured")
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        self.invoke(func_name)  # a warm-up run, as in TVM: one-time work is not timed
        return report(self._exe.lib.profile(**self._inputs), "VM")


__getattr__ = refusing(__name__)
