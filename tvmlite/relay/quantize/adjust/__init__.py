"""Adjustments of a model that reduce the error of 8 bits: equalization, smoothing, bias correction."""
