"""ONNX's operators that create tensors, and move, select and place elements."""
