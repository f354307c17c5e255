"""After ``sys.modules["tvm"] = tvmlite.tvm`` an import of ``tvm.x`` gives ``tvmlite.tvm.x`` itself."""

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
    """Loads the module ``name``, which then has two names.

    Without it Python would find the same file under the second name and run it again, and classes of the two
    copies would not know each other.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module has run under its own name; the import machinery put another's spec on it."""
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
    """A package, one of whose functions has the name of a module in it, as ``tvm.topi.nn.conv2d``: importing
    the module does not put it in the function's place."""

    def __setattr__(self, name: str, value: object) -> None:
        if not isinstance(value, ModuleType) or isinstance(getattr(self, name, value), ModuleType):
            super().__setattr__(name, value)


class _NotHere(MetaPathFinder, Loader):
    """Finds the modules of TVM that have no file here (``tvmlite.tvm.absent``): where the names of one are in
    another module, that."""

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
        """The module ``tvm.<place>``. Where ``name`` is a function of its package too, here or in TVM, that
        stays what the package's attribute is."""
        package, _, last = f"{PACKAGE}.{name}".rpartition(".")
        owner = sys.modules[package]
        known = last in dir(owner) or name in importlib.import_module(f"{PACKAGE}.absent").NAMES
        if known and not isinstance(getattr(owner, last), ModuleType):
            owner.__class__ = _KeepingFunctions
        return f"{PACKAGE}.{place}"

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return importlib.import_module(f"{PACKAGE}.absent").module(spec.name.removeprefix(f"{PACKAGE}."))

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def install() -> None:
    """Put the finders before and after Python's own, once."""
    if not any(isinstance(finder, _Aliased) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Aliased())
        sys.meta_path.append(_NotHere())
