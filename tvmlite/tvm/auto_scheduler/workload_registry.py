"""Workloads: functions that give the tensors of a computation, by name."""

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
"""Before the names of workloads, so that they are no templates of others."""

WORKLOAD_FUNC_REGISTRY: dict[str, Callable[..., Any]] = {}
"""The registered functions by name, and those of tensors by their whole key."""


def register_workload(func_name: Any, f: Callable[..., Any] | None = None, override: bool = False) -> Any:
    """Register a function that gives a list of tensors, as a decorator: ``@register_workload``, or with a
    name of its own, ``@register_workload("name")``. A name that is taken is an InputError, unless
    ``override``."""
    if callable(func_name):
        return register_workload(func_name.__name__, func_name, override)
    if f is None:
        return functools.partial(register_workload, func_name, override=override)
    _register(func_name, func_name, f, override)
    return f


def _register(key: str, name: str, f: Callable[..., Any], override: bool) -> None:
    """Let ``key`` stand for ``f``, and ``name`` for its template."""
    if not override and WORKLOAD_FUNC_REGISTRY.get(key, f) is not f:
        raise InputError(
            f"register_workload: {key!r} is registered already", hint="override=True replaces it"
        )
    WORKLOAD_FUNC_REGISTRY[key] = f
    template(PREFIX + name, f)


def register_workload_tensors(workload_key: str, tensors: Sequence[Tensor], override: bool = True) -> str:
    """Register ``tensors`` under ``workload_key``, which is returned. A key that is taken is an InputError,
    unless ``override``."""
    _register(
        workload_key, workload_func_name(workload_key), functools.partial(list, tuple(tensors)), override
    )
    return workload_key


def make_workload_key(func: Any, args: Sequence[Any]) -> str:
    """The key of a registered function, given as such or by name, with ``args``."""
    name = func if isinstance(func, str) else getattr(func, "__name__", str(func))
    if callable(func) and WORKLOAD_FUNC_REGISTRY.get(name) is not func:
        name = next((key for key, one in WORKLOAD_FUNC_REGISTRY.items() if one is func), name)
    _check_registered(name)
    return json.dumps([name, *encode_args(args)])


def decode_workload_key(workload_key: str) -> tuple[Any, ...]:
    """The name and the arguments of a key."""
    try:
        fields = json.loads(workload_key)
    except ValueError:
        fields = [workload_key]
    if not isinstance(fields, list) or not fields or not isinstance(fields[0], str):
        raise InputError(f"{workload_key[:80]!r} is no key of a workload")
    return tuple(_tuples(fields))


def checked_key(workload_key: str) -> tuple[Any, ...]:
    """As ``decode_workload_key``; an InputError if nothing is registered under the key, or its name."""
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
    """The tensors of the workload."""
    if workload_key in WORKLOAD_FUNC_REGISTRY:
        return list(WORKLOAD_FUNC_REGISTRY[workload_key]())
    name, *args = checked_key(workload_key)
    return list(WORKLOAD_FUNC_REGISTRY[name](*args))


def serialize_workload_registry_entry(workload_key: str) -> tuple[str, Callable[..., Any]]:
    """The name and the function of a key, to be registered in another process."""
    is_whole = workload_key in WORKLOAD_FUNC_REGISTRY
    name = workload_key if is_whole else workload_func_name(workload_key)
    _check_registered(name)
    return name, WORKLOAD_FUNC_REGISTRY[name]


def deserialize_workload_registry_entry(data: tuple[str, Callable[..., Any]]) -> None:
    """Register what ``serialize_workload_registry_entry`` gave, unless its name is taken."""
    name, function = data
    if name not in WORKLOAD_FUNC_REGISTRY:
        _register(name, workload_func_name(name), function, override=False)


def workload_func_name(workload_key: str) -> str:
    """The name of the function of a key."""
    return decode_workload_key(workload_key)[0]


def _tuples(fields: Sequence[Any]) -> list[Any]:
    return [tuple(_tuples(one)) if isinstance(one, list) else one for one in fields]


__getattr__ = refusing(__name__)
