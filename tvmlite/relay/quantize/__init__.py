"""Quantization after training, as graph passes: annotate, calibrate, realize (``quantize.quantize``)."""
