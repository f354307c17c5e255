"""ONNX's operators on signals."""
