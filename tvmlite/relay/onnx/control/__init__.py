"""ONNX's control flow and sequences: If, Loop, Scan, lists."""
