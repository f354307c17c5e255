"""ONNX's quantized operators."""
