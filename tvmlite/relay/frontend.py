"""Frontends: convert models of other frameworks to Relay modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.core.extras import how_to_install
from tvmlite.core.span import Span
from tvmlite.relay.ir.attributes import show


def from_onnx(model: Any, shape: Any = None, constants: Any = None) -> Any:
    """The Relay module of an ONNX model; see ``tvmlite.relay.onnx.from_onnx``."""
    try:
        from tvmlite.relay.onnx.importer import from_onnx as convert  # the onnx package is an extra
    except ImportError as error:
        raise _without_onnx(error) from None
    _check_by_name("from_onnx: shape", shape)
    _check_by_name("from_onnx: constants", constants)
    return convert(model, shape, constants)


def onnx_coverage(model: Any, shape: Any = None) -> list[Any]:
    """The parts of an ONNX model that are supported; see ``tvmlite.relay.onnx.coverage``."""
    try:
        from tvmlite.relay.onnx.coverage import coverage  # the onnx package is an extra
    except ImportError as error:
        raise _without_onnx(error) from None
    _check_by_name("onnx_coverage: shape", shape)
    return coverage(model, shape)


def _check_by_name(what: str, given: Any) -> None:
    """Raise a ModelError if ``given`` is not a mapping from names of inputs or dimensions."""
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(key, str) for key in given)):
        raise ModelError(f"{what} is {show(given)}, expected values by the names of inputs", Span.of_caller())


def _without_onnx(error: ImportError) -> Exception:
    """The error to raise for ``error``: itself, unless the onnx package is missing."""
    if error.name != "onnx":
        return error
    return UnsupportedError("importing ONNX models needs the package onnx", hint=how_to_install("onnx"))


__all__ = ["from_onnx", "onnx_coverage"]
