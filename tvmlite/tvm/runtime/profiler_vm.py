"""``tvm.runtime.profiler_vm``: a run of a compiled module, timed kernel by kernel."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.relay.vm import VirtualMachine
from tvmlite.tvm.runtime.profiling import Report, report


def enabled() -> bool:
    """Whether runs can be profiled: always."""
    return True


class VirtualMachineProfiler(VirtualMachine):
    """A ``VirtualMachine`` that also times the kernels of a run."""

    def profile(self, *args: Any, func_name: str = "main", collectors: Any = None, **kwargs: Any) -> Report:
        """A report of one run of ``args``, or of what ``set_input`` was given. ``collectors``, which count
        what TVM's drivers can, must be left out."""
        if collectors:
            raise InputError("profile: collectors are given, expected none: times are measured")
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        self.invoke(func_name)  # once before, as TVM does, so that what is done once is not timed
        return report(self._exe.lib.profile(**self._inputs), "VM")


__getattr__ = refusing(__name__)
