"""Frontends: models of other frameworks become relay modules."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError


def from_onnx(model: Any, shape: Any = None, constants: Any = None) -> Any:
    """The relay module of an ONNX model; see ``tvmlite.relay.frontend.onnx.from_onnx``."""
    try:
        from tvmlite.relay.frontend.onnx.importer import from_onnx as convert  # the onnx package is an extra
    except ImportError as error:
        if error.name != "onnx":
            raise
        raise UnsupportedError(
            "importing ONNX models needs the package onnx", hint="pip install 'tvmlite[onnx]'"
        ) from None
    return convert(model, shape, constants)


__all__ = ["from_onnx"]
