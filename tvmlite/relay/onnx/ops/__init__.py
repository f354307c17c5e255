"""The converters of ONNX's operators, one module a family."""
