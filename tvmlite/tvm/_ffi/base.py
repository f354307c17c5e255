"""TVM's error under the name by which its programs catch it."""

from tvmlite.core.errors import TvmliteError as TVMError
from tvmlite.tvm.absent import refusing

py_str = str
"""TVM's conversion of C strings; Python's are that already."""

__all__ = ["TVMError", "py_str"]


__getattr__ = refusing(__name__)
