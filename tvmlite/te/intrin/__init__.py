"""Tensor intrinsics that come with tvmlite, one file a kind of machine."""
