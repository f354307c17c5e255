"""Looks up the functions of TVM's ``relay`` that build calls: of operators of the table, or compositions."""

from __future__ import annotations

from typing import Any

from tvmlite.relay.ir import op as table
from tvmlite.tvm.absent import lookup, missing
from tvmlite.tvm.relay.expr import Constant, RelayExpr, Tuple, TupleWrapper, const
from tvmlite.tvm.relay.op.absent import ABSENT, OTHERWISE
from tvmlite.tvm.relay.op.adapted import ADAPTED
from tvmlite.tvm.relay.op.builders import Namespace, function
from tvmlite.tvm.relay.op.composite import COMPOSITE, FIRST

_GROUPS = ("tensor", "transform", "reduce", "algorithm")
"""TVM's modules of operators whose names have no prefix."""

_OTHERS = {
    "contrib.ndarray_size": "ndarray_size",
    "copy_": "copy",
    "contrib_reverse_reshape": "reverse_reshape",
    "image.resize": "image.resize2d",
    "nn.contrib_conv2d_nchwc": "nn.contrib_conv2d_NCHWc",
    "nn.contrib_depthwise_conv2d_nchwc": "nn.contrib_depthwise_conv2d_NCHWc",
    "nn.multiply": "multiply",
}

_EXPRESSIONS: dict[str, Any] = {
    "Constant": Constant,
    "Expr": RelayExpr,
    "Tuple": Tuple,
    "TupleWrapper": TupleWrapper,
    "const": const,
}
_EXPRESSIONS |= {f"nn.{name}": _EXPRESSIONS[name] for name in ("Constant", "const")}
"""Names that TVM's operator modules import from other modules."""

_ABSENT = {
    "annotation.on_device": "there is one device, the CPU",
    "annotation.stop_fusion": "which operators become one kernel is decided by a pass: tuning finds others",
    "nn.dropout_raw": "relay.nn.dropout",
    "memory.alloc_storage": "memory is planned when a model is compiled",
    "contrib.ctc_greedy_decoder": None,
    "call_lowered": "kernels are made of fused groups when a model is compiled",
}


class _Package(Namespace):
    """A namespace that resolves names with ``find``: it has all functions and reports those not supported."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return find(f"{self._prefix}.{name}" if self._prefix else name)


_PACKAGES = {name: _Package(name) for name in ("nn", "image", "vision", "annotation", "random", "contrib")}
_PACKAGES |= {name: _Package("") for name in _GROUPS}


def find(name: str) -> Any:
    """The function of TVM's ``relay`` called ``name`` (``"nn.relu"``), or a namespace of functions
    (``"nn"``).

    A name that TVM does not have is an AttributeError. For an operator that tvmlite does not support, the
    result is an object that raises an UnsupportedError when it is called.
    """
    if name.rpartition(".")[2].startswith("__"):
        raise AttributeError(name)
    if name in _PACKAGES:
        return _PACKAGES[name]
    name = _OTHERS.get(name, name)
    if name in _EXPRESSIONS:
        return _EXPRESSIONS[name]
    if name in ADAPTED:
        return ADAPTED[name]
    if name in FIRST:
        return COMPOSITE[name]
    if table.is_known(name) and name not in OTHERWISE:
        return function(name)
    if name in COMPOSITE:
        return COMPOSITE[name]
    for reasons in (_ABSENT, ABSENT, OTHERWISE):
        if name in reasons:
            return missing(f"relay.{name}", reasons[name])
    if any(one.startswith(f"{name}.") for one in ABSENT):
        return _Package(name)
    return lookup("tvmlite.tvm.relay", name, table.names())
