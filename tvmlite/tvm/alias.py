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


class _Aliased(MetaPathFinder, Loader):
    """Finds ``tvm.x`` as ``tvmlite.tvm.x`` while ``sys.modules["tvm"]`` is this package.

    Without it Python would find the same files under the alias's name and run each a second time, and classes
    of the two copies would not know each other.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{ALIAS}.") or sys.modules.get(ALIAS) is not sys.modules.get(PACKAGE):
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        real = PACKAGE + spec.name.removeprefix(ALIAS)
        module = importlib.import_module(real)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module has run under its own name; the import machinery put the alias's spec on it."""
        module.__spec__ = self._spec


class _NotHere(MetaPathFinder, Loader):
    """Finds the modules of TVM that are not here (``tvmlite.tvm.absent``), where no file has been found."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = fullname.removeprefix(f"{PACKAGE}.")
        if name == fullname or not importlib.import_module(f"{PACKAGE}.absent").is_absent(name):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return importlib.import_module(f"{PACKAGE}.absent").module(spec.name.removeprefix(f"{PACKAGE}."))

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def install() -> None:
    """Put the finders before and after Python's own, once."""
    if not any(isinstance(finder, _Aliased) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Aliased())
        sys.meta_path.append(_NotHere())
