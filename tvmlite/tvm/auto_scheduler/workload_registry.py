"""Registry of workloads: named functions that return the tensors of a computation."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.autotune.search.templates import template
from tvmlite.core.errors import InputError
from tvmlite.te.space import encode_args
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing

PREFIX = "auto_scheduler/"
"""A prefix of workload names that keeps them apart from the names of other templates."""

WORKLOAD_FUNC_REGISTRY: dict[str, Callable[..., Any]] = {}
"""The registered functions by name; registered tensors are entered as functions under their whole key."""


def register_workload(func_name: Any, f: Callable[..., Any] | None = None, override: bool = False) -> Any:
    """Register a function that returns a list of tensors, as a decorator: ``@register_workload``, or under
    another name ``@register_workload("name")``. A name in use is an InputError unless ``override`` is
    true."""
    if callable(func_name):
        return register_workload(func_name.__name__, func_name, override)
    if f is None:
        return functools.partial(register_workload, func_name, override=override)
    _register(func_name, func_name, f, override)
    return f


def _register(key: str, name: str, f: Callable[..., Any], override: bool) -> None:
    """Register ``f`` under ``key``, and its template under ``name``."""
    if not override and WORKLOAD_FUNC_REGISTRY.get(key, f) is not f:
        raise InputError(
            f"register_workload: {key!r} is registered already", hint="override=True replaces it"
        )
    WORKLOAD_FUNC_REGISTRY[key] = f
    template(PREFIX + name, f)


def register_workload_tensors(workload_key: str, tensors: Sequence[Tensor], override: bool = True) -> str:
    """Register ``tensors`` under ``workload_key`` and return the key. A key in use is an InputError unless
    ``override`` is true."""
    _register(
        workload_key, workload_func_name(workload_key), functools.partial(list, tuple(tensors)), override
    )
    return workload_key


def make_workload_key(func: Any, args: Sequence[Any]) -> str:
    """Return the key of a registered function, given as a function or by name, with ``args``."""
    name = func if isinstance(func, str) else getattr(func, "__name__", str(func))
    if callable(func) and WORKLOAD_FUNC_REGISTRY.get(name) is not func:
        name = next((key for key, one in WORKLOAD_FUNC_REGISTRY.items() if one is func), name)
    _check_registered(name)
    return json.dumps([name, *encode_args(args)])


def decode_workload_key(workload_key: str) -> tuple[Any, ...]:
    """Return the name and the arguments in a key."""
    try:
        fields = json.loads(workload_key)
    except ValueError:
        fields = [workload_key]
    if not isinstance(fields, list) or not fields or not isinstance(fields[0], str):
        raise InputError(f"{workload_key[:80]!r} is no key of a workload")
    return tuple(_tuples(fields))


def checked_key(workload_key: str) -> tuple[Any, ...]:
    """Like ``decode_workload_key``; an InputError if neither the key nor its name is registered."""
    fields = decode_workload_key(workload_key)
    if workload_key not in WORKLOAD_FUNC_REGISTRY:
        _check_registered(fields[0])
    return fields


def _check_registered(name: str) -> None:
    if name not in WORKLOAD_FUNC_REGISTRY:
        raise InputError(
            f"there is no workload {name!r}; there are {', '.join(sorted(WORKLOAD_FUNC_REGISTRY)) or 'none'}",
            hint="@auto_scheduler.register_workload above the function registers it",
        )


def workload_key_to_tensors(workload_key: str) -> list[Tensor]:
    """Return the tensors of the workload."""
    if workload_key in WORKLOAD_FUNC_REGISTRY:
        return list(WORKLOAD_FUNC_REGISTRY[workload_key]())
    name, *args = checked_key(workload_key)
    return list(WORKLOAD_FUNC_REGISTRY[name](*args))


def serialize_workload_registry_entry(workload_key: str) -> tuple[str, Callable[..., Any]]:
    """Return the name and the function of a key, for registration in another process."""
    is_whole = workload_key in WORKLOAD_FUNC_REGISTRY
    name = workload_key if is_whole else workload_func_name(workload_key)
    _check_registered(name)
    return name, WORKLOAD_FUNC_REGISTRY[name]


def deserialize_workload_registry_entry(data: tuple[str, Callable[..., Any]]) -> None:
    """Register a result of ``serialize_workload_registry_entry``, unless its name is in use."""
    name, function = data
    if name not in WORKLOAD_FUNC_REGISTRY:
        _register(name, workload_func_name(name), function, override=False)


def workload_func_name(workload_key: str) -> str:
    """Return the name of a key's function."""
    return decode_workload_key(workload_key)[0]


def _tuples(fields: Sequence[Any]) -> list[Any]:
    return [tuple(_tuples(one)) if isinstance(one, list) else one for one in fields]


__getattr__ = refusing(__name__)
