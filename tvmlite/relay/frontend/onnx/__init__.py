"""The ONNX frontend: models of opset 1 to the newest the onnx package knows, as relay modules."""

from tvmlite.relay.frontend.onnx.importer import from_onnx

__all__ = ["from_onnx"]
