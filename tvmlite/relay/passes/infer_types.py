"""Checks that every expression has a type, before anything relies on it."""

from __future__ import annotations

from tvmlite.relay.ir.infer import infer
from tvmlite.relay.ir.nodes import Module


def infer_types(module: Module) -> Module:
    """``module`` itself; a TypeInferError names the first expression whose types do not fit."""
    return infer(module)
