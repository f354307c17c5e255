"""TVM's names, where they differ from where things live here."""

from tvmlite.tvm import contrib, ir, nd, target, testing, tir

__all__ = ["contrib", "ir", "nd", "target", "testing", "tir"]
