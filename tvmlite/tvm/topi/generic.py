"""``tvm.topi.generic``: default schedules."""

from tvmlite.tvm.topi.schedules import scheduling

__getattr__ = scheduling(__name__)
