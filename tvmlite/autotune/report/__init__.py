"""The HTML page of a tuning run: one self-contained file."""

from tvmlite.autotune.report.page import KernelTime, ModelTime, page, write

__all__ = ["KernelTime", "ModelTime", "page", "write"]
