"""What memory is known to hold: a value just stored need not be loaded."""

from __future__ import annotations

from typing import NamedTuple

from tvmlite.te.codegen.llvm.address import Terms
from tvmlite.te.loop.ir import Buffer

_MOST = 64
"""Values remembered of a buffer: more than the registers of any machine."""


class Span(NamedTuple):
    """``lanes`` elements side by side from ``terms + constant`` on."""

    terms: Terms
    constant: int
    lanes: int

    def is_apart_from(self, other: Span) -> bool:
        """Whether the two certainly have no element in common."""
        if self.terms != other.terms:
            return False
        return self.constant + self.lanes <= other.constant or other.constant + other.lanes <= self.constant


class Contents:
    """Values by the elements that hold them, from one jump to the next."""

    def __init__(self) -> None:
        self._held: dict[Buffer, dict[Span, str]] = {}

    def get(self, buffer: Buffer, span: Span | None) -> str | None:
        """The value that is there, if it is known."""
        held = self._held.get(buffer)
        return None if held is None or span is None else held.get(span)

    def stored(self, buffer: Buffer, span: Span | None, value: str | None) -> None:
        """``value`` was stored, or something that is not known (None), at ``span`` or at an unknown place."""
        if span is None:
            self._held.pop(buffer, None)
            return
        held = self._held.get(buffer, {})
        if held.pop(span, None) is None:  # else the others are apart from it, as all are from each other
            held = {s: v for s, v in held.items() if s.is_apart_from(span)}
        if len(held) == _MOST:
            held.clear()
        if value is not None:
            held[span] = value
        self._held[buffer] = held

    def forget(self) -> None:
        """Memory may have changed."""
        self._held.clear()
