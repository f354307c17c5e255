"""Settings that apply to all of AutoTVM in this process."""

from __future__ import annotations


class AutotvmGlobalScope:
    """``silent`` suppresses warnings about workloads without a measured configuration; ``in_tuning`` is
    whether a tuner is running. ``cuda_target_arch`` is accepted for compatibility with TVM and has no
    effect."""

    current: AutotvmGlobalScope

    def __init__(self) -> None:
        AutotvmGlobalScope.current = self
        self.cuda_target_arch: str | None = None
        self.in_tuning = False
        self.silent = False

    def deep_copy(self, global_scope: AutotvmGlobalScope) -> None:
        """Copy the values of ``global_scope`` into this object."""
        self.cuda_target_arch = global_scope.cuda_target_arch
        self.in_tuning, self.silent = global_scope.in_tuning, global_scope.silent


GLOBAL_SCOPE = AutotvmGlobalScope()
"""The settings in force."""
