"""The operator families: importing this package fills the table in ``relay.op``."""

from tvmlite.relay.ops import elementwise

__all__ = ["elementwise"]
