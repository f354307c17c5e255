"""``relay.frontend``: converts models of other frameworks to modules and parameters."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.node import substitute
from tvmlite.core.span import Span
from tvmlite.relay import frontend as ours
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.infer import type_of, walk
from tvmlite.runtime.ndarray import NDArray
from tvmlite.te import expr as e
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
    """Convert an ONNX model (a ``ModelProto``, a path or bytes) to a module and its parameters.

    ``shape`` maps input names to shapes of numbers, names or ``relay.Any()``. With ``freeze_params``, weights
    are constants of the module and there are no parameters. Without it, the weights that the import left
    unchanged become further inputs of ``main`` and are returned as parameters; weights that determine a shape
    or were folded at import stay constants. ``opset`` overrides the model's operator set version. ``dtype``,
    a dict by input names, must agree with the model. ``convert_config`` has no effect.
    """
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
    core = ours.from_onnx(model if opset is None else _with_opset(model, opset), given)
    if isinstance(dtype, Mapping):
        _check_dtypes(core.main.params, dtype)
    if freeze_params:
        return of_core(core), {}
    unfrozen, params = _with_parameters(core)
    return of_core(unfrozen), params


def _with_opset(model: Any, opset: int) -> Any:
    """A copy of ``model`` that imports version ``opset`` of ONNX's default domain."""
    import onnx  # an optional dependency

    if isinstance(model, (str, os.PathLike)):
        model = onnx.load(model)
    made = onnx.ModelProto()
    if isinstance(model, onnx.ModelProto):
        made.CopyFrom(model)
    else:
        made.ParseFromString(model)
    for one in made.opset_import:
        if one.domain in ("", "ai.onnx"):
            one.version = opset
    return made


def _check_dtypes(params: Iterable[nodes.Var], dtypes: Mapping[str, Any]) -> None:
    for one in params:
        dtype = getattr(one.type, "dtype", None)
        if str(dtypes.get(one.name, dtype)) != str(dtype):
            raise UnsupportedError(
                f"from_onnx: dtype of input {one.name!r} is {dtypes[one.name]}, the model has {dtype}",
                Span.of_caller(),
                hint="relay.transform.ToMixedPrecision, or a cast in the model, changes dtypes",
            )


_WEIGHT = re.compile(r'initializer "(.*)"', re.DOTALL)
"""The note in the span of a constant that the importer made of a weight, with the weight's name."""


def _with_parameters(module: nodes.Module) -> tuple[nodes.Module, dict[str, Any]]:
    """``module`` with the model's weights as further inputs of ``main``, and the weights by name."""
    main = module.main
    found: dict[str, list[nodes.Constant]] = {}
    for node in walk(main.body):
        if isinstance(node, nodes.Constant) and node.span and (note := _WEIGHT.fullmatch(node.span.note)):
            found.setdefault(note[1], []).append(node)
    inputs = {one.name for one in main.params}
    weights = {name: same[0] for name, same in found.items() if len(same) == 1 and name not in inputs}
    variables = {one: nodes.Var(name, type_of(one), one.span) for name, one in weights.items()}
    params = (*main.params, *variables.values())
    made = nodes.Function(params, substitute(main.body, variables), main.attrs, main.span)
    functions = {**module.functions, "main": made}
    values = {name: np.asarray(one.data).view(NDArray) for name, one in weights.items()}
    return nodes.Module(functions, module.output_names, _with_inputs(module.attrs, weights)), values


def _with_inputs(attrs: Any, names: Iterable[str]) -> Any:
    """The module attributes ``attrs`` with the arrays ``names`` as further inputs."""
    known = dict(attrs)
    if "inputs" not in known:
        return attrs
    return nodes.canonical({**known, "inputs": [*known["inputs"], *((name, None) for name in names)]})


def _extent(given: Any) -> Any:
    """An extent in the importer's form: a constant as a number, ``relay.Any()`` as its name."""
    if isinstance(given, e.Const):
        return given.value
    return given.name if isinstance(given, ty.Any) else given


def of_core(core: nodes.Module) -> IRModule:
    """The ``IRModule`` of a module of ``tvmlite.relay``."""
    made = IRModule()
    for name, function in core.functions.items():
        made[name] = adopt(function)
        mark(made[name])
    made.core = (core.output_names, core.attrs)
    return made


__getattr__ = refusing(__name__)
