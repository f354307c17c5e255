"""Transformations of a model before it is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from tvmlite.tvm.absent import refusing
from tvmlite.tvm.ir.transform import PassContext, Sequential
from tvmlite.tvm.relay import transform as passes

_LEVEL = 3
"""The optimization level at which a ``Sequential`` runs ``ConvertLayout``."""

_OPERATORS = ("nn.conv2d", "nn.conv2d_transpose", "qnn.conv2d")


def convert_graph_layout(mod: Any, desired_layouts: Any, ops: Sequence[str] | None = None) -> Any:
    """Convert the convolutions of ``mod``, or the operators ``ops``, to the data layout ``"NHWC"``, or
    ``"NHWC:HWIO"`` for data and kernel. ``desired_layouts`` is one layout for all, or a list with one for
    each operator."""
    given = [desired_layouts] if isinstance(desired_layouts, str) else list(desired_layouts)
    names = list(ops or _OPERATORS)
    layouts = [[*one.split(":"), "default"][:2] for one in given]
    wanted = dict(zip(names, layouts * len(names) if len(layouts) == 1 else layouts, strict=True))
    changes = Sequential(
        [
            passes.InferType(),
            passes.RemoveUnusedFunctions(),
            passes.ConvertLayout(wanted),
            passes.FoldConstant(),
        ]
    )
    enough = PassContext.current().opt_level >= _LEVEL
    with nullcontext() if enough else PassContext(opt_level=_LEVEL):
        return changes(mod)


__getattr__ = refusing(__name__)
