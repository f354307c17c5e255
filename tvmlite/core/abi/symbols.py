"""Names and numbers that generated code, the runtime and its callers have agreed on; see ``core.abi``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import InputError

WORKSPACE_ALIGNMENT = 64
LONGEST_NAME = 128
"""Characters of a parameter's name that are kept: compilers need not distinguish names of any length."""
PARALLEL_FOR = "tvmlite_parallel_for"
SWEEP = "tvmlite_sweep"
NEXT_RUN = "tvmlite_next_run"
NOW = "tvmlite_now"

C_KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int "
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while bool true false main and or not xor class new delete this template".split()
)


def unique_names(wanted: Mapping[Any, str]) -> dict[Any, str]:
    """C identifiers for ``wanted``, made unique by a suffix, in order."""
    taken: set[str] = set()
    names: dict[Any, str] = {}
    for key, text in wanted.items():
        text = text[:LONGEST_NAME]
        base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in text) or "_"
        if base[0].isdigit():
            base = "_" + base
        name, count = base, 0
        while name in taken or name in C_KEYWORDS:
            count += 1
            name = f"{base}_{count}"
        taken.add(name)
        names[key] = name
    return names


def align(offset: int, alignment: int = WORKSPACE_ALIGNMENT) -> int:
    """``offset`` rounded up to a multiple of ``alignment``."""
    return -(-offset // alignment) * alignment


def check_symbol(name: object) -> str:
    """``name``; an InputError unless it is a C identifier that a program can define besides its own."""
    name = arguments.text("name", name, InputError)
    if not name.isascii() or not name.isidentifier() or name in C_KEYWORDS:
        raise InputError(f"name {name!r} is not a C identifier that a library can define")
    return name
