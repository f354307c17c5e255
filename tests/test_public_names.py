"""Every public name of the package and its subpackages has a docstring, methods included."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import tvmlite
from tvmlite import autotune, relay, runtime, te


def public(room: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public names of ``room`` defined in tvmlite, and the public methods of its classes."""
    for name in dir(room):
        value = getattr(room, name)
        if name.startswith("_") or inspect.ismodule(value) or not callable(value):
            continue
        if not str(getattr(value, "__module__", "")).startswith("tvmlite"):
            continue
        yield name, value
        for method, member in vars(value).items() if inspect.isclass(value) else ():
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if not method.startswith("_") and callable(function):
                yield f"{name}.{method}", getattr(value, method)


@pytest.mark.parametrize("room", [tvmlite, te, relay, autotune, runtime], ids=lambda room: room.__name__)
def test_every_public_name_has_a_docstring(room: ModuleType) -> None:
    names = dict(public(room))

    assert len(names) > 10
    assert [name for name, value in names.items() if not inspect.getdoc(value)] == []
