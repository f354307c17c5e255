"""Quantized tensors, and weights of few bits."""
