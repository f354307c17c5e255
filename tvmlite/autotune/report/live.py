"""A table that is updated in place, on a terminal or in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol, TextIO

from tvmlite.show import html

Rows = Sequence[Sequence[str]]
"""Cells of a table; the first row is the heading."""


class Display(Protocol):
    """Shows a table from ``start`` to ``stop``, and messages above it."""

    def start(self) -> None:
        """Reserve the space for the table."""

    def show(self, title: str, rows: Rows) -> None:
        """Show ``rows`` in place of what was shown before."""

    def say(self, message: str) -> None:
        """Show a message above the table."""

    def stop(self) -> None:
        """Keep what was shown last."""


class Terminal:
    """A table of the package rich."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self.live = Live(console=Console(file=stream), refresh_per_second=4)

    def start(self) -> None:
        """Use the terminal's last lines for the table."""
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
        """Print ``message`` above the table."""
        self.live.console.print(message)

    def stop(self) -> None:
        """Keep the table as it is."""
        self.live.stop()


class Notebook:
    """A part of a cell's output, which is rewritten."""

    def __init__(self) -> None:
        self.handle: Any = None
        self.messages: list[str] = []
        self.shown = ""

    def start(self) -> None:
        """Do nothing: the output begins with the first table."""

    def show(self, title: str, rows: Rows) -> None:
        """Show ``rows`` in place of what was shown before."""
        self.shown = html.paragraphs([title]) + html.grid(rows)
        self._write()

    def say(self, message: str) -> None:
        """Show a message above the table."""
        self.messages.append(message)
        self._write()

    def stop(self) -> None:
        """Do nothing: the output stays in the notebook."""

    def _write(self) -> None:
        from IPython.display import display

        content = {"text/html": html.paragraphs(self.messages) + self.shown}
        if self.handle is None:
            self.handle = display(content, raw=True, display_id=True)
        else:
            self.handle.update(content, raw=True)


def in_notebook() -> bool:
    """Whether this process is a Jupyter kernel, which shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def display_for(stream: TextIO) -> Display | None:
    """Return a display that updates a table in place on ``stream``; None if there is none."""
    if stream is sys.stderr and in_notebook():
        return Notebook()
    if not stream.isatty():
        return None
    try:
        return Terminal(stream)
    except ImportError:  # rich is an extra: lines are printed instead
        return None
