"""Passes of TVM's that are passes of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay import passes
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.transform.functions import of_ours


def CanonicalizeOps() -> Pass:
    """The pass that writes out operators that others are made of (``bias_add``)."""
    return of_ours("CanonicalizeOps", 3, passes.canonicalize_ops)


def FoldScaleAxis() -> Pass:
    """The pass that moves scales of channels into the weights of convolutions."""
    return of_ours("FoldScaleAxis", 3, passes.fold_scale_axis)


def ConvertLayout(desired_layouts: Mapping[str, Sequence[str]]) -> Pass:
    """Which layout is quickest is for ``AlterOpLayout``; others are not written."""
    raise UnsupportedError(
        f"relay.transform.ConvertLayout({show(desired_layouts)}) is not in tvmlite",
        Span.of_caller(),
        hint="convolutions take data_layout and kernel_layout; compiling chooses a layout of its own",
    )
