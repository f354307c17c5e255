"""Programs: a compute and a schedule as Python text, which is what runs, shrinks and is printed."""

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
    """Statements that make a schedule ``s``, and how to check it.

    ``sizes`` are the values of each ``te.var`` by name; ``data`` and ``seed`` decide the inputs' elements;
    ``target`` is what the code is for. ``tags`` say what it is made of, for the report.
    """

    body: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...] = ()
    data: str = "small"
    seed: int = 0
    target: str = "native"
    tags: tuple[str, ...] = ()

    def text(self) -> str:
        """The program, to paste into a file and run."""
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
        """The same with other statements."""
        return replace(self, body=tuple(body))

    def to_fields(self) -> dict[str, Any]:
        """Its fields, which JSON can hold."""
        return dict(vars(self))

    @staticmethod
    def from_fields(fields: Mapping[str, Any]) -> Program:
        """The program that ``to_fields`` or JSON of it describes."""
        sizes = tuple((name, value) for name, value in fields["sizes"])
        return Program(
            **{**fields, "body": tuple(fields["body"]), "sizes": sizes, "tags": tuple(fields["tags"])}
        )

    def names(self) -> dict[str, Any]:
        """Run the statements; what they define."""
        return run(self.body)

    def build(self) -> te.Schedule:
        """Run the statements; the schedule."""
        return self.names()["s"]


def run(body: Iterable[str], names: dict[str, Any] | None = None, first_line: int = 1) -> dict[str, Any]:
    """The names that ``body`` defines. Errors show its lines."""
    text = "\n" * (first_line - 1) + "\n".join(body) + "\n"
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    space = namespace() if names is None else names
    exec(compile(text, FILE, "exec"), space)
    return space


def namespace() -> dict[str, Any]:
    """What a program starts from."""
    return {"__name__": "fuzz_program", "te": te}


def clean(statement: str) -> str:
    """``statement`` without needless parentheses."""
    return ast.unparse(ast.parse(statement)) if "def " not in statement else statement


def arguments(schedule: te.Schedule) -> list[Any]:
    """What the function of ``schedule`` takes: its placeholders, its outputs, and the variables in shapes
    that are no extent of an array by themselves."""
    stages = [stage.op for stage in schedule.stages]
    states = {state.op for op in stages if isinstance(op, ScanOp) for state in op.state}
    inputs = [op.output(0) for op in stages if isinstance(op, t.PlaceholderOp) and op not in states]
    outputs = [tensor for op in schedule.outputs for tensor in op.outputs]
    return [*inputs, *outputs]
