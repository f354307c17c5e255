"""TVM's ``tvm.contrib``, as far as its tensor expression tutorials use it."""

from tvmlite.tvm.contrib import cblas, cc, utils

__all__ = ["cblas", "cc", "utils"]
