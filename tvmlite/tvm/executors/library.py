"""What TVM's modules of a compiled model have beside what runs it."""

from __future__ import annotations

from typing import Any, NoReturn

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.model.artifact import CompiledModule
from tvmlite.te.extensions import extend
from tvmlite.tvm.runtime.module import form_of


class ModelNames:
    """Names of ``tvm.runtime.Module`` that a compiled model has."""

    @property
    def type_key(self: Any) -> str:
        """``"llvm"`` or ``"c"``."""
        return str(_model(self).target.kind)

    @property
    def imported_modules(self) -> list[Any]:
        """None: all of a model is one module."""
        return []

    def get_source(self: Any, fmt: str = "") -> str:
        """The code of all kernels as text: ``"ll"`` for LLVM IR, ``"asm"``, ``"c"``; by default what is
        compiled."""
        return _model(self).source(form_of(fmt, self.type_key))

    def export_library(self: Any, file_name: Any, fcompile: Any = None, **options: Any) -> None:
        """Write the library to ``file_name``; a tar archive holds its objects and sources. ``fcompile`` and
        options of a linker are of no account."""
        _model(self).export(file_name)

    def import_module(self, module: Any) -> NoReturn:
        """An error: a model is a module by itself."""
        raise UnsupportedError(
            "import_module: a compiled model takes no further functions",
            Span.of_caller(),
            hint="export_library of each, and tvm.runtime.load_module of both",
        )


def _model(given: Any) -> CompiledModule:
    return given if isinstance(given, CompiledModule) else given.lib


extend(CompiledModule, ModelNames)
