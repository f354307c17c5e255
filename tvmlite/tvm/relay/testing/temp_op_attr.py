"""An operator's attribute for the length of a ``with`` block."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.op.op import Op


class TempOpAttr:
    """``with TempOpAttr("nn.conv2d", "FTVMLegalize", rule): ...``"""

    def __init__(self, op_name: str, attr_key: str, attr_value: Any) -> None:
        self._op, self._key, self._value = Op.get(op_name), attr_key, attr_value

    def __enter__(self) -> None:
        self._before = self._op.get_attr(self._key)
        self._op.set_attr(self._key, self._value)

    def __exit__(self, *error: object) -> None:
        self._op.reset_attr(self._key)
        if self._before is not None and self._op.get_attr(self._key) is None:
            self._op.set_attr(self._key, self._before)
