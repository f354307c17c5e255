"""``tvm.driver``: lowering and building."""

from tvmlite.tvm.absent import refusing
from tvmlite.tvm.driver import build_module
from tvmlite.tvm.driver.build_module import build, lower

__all__ = ["build", "build_module", "lower"]


__getattr__ = refusing(__name__)
