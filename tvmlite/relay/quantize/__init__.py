"""Post-training quantization as graph passes: annotate, calibrate, realize (``quantize.quantize``)."""
