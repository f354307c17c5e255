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
    """The tasks of ``mod``, a module or a function, each once: its kernels that have more than one schedule.

    ``ops`` are operators, or their names: only kernels that contain one of them count. A kernel is a fused
    group here, so that a convolution with a relu is another task than one without. TVM's
    tasks are operators: of most models it extracts fewer, and its logs of them do not match. Inputs must have
    fixed shapes.
    """
    return [Task.of(core, target) for core, _ in kernel_tasks(mod, params, target, ops)]


def extract_from_multiple_program(
    mods: Sequence[Any],
    params: Sequence[Mapping[str, Any] | None],
    target: Any,
    target_host: Any = None,
    ops: Iterable[Any] | None = None,
) -> list[Task]:
    """The tasks of several models, each once."""
    wanted = None if ops is None else list(ops)
    found: dict[str, space.Task] = {}
    for mod, given in zip(mods, params, strict=True):
        found |= {core.key: core for core, _ in kernel_tasks(mod, given, target, wanted)}
    return [Task.of(core, target) for core in found.values()]


def kernel_tasks(
    mod: Any, params: Mapping[str, Any] | None, target: Any, ops: Iterable[Any] | None = None
) -> list[tuple[space.Task, int]]:
    """The tasks of ``mod`` with how often each kernel is called in a run."""
    wanted = None if ops is None else {_name(one) for one in ops}
    machine = targets.machine(target)
    found: dict[str, tuple[space.Task, int]] = {}
    module = bound(mod, params)
    kernels = compile(module, machine).kernels
    _warn_of_missing(module, wanted or (), {name for kernel in kernels for name in kernel.task.operators})
    for kernel in kernels:
        group = kernel.task.group
        names = kernel.task.operators
        if wanted is not None and not any(_stands_for(name, one) for name in names for one in wanted):
            continue
        if tasks.why_no_task(group):
            continue
        core = tasks.task_of(group, machine)
        if len(core.config_space) > 1:
            calls = found[core.key][1] if core.key in found else 0
            found[core.key] = core, calls + kernel.task.calls
    return list(found.values())


def _warn_of_missing(module: Module, wanted: Iterable[str], names: Iterable[str]) -> None:
    """Warn of operators of ``module`` that are ``wanted``, and that no kernel has: passes took them apart."""
    there = {str(node.op) for node in reachable(module.main.body) if isinstance(node, Call)}
    for one in sorted(there.intersection(wanted)):
        if not any(_stands_for(name, one) for name in names):
            warn(
                f"extract_from_program: no kernel has {one}, it is computed by others; there are tasks of "
                "these without ops="
            )


def bound(mod: Any, params: Mapping[str, Any] | None) -> Module:
    """``mod`` as a module whose parameters named in ``params`` are constants."""
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
"""What distinguishes an operator of the model from another, and not a form of it."""


def _stands_for(name: str, wanted: str) -> bool:
    """Whether the operator ``name`` of a kernel is ``wanted``, or a form of it that passes make:
    ``nn.contrib_conv2d_NCHWc`` is one of ``nn.conv2d``."""
    room, _, short = name.rpartition(".")
    wanted_room, _, base = wanted.rpartition(".")
    for form in _FORMS:
        short = short.removeprefix(form)
    is_form = short.startswith(f"{base}_") and not short.removeprefix(base).startswith(_OTHERS)
    return room == wanted_room and (short == base or is_form)
