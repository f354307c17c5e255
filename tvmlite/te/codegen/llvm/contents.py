"""Known contents of memory: store-to-load forwarding within a basic block."""

from __future__ import annotations

from typing import NamedTuple

from tvmlite.te.codegen.llvm.address import Terms
from tvmlite.te.loop.ir import Buffer

_MOST = 64
"""The most values remembered per buffer: more than any processor has registers."""


class Span(NamedTuple):
    """``lanes`` contiguous elements, starting at the index ``terms + constant``."""

    terms: Terms
    constant: int
    lanes: int

    def is_disjoint_from(self, other: Span) -> bool:
        """Whether the spans provably have no element in common."""
        if self.terms != other.terms:
            return False
        return self.constant + self.lanes <= other.constant or other.constant + other.lanes <= self.constant


class Contents:
    """Known values by the elements that hold them, valid until the next jump."""

    def __init__(self) -> None:
        self._values: dict[Buffer, dict[Span, str]] = {}

    def get(self, buffer: Buffer, span: Span | None) -> str | None:
        """The value that ``span`` of ``buffer`` holds, or None if it is not known."""
        values = self._values.get(buffer)
        return None if values is None or span is None else values.get(span)

    def stored(self, buffer: Buffer, span: Span | None, value: str | None) -> None:
        """Record that ``value`` (None: unknown) was stored at ``span`` (None: unknown elements)."""
        if span is None:
            self._values.pop(buffer, None)
            return
        values = self._values.get(buffer, {})
        if values.pop(span, None) is None:  # if it was held, the others do not overlap it
            values = {s: v for s, v in values.items() if s.is_disjoint_from(span)}
        if len(values) == _MOST:
            values.clear()
        if value is not None:
            values[span] = value
        self._values[buffer] = values

    def forget(self) -> None:
        """Drop all values, as memory may have changed."""
        self._values.clear()
