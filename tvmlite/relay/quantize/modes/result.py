"""What ``quantize`` gives: a module, what was decided, and a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tvmlite.relay.ir.nodes import Module
from tvmlite.relay.quantize.report.page import page
from tvmlite.relay.quantize.report.report import QuantizationReport
from tvmlite.show.html import Page


@dataclass(frozen=True)
class QuantizedModule:
    """``module``, quantized, to be compiled as any other, and the ``report`` of what was done.

    ``records`` hold what was decided by measurement: given again, they give the same module.
    ``compile_options`` are what ``tvmlite.compile`` must be given beside the module; there are none but with
    16 bits.
    """

    module: Module
    report: QuantizationReport
    records: tuple[Any, ...] = ()
    compile_options: Mapping[str, Any] = field(default_factory=dict)

    def page(self, title: str = "Quantization") -> Page:
        """The report as an HTML page, one file that loads nothing."""
        return page(self.report, title)

    def _repr_html_(self) -> str:
        return self.page()._repr_html_()

    def __repr__(self) -> str:
        return str(self.report)
