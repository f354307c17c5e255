"""Names that programs take from ``tvm.driver.tvmc.common``."""

from tvmlite.core.errors import TvmliteError as TVMCException
from tvmlite.tvm.driver.tvmc.shape_parser import parse_shape_string as parse_shape_string

TVMCImportError = TVMCException

__all__ = ["TVMCException", "TVMCImportError", "parse_shape_string"]
