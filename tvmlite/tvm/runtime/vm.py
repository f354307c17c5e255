"""TVM's ``tvm.runtime.vm``: what runs an executable of ``relay.vm.compile``."""

from tvmlite.tvm.relay.vm import Executable, VirtualMachine

__all__ = ["Executable", "VirtualMachine"]
