"""Names and modules of TVM that tvmlite lacks: using one is an error that names it and an alternative."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, NoReturn

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.absent.modules import ABSENT, ANOTHER, FOREIGN, LOOPS, PYTHON, SCRIPT
from tvmlite.tvm.absent.names import NAMES
from tvmlite.tvm.absent.older import OLDER
from tvmlite.tvm.absent.script import Script

PACKAGE = "tvmlite.tvm"


class MissingName(UnsupportedError, AttributeError):
    """A method that TVM's object has and ours lacks. It is also an AttributeError, for ``hasattr``."""


class Missing:
    """A placeholder for a function or class of TVM that tvmlite does not have. Calling it, deriving from it
    and accessing its attributes raise an UnsupportedError; nothing is an instance of it."""

    __signature__ = inspect.signature(lambda *args, **attrs: None)

    def __init__(self, name: str, instead: str | None) -> None:
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self.__doc__ = f"Not in tvmlite{': ' + instead if instead else ''}."
        self._name, self._hint = name, instead
        self.absent_because = instead or f"{name} is not in tvmlite"

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Raise the UnsupportedError."""
        raise self._refused()

    def _refused(self) -> UnsupportedError:
        return UnsupportedError(f"{self._name} is not in tvmlite", Span.of_caller(), self._hint)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._refused()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> NoReturn:
        raise self._refused()

    def __instancecheck__(self, instance: object) -> bool:
        return False


def missing(name: str, instead: str | None = None) -> Any:
    """Return a placeholder for TVM's ``name``; ``instead`` is the error's hint."""
    return Missing(name, instead)


def _no(*_: Any, **__: Any) -> bool:
    """Return False, the answer to whether a missing feature is available."""
    return False


class Absent(ModuleType):
    """A module of TVM that tvmlite does not have: using one of its names is an UnsupportedError. Functions
    that ask whether something is available, such as ``ethosn_available`` or ``cudnn.exists``, return
    False."""

    def __init__(self, name: str) -> None:
        hint = instead_of(name)
        super().__init__(f"{PACKAGE}.{name}", f"Not supported: {hint}.")
        self.__path__: list[str] = []
        self._absent, self._hint = name, hint
        self.absent_because = hint

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.endswith(("_available", "_enabled")) or name.startswith("have_") or name == "exists":
            return _no
        return missing(f"tvm.{self._absent}.{name}", self._hint)

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Raise an UnsupportedError: some names are functions as well as modules."""
        raise UnsupportedError(f"tvm.{self._absent} is not in tvmlite", Span.of_caller(), self._hint)


def known(module: str, name: str) -> Any:
    """Look up ``name`` of ``module`` in the tables: return a module of TVM's, or a placeholder for a name
    that tvmlite does not have; None if no table has it."""
    own = module.removeprefix(f"{PACKAGE}.")
    full = name if module == PACKAGE else f"{own}.{name}"
    if name == "__path__" and _has_modules(own):
        return []  # Python needs it to import submodules
    if name.startswith("__"):  # looked up by Python itself
        return None
    if name in FOREIGN:
        return missing(f"tvm.{full}", PYTHON)
    if full in NAMES:
        return missing(f"tvm.{full}", NAMES[full])
    if is_absent(full) or full in ANOTHER:
        return importlib.import_module(f"{PACKAGE}.{full}")
    return None


def _has_modules(own: str) -> bool:
    """Whether TVM has modules below ``own``, or below one whose names are in ``own`` here."""
    packages = own, *(one for one, place in ANOTHER.items() if place == own)
    return any(one.startswith(f"{package}.") for one in (*ABSENT, *ANOTHER) for package in packages)


def lookup(module: str, name: str, names: Iterable[str] = ()) -> Any:
    """Like ``known``, but a name in no table is an AttributeError that suggests similar names of ``module``
    or ``names``, or the successor of a name of an older TVM."""
    found = known(module, name)
    if found is not None:
        return found
    if module == PACKAGE and name in OLDER:
        raise MissingName(
            f"tvm.{name} is not in tvmlite, nor in TVM since 0.7", Span.of_caller(), OLDER[name]
        )
    has = sys.modules[module]
    public = {one for one in (*dir(has), *vars(has).get("__all__", ()), *names) if one[:1] != "_"}
    near = difflib.get_close_matches(name, sorted(public), 3)
    shown = f"; did you mean {' or '.join(near)}?" if near and not name.startswith("_") else ""
    raise AttributeError(f"{module.removeprefix('tvmlite.')} has no {name!r}{shown}")


def refusing(module: str) -> Callable[[str], Any]:
    """Return a module's ``__getattr__``, which looks up names that the module does not define."""

    def attribute(name: str) -> Any:
        return lookup(module, name)

    return attribute


def is_absent(name: str) -> bool:
    """Whether ``tvm.<name>`` is a module of TVM that tvmlite does not have, or below one."""
    foreign = name.rpartition(".")[2] in FOREIGN
    return foreign or any(f"{name}.".startswith(f"{one}.") for one in (*ABSENT, SCRIPT))


def instead_of(name: str) -> str:
    """Return the alternative to ``tvm.x.y``, by the longest prefix in the tables; empty if there is none."""
    if not FOREIGN.isdisjoint(name.split(".")):
        return PYTHON
    table = {**NAMES, **ABSENT, SCRIPT: LOOPS}
    known = [one for one in table if f"{name.removeprefix('tvm.')}.".startswith(f"{one}.")]
    return table[max(known, key=len)] if known else ""


def module(name: str) -> ModuleType:
    """Return the placeholder for the module ``tvm.<name>``."""
    return Script(name) if f"{name}.".startswith(f"{SCRIPT}.") else Absent(name)
