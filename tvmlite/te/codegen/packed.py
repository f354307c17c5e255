"""Python functions wrapped as C functions, for compiled code that calls them by name."""

from __future__ import annotations

import ctypes
import re
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import Node, postorder
from tvmlite.runtime.ndarray import NDArray
from tvmlite.te import expr as e
from tvmlite.te.tensor import registry

_SCALARS = {
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
    **{f"{sign}int{n}": getattr(ctypes, f"c_{sign}int{n}") for sign in ("", "u") for n in (8, 16, 32, 64)},
}


def symbol_of(call: e.Foreign) -> str:
    """The symbol that ``call``, of a Python function with arguments of this form, is linked to."""
    return "tvmlite_packed_" + re.sub(r"\W", "_", f"{call.name}__{call.form}")


def packed_calls(functions: Iterable[Node]) -> list[e.Foreign]:
    """The calls of Python functions in ``functions``, one per symbol."""
    found: dict[str, e.Foreign] = {}
    for function in functions:
        for node in postorder(function):
            if isinstance(node, e.Foreign) and node.kind == "packed":
                found.setdefault(symbol_of(node), node)
    return list(found.values())


def callback(call: e.Foreign) -> Any:
    """A C function, to be kept alive, that calls the Python function registered under the call's name. One
    called for its effect is looked up at each call, so that it may be registered or replaced later. One
    called for its value is looked up now, as the code cannot continue without that value."""
    function = registry.get_global_func(call.name) if returns_value(call) else _late_bound(call.name)
    words = argument_words(call)
    types: list[Any] = []
    for word in words:
        dtype, _, rank = word.partition(":")
        if registry.text_of(word) is not None:
            continue
        if rank:
            types += [ctypes.c_void_p, *[ctypes.c_int64] * int(rank)]
        elif dtype in _SCALARS:
            types.append(_SCALARS[dtype])
        else:
            raise UnsupportedError(f"the function {call.name!r} cannot be given a {dtype} number")

    def run(*values: Any) -> int:
        try:
            _call(function, words, list(values))
        except Exception:  # cannot propagate through compiled code, whose caller raises an ExecutionError
            traceback.print_exc()
            return 1
        return 0

    def value(*values: Any) -> Any:
        return call_for_value(function, values, dtypes.numpy_of(call.dtype)).item()

    if returns_value(call):
        return ctypes.CFUNCTYPE(_SCALARS[call.dtype], *types)(value)
    return ctypes.CFUNCTYPE(ctypes.c_int32, *types)(run)


def _late_bound(name: str) -> Callable[..., Any]:
    """A function that calls the one registered as ``name`` at that time."""

    def function(*args: Any) -> Any:
        return registry.get_global_func(name)(*args)

    return function


def returns_value(call: e.Foreign) -> bool:
    """Whether the call's value is the function's result, and not a code that says whether it failed."""
    return call.form.partition(",")[0] == "="


def argument_words(call: e.Foreign) -> list[str]:
    """The words of ``call.form`` that describe arguments."""
    return [word for word in call.form.split(",") if word not in ("", "=")]


def call_for_value(function: Callable[..., Any], values: Sequence[Any], kind: np.dtype) -> Any:
    """The result of ``function`` for ``values``, as a number of ``kind``; the last of ``values`` if it
    returns None or raises, as an exception cannot propagate through compiled code."""
    try:
        made = function(*values)
        return kind.type(values[-1] if made is None else made)
    except Exception:
        traceback.print_exc()
        return kind.type(values[-1])


def _call(function: Callable[..., Any], words: list[str], values: list[Any]) -> None:
    given: list[Any] = []
    for word in words:
        dtype, _, rank = word.partition(":")
        if (text := registry.text_of(word)) is not None:
            given.append(text)
            continue
        if not rank:
            given.append(values.pop(0))
            continue
        address, shape = values[0], tuple(values[1 : 1 + int(rank)])
        del values[: 1 + int(rank)]
        kind = dtypes.numpy_of(dtype)
        size = int(np.prod(shape)) * kind.itemsize
        memory = (ctypes.c_char * size).from_address(address or 0)
        given.append(NDArray(shape, kind, buffer=memory))  # type: ignore[arg-type]
    function(*given)
