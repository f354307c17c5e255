"""The kernels of a fused module: each distinct group once, keyed by everything its code depends on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from tvmlite.core import techniques
from tvmlite.core.cache import key_of
from tvmlite.core.node import postorder
from tvmlite.core.source_digest import source_digest
from tvmlite.machine.target import Target
from tvmlite.relay.entry.canonical_dims import Values, with_canonical_extents
from tvmlite.relay.entry.lower import operator_calls
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.nodes import Call, Function, Module
from tvmlite.relay.text import printer
from tvmlite.te.space import ConfigEntity


@dataclass(frozen=True)
class KernelTask:
    """One distinct kernel of a model.

    ``symbol`` is its name in the library, ``key`` the key under which it is cached. ``operators`` are the
    names of the group's operators; ``calls`` counts the groups that share the kernel. ``cacheable``: the key
    covers everything the kernel depends on, which it does not if an operator's compute or a schedule template
    is defined outside of the package. ``config`` sets the knobs of its schedule; None leaves them to the
    template. The kernel is lowered from ``canonical``; ``extents`` are the values that the group's caller
    passes for its dimensions (``canonical_dims``).
    """

    symbol: str
    key: str
    group: Function
    canonical: Function
    operators: tuple[str, ...]
    calls: int
    cacheable: bool = True
    config: ConfigEntity | None = None
    extents: Values = field(default_factory=dict)


def kernel_tasks(
    module: Module, target: Target, choose: Callable[[Function], ConfigEntity | None] = lambda _: None
) -> tuple[list[KernelTask], dict[Function, KernelTask]]:
    """The distinct kernels of ``module`` in order of first use, and the kernel of each group.

    ``choose`` returns the configuration of a group's schedule.
    """
    groups = list(fused_groups(module))
    configs = {group: choose(group) for group in groups}
    canonical = {group: with_canonical_extents(group) for group in groups}
    tables = json.dumps(list(techniques.code_functions()))
    keys = {group: _key(canonical[group][0], target, configs[group], tables) for group in groups}
    calls: dict[str, int] = {}
    for key in keys.values():
        calls[key] = calls.get(key, 0) + 1
    tasks: dict[str, KernelTask] = {}
    for group, key in keys.items():
        if key not in tasks:
            names = operator_names(group)
            cacheable = _is_of_package(names)
            symbol, config = _symbol(names, key), configs[group]
            tasks[key] = KernelTask(
                symbol, key, group, canonical[group][0], names, calls[key], cacheable, config
            )
    return list(tasks.values()), {
        group: replace(tasks[key], extents=canonical[group][1]) for group, key in keys.items()
    }


def fused_groups(module: Module) -> Iterator[Function]:
    """The groups that ``main`` calls, in order."""
    for node in postorder(module.main.body):
        if isinstance(node, Call) and isinstance(node.op, Function):
            yield node.op


def operator_names(group: Function) -> tuple[str, ...]:
    """The operators of ``group``, producers first."""
    return tuple(str(call.op) for call in operator_calls(group))


def _symbol(names: tuple[str, ...], key: str) -> str:
    """``fused_nn_conv2d_add_nn_relu_1a2b3c4d``: the operators, and a hash that makes the symbol unique."""
    words = "_".join(name.replace(".", "_") for name in names)
    if len(words) > 80:
        words = f"{words[:80].rstrip('_')}_and_more"
    return f"fused_{words}_{key[:10]}"


def _key(group: Function, target: Target, config: ConfigEntity | None, tables: str) -> str:
    """The key of a kernel; ``tables`` lists the code generators that techniques have registered."""
    knobs = () if config is None else (json.dumps(config.to_json_dict()),)
    return key_of("kernel", source_digest(), target.with_cores, printer.show(group), tables, *knobs)


def _is_of_package(names: tuple[str, ...]) -> bool:
    """Whether all code that builds kernels of the operators ``names`` belongs to the package."""
    modules = [operators.get(name).compute.__module__ for name in names]
    modules += [module for _, module in techniques.code_functions()]
    return all(module.startswith("tvmlite.") for module in modules)
