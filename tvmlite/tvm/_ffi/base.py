"""TVM's error under the name by which its programs catch it."""

from tvmlite.core.errors import TvmliteError as TVMError

__all__ = ["TVMError"]
