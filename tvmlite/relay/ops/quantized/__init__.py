"""Quantized tensors, and weights with few bits."""
