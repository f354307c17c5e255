"""Merging of adjacent statements in two versions, between ``#if``, ``#else`` and ``#endif``."""

from __future__ import annotations

from collections.abc import Iterator


def merged(lines: list[str]) -> list[str]:
    """``lines`` with one ``#if`` for adjacent statements in two versions under the same condition."""
    result: list[str] = []
    pending: tuple[str, list[str], list[str]] | None = None
    for part in _parts(lines):
        if isinstance(part, tuple) and pending is not None and part[0] == pending[0]:
            pending[1].extend(part[1])
            pending[2].extend(part[2])
            continue
        result += _joined(pending)
        pending = part if isinstance(part, tuple) else None
        if isinstance(part, str):
            result.append(part)
    return result + _joined(pending)


def _joined(versions: tuple[str, list[str], list[str]] | None) -> list[str]:
    if versions is None:
        return []
    condition, first, second = versions
    return [condition, *merged(first), "#else", *merged(second), "#endif"]


def _parts(lines: list[str]) -> Iterator[str | tuple[str, list[str], list[str]]]:
    """The single lines, and for statements in two versions the ``#if`` line and each version's lines."""
    depth, condition = 0, ""
    versions: tuple[list[str], list[str]] = ([], [])
    which = 0
    for line in lines:
        opens, closes = line.startswith("#if"), line.startswith("#endif")
        depth += opens
        if depth == 0:
            yield line
        elif depth == 1 and opens:
            condition, versions, which = line, ([], []), 0
        elif depth == 1 and line == "#else":
            which = 1
        elif depth == 1 and closes:
            yield condition, *versions
        else:
            versions[which].append(line)
        depth -= closes
