"""Search for the hot loop of a function, an innermost loop, in its assembly."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADER = re.compile(r"This Inner Loop Header: Depth=(\d+)")
_LABEL = re.compile(r"^(\.?L?\w+):")
_FUSED = re.compile(r"^(vfn?m(add|sub)|fml[as]|vpdp|vdp)")
_VECTOR = re.compile(r"^(v[a-z0-9]+(ps|pd|ph)|vp[a-z]+|f(add|sub|mul|div|max|min|ml[as]))$")
_MOVE = re.compile(r"^v?(p?mov|broadcast|pbroadcast|insert|extract)")


@dataclass(frozen=True)
class HotLoop:
    """The text of a loop, with counts of its instructions. ``spills`` counts stores of registers to the stack
    and reloads; ``depth`` is 0 if the function has no loop, and the text is then its beginning."""

    text: str
    depth: int
    instructions: int
    fused: int
    spills: int


def hot_loop(assembly: str, most: int = 400) -> HotLoop:
    """The innermost loop with the most arithmetic of ``assembly`` (LLVM's, with its comments); at most
    ``most`` lines of it."""
    lines = assembly.splitlines()
    loops = [_loop_at(lines, n) for n, line in enumerate(lines) if _HEADER.search(line)]
    if not loops:
        body = [one for one in lines if not one.lstrip().startswith((".", "#"))]
        return _described(body, 0, most)
    depth, body = max(loops, key=lambda found: (_arithmetic(found[1]) * 16 ** found[0], -len(found[1])))
    return _described(body, depth, most)


def _loop_at(lines: list[str], header: int) -> tuple[int, list[str]]:
    """The depth and the lines of the loop whose header comment is in line ``header``."""
    found = _HEADER.search(lines[header])
    assert found is not None
    start = header
    while start > 0 and not _LABEL.match(lines[start]):
        start -= 1
    label = _LABEL.match(lines[start])
    jump = re.compile(rf"(?<![\w.]){re.escape(label.group(1))}(?!\w)" if label else "$^")
    end = header + 1
    while end < len(lines) and not (lines[end].startswith("\t") and jump.search(lines[end].split("#")[0])):
        if lines[end].startswith(".Lfunc_end"):
            break
        end += 1
    return int(found.group(1)), [lines[start].split("#")[0].rstrip(), *lines[header + 1 : end + 1]]


def _described(body: list[str], depth: int, most: int) -> HotLoop:
    kept = [line for line in body if _mnemonic(line) or _LABEL.match(line)]
    names = [name for name in map(_mnemonic, kept) if name]
    spills = sum("-byte Spill" in line or "-byte Reload" in line for line in kept)
    shown = [line.expandtabs(8).rstrip() for line in kept[:most]]
    if len(kept) > most:
        shown.append(f"        ... {len(kept) - most} more lines")
    return HotLoop("\n".join(shown), depth, len(names), sum(bool(_FUSED.match(n)) for n in names), spills)


def _mnemonic(line: str) -> str:
    """The instruction in ``line``; empty for labels, directives and comments."""
    words = line.split("#")[0].split()
    return "" if not words or words[0].endswith(":") or words[0].startswith((".", "//")) else words[0]


def _arithmetic(body: list[str]) -> int:
    names = [name for name in map(_mnemonic, body) if name]
    fused = sum(bool(_FUSED.match(name)) for name in names)
    vectors = sum(bool(_VECTOR.match(name)) and not _MOVE.match(name) for name in names)
    return 1 + len(names) // 8 + vectors + 2 * fused
