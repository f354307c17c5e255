"""The page of a tuning run: one HTML file that needs nothing else."""

from tvmlite.autotune.report.page import KernelTime, ModelTime, page, write

__all__ = ["KernelTime", "ModelTime", "page", "write"]
