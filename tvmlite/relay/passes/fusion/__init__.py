"""Passes that fuse operators into kernels, and share kernels."""
