"""The operator families: importing this package fills the table in ``relay.op``."""

from tvmlite.relay.ops import binary, comparison, elementwise, reduce, reshape, shape

__all__ = ["binary", "comparison", "elementwise", "reduce", "reshape", "shape"]
