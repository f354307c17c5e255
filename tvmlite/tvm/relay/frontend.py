"""TVM's ``relay.frontend``: models of other frameworks as modules and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.core.span import Span
from tvmlite.relay import frontend as ours
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.absent import missing, refusing
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.graph.inferred import mark


def from_onnx(
    model: Any,
    shape: Any = None,
    dtype: Any = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Any = None,
    export_node_renamed_model_path: str | None = None,
) -> tuple[IRModule, dict[str, Any]]:
    """The module of an ONNX model (a ``ModelProto``, a path or bytes) and its parameters.

    ``shape`` gives shapes by the inputs' names, of numbers, names or ``relay.Any()``. Weights are constants
    of the module, so there are no parameters, as with TVM's ``freeze_params=True``.
    """
    if not freeze_params:
        raise InputError(
            "from_onnx: freeze_params is False, but weights are always constants", Span.of_caller()
        )
    if export_node_renamed_model_path is not None:
        missing(
            "relay.frontend.from_onnx(export_node_renamed_model_path=...)",
            "every node has its name: node.span",
        )()
    if shape is not None and not isinstance(shape, Mapping):
        raise InputError(
            f"from_onnx: shape is {show(shape)}, expected shapes by names of inputs", Span.of_caller()
        )
    given = None if shape is None else {name: tuple(map(_extent, one)) for name, one in shape.items()}
    return of_core(ours.from_onnx(model, given)), {}


def _extent(given: Any) -> Any:
    """An extent as the importer takes it: one that is ``relay.Any()`` by its name."""
    return given.name if isinstance(given, ty.Any) else given


def of_core(core: nodes.Module) -> IRModule:
    """A module of ours as TVM's."""
    made = IRModule()
    for name, function in core.functions.items():
        made[name] = adopt(function)
        mark(made[name])
    made.core = (core.output_names, core.attrs)
    return made


__getattr__ = refusing(__name__)
