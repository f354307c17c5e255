"""``tvm.topi.util``, the older name of ``tvm.topi.utils``."""

from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.utils import *  # noqa: F403

__getattr__ = refusing(__name__)
