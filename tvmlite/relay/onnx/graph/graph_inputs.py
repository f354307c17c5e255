"""The inputs of a model's graph: their types, as declared and as the caller requests, and fixed values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.ir.types import TensorType, dim, show_shape
from tvmlite.relay.onnx.graph import interface
from tvmlite.relay.onnx.graph.node import NOTHING
from tvmlite.relay.onnx.reading import loader

ShapeOverride = Mapping[str, Sequence[Any] | int | None]


class GraphInputs:
    """Reads the inputs of the model ``source``; the open dimensions in ``pinned`` have these sizes.

    ``met`` are those of ``pinned`` that an input has.
    """

    def __init__(self, source: str, pinned: Mapping[str, int]) -> None:
        self.source = source
        self.pinned = pinned
        self.met: list[int | str] = []

    def bind_constants(
        self, graph: onnx.GraphProto, values: dict[str, Expr], constants: Mapping[str, Any]
    ) -> None:
        """Add the inputs for which the caller has given constants to the ``values`` of the graph."""
        inputs = {i.name: i for i in graph.input}
        for name, constant in constants.items():
            what = f"{self.source}: input {name!r}"
            if name not in inputs:
                raise ModelError(
                    f"{self.source}: a constant is given for {name!r}; the inputs are "
                    f"{', '.join(map(repr, inputs)) or 'none'}"
                )
            declared = self.type_of(inputs[name], None)
            try:
                array = np.array(constant)
            except ValueError as error:  # rows of different lengths
                raise ModelError(f"{what}: the constant is no array ({error})") from error
            if array.dtype != dtypes.numpy_of(declared.dtype) or not _matches_shape(declared, array):
                raise ModelError(
                    f"{what} is {declared.dtype} of shape {show_shape(declared.shape)}, "
                    f"the constant is {array.dtype} of shape {array.shape}"
                )
            values[name] = Constant(array)

    def params(
        self, graph: onnx.GraphProto, values: dict[str, Expr], shape: ShapeOverride
    ) -> list[tuple[str, Expr]]:
        """Add the remaining inputs to the ``values`` of the graph; return them, without omitted optionals."""
        wanted = [i for i in graph.input if i.name not in values]
        unknown = sorted(set(shape) - {i.name for i in wanted})
        if unknown:
            raise ModelError(
                f"{self.source}: shape is given for {unknown[0]!r}; the inputs are "
                f"{', '.join(repr(i.name) for i in wanted) or 'none'}"
            )
        params: list[tuple[str, Expr]] = []
        for one in wanted:
            if not one.name:
                raise ModelError(f"{self.source}: an input has no name")
            if one.name in values:
                raise ModelError(f"{self.source}: input {one.name!r} is given twice")
            what = f"{self.source}: input {one.name!r}"
            given = one.name in shape
            made = interface.declare(one, given, shape.get(one.name), self.type_of, what)
            values[one.name] = made
            if made is not NOTHING:
                params.append((one.name, made))
        return params

    def check_default(self, declared: onnx.ValueInfoProto, array: np.ndarray, what: str) -> None:
        """Check the type of an initializer that is also an input, as all had to be before IR version 4."""
        if not declared.type.tensor_type.HasField("shape"):
            return
        type_ = self.type_of(declared, None)
        if array.dtype != dtypes.numpy_of(type_.dtype) or not _matches_shape(type_, array):
            raise ModelError(
                f"{what} is {array.dtype} of shape {array.shape}, declared as an input it is "
                f"{type_.dtype} of shape {show_shape(type_.shape)}"
            )

    def type_of(self, one: onnx.ValueInfoProto, override: Sequence[int | str] | None) -> TensorType:
        """Return the type of an array, as declared and with the caller's shape, if there is one."""
        what = f"{self.source}: input {one.name!r}"
        if one.type.WhichOneof("value") != "tensor_type":
            kind = one.type.WhichOneof("value") or "no type"
            raise UnsupportedError(f"{what} is a {kind.removesuffix('_type')}, expected a tensor")
        declared = one.type.tensor_type
        dtype = loader.dtype_of(declared.elem_type, what)
        if not declared.HasField("shape") and override is None:
            raise UnsupportedError(f"{what} has no rank", hint=f"give shape={{{one.name!r}: (...)}}")
        rows = list(declared.shape.dim) if declared.HasField("shape") else None
        if override is not None:
            extents = _overridden(rows, override, what)
        else:
            extents = [_declared(d, one.name, i, what) for i, d in enumerate(rows or [])]
        self.met += [d for d in extents if d in self.pinned and d not in self.met]
        extents = [self.pinned.get(d, d) if isinstance(d, str) else d for d in extents]
        made = tuple(dim(d) if isinstance(d, str) else d for d in extents)
        loader.checked_bytes(tuple(d for d in made if isinstance(d, int)), dtype, what)
        if len(made) > loader.LARGEST_RANK:
            raise ModelError(
                f"{what}: has {len(made)} dimensions, at most {loader.LARGEST_RANK} are supported"
            )
        return TensorType(made, dtype)


def _declared(declared: Any, name: str, index: int, what: str) -> int | str:
    """One declared extent: a number, or the name of a dynamic dimension."""
    if declared.HasField("dim_value") and declared.dim_value != -1:  # older exporters write -1 for "any"
        if declared.dim_value < 0:
            raise ModelError(f"{what}: dimension {index} is {declared.dim_value}")
        return int(declared.dim_value)
    given = declared.dim_param
    if not any(c.isalnum() for c in given):  # "" and "?" name nothing
        given = f"{name}_dim{index}"
    return identifier(given)


def _matches_shape(type_: TensorType, array: np.ndarray) -> bool:
    """Whether ``array`` has the rank of ``type_``, and its extents that are numbers."""
    return len(type_.shape) == array.ndim and all(
        not isinstance(d, int) or d == n for d, n in zip(type_.shape, array.shape, strict=True)
    )


def identifier(name: str) -> str:
    """Return a valid dimension name for the model's ``name``."""
    made = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"d{made}" if made[:1].isdigit() else made


def _overridden(rows: list[Any] | None, override: Sequence[int | str], what: str) -> list[int | str]:
    if isinstance(override, str) or not isinstance(override, Sequence):
        raise ModelError(f"{what}: shape is {override!r}, expected a tuple of numbers and names")
    if rows is not None and len(rows) != len(override):
        raise ModelError(f"{what} has {len(rows)} dimensions, shape gives {len(override)}: {tuple(override)}")
    made: list[int | str] = []
    for index, extent in enumerate(override):
        if isinstance(extent, str):
            if not extent.isidentifier():
                raise ModelError(f"{what}: {extent!r} is not a name for dimension {index}")
        elif isinstance(extent, bool) or not isinstance(extent, int | np.integer) or extent < 0:
            raise ModelError(f"{what}: dimension {index} is {extent!r}, expected a number or a name")
        declared = rows[index].dim_value if rows is not None and rows[index].HasField("dim_value") else -1
        if declared >= 0 and not isinstance(extent, str) and extent != declared:
            raise ModelError(f"{what}: dimension {index} is {declared} in the model, shape gives {extent}")
        made.append(extent if isinstance(extent, str) else int(extent))
    return made
