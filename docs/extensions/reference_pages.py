"""The reference, written from the source when the site is built.

Each room's page has every name of its ``__all__``, in the groups of ``reference_groups``. There are pages of
all operators, all messages, the command line and the environment variables (the other modules beside this).
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reference_commands import commands_page, variables_page
from reference_groups import GROUPS, MEMBERS, RESULTS
from reference_messages import messages_page
from reference_operators import operators_page
from reference_text import heading, table

from tvmlite.relay.ir.builders import Namespace

GENERATED = Path(__file__).parents[1] / "reference" / "generated"

ROOMS = {
    "tvmlite": "Compiling, tuning, building",
    "tvmlite.relay": "Graphs",
    "tvmlite.relay.frontend": "Importing models",
    "tvmlite.relay.transform": "Passes by TVM's names",
    "tvmlite.te": "Tensor expressions and schedules",
    "tvmlite.autotune": "Searching schedules",
    "tvmlite.runtime": "Running and loading libraries",
}
"""The modules that users import, and what each page is called."""

OTHER_NAMES = "tvmlite.tvm"
"""The room of TVM's names; the modules that it and its rooms list in ``__all__`` are rooms as well."""

LINE = 88
"""Characters of a signature beyond which each parameter stands on a line of its own."""


def tvm_rooms() -> dict[str, str]:
    """The rooms of TVM's names that there are, and what stands behind their names in headings."""
    try:
        package = importlib.import_module(OTHER_NAMES)
    except ModuleNotFoundError:
        return {}
    found, listed = {OTHER_NAMES: ": TVM's names"}, {OTHER_NAMES}
    for one in pkgutil.walk_packages(package.__path__, f"{OTHER_NAMES}."):
        parent, _, name = one.name.rpartition(".")
        names = getattr(importlib.import_module(parent), "__all__", None)
        if parent in listed and (names is None or name in names):
            listed.add(one.name)
            if public_names(one.name):
                found[one.name] = ""
    return found


def public_names(module: str) -> list[str]:
    """The names of ``module`` that users type, in order: those of ``__all__`` that are no modules, or what it
    defines itself."""
    room = importlib.import_module(module)
    own = [name for name, value in vars(room).items() if getattr(value, "__module__", "") == module]
    names = getattr(room, "__all__", None) or own
    return sorted(n for n in names if not n.startswith("_") and not inspect.ismodule(getattr(room, n)))


def directive(module: str, name: str, members: bool = True, inherited: bool = False) -> str:
    """What documents ``module.name``: its docstring, and those of a class's members."""
    value = getattr(importlib.import_module(module), name)
    if inspect.isclass(value):
        return (
            f".. autoclass:: {module}.{name}\n"
            + "   :members:\n" * members
            + "   :inherited-members:\n" * inherited
            + "\n"
        )
    if callable(value):
        return f".. autofunction:: {module}.{name}\n\n"
    about = f"The operators whose names begin with ``{name}.``: see :doc:`operators`."
    doc = about if isinstance(value, Namespace) else inspect.getdoc(value) or ""
    return f".. py:data:: {name}\n   :module: {module}\n\n" + _indented(doc)


def _indented(text: str) -> str:
    return "".join(f"   {line}".rstrip() + "\n" for line in text.splitlines()) + "\n"


def role(module: str, name: str) -> str:
    """A link to ``module.name``, shown as ``name``."""
    value = getattr(importlib.import_module(module), name)
    kind = "class" if inspect.isclass(value) else "func" if callable(value) else "data"
    return f":py:{kind}:`{name} <{module}.{name}>`"


def grouped(module: str) -> dict[str, list[str]]:
    """The names of ``module`` by the headings of its page; what is in no group comes last."""
    names = public_names(module)
    groups = {
        title: [n for n in wanted.split() if n in names] for title, wanted in GROUPS.get(module, {}).items()
    }
    known = {name for group in groups.values() for name in group}
    groups["More" if groups else ""] = [name for name in names if name not in known]
    return {title: group for title, group in groups.items() if group}


