"""Finds TVM's names in a script, and those missing in ``tvmlite.tvm``. The script is parsed, never run."""

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
    """A name of TVM's, the lines of a script that use it, and why it is missing here; empty if it is not."""

    name: str
    lines: tuple[int, ...]
    missing: str = ""


def uses(path: Path) -> list[Use]:
    """Return TVM's names in the script ``path``, sorted; an InputError if it is not Python."""
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
    """Return why ``tvm.x.y`` is missing, and what to use instead; empty if it is not missing. The texts are
    those of the errors that its use raises."""
    found: Any = importlib.import_module(PACKAGE)
    parts = name.split(".")[1:]
    for place, part in enumerate(parts):
        try:
            found = _member(found, part)
        except TvmliteError as error:
            return f"{error.message}: {error.hint}" if error.hint else error.message
        except (AttributeError, ImportError) as error:
            before = ".".join([TVM, *parts[:place]])
            near = str(error) if str(error).startswith(before) else f"{before} has no {part!r}"
            return importlib.import_module(f"{PACKAGE}.absent").instead_of(name) or near
        if isinstance(reason := getattr(found, "absent_because", None), str):
            return reason
    return ""


def _member(found: Any, part: str) -> Any:
    """The attribute or submodule ``part`` of ``found``."""
    try:
        return getattr(found, part)
    except AttributeError:
        if not isinstance(found, ModuleType) or importlib.util.find_spec(f"{found.__name__}.{part}") is None:
            raise
        return importlib.import_module(f"{found.__name__}.{part}")


def _names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """TVM's dotted names in ``tree`` with their lines: of imports, and of attributes of imported names."""
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
    """``module`` as a name of TVM's; empty if it is not one."""
    if module == PACKAGE or module.startswith(f"{PACKAGE}."):
        return TVM + module.removeprefix(PACKAGE)
    return module if module == TVM or module.startswith(f"{TVM}.") else ""


def _dotted(node: ast.expr, known: dict[str, str]) -> str:
    """``a.b.c`` with the imported first name resolved; empty if it does not begin with one."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id in known:
        return ".".join([known[node.id], *reversed(parts)])
    return ""
