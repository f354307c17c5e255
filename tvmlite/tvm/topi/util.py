"""``tvm.topi.util``, the older name of ``tvm.topi.utils``."""

from tvmlite.tvm.topi.utils import *  # noqa: F403
