"""TVM's ``tvm.ir.Op``: an operator, which is its name and knows its row of the table."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.ir import op as table
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.absent import missing
from tvmlite.tvm.lazy import later

_OWN: dict[tuple[str, str], Any] = {}
"""Attributes that programs gave to operators (``register_op_attr``)."""


_call = later("relay.expr", "Call")


class Op(str):
    """An operator: a string that has TVM's fields. ``Op.get("nn.relu")`` is ``relay.op.get("nn.relu")``."""

    @property
    def name(self) -> str:
        """The operator's name."""
        return str(self)

    @property
    def num_inputs(self) -> int:
        """The number of arguments; one, a tuple, where it may be any."""
        row = table.get(self)
        return 1 if row.num_inputs is None else row.num_inputs

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The names of the arguments."""
        return table.get(self).argument_names

    @property
    def description(self) -> str:
        """The documentation."""
        return table.get(self).compute.__doc__ or ""

    @property
    def support_level(self) -> int:
        """How well TVM supports an operator, which is a number of its own table."""
        return missing("Op.support_level", "every operator of the table is compiled and interpreted")()

    @property
    def checked_type(self) -> Any:
        """Operators have type relations, functions, and no type of their own."""
        return missing("Op.checked_type", "the checked_type of a call")()

    def defaults(self) -> dict[str, Any]:
        """The attributes that need not be given."""
        return dict(table.defaults(table.get(self))) if table.is_known(self) else {}

    def get_attr(self, attr_name: str) -> Any:
        """The attribute ``attr_name``, None if it has none: ``TOpPattern``, or what ``set_attr`` gave it."""
        if (self, attr_name) in _OWN:
            return _OWN[self, attr_name]
        if attr_name == "TOpPattern":
            return min(int(table.get(self).fuse), 8)
        return None

    def has_attr(self, attr_name: str) -> bool:
        """Whether there is an attribute ``attr_name``."""
        return self.get_attr(attr_name) is not None

    def set_attr(self, attr_name: str, value: Any, plevel: int = 10) -> None:
        """Give the operator an attribute, which a program's own passes may ask for; ours ask for none."""
        _OWN[self, attr_name] = value

    def reset_attr(self, attr_name: str) -> None:
        """Take away what ``set_attr`` gave."""
        _OWN.pop((self, attr_name), None)

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The name."""
        return str(self)

    def __call__(self, *args: Any) -> Any:
        """The call with ``args`` and default attributes."""
        return _call(self, args)

    @staticmethod
    def get(op_name: str) -> Op:
        """The operator ``op_name``; an UnsupportedError if there is none."""
        if not isinstance(op_name, str) or not table.is_known(op_name):
            raise UnsupportedError(f"operator {show(op_name)} is not in the table", Span.of_caller())
        return Op(op_name)

    @staticmethod
    def list_op_names() -> list[str]:
        """The names of all operators."""
        return table.names()


def get(op_name: str) -> Op:
    """The operator ``op_name``."""
    return Op.get(op_name)


_IN_THE_TABLE = "an operator is a decorated function: see tvmlite.relay.ir.op.operator"
register = missing("relay.op.register", _IN_THE_TABLE)
register_compute = missing("relay.op.register_compute", _IN_THE_TABLE)
register_strategy = missing("relay.op.register_strategy", _IN_THE_TABLE)
register_pattern = missing("relay.op.register_pattern", _IN_THE_TABLE)
register_schedule = register_injective_schedule = missing("relay.op.register_schedule", _IN_THE_TABLE)
register_broadcast_schedule = register_reduce_schedule = register_schedule
register_gradient = missing("relay.op.register_gradient", "models are run here, not trained")
register_shape_func = missing("relay.op.register_shape_func", _IN_THE_TABLE)
