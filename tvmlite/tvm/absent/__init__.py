"""Names and modules of TVM that are not here: using one is an error that names it and says what to use."""

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
    """A method of TVM's that an object here does not have: an AttributeError for ``hasattr``."""


class Missing:
    """What stands for a function or class of TVM that is not here: to call it, to derive from it or to ask
    for its attributes is an UnsupportedError; nothing is an instance of it."""

    __signature__ = inspect.signature(lambda *args, **attrs: None)

    def __init__(self, name: str, instead: str | None) -> None:
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self.__doc__ = f"Not in tvmlite{': ' + instead if instead else ''}."
        self._name, self._hint = name, instead
        self.absent_because = instead or f"{name} is not in tvmlite"

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """An error."""
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
    """What stands for ``name`` of TVM; the error's hint is ``instead``."""
    return Missing(name, instead)


def _no(*_: Any, **__: Any) -> bool:
    """The answer to whether something is there that is not."""
    return False


class Absent(ModuleType):
    """A module of TVM that is not here: using a name of it is an UnsupportedError. Functions that ask whether
    something of it is there, such as ``ethosn_available`` or ``cudnn.exists``, answer no."""

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
        """An error: some names are functions as well as modules."""
        raise UnsupportedError(f"tvm.{self._absent} is not in tvmlite", Span.of_caller(), self._hint)


def known(module: str, name: str) -> Any:
    """What ``name`` of ``module`` is by the tables: a module of TVM's, or what stands for a name that is not
    in tvmlite; None if no table has it."""
    own = module.removeprefix(f"{PACKAGE}.")
    full = name if module == PACKAGE else f"{own}.{name}"
    if name == "__path__" and _has_modules(own):
        return []  # what Python asks for to import modules below
    if name.startswith("__"):  # Python asks for these
        return None
    if name in FOREIGN:
        return missing(f"tvm.{full}", PYTHON)
    if full in NAMES:
        return missing(f"tvm.{full}", NAMES[full])
    if is_absent(full) or full in ANOTHER:
        return importlib.import_module(f"{PACKAGE}.{full}")
    return None


def _has_modules(own: str) -> bool:
    """Whether TVM has modules below ``own``, or below one that is ``own`` here."""
    packages = own, *(one for one, place in ANOTHER.items() if place == own)
    return any(one.startswith(f"{package}.") for one in (*ABSENT, *ANOTHER) for package in packages)


def lookup(module: str, name: str, names: Iterable[str] = ()) -> Any:
    """As ``known``; what no table has is an AttributeError that suggests names of ``module`` or ``names``, or
    says what a name of an older TVM's became."""
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
    """The ``__getattr__`` of a module that has no more names."""

    def attribute(name: str) -> Any:
        return lookup(module, name)

    return attribute


def is_absent(name: str) -> bool:
    """Whether ``tvm.<name>`` is a module of TVM that is not here, or below one."""
    foreign = name.rpartition(".")[2] in FOREIGN
    return foreign or any(f"{name}.".startswith(f"{one}.") for one in (*ABSENT, SCRIPT))


def instead_of(name: str) -> str:
    """What to use in place of ``tvm.x.y``, by the longest beginning in the tables; empty if none is there."""
    if not FOREIGN.isdisjoint(name.split(".")):
        return PYTHON
    table = {**NAMES, **ABSENT, SCRIPT: LOOPS}
    known = [one for one in table if f"{name.removeprefix('tvm.')}.".startswith(f"{one}.")]
    return table[max(known, key=len)] if known else ""


def module(name: str) -> ModuleType:
    """The module that stands for ``tvm.<name>``."""
    return Script(name) if f"{name}.".startswith(f"{SCRIPT}.") else Absent(name)
