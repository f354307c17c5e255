"""What holds for all of AutoTVM in this process."""

from __future__ import annotations


class AutotvmGlobalScope:
    """``silent`` leaves out warnings of configurations that were not measured, ``in_tuning`` says whether a
    tuner is at work; ``cuda_target_arch`` is accepted for TVM's sake, and of no account on a CPU."""

    current: AutotvmGlobalScope

    def __init__(self) -> None:
        AutotvmGlobalScope.current = self
        self.cuda_target_arch: str | None = None
        self.in_tuning = False
        self.silent = False

    def deep_copy(self, global_scope: AutotvmGlobalScope) -> None:
        """Take the values of ``global_scope``."""
        self.cuda_target_arch = global_scope.cuda_target_arch
        self.in_tuning, self.silent = global_scope.in_tuning, global_scope.silent


GLOBAL_SCOPE = AutotvmGlobalScope()
"""The values in force."""
