"""Passes over quantized operators of TVM."""
