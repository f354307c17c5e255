"""Programs: a compute and a schedule as Python text, which is run, shrunk and printed."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tvmlite import te
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.scan import ScanOp

FILE = "<fuzz program>"


@dataclass(frozen=True)
class Program:
    """Statements that create a schedule ``s``, and how to check it.

    ``sizes`` are the values of each ``te.var`` by name; ``data`` and ``seed`` determine the inputs' elements;
    ``target`` is the target of the code. ``tags`` name the program's parts, for the report.
    """

    body: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...] = ()
    data: str = "small"
    seed: int = 0
    target: str = "native"
    tags: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the program as a script to run."""
        given = [f"sizes={dict(self.sizes)!r}"] if self.sizes else []
        given += [f"data={self.data!r}", f"seed={self.seed}", f"target={self.target!r}"]
        lines = [
            "from tvmlite import te",
            "from tvmlite.fuzz.expected.check import check",
            "",
            *map(clean, self.body),
            "",
        ]
        return "\n".join([*lines, f"check(s, {', '.join(given)})", ""])

    def with_body(self, body: Iterable[str]) -> Program:
        """Return the program with other statements."""
        return replace(self, body=tuple(body))

    def to_fields(self) -> dict[str, Any]:
        """Return the fields, which JSON can hold."""
        return dict(vars(self))

    @staticmethod
    def from_fields(fields: Mapping[str, Any]) -> Program:
        """Return the program described by ``to_fields``, or by JSON of it."""
        sizes = tuple((name, value) for name, value in fields["sizes"])
        return Program(
            **{**fields, "body": tuple(fields["body"]), "sizes": sizes, "tags": tuple(fields["tags"])}
        )

    def names(self) -> dict[str, Any]:
        """Run the statements; return the names that they define."""
        return run(self.body)

    def build(self) -> te.Schedule:
        """Run the statements; return the schedule."""
        return self.names()["s"]


def run(body: Iterable[str], names: dict[str, Any] | None = None, first_line: int = 1) -> dict[str, Any]:
    """Run ``body``; return the names that it defines. Errors show its lines."""
    text = "\n" * (first_line - 1) + "\n".join(body) + "\n"
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    space = namespace() if names is None else names
    exec(compile(text, FILE, "exec"), space)
    return space


def namespace() -> dict[str, Any]:
    """Return the names that a program starts with."""
    return {"__name__": "fuzz_program", "te": te}


def clean(statement: str) -> str:
    """Return ``statement`` without needless parentheses."""
    return ast.unparse(ast.parse(statement)) if "def " not in statement else statement


def arguments(schedule: te.Schedule) -> list[Any]:
    """Return the arguments of the function of ``schedule``: its placeholders, then its outputs."""
    stages = [stage.op for stage in schedule.stages]
    states = {state.op for op in stages if isinstance(op, ScanOp) for state in op.state}
    inputs = [op.output(0) for op in stages if isinstance(op, t.PlaceholderOp) and op not in states]
    outputs = [tensor for op in schedule.outputs for tensor in op.outputs]
    return [*inputs, *outputs]
