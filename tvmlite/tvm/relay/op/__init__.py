"""``relay.op``: the operators as functions, and the attributes of operators."""

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
    """Set an attribute of the operator ``op_name``. Without a ``value``, return a decorator that sets it."""
    one = Op.get(op_name)

    def register(given: Any) -> Any:
        one.set_attr(attr_key, given, level)
        return given

    return register if value is None else register(value)


def register_legalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """Register the rule by which ``relay.transform.Legalize`` replaces calls of ``op_name``."""
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_mixed_precision_conversion(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Register the rule by which ``relay.transform.ToMixedPrecision`` chooses the dtypes of calls of
    ``op_name``: ``rule(call, dtype)`` returns a category, the accumulator's dtype and the result's dtype."""
    return register_op_attr(op_name, "FTVMMixedPrecisionConversionType", func, level)


def register_alter_op_layout(op_name: str, alter_layout: Any = None, level: int = 10) -> Any:
    """Register the rule by which ``relay.transform.AlterOpLayout`` replaces calls of ``op_name``."""
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_infer_correct_layout(op_name: str, infer_layout: Any = None, level: int = 10) -> Any:
    """Register the rule by which ``relay.transform.ConvertLayout`` and ``AlterOpLayout`` propagate layouts
    through calls of ``op_name``: ``rule(attrs, new_in_layouts, old_in_layouts, old_in_types)`` returns an
    ``InferCorrectLayoutOutput`` of ``relay.transform.infer_layout_utils``."""
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)


def register_fake_quantization_to_integer(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Register the rule by which ``relay.transform.FakeQuantizationToInteger`` computes ``op_name`` in
    integers. ``rule(call, types)`` gets a call of integers and a dict of ``tvm.ir.TensorAffineType``: the
    type of each operand and, under the call itself, the type that the result should have. It returns a list
    of an expression and its type, or raises NotImplementedError for a call that it does not support."""
    return register_op_attr(op_name, "FTVMFakeQuantizationToInteger", func, level)


def register_optional_fake_quantization_to_integer(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Register a rule as ``register_fake_quantization_to_integer`` does, which is used only if the pass's
    ``optional_qnn_ops`` names the operator."""
    return register_op_attr(op_name, "FTVMOptionalFakeQuantizationToInteger", func, level)


class _Group(ModuleType):
    """A module of operators: ``relay.op.nn``, or ``relay.op.tensor``, whose operators have no prefix."""

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
