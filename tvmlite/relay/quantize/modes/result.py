"""The result of ``quantize``: a module, the decisions made, and a report."""

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
    """``module``, quantized, which is compiled like any other, and the ``report`` of what was done.

    ``records`` hold the decisions made by measurement; passing them again gives the same module.
    ``compile_options`` must be passed to ``tvmlite.compile`` with the module; only 16-bit modes have any.
    """

    module: Module
    report: QuantizationReport
    records: tuple[Any, ...] = ()
    compile_options: Mapping[str, Any] = field(default_factory=dict)

    def page(self, title: str = "Quantization") -> Page:
        """The report as a self-contained HTML page."""
        return page(self.report, title)

    def _repr_html_(self) -> str:
        return self.page()._repr_html_()

    def __repr__(self) -> str:
        return str(self.report)
