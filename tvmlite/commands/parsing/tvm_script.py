"""Which of TVM's names a script uses, and which of them ``tvmlite.tvm`` has. The script is parsed, never
run."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tvmlite.core.errors import InputError, TvmliteError

PACKAGE = "tvmlite.tvm"
TVM = "tvm"


@dataclass(frozen=True)
class Use:
    """A name of TVM's, the lines where a script has it, and why it is not here; empty if it is."""

    name: str
    lines: tuple[int, ...]
    missing: str = ""


def uses(path: Path) -> list[Use]:
    """The names that the script ``path`` uses, in order; an InputError if it is no Python."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError, RecursionError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise InputError(f"{path}{line}: no Python: {getattr(error, 'msg', error)}") from None
    lines: dict[str, list[int]] = {}
    for name, line in _names(tree):
        lines.setdefault(name, []).append(line)
    return [Use(name, tuple(sorted(set(found))), why_missing(name)) for name, found in sorted(lines.items())]


def why_missing(name: str) -> str:
    """Why ``tvm.x.y`` cannot be used, and what can be; empty if it can. The tables are those of the errors
    that using it gives."""
    found: Any = importlib.import_module(PACKAGE)
    parts = name.split(".")[1:]
    for place, part in enumerate(parts):
        try:
            found = _below(found, part)
        except TvmliteError as error:
            return f"{error.message}: {error.hint}" if error.hint else error.message
        except (AttributeError, ImportError) as error:
            before = ".".join([TVM, *parts[:place]])
            near = str(error) if str(error).startswith(before) else f"{before} has no {part!r}"
            return importlib.import_module(f"{PACKAGE}.absent").instead_of(name) or near
        if isinstance(reason := getattr(found, "absent_because", None), str):
            return reason
    return ""


def _below(found: Any, part: str) -> Any:
    """The attribute or the module ``part`` of ``found``."""
    try:
        return getattr(found, part)
    except AttributeError:
        if not isinstance(found, ModuleType) or importlib.util.find_spec(f"{found.__name__}.{part}") is None:
            raise
        return importlib.import_module(f"{found.__name__}.{part}")


def _names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The dotted names of TVM's in ``tree`` with their lines: of imports, and of what hangs on them."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        imported: list[tuple[str, int]] = []
        if isinstance(node, ast.Import):
            for one in node.names:
                root = one.name.split(".")[0]
                known[one.asname or root] = one.name if one.asname else root
                imported.append((one.name, node.lineno))
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for one in node.names:
                whole = node.module if one.name == "*" else f"{node.module}.{one.name}"
                known[one.asname or one.name] = whole
                imported.append((whole, node.lineno))
        yield from ((_of_tvm(name), line) for name, line in imported if _of_tvm(name))
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and id(node) not in inner
            and (name := _of_tvm(_dotted(node, known)))
        ):
            yield name, node.lineno


def _of_tvm(module: str) -> str:
    """``module`` as a name of TVM's; empty if it is none."""
    if module == PACKAGE or module.startswith(f"{PACKAGE}."):
        return TVM + module.removeprefix(PACKAGE)
    return module if module == TVM or module.startswith(f"{TVM}.") else ""


def _dotted(node: ast.expr, known: dict[str, str]) -> str:
    """``a.b.c`` with the imported name in front resolved; empty if there is none in front."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id in known:
        return ".".join([known[node.id], *reversed(parts)])
    return ""
