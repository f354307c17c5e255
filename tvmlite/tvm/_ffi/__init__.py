"""TVM's ``tvm._ffi``, of which there are the errors only: nothing here is called through an interface."""

from tvmlite.tvm._ffi import base

__all__ = ["base"]
