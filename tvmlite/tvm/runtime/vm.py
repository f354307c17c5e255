"""TVM's ``tvm.runtime.vm``: what runs an executable of ``relay.vm.compile``."""

from tvmlite.tvm.absent import refusing
from tvmlite.tvm.relay.vm import Executable, VirtualMachine

__all__ = ["Executable", "VirtualMachine"]


__getattr__ = refusing(__name__)
