"""The graph executor by the name that it had before TVM 0.8."""

from tvmlite.tvm.contrib.graph_executor import GraphModule, create

__all__ = ["GraphModule", "create"]
