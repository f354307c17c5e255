"""Functions of layout names. ``""`` is the layout of a scalar; ``None`` stands for an unknown layout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def parts(layout: str) -> list[str]:
    """The axes of a layout: ``["N", "C", "H", "W", "4c"]`` for ``"NCHW4c"``."""
    return re.findall(r"\d*[A-Za-z]", layout)


def whole(layout: str) -> str:
    """The axes that are not blocks: ``"NCHW"`` for ``"NCHW4c"``."""
    return "".join(part for part in parts(layout) if part.isupper())


def block(layout: str, axis: str) -> int:
    """The block size of ``axis``, a capital letter; 0 if it is not blocked."""
    found = [part for part in parts(layout) if part[-1] == axis.lower()]
    return int(found[0][:-1]) if found else 0


def place(layout: str, part: str) -> int | None:
    """The index of the axis ``part`` in a layout; None if it is missing or blocked."""
    if block(layout, part[-1].upper()) or part not in parts(layout):
        return None
    return parts(layout).index(part)


def outer(layout: str, part: str) -> int | None:
    """The index of the axis ``part`` in a layout, or of its outer axis if it is blocked; None if missing."""
    return parts(layout).index(part) if part in parts(layout) else None


def moved(axes: Sequence[int], old: str, new: str) -> list[int] | None:
    """Translate axis indices ``axes`` from ``old`` to ``new``; None if an axis is missing or blocked."""
    found = [place(new, parts(old)[axis]) for axis in axes]
    return None if None in found else [one for one in found if one is not None]


def last(layout: str, rank: int) -> str:
    """The layout of the last ``rank`` axes."""
    return "".join(parts(layout)[len(parts(layout)) - rank :])


def renamed(old: str, like: str, new: str) -> str | None:
    """Apply the change from ``like`` to ``new`` to ``old``, whose last axes correspond to those of ``like``;
    None if they do not correspond. ``renamed("NWC", "NHC", "NCH")`` is ``"NCW"``."""
    mine, others = parts(old), parts(like)
    shared = min(len(mine), len(others))
    names: dict[str, str] = {}
    for a, b in zip(mine[len(mine) - shared :], others[len(others) - shared :], strict=True):
        if a[:-1] != b[:-1] or a[-1].isupper() != b[-1].isupper():
            return None
        if names.setdefault(b[-1].upper(), a[-1].upper()) != a[-1].upper():
            return None
    if len(set(names.values())) != len(names) or not mine:
        return old if not mine else None
    longer = mine if len(mine) > shared else others
    if {part[-1].upper() for part in longer[: len(longer) - shared]} & set(
        names.values() if longer is mine else names
    ):
        return None
    free = [chr(code) for code in range(ord("A"), ord("Z") + 1)]
    for part in reversed(others):
        letter = part[-1].upper()
        if letter not in names:
            names[letter] = (
                letter
                if letter not in names.values()
                else next(one for one in free if one not in names.values())
            )
    made = []
    for part in parts(new):
        name = names[part[-1].upper()]
        made.append(part[:-1] + (name if part[-1].isupper() else name.lower()))
    return "".join(made)


def fitted(new: str, old: str, shape: Sequence[Any]) -> str:
    """``new`` with block size 1 for axes that ``old`` does not have, or whose extent in ``shape`` is 1."""
    made = []
    for part in parts(new):
        if part[-1].islower():
            at = place(old, part[-1].upper())
            one = at is None or shape[at] == 1
            part = f"1{part[-1]}" if one else part
        made.append(part)
    return "".join(made)
