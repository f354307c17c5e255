"""A table that stays in its place while its cells change: on a terminal, or in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol, TextIO

from tvmlite.show import html

Rows = Sequence[Sequence[str]]
"""Cells of a table; the first row is the heading."""


class Display(Protocol):
    """What shows a table from ``start`` to ``stop``, and messages beside it."""

    def start(self) -> None:
        """Take the place where the table will be."""

    def show(self, title: str, rows: Rows) -> None:
        """Show ``rows`` in place of what was shown before."""

    def say(self, message: str) -> None:
        """Show a message above the table."""

    def stop(self) -> None:
        """Leave what was shown last."""


class Terminal:
    """A table of the package rich."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self.live = Live(console=Console(file=stream), refresh_per_second=4)

    def start(self) -> None:
        """From here on the terminal's last lines are the table's."""
        self.live.start()

    def show(self, title: str, rows: Rows) -> None:
        """Show ``rows`` in place of what was shown before."""
        from rich.table import Table

        table = Table(title=title, title_justify="left")
        for place, name in enumerate(rows[0]):
            table.add_column(name, justify="right" if place else "left", no_wrap=True)
        for row in rows[1:]:
            table.add_row(*row)
        self.live.update(table)

    def say(self, message: str) -> None:
        """Print above the table."""
        self.live.console.print(message)

    def stop(self) -> None:
        """Leave the table as it is."""
        self.live.stop()


class Notebook:
    """A part of a cell's output, which is written anew."""

    def __init__(self) -> None:
        self.handle: Any = None
        self.said: list[str] = []
        self.shown = ""

    def start(self) -> None:
        """Nothing is shown before there is something to show."""

    def show(self, title: str, rows: Rows) -> None:
        """Show ``rows`` in place of what was shown before."""
        self.shown = html.paragraphs([title]) + html.grid(rows)
        self._write()

    def say(self, message: str) -> None:
        """Show a message above the table."""
        self.said.append(message)
        self._write()

    def stop(self) -> None:
        """The output stays in the notebook."""

    def _write(self) -> None:
        from IPython.display import display

        whole = {"text/html": html.paragraphs(self.said) + self.shown}
        if self.handle is None:
            self.handle = display(whole, raw=True, display_id=True)
        else:
            self.handle.update(whole, raw=True)


def in_notebook() -> bool:
    """Whether this is a program of Jupyter's, which shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def display_for(stream: TextIO) -> Display | None:
    """What shows a table in place on ``stream``; None where that cannot be done."""
    if stream is sys.stderr and in_notebook():
        return Notebook()
    if not stream.isatty():
        return None
    try:
        return Terminal(stream)
    except ImportError:  # rich is an extra: lines are printed instead
        return None
