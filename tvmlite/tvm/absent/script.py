"""``tvm.script``: a program may contain TVMScript, but cannot use the functions written in it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.absent.modules import LOOPS

_READERS = ("from_source", "parse")


class Script(ModuleType):
    """``tvm.script`` or a module below it. Its decorators and annotations are accepted; using what they
    describe is an UnsupportedError."""

    def __init__(self, name: str) -> None:
        super().__init__(f"tvmlite.tvm.{name}", f"TVMScript, which is not read: {LOOPS}.")
        self.__path__: list[str] = []
        self.absent_because = f"TVMScript is not read: {LOOPS}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Unread(f"tvm.script.{name}") if name in _READERS else Mentioned(f"tvm.script.{name}")


class Mentioned:
    """A name of TVMScript that a program contains."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Mentioned:
        if name.startswith("__"):
            raise AttributeError(name)
        return Mentioned(f"{self._name}.{name}")

    def __getitem__(self, _: Any) -> Mentioned:
        return self

    def __call__(self, *args: Any, **_: Any) -> Any:
        """As a decorator, return an ``Unread`` for the decorated function; else return the name itself."""
        decorates = len(args) == 1 and callable(args[0]) and hasattr(args[0], "__qualname__")
        return Unread(args[0].__qualname__) if decorates else self

    def __index__(self) -> int:
        """Raise an UnsupportedError: the name is not a number outside TVMScript."""
        return Unread(self._name)()


class Unread:
    """A function or module in TVMScript. Using it is an UnsupportedError."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self()

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Raise the UnsupportedError."""
        raise UnsupportedError(f"{self._name}: TVMScript is not in tvmlite", Span.of_caller(), LOOPS)

    __getitem__ = __iter__ = __len__ = __call__
