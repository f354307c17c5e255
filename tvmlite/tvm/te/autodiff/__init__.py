"""Derivatives of tensor expressions."""

from tvmlite.tvm.te.autodiff.gradient import gradient as gradient
