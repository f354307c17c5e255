"""Reads ONNX files without trusting them; functions, the order of nodes, the table of converters."""
