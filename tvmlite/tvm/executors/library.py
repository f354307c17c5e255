"""The attributes that TVM's module of a compiled model has besides those for running it."""

from __future__ import annotations

from typing import Any, NoReturn

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.model.artifact import CompiledModule
from tvmlite.te.extensions import extend
from tvmlite.tvm.runtime.module import form_of


class ModelNames:
    """Attributes of ``tvm.runtime.Module`` that are added to compiled models."""

    @property
    def type_key(self: Any) -> str:
        """``"llvm"`` or ``"c"``."""
        return str(_model(self).target.kind)

    @property
    def imported_modules(self) -> list[Any]:
        """Always empty: a model is a single module."""
        return []

    def get_source(self: Any, fmt: str = "") -> str:
        """Return the code of all kernels as text: ``"ll"`` for LLVM IR, ``"asm"``, ``"c"``; the default is C
        for a C target, else LLVM IR."""
        return _model(self).source(form_of(fmt, self.type_key))

    def export_library(self: Any, file_name: Any, fcompile: Any = None, **options: Any) -> None:
        """Write the library to ``file_name``; a tar archive contains its objects and sources. ``fcompile``
        and linker options have no effect."""
        _model(self).export(file_name)

    def import_module(self, module: Any) -> NoReturn:
        """Raise an UnsupportedError: a model cannot import modules."""
        raise UnsupportedError(
            "import_module: a compiled model takes no further functions",
            Span.of_caller(),
            hint="export_library of each, and tvm.runtime.load_module of both",
        )


def _model(given: Any) -> CompiledModule:
    return given if isinstance(given, CompiledModule) else given.lib


extend(CompiledModule, ModelNames)
