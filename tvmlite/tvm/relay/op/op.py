"""``tvm.ir.Op``: an operator, represented by its name, with TVM's fields from the operator table."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.ir import op as table
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.absent import lookup, missing
from tvmlite.tvm.lazy import attributes, later
from tvmlite.tvm.relay.op.pattern import pattern_of

_OWN: dict[tuple[str, str], Any] = {}
"""The attributes that programs set on operators (``register_op_attr``), by operator and attribute."""


_call = later("relay.expr", "Call")


def _custom(name: str) -> Any:
    return getattr(importlib.import_module("tvmlite.tvm.relay.op.custom"), name)


class Op(str):
    """An operator: a string, its name, with TVM's fields. ``Op.get`` and ``relay.op.get`` return one."""

    @property
    def name(self) -> str:
        """The operator's name."""
        return str(self)

    @property
    def num_inputs(self) -> int:
        """The number of arguments. An operator of any number of arrays has one argument, a tuple."""
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
        """Raise an error: support levels belong to TVM's own operators."""
        return missing("Op.support_level", "every operator of the table is compiled and interpreted")()

    @property
    def checked_type(self) -> Any:
        """Raise an error: an operator has a type relation, not a type."""
        return missing("Op.checked_type", "the checked_type of a call")()

    def defaults(self) -> dict[str, Any]:
        """The attributes that have default values, with these values."""
        return dict(table.defaults(table.get(self))) if table.is_known(self) else {}

    def get_attr(self, attr_name: str) -> Any:
        """The attribute ``attr_name``: from ``set_attr``, ``TOpPattern`` or ``TOpIsStateful``; else None."""
        if (self, attr_name) in _OWN:
            return _OWN[self, attr_name]
        if attr_name == "TOpPattern":
            return pattern_of(self)
        if attr_name == "TOpIsStateful":
            return False
        return None

    def has_attr(self, attr_name: str) -> bool:
        """Whether the operator has an attribute ``attr_name``."""
        return self.get_attr(attr_name) is not None

    def set_attr(self, attr_name: str, value: Any, plevel: int = 10) -> None:
        """Set an attribute. ``plevel`` has no effect: a later value replaces an earlier one."""
        _OWN[self, attr_name] = value

    def reset_attr(self, attr_name: str) -> None:
        """Remove the value that ``set_attr`` set."""
        _OWN.pop((self, attr_name), None)

    def set_num_inputs(self, n: int) -> None:
        """Set the number of arguments of a user-defined operator."""
        _custom("set_num_inputs")(self, n)

    def add_argument(self, name: str, type: str, description: str) -> None:
        """Name the next argument of a user-defined operator; ``type`` and ``description`` have no effect."""
        _custom("add_argument")(self, name)

    def add_type_rel(self, rel_name: str, type_rel_func: Any = None) -> None:
        """Set the type relation of a user-defined operator, by name or as a function."""
        _custom("add_type_rel")(self, rel_name, type_rel_func)

    def set_attrs_type_key(self, key: str) -> None:
        """Do nothing: user-defined operators may have any attributes."""
        _custom("of_program")(self, "set_attrs_type_key")

    def set_support_level(self, level: int) -> None:
        """Do nothing: the level belongs to TVM's documentation."""
        _custom("of_program")(self, "set_support_level")

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The name."""
        return str(self)

    def __call__(self, *args: Any) -> Any:
        """A call of the operator with ``args`` and default attributes."""
        return _call(self, args)

    @staticmethod
    def get(op_name: str) -> Op:
        """The operator ``op_name``; for a name of TIR (``"tir.exp"``), the ``op`` of such calls in TIR
        expressions. An unknown name is an UnsupportedError."""
        if isinstance(op_name, str) and op_name.startswith("tir."):
            return importlib.import_module("tvmlite.tvm.tir.functions").operator_of_calls(op_name)
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


OF_PROGRAMS = {
    "tvmlite.tvm.relay.op.custom": """
        OpPattern register register_compute register_pattern register_stateful register_schedule
        register_broadcast_schedule=register_schedule register_injective_schedule=register_schedule
        register_reduce_schedule=register_schedule
    """
}
"""The functions for user-defined operators, by module."""

_RULES = {
    "tvmlite.tvm.relay.op": """
        register_alter_op_layout register_fake_quantization_to_integer register_infer_correct_layout
        register_legalize register_mixed_precision_conversion register_optional_fake_quantization_to_integer
    """
}
"""The functions that register rules for operators, by module."""

__getattr__, _ = attributes(__name__, "", {**OF_PROGRAMS, **_RULES}, partial(lookup, "tvmlite.tvm.relay.op"))
