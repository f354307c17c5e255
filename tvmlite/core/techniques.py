"""Where techniques come from: packages that enter themselves in the tables of te and relay.

The tables (schedule templates, operators, passes for a target) know no processor. What fills them lies to the
right of them and is loaded (``provided``) when a table is first asked for what it does not have.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from tvmlite.core.provided import provided

TECHNIQUES = "techniques"
"""What the packages that register techniques when they are imported are provided as, one a kind of device."""


def load() -> None:
    """Import all techniques."""
    provided(TECHNIQUES)


Table = TypeVar("Table", bound=Mapping[Any, Any])

CODE_TABLES: list[Mapping[Any, Any]] = []
"""The tables on whose rows it depends what code a fused group becomes."""


def code_table(table: Table) -> Table:
    """``table``, entered in ``CODE_TABLES``."""
    CODE_TABLES.append(table)
    return table


def code_functions() -> Iterator[tuple[str, str]]:
    """The functions in the rows of ``CODE_TABLES``, in order: the key of the row and the module of each.

    A row is a dataclass with functions in its fields, or a list of such.
    """
    load()
    for table in CODE_TABLES:
        for key, rows in table.items():
            for row in rows if isinstance(rows, list) else [rows]:
                fields = (getattr(row, field.name) for field in dataclasses.fields(row))
                yield from ((str(key), one.__module__) for one in fields if callable(one))
