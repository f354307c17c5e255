"""The ONNX frontend: models of opset 1 to the newest the onnx package knows, as relay modules.

``converter`` registers what becomes of an operator: see docs/adding_an_operator.md.
"""

from tvmlite.relay.onnx.importer import from_onnx
from tvmlite.relay.onnx.reading.registry import converter

__all__ = ["converter", "from_onnx"]
