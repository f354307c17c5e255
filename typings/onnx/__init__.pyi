# The onnx package's own stubs say of every protobuf field that it may be None, and differ from
# version to version; its messages are checked when they are loaded, not by their types.
from typing import Any

def __getattr__(name: str) -> Any: ...
