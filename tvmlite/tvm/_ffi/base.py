"""TVM's error, under the name by which programs catch it."""

from tvmlite.core.errors import TvmliteError as TVMError
from tvmlite.tvm.absent import refusing

py_str = str
"""TVM's conversion of C strings to Python strings, which is not needed here."""

__all__ = ["TVMError", "py_str"]


__getattr__ = refusing(__name__)
