"""The tuning tasks of a whole model: its kernels, as ``relay.build`` fuses them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import InputError
from tvmlite.core.node import reachable, substitute
from tvmlite.core.span import warn
from tvmlite.driver import compile
from tvmlite.relay.entry import tasks
from tvmlite.relay.ir.nodes import Call, Constant, Function, Module
from tvmlite.te import space
from tvmlite.tvm.autotvm import targets
from tvmlite.tvm.autotvm.task.task import Task
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay.build_module import prepared


def extract_from_program(
    mod: Any,
    params: Mapping[str, Any] | None,
    target: Any,
    target_host: Any = None,
    ops: Iterable[Any] | None = None,
) -> list[Task]:
    """Return the tasks of ``mod``, a module or a function, without duplicates: its kernels that have more
    than one schedule.

    ``ops`` are operators or their names: only kernels that contain one of them are returned, or, if no kernel
    contains it any more, kernels that passes have derived from it. A kernel is a fused group here, so a
    convolution with a relu is another task than one without. In TVM a task is a single operator: for most
    models TVM extracts fewer tasks, and its logs do not match these tasks. Inputs must have fixed shapes.
    """
    return [Task.of(core, target) for core, _ in kernel_tasks(mod, params, target, ops)]


def extract_from_multiple_program(
    mods: Sequence[Any],
    params: Sequence[Mapping[str, Any] | None],
    target: Any,
    target_host: Any = None,
    ops: Iterable[Any] | None = None,
) -> list[Task]:
    """Return the tasks of several models, without duplicates."""
    wanted = None if ops is None else list(ops)
    found: dict[str, space.Task] = {}
    for mod, given in zip(mods, params, strict=True):
        found |= {core.key: core for core, _ in kernel_tasks(mod, given, target, wanted)}
    return [Task.of(core, target) for core in found.values()]


def kernel_tasks(
    mod: Any, params: Mapping[str, Any] | None, target: Any, ops: Iterable[Any] | None = None
) -> list[tuple[space.Task, int]]:
    """Return the tasks of ``mod``, each with the number of its kernel's calls in a run."""
    wanted = None if ops is None else {_name(one) for one in ops}
    machine = targets.machine(target)
    found: dict[str, tuple[space.Task, int]] = {}
    module = bound(mod, params)
    kernels = compile(module, machine).kernels
    for kernel in kernels if wanted is None else _kernels_of(kernels, module, wanted):
        group = kernel.task.group
        if tasks.why_no_task(group):
            continue
        core = tasks.task_of(group, machine)
        if len(core.config_space) > 1:
            calls = found[core.key][1] if core.key in found else 0
            found[core.key] = core, calls + kernel.task.calls
    return list(found.values())


def _kernels_of(kernels: Sequence[Any], module: Module, wanted: Iterable[str]) -> list[Any]:
    """Select the ``kernels`` that contain a ``wanted`` operator, or that compute a part of one that passes
    have decomposed. Warns if an operator of ``module`` is found in no kernel."""
    chosen: set[int] = set()
    for one in sorted(wanted):
        found = [k for k in kernels if any(_stands_for(name, one) for name in k.task.operators)]
        if not found:
            calls = [n for n in reachable(module.main.body) if isinstance(n, Call) and n.op == one]
            found = [k for k in kernels if _comes_from(k.task.group, calls)]
            if calls and not found:
                warn(
                    f"extract_from_program: no kernel has {one}, it is left out or computed by others; there "
                    "are tasks of these without ops="
                )
        chosen.update(map(id, found))
    return [k for k in kernels if id(k) in chosen]


def _comes_from(group: Function, calls: Iterable[Call]) -> bool:
    """Whether ``group`` computes a part of one of ``calls``: passes keep the span of the original call."""
    spans = {id(one.span) for one in calls if one.span is not None}
    return any(isinstance(one, Call) and id(one.span) in spans for one in reachable(group.body))


def bound(mod: Any, params: Mapping[str, Any] | None) -> Module:
    """Return ``mod`` as a module in which the parameters named in ``params`` are constants."""
    if type(mod).__module__.startswith("tvmlite.tvm."):
        whole = mod if isinstance(mod, IRModule) else IRModule.from_expr(mod)
        return prepared(whole, params or {})
    main = mod.functions["main"] if isinstance(mod, Module) else mod
    if not isinstance(main, Function):
        raise InputError(
            f"extract_from_program: a {type(mod).__name__} given, expected a module or a function"
        )
    given = dict(params or {})
    chosen = {one: Constant(np.asarray(given[one.name])) for one in main.params if one.name in given}
    if not chosen:
        return mod if isinstance(mod, Module) else Module({"main": main})
    left = tuple(one for one in main.params if one not in chosen)
    return Module({"main": Function(left, substitute(main.body, chosen))})


def _name(op: Any) -> str:
    return op if isinstance(op, str) else str(getattr(op, "name", op))


_FORMS = ("contrib_", "depthwise_")
_OTHERS = ("_transpose",)
"""Suffixes that name a different operator of the model, not a form of the same one."""


def _stands_for(name: str, wanted: str) -> bool:
    """Whether a kernel's operator ``name`` is ``wanted`` or a form of it that passes create:
    ``nn.contrib_conv2d_NCHWc`` is a form of ``nn.conv2d``."""
    room, _, short = name.rpartition(".")
    wanted_room, _, base = wanted.rpartition(".")
    for form in _FORMS:
        short = short.removeprefix(form)
    is_form = short.startswith(f"{base}_") and not short.removeprefix(base).startswith(_OTHERS)
    return room == wanted_room and (short == base or is_form)
