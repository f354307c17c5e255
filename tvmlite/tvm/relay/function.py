"""TVM's ``relay.function``."""

from tvmlite.tvm.relay.expr import Function

__all__ = ["Function"]
