"""Tensor intrinsics, calls of external functions, and loop nests written by hand (``te.extern``)."""
