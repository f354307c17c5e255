"""TVM's ``relay.op``: operators as functions, and what is known of them."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from tvmlite.tvm.absent import known
from tvmlite.tvm.lazy import attributes, later
from tvmlite.tvm.relay.op.op import OF_PROGRAMS, Op, get

__all__ = ["Op", "get", "nn", "image", "vision", "register_op_attr"]  # pyright: ignore[reportUnsupportedDunderAll]

_find = later("relay.op.functions", "find")


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Give the operator ``op_name`` an attribute for one's own passes; without a value, a decorator."""
    one = Op.get(op_name)

    def register(given: Any) -> Any:
        one.set_attr(attr_key, given, level)
        return given

    return register if value is None else register(value)


def register_legalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """The rule by which ``relay.transform.Legalize`` replaces calls of ``op_name``."""
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_mixed_precision_conversion(op_name: str, func: Any = None, level: int = 10) -> Any:
    """The rule by which ``relay.transform.ToMixedPrecision`` chooses the dtypes of calls of ``op_name``:
    ``rule(call, dtype)`` gives a category and the dtypes to add up in and of the result."""
    return register_op_attr(op_name, "FTVMMixedPrecisionConversionType", func, level)


def register_alter_op_layout(op_name: str, alter_layout: Any = None, level: int = 10) -> Any:
    """The rule by which ``relay.transform.AlterOpLayout`` gives a call of ``op_name`` another layout."""
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_infer_correct_layout(op_name: str, infer_layout: Any = None, level: int = 10) -> Any:
    """The rule by which layouts pass through calls of ``op_name`` in ``relay.transform.ConvertLayout`` and
    ``AlterOpLayout``: ``rule(attrs, new_in_layouts, old_in_layouts, old_in_types)`` gives an
    ``InferCorrectLayoutOutput`` of ``relay.transform.infer_layout_utils``."""
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)


def register_fake_quantization_to_integer(op_name: str, func: Any = None, level: int = 10) -> Any:
    """The rule by which ``relay.transform.FakeQuantizationToInteger`` does ``op_name`` in integers:
    ``rule(call, types)`` gets a call of integers and the ``tvm.ir.TensorAffineType`` of each operand, that
    which is wanted of the result under the call itself, and gives a list of an expression and its type.
    NotImplementedError says that a call cannot be done so."""
    return register_op_attr(op_name, "FTVMFakeQuantizationToInteger", func, level)


def register_optional_fake_quantization_to_integer(op_name: str, func: Any = None, level: int = 10) -> Any:
    """As ``register_fake_quantization_to_integer``: a rule that is asked only if ``optional_qnn_ops`` of the
    pass names the operator."""
    return register_op_attr(op_name, "FTVMOptionalFakeQuantizationToInteger", func, level)


class _Group(ModuleType):
    """A module of TVM's operators: ``relay.op.nn``, or ``relay.op.tensor``, whose names have no prefix."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_find(self.__name__.rpartition(".")[2]), name)


for _name in (
    "algorithm", "annotation", "contrib", "dyn", "image", "nn", "random", "reduce", "tensor", "transform",
    "vision",
):  # fmt: skip
    _module = _Group(f"{__name__}.{_name}", f"TVM's operators of relay.op.{_name}.")
    _module.__path__ = []
    sys.modules[_module.__name__] = _module


def _operator(name: str) -> Any:
    found = known(__name__, name)
    return _find(name) if found is None else found


__getattr__, _ = attributes(__name__, "assumed run_time_axes", OF_PROGRAMS, _operator)
