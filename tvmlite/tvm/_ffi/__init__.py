"""TVM's ``tvm._ffi``, of which there are the errors only: nothing here is called through an interface."""

from tvmlite.tvm._ffi import base
from tvmlite.tvm.absent import refusing

__all__ = ["base"]


__getattr__ = refusing(__name__)
