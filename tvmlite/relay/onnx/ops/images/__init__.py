"""ONNX's operators on images."""
