"""Functions with different implementations for different targets: ``tvm.target.generic_func``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import InputError, TargetError
from tvmlite.core.span import Span
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.target.target import Target

_known: dict[str, GenericFunc] = {}


class GenericFunc:
    """A function that dispatches on the current target, ``with tvm.target.Target(...)``: it calls the
    function registered for the target's kind, or for the first of its keys that has one, or else
    ``default``."""

    def __init__(self, default: Callable[..., Any], name: str = "") -> None:
        self.default, self.name = default, name or default.__name__
        self.dispatch: dict[str, Callable[..., Any]] = {}
        functools.update_wrapper(self, default)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function for the current target."""
        target = Target.current()
        keys = [] if target is None else [str(target.kind), *target.keys]
        chosen = next((self.dispatch[key] for key in keys if key in self.dispatch), self.default)
        return chosen(*args, **named)

    def set_default(self, func: Callable[..., Any], allow_override: bool = False) -> None:
        """Set the function for all other targets to ``func``."""
        self.default = arguments.function("generic_func: func", func)

    def register(
        self,
        func_or_keys: Any,
        key_list: Sequence[str] | None = None,
        allow_override: bool = False,
    ) -> Any:
        """Register a function for keys: as a decorator ``register(keys)``, or ``register(function,
        keys)``."""
        if not callable(func_or_keys):
            return lambda func: self.register(func, func_or_keys, allow_override)
        keys = [key_list] if isinstance(key_list, str) else list(key_list or ())
        for key in keys:
            if key in self.dispatch and not allow_override:
                raise TargetError(f"{self.name}: {key!r} has a function already", Span.of_caller())
            self.dispatch[key] = func_or_keys
        return func_or_keys

    def get_packed_func(self) -> GenericFunc:
        """Return a copy with the functions that are registered now."""
        made = GenericFunc(self.default, self.name)
        made.dispatch.update(self.dispatch)
        return made


def generic_func(fdefault: Callable[..., Any]) -> GenericFunc:
    """Decorator that makes a function the default of a ``GenericFunc``."""
    return GenericFunc(arguments.function("generic_func: fdefault", fdefault))


def get_native_generic_func(name: str) -> GenericFunc:
    """Return the function that ``override_native_generic_func`` has registered as ``name``."""
    if name not in _known:
        raise InputError(f"get_native_generic_func: there is no function {name!r}", Span.of_caller())
    return _known[name]


def override_native_generic_func(func_name: str) -> Callable[[Callable[..., Any]], GenericFunc]:
    """Decorator that makes a function the default of the ``GenericFunc`` named ``func_name``."""

    def decorate(fdefault: Callable[..., Any]) -> GenericFunc:
        _known[func_name] = GenericFunc(fdefault, func_name)
        return _known[func_name]

    return decorate


__getattr__ = refusing(__name__)
