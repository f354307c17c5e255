"""``InferCorrectLayoutOutput``: what a program's own rule of layouts gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvmlite.tvm.absent import refusing
from tvmlite.tvm.tir.data_layout import Layout

RULE = "FInferCorrectLayout"
"""The attribute of an operator that such a rule is."""


@dataclass(frozen=True, eq=False)
class InferCorrectLayoutOutput:
    """The layouts that an operator takes and gives, ``tvm.tir.layout("NCHW")``, and its attributes there."""

    input_layouts: Sequence[Layout]
    output_layouts: Sequence[Layout]
    new_attrs: Mapping[str, Any]


__getattr__ = refusing(__name__)
