"""The reference, written from the source when the site is built: public names, operators, and messages.

Each room's page has every name of its ``__all__``, the page of operators each row of the operator table, and
the page of messages each error that the package raises, found in its syntax trees.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
PACKAGE = DOCS.parent / "tvmlite"
GENERATED = DOCS / "reference" / "generated"

ROOMS = {
    "tvmlite": "Compiling, tuning, building",
    "tvmlite.relay": "Graphs",
    "tvmlite.te": "Tensor expressions and schedules",
    "tvmlite.autotune": "Searching schedules",
    "tvmlite.runtime": "Running and loading libraries",
}
"""The modules that users import, and what each page is called."""


def heading(text: str, mark: str = "=") -> str:
    """A heading of reStructuredText."""
    return f"{text}\n{mark * len(text)}\n\n"


def directive(module: str, name: str) -> str:
    """What documents ``module.name``: its docstring, and those of a class's members."""
    value = getattr(importlib.import_module(module), name)
    if inspect.ismodule(value):
        return f".. py:module:: {module}.{name}\n   :no-index:\n\n"
    if inspect.isclass(value):
        return f".. autoclass:: {module}.{name}\n   :members:\n\n"
    kind = "function" if callable(value) else "data"
    return f".. auto{kind}:: {module}.{name}\n\n"


def room_page(module: str, title: str) -> str:
    """The page of a room: its docstring, then its names."""
    room = importlib.import_module(module)
    names = sorted(name for name in room.__all__ if not inspect.ismodule(getattr(room, name)))
    body = "".join(directive(module, name) for name in names if not name.startswith("__"))
    return heading(f"{module}: {title.lower()}") + f".. automodule:: {module}\n\n" + body


def operators_page() -> str:
    """Every operator: its inputs, its attributes with their defaults, and what it means."""
    from tvmlite.relay.ir import builders, op

    text = heading("Operators")
    text += "Each is ``relay.NAME(...)`` in Python and ``NAME(...)`` in Relay text.\n\n"
    for name in sorted(op.names()):
        build = builders.builder(name)
        text += heading(name, "-") + f".. py:function:: relay.{name}{inspect.signature(build)}\n\n"
        doc = inspect.cleandoc(build.__doc__ or "")
        text += "".join(f"   {line}".rstrip() + "\n" for line in doc.splitlines()) + "\n"
    return text


def _template(node: ast.expr) -> str:
    """A message as it is written, with the parts that are filled in named in braces."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            "{" + ast.unparse(part.value) + "}" if isinstance(part, ast.FormattedValue) else _template(part)
            for part in node.values
        )
    if isinstance(node, ast.BinOp):
        return _template(node.left) + _template(node.right)
    return "{" + ast.unparse(node) + "}"


def messages(errors: set[str]) -> Iterator[tuple[str, str, str]]:
    """The class, file and text of every error that the package raises."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                name = ast.unparse(node.func).rpartition(".")[2]
                text = " ".join(_template(node.args[0]).split()) if name in errors else ""
                if " " in text:
                    yield name, str(path.relative_to(PACKAGE.parent)), text


def messages_page() -> str:
    """Every message, by the class of its error and the file that raises it."""
    from tvmlite.core import errors

    classes = {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.TvmliteError)
    }
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, path, text in messages(set(classes)):
        found[name][path].append(text)
    page = heading("Messages")
    page += (
        "Every error that a user can meet is a ``tvmlite.TvmliteError``. What stands in braces is filled in. "
        "The last line of a message leads to the user's own line, or to the node of the model.\n\n"
    )
    for name in sorted(found):
        page += heading(name, "-") + inspect.cleandoc(classes[name].__doc__ or "") + "\n\n"
        for path, texts in found[name].items():
            page += f"``{path}``\n\n.. code-block:: text\n\n"
            page += "".join(f"   {one}\n" for one in texts) + "\n"
    return page


def _write(app: Any) -> None:
    pages = {module: room_page(module, title) for module, title in ROOMS.items()}
    pages |= {"operators": operators_page(), "messages": messages_page()}
    GENERATED.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        page = GENERATED / f"{name}.rst"
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Write the pages before Sphinx looks for pages."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "version": "1"}
