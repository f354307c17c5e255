"""Import hooks: after ``sys.modules["tvm"] = tvmlite.tvm``, ``import tvm.x`` imports ``tvmlite.tvm.x``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

PACKAGE = "tvmlite.tvm"
ALIAS = "tvm"


class _Module(Loader):
    """Loads a module under a second name, as the same object that ``import name`` gives.

    Without this loader Python would find the file under the second name and execute it again, and
    ``isinstance`` would fail between the classes of the two copies.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which the import machinery replaced; the module has already run."""
        module.__spec__ = self._spec


class _Aliased(MetaPathFinder):
    """Finds ``tvm.x`` as ``tvmlite.tvm.x`` while ``sys.modules["tvm"]`` is this package."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{ALIAS}.") or sys.modules.get(ALIAS) is not sys.modules.get(PACKAGE):
            return None
        return ModuleSpec(fullname, _Module(PACKAGE + fullname.removeprefix(ALIAS)))


class _KeepingFunctions(ModuleType):
    """A package with a function and a submodule of the same name, such as ``tvm.topi.nn.conv2d``: importing
    the submodule does not replace the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not isinstance(value, ModuleType) or isinstance(getattr(self, name, value), ModuleType):
            super().__setattr__(name, value)


class _NotHere(MetaPathFinder, Loader):
    """Finds TVM's modules that have no file here (``tvmlite.tvm.absent``): another module of this package, if
    that has the names, or else an empty package whose names raise errors."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = fullname.removeprefix(f"{PACKAGE}.")
        if name == fullname:
            return None
        absent = importlib.import_module(f"{PACKAGE}.absent")
        if name in absent.ANOTHER:
            return ModuleSpec(fullname, _Module(self._another(name, absent.ANOTHER[name])))
        return ModuleSpec(fullname, self, is_package=True) if absent.is_absent(name) else None

    def _another(self, name: str, place: str) -> str:
        """The full name of the module ``place``. If ``name`` is also a function of its package, here or in
        TVM, the package's attribute remains the function."""
        package, _, last = f"{PACKAGE}.{name}".rpartition(".")
        owner = sys.modules[package]
        known = last in dir(owner) or name in importlib.import_module(f"{PACKAGE}.absent").NAMES
        if known and not isinstance(getattr(owner, last), ModuleType):
            owner.__class__ = _KeepingFunctions
        return f"{PACKAGE}.{place}"

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return importlib.import_module(f"{PACKAGE}.absent").module(spec.name.removeprefix(f"{PACKAGE}."))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: ``create_module`` returns a complete module."""


def install() -> None:
    """Add one finder before Python's own and one after them, unless they are there already."""
    if not any(isinstance(finder, _Aliased) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Aliased())
        sys.meta_path.append(_NotHere())
