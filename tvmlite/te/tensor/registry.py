"""Registries by name: Python functions that compiled code calls, and the meanings of foreign functions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tvmlite.core import arguments
from tvmlite.core.abi import symbols
from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.core.span import Span

Function = TypeVar("Function", bound=Callable[..., Any])

MATMUL = "tvm.contrib.cblas.matmul"
"""A function that can be called by name without registration."""
TRACE = "tvm.default_trace_action"
"""The function that ``te.trace`` calls by default."""


def _matmul(a: np.ndarray, b: np.ndarray, c: np.ndarray, transa: bool = False, transb: bool = False) -> None:
    """Set ``c`` to the product of ``a`` and ``b``, each transposed if requested."""
    np.matmul(a.T if transa else a, b.T if transb else b, out=c)


def _show(*values: Any) -> None:
    """Print ``values`` on one line."""
    print(list(values))


_TEXT = "text="
_functions: dict[str, Callable[..., Any]] = {MATMUL: _matmul, TRACE: _show}
_rules: dict[str, Callable[..., Any]] = {}
_references: dict[str, Callable[..., Any]] = {symbols.NOW: time.monotonic_ns}


def register_func(name: str, function: Any = None, override: bool = False) -> Any:
    """Let ``te.call_packed(name, ...)`` call ``function``; returns a decorator if it is omitted.

    ``function`` receives numpy arrays that share the memory of the buffers, and Python numbers; it writes its
    outputs in place. An exception in it is printed, and makes the compiled function fail. A name in use is an
    error unless ``override`` is set.
    """
    arguments.text("register_func: name", name)
    arguments.boolean("register_func: override", override)
    if function is None:

        def decorate(found: Function) -> Function:
            register_func(name, found, override)
            return found

        return decorate
    arguments.function("register_func: function", function)
    if name in _functions and not override:
        raise TensorExpressionError(f"register_func: there is a function {name!r} already", Span.of_caller())
    _functions[name] = function
    return function


def get_global_func(name: str) -> Callable[..., Any]:
    """The Python function registered as ``name``; an UnsupportedError if there is none."""
    arguments.text("get_global_func: name", name)
    if name not in _functions:
        raise UnsupportedError(
            f"no function is registered as {name!r}",
            Span.of_caller(),
            hint=f"te.register_func({name!r}, function)",
        )
    return _functions[name]


def is_registered(name: str) -> bool:
    """Whether a Python function is registered as ``name``."""
    return name in _functions


def word_of(text: str) -> str:
    """The encoding in the form of a call of ``text``, an argument known at compile time."""
    return _TEXT + text.encode().hex()


def text_of(word: str) -> str | None:
    """The text encoded by ``word`` in the form of a call; None if the word is another argument's."""
    return bytes.fromhex(word.removeprefix(_TEXT)).decode() if word.startswith(_TEXT) else None


def register_reference(name: str, function: Callable[..., Any]) -> None:
    """Register what the C function or LLVM intrinsic ``name`` computes, for the interpreter: a function of
    numpy scalars or vectors, and of one-dimensional arrays in place of addresses."""
    arguments.text("register_reference: name", name)
    _references[name] = arguments.function("register_reference: function", function)


def reference(name: str) -> Callable[..., Any]:
    """The reference of the foreign function ``name``; an UnsupportedError if there is none."""
    if name not in _references:
        raise UnsupportedError(
            f"the interpreter does not know what {name!r} computes",
            hint=f"te.register_reference({name!r}, function)",
        )
    return _references[name]


def register_intrin_lowering(
    name: str, target: str = "default", f: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """Declare the intrinsic ``name`` (``"tir.mylog"``), which ``f(call)`` replaces by an expression.

    ``call`` has ``args``, ``dtype`` and ``name``. ``te.call_intrin`` applies the rule at once, so that its
    result is scheduled, vectorized and compiled. Rules apply to all targets: a ``target`` that is not a CPU
    is an error. Without ``f``, a decorator is returned. ``level`` is accepted for compatibility, unused.
    """
    arguments.text("register_intrin_lowering: name", name)
    arguments.text("register_intrin_lowering: target", target)
    if target not in ("default", "cpu", "llvm", "c"):
        raise TensorExpressionError(
            f"register_intrin_lowering: {name!r} for target {target!r}: rules are for all targets",
            Span.of_caller(),
            hint="tensor intrinsics can have special forms: te.decl_tensor_intrin(special=...)",
        )
    if f is None:

        def decorate(found: Function) -> Function:
            register_intrin_lowering(name, target, found, level)
            return found

        return decorate
    _rules[name.removeprefix("tir.")] = arguments.function(
        "register_intrin_lowering: f", f, TensorExpressionError
    )
    return f


def lowering_rule(name: str) -> Callable[..., Any] | None:
    """The rule of the intrinsic declared as ``name``, or None."""
    return _rules.get(name)