def room_page(module: str, title: str) -> str:
    """The page of a room: its docstring, a table of its names, and each of them."""
    groups = grouped(module)
    body = heading(f"{module}: {title[0].lower() + title[1:]}") + f".. automodule:: {module}\n\n"
    if len(groups) > 1:
        rows = [(label, ", ".join(role(module, n) for n in names)) for label, names in groups.items()]
        body += table(rows, ("", "names"))
    for label, names in groups.items():
        body += heading(label, "-") if label else ""
        for name in names:
            parts = MEMBERS.get(f"{module}.{name}")
            body += directive(module, name) if parts is None else class_by_parts(module, name, parts)
    if module in RESULTS:
        body += heading("What they give", "-")
        for path in RESULTS[module]:
            room, _, name = path.rpartition(".")
            body += directive(room, name, inherited=True)
    return body


def class_by_parts(module: str, name: str, parts: Mapping[str, str]) -> str:
    """A class with its members under headings of their own; those in no part come last."""
    owner = getattr(importlib.import_module(module), name)
    members = list(members_of(owner))
    known = {one for wanted in parts.values() for one in wanted.split()}
    sections = {label: [m for m in wanted.split() if m in members] for label, wanted in parts.items()}
    sections["More"] = [one for one in members if one not in known]
    text = directive(module, name, members=False)
    for label, found in sections.items():
        if found:
            text += heading(f"{name}: {label}", "~")
        for one in found:
            value = inspect.getattr_static(owner, one)
            kind = "property" if isinstance(value, property) else "method"
            text += f".. auto{kind}:: {module}.{name}.{one}\n\n"
    return text


def members_of(owner: type) -> Iterator[str]:
    """The methods and properties of a class of ours that have docstrings, in order of definition."""
    seen = set()
    for base in reversed(owner.__mro__):
        if base.__module__.startswith("tvmlite"):
            for one, value in vars(base).items():
                function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                if not one.startswith("_") and callable(function) and getattr(function, "__doc__", None):
                    if one not in seen:
                        seen.add(one)
                        yield one


def homes() -> dict[int, str]:
    """Where each function and class that the rooms document is documented, by identity."""
    found: dict[int, str] = {}
    for module in ROOMS:
        for name in public_names(module):
            value = getattr(importlib.import_module(module), name)
            if callable(value):
                found.setdefault(id(value), f"{module}.{name}")
    return found


def tvm_page(module: str, title: str, rooms: Mapping[str, str], known: dict[int, str]) -> str:
    """The page of a room of TVM's names: what each is here, and what is of its own.

    ``known`` says where what other pages document is, and is told of what this one does.
    """
    room = importlib.import_module(module)
    body = heading(module.removeprefix("tvmlite.") + title) + f".. automodule:: {module}\n"
    body += "   :no-index:\n\n" if module in known.values() else "\n"  # a function has the module's name
    if module == OTHER_NAMES:  # as links: in a table of contents, all would stand beside every page
        body += "".join(f"- :doc:`{one}`\n" for one in rooms if one != module) + "\n"
    else:
        body = ":orphan:\n\n" + body
    rows, own = [], ""
    for name in public_names(module):
        value = getattr(room, name)
        home = known.get(id(value))
        if home is not None:
            kind = "class" if inspect.isclass(value) else "func"
            rows.append((f"``{name}``", f":py:{kind}:`{home}`"))
        elif inspect.getdoc(value) and (inspect.isclass(value) or callable(value)):
            own += directive(module, name)
            known[id(value)] = f"{module}.{name}"
        else:
            rows.append((f"``{name}``", f"``{type(value).__name__}``"))
    return body + own + (table(rows, ("name", "is")) if rows else "")


def pages() -> dict[str, str]:
    """The text of every page, by its name."""
    others, known = tvm_rooms(), homes()
    made = {module: room_page(module, title) for module, title in ROOMS.items()}
    made |= {module: tvm_page(module, title, others, known) for module, title in others.items()}
    made |= {"operators": operators_page(), "messages": messages_page()}
    return made | {"commands": commands_page(), "variables": variables_page()}


def _write(app: Any) -> None:
    GENERATED.mkdir(parents=True, exist_ok=True)
    made = pages()
    for name, text in made.items():
        page = GENERATED / f"{name}.rst"
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
    for page in GENERATED.glob("*.rst"):  # of rooms that are gone
        if page.stem not in made:
            page.unlink()


def _configure(app: Any, config: Any) -> None:
    config.python_maximum_signature_line_length = LINE


def setup(app: Any) -> dict[str, Any]:
    """Write the pages before Sphinx looks for pages."""
    app.connect("config-inited", _configure)
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "version": "2"}


__all__ = ["grouped", "members_of", "pages", "public_names", "setup", "tvm_rooms"]
