"""The result of ``tvm.lower``: functions in loop IR, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.te.loop import ir
from tvmlite.tvm.marks import with_marked_constants


class LoweredModule(Mapping[str, ir.Function]):
    """Functions in loop IR, by name, printed as loops. ``module["main"].body`` is a function's loops."""

    def __init__(self, functions: Mapping[str, ir.Function]) -> None:
        self.functions = dict(functions)
        for function in self.functions.values():
            with_marked_constants(function)
            for extent in (n for buffer in function.buffers for n in buffer.shape):
                with_marked_constants(extent)

    def __getitem__(self, name: Any) -> ir.Function:
        name = getattr(name, "name_hint", name)
        if name not in self.functions:
            known = ", ".join(self.functions) or "none"
            raise InputError(f"the module has no function {name!r}; there are: {known}")
        return self.functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    @property
    def body(self) -> ir.Stmt:
        """The loops of the module's only function."""
        if len(self.functions) != 1:
            raise InputError(f"the module has {len(self.functions)} functions: module[name].body")
        return next(iter(self.functions.values())).body

    def get_global_vars(self) -> list[str]:
        """Return the names of the functions."""
        return list(self.functions)

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """Return the functions as text; the parameters are TVM's and have no effect."""
        return str(self)

    def script(self, *_: Any, **__: Any) -> str:
        """Return the functions as printed loops, not as TVMScript."""
        return str(self)

    def show(self, *_: Any, **__: Any) -> None:
        """Print the functions."""
        print(self)

    def __str__(self) -> str:
        return "\n\n".join(str(function) for function in self.functions.values())

    __repr__ = __str__
