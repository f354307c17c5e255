"""The display of a schedule in notebooks: its stages, their loops, and the primitives called so far."""

from __future__ import annotations

from html import escape

from tvmlite.te.extensions import extend
from tvmlite.te.schedule.schedule import Schedule


class _InNotebooks:
    def _repr_html_(self: Schedule) -> str:  # type: ignore[misc]
        called = "\n".join(f"{number}. {step}" for number, step in enumerate(self.trace, 1))
        steps = f"<p>Primitives:</p><pre>{escape(called)}</pre>" if called else ""
        return f"<pre>{escape(str(self))}</pre>{steps}"


extend(Schedule, _InNotebooks)
