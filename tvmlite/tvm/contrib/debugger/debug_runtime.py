"""The debug executor under its name before TVM 0.8."""

from tvmlite.tvm.contrib.debugger.debug_executor import GraphModuleDebug, create

__all__ = ["GraphModuleDebug", "create"]
