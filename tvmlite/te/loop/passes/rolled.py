"""Leave every loop a loop, for machines whose memory for code is small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tvmlite.core.node import rewrite
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import with_body


def rolled(function: ir.Function, kinds: Sequence[str] = (ir.VECTORIZE, ir.UNROLL)) -> ir.Function:
    """Loops of these ``kinds``, that were to be vectors, written out or shared by threads, are serial ones::

    for i in vectorize(0, 4):    -->    for i in range(0, 4):
        C[i] = A[i]                         C[i] = A[i]
    """

    def rule(node: Any) -> Any:
        return replace(node, kind=ir.SERIAL) if isinstance(node, ir.For) and node.kind in kinds else node

    return with_body(function, rewrite(function.body, rule))
