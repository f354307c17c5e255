"""Names and numbers shared by generated code and the runtime; see ``core.abi.signature``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WORKSPACE_ALIGNMENT = 64
LONGEST_NAME = 128
"""The characters kept of a parameter's name: C compilers need not distinguish arbitrarily long names."""
PARALLEL_FOR = "tvmlite_parallel_for"
SWEEP = "tvmlite_sweep"
NEXT_RUN = "tvmlite_next_run"
NOW = "tvmlite_now"

C_KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int "
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while bool true false main and or not xor class new delete this template "
    "_Bool _Complex _Imaginary asm catch explicit export friend mutable namespace nullptr operator private "
    "protected public throw try typename using virtual".split()
)
"""Reserved words of C and C++, which cannot be identifiers, and ``main``."""


def unique_names(wanted: Mapping[Any, str]) -> dict[Any, str]:
    """A C identifier for each name in ``wanted``, in order, made unique by a suffix."""
    taken: set[str] = set()
    names: dict[Any, str] = {}
    for key, text in wanted.items():
        text = text[:LONGEST_NAME]
        base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in text) or "_"
        if base[0].isdigit():
            base = "_" + base
        if base.startswith("__") or (base[0] == "_" and base[1:2].isupper()):  # reserved for compilers
            base = "v" + base
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
