"""ONNX's classical models: ai.onnx.ml, and n-grams."""
