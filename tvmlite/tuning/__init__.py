"""Tunes a whole model: its graph and its kernels, keeping only what is faster in the model itself."""
