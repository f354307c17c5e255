"""Passes that gather operators into kernels, and share them."""
