"""The page of all operators, by family: the modules that they are registered in."""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from typing import Any

from reference_text import first_sentence, heading, table

TECHNIQUES = "Packed by the compiler"

OTHERS = "Random numbers, decision trees, and what passes leave in a graph"


def families() -> dict[str, dict[str, list[str]]]:
    """The operators by heading, and by the module that registers them."""
    from tvmlite.relay import ops
    from tvmlite.relay.ir import op

    packages = {name: importlib.import_module(f"{ops.__name__}.{name}") for name in ops.FAMILIES}
    headings = {name: first_sentence(package.__doc__).rstrip(".") for name, package in packages.items()}
    found: dict[str, dict[str, list[str]]] = {title: {} for title in (*headings.values(), OTHERS, TECHNIQUES)}
    for name in sorted(op.names()):
        module = op.get(name).compute.__module__
        family = module.removeprefix(f"{ops.__name__}.").split(".")[0]
        title = TECHNIQUES if module.startswith("tvmlite.techniques.") else headings.get(family, OTHERS)
        found[title].setdefault(module, []).append(name)
    return {title: dict(sorted(modules.items())) for title, modules in found.items() if modules}


def signature(build: Any) -> str:
    """The signature of an operator's function; a default without a short text is shown as dots."""
    given = inspect.signature(build)
    parameters = [
        one.replace(default=_Dots()) if " object at 0x" in repr(one.default) else one
        for one in given.parameters.values()
    ]
    return str(given.replace(parameters=parameters))


class _Dots:
    def __repr__(self) -> str:
        return "..."


def operators_page() -> str:
    """Every operator: its inputs, its attributes with their defaults, and what it means."""
    from tvmlite.relay.ir import builders

    found = families()
    text = heading("Operators")
    text += (
        "Each is ``relay.NAME(...)`` in Python and ``NAME(...)`` in Relay text. Tensors come first, then "
        "attributes, which are fixed at compile time.\n\n"
    )
    rows = [
        (title, ", ".join(_link(name) for names in modules.values() for name in names))
        for title, modules in found.items()
    ]
    text += table(rows, ("", "operators"))
    labels: dict[str, int] = defaultdict(int)
    for title, modules in found.items():
        text += heading(title, "-")
        for module, names in modules.items():
            labels[module] += 1
            about = first_sentence(importlib.import_module(module).__doc__)
            text += (
                f"*{about.replace('*', '')}.* ``{module.removeprefix('tvmlite.').replace('.', '/')}.py``\n\n"
            )
            for name in names:
                build = builders.builder(name)
                text += f".. py:function:: relay.{name}{signature(build)}\n\n"
                doc = inspect.cleandoc(build.__doc__ or "")
                text += "".join(f"   {line}".rstrip() + "\n" for line in doc.splitlines()) + "\n"
    return text


def _link(name: str) -> str:
    return f":py:func:`{name} <relay.{name}>`"
