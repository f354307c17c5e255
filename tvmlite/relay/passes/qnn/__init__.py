"""Passes on TVM's quantized operators."""
