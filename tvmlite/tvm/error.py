"""``tvm.error``: TVM's exception classes, under which every error of tvmlite is a ``TVMError``."""

from tvmlite.core.errors import (
    ExecutionError,
    InputError,
    LibraryError,
    ModelError,
    ParseError,
    UnsupportedError,
)
from tvmlite.core.errors import TvmliteError as TVMError
from tvmlite.tvm.absent import refusing

DiagnosticError = TVMError
InternalError = TVMError
RPCError = ExecutionError
RPCSessionTimeoutError = ExecutionError
OpError = ModelError
OpNotImplemented = UnsupportedError
OpAttributeRequired = ModelError
OpAttributeInvalid = ModelError
OpAttributeUnImplemented = UnsupportedError

__all__ = [
    "DiagnosticError",
    "InputError",
    "InternalError",
    "LibraryError",
    "OpAttributeInvalid",
    "OpAttributeRequired",
    "OpAttributeUnImplemented",
    "OpError",
    "OpNotImplemented",
    "ParseError",
    "RPCError",
    "RPCSessionTimeoutError",
    "TVMError",
]


__getattr__ = refusing(__name__)
