"""ONNX's operators that make tensors, and move, pick and place elements."""
