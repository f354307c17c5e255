"""The converters of ONNX's operators, one module for each family."""
