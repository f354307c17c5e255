"""Loading of the techniques: packages that register themselves in the tables of te and relay.

The tables (schedule templates, operators, passes for a target) know no processor. The packages that fill them
are in rooms to their right and are loaded (see ``provided``) when a look-up first needs them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from tvmlite.core.provided import provided

TECHNIQUES = "techniques"
"""The name under which the packages of techniques are provided; they register themselves when imported."""


def load() -> None:
    """Import all techniques."""
    provided(TECHNIQUES)


Table = TypeVar("Table", bound=Mapping[Any, Any])

CODE_TABLES: list[Mapping[Any, Any]] = []
"""The tables whose rows determine the code generated for a fused group."""


def code_table(table: Table) -> Table:
    """Add ``table`` to ``CODE_TABLES`` and return it."""
    CODE_TABLES.append(table)
    return table


def code_functions() -> Iterator[tuple[str, str]]:
    """The row's key and the module of each function in the rows of ``CODE_TABLES``, in order.

    A row is a dataclass with functions in its fields, or a list of such dataclasses.
    """
    load()
    for table in CODE_TABLES:
        for key, rows in table.items():
            for row in rows if isinstance(rows, list) else [rows]:
                fields = (getattr(row, field.name) for field in dataclasses.fields(row))
                yield from ((str(key), one.__module__) for one in fields if callable(one))
