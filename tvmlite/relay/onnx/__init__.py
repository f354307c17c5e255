"""The ONNX frontend: converts models, from opset 1 to the newest the onnx package knows, to Relay modules.

``converter`` registers the converter of an operator: see docs/adding_an_operator.md.
"""

from tvmlite.relay.onnx.importer import from_onnx
from tvmlite.relay.onnx.reading.registry import converter

__all__ = ["converter", "from_onnx"]
