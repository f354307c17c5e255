"""Compiles kernels: each is lowered, legalised and compiled to an object once, then cached on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvmlite.core.cache import ObjectCache
from tvmlite.core.errors import TvmliteError
from tvmlite.core.node import reachable, substitute
from tvmlite.machine.target import Target
from tvmlite.model.forked_work import divided_among_processes
from tvmlite.relay.entry.entry import KernelInterface
from tvmlite.relay.entry.kernels import KernelTask
from tvmlite.relay.entry.lower import LoweredGroup, dimensions, lowered_group
from tvmlite.relay.ir.dims import dim
from tvmlite.relay.ir.nodes import Function
from tvmlite.te import expr as e
from tvmlite.te.arith import simplify
from tvmlite.te.codegen import jit
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop import serialize
from tvmlite.te.loop.passes import legalize


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel ready to link: its interface and its code.

    For LLVM targets the code is the relocatable ``object``, possibly from the cache. For C it is ``legal``,
    the loop IR: all functions of a library go into one source. ``template`` scheduled its loops.
    """

    task: KernelTask
    interface: KernelInterface
    object: bytes = b""
    legal: loop.Function | None = None
    from_cache: bool = False
    template: str = ""


def compile_kernels(
    tasks: Sequence[KernelTask],
    target: Target,
    cache: ObjectCache | None,
    progress: Callable[[str, int, int], object] | None = None,
) -> dict[str, CompiledKernel]:
    """Return the kernels of ``tasks`` by key; ``progress`` is as in ``driver.compile``.

    Kernels that are not in the cache are compiled into it by as many processes as there are processors.
    """
    new = {number for number, task in enumerate(tasks) if _is_new(task, target, cache)}
    made: dict[int, CompiledKernel] = {}

    def compile_one(number: int) -> None:
        if progress is not None:
            progress("compiling kernels", number, len(tasks))
        made[number] = compile_kernel(tasks[number], target, cache)

    def compile_into_cache(number: int) -> None:
        compile_kernel(tasks[number], target, cache)

    with divided_among_processes(sorted(new), compile_into_cache, jit.exclusive()) as own_numbers:
        for number in own_numbers:
            compile_one(number)
    for number in range(len(tasks)):
        if number not in made:
            compile_one(number)
            if number in new:
                made[number] = replace(made[number], from_cache=False)
    return {task.key: made[number] for number, task in enumerate(tasks)}


def _is_new(task: KernelTask, target: Target, cache: ObjectCache | None) -> bool:
    """Whether a kernel has to be compiled and then cached."""
    if cache is None or target.kind == "c" or not task.cacheable:
        return False
    stored = cache.get(task.key)
    return stored is None or not cache.has(jit.object_key(json.loads(stored)["module"], target))


def compile_kernel(task: KernelTask, target: Target, cache: ObjectCache | None) -> CompiledKernel:
    """Return the kernel of ``task`` for ``target``, from the cache if it is there."""
    if target.kind == "c":
        lowered = _lowered(task, target)
        legal = _for_threads(legalize(lowered.function, target), target)
        return CompiledKernel(task, interface_of(task, legal), legal=legal, template=lowered.template)
    cache = cache if task.cacheable else None
    if cache is not None and (stored := _stored_kernel(task, target, cache)):
        return stored
    lowered = _lowered(task, target)
    function = legalize(lowered.function, target)
    interface, text = interface_of(task, function), llvm.generate(function, target)
    machine_code = jit.compile_object(text, target)
    if cache is not None:
        entry = {
            "interface": _encode(interface),
            "module": jit.module_digest(text),
            "template": lowered.template,
        }
        cache.put(task.key, json.dumps(entry).encode())
    return CompiledKernel(task, interface, machine_code, template=lowered.template)


def _stored_kernel(task: KernelTask, target: Target, cache: ObjectCache) -> CompiledKernel | None:
    """The kernel of ``task`` from the cache, which has its interface under the task's key and its code under
    that of its module; None if one of them is missing."""
    stored = cache.get(task.key)
    if stored is None:
        return None
    entry = json.loads(stored)
    machine_code = cache.get(jit.object_key(entry["module"], target))
    if machine_code is None:
        return None
    interface = _decode(entry["interface"])
    return CompiledKernel(task, interface, machine_code, from_cache=True, template=entry["template"])


def lowered_kernel(task: KernelTask, target: Target) -> loop.Function:
    """Return the kernel of ``task`` in structured loop IR."""
    return _lowered(task, target).function


def _lowered(task: KernelTask, target: Target) -> LoweredGroup:
    try:
        return lowered_group(task.canonical, target, task.symbol, task.config)
    except TvmliteError as error:
        error.add_note(f"while lowering the kernel {task.symbol}")
        raise


def legal_kernel(task: KernelTask, target: Target) -> loop.Function:
    """Return the kernel of ``task`` in legal loop IR, the input of the code generators."""
    return _for_threads(legalize(lowered_kernel(task, target), target), target)


def _for_threads(function: loop.Function, target: Target) -> loop.Function:
    """Specialize ``function`` for the most threads of a ``target`` with statically planned memory."""
    if not target.standalone or target.num_cores == 1:
        return function
    known: dict[Any, Any] = {loop.THREADS: e.const(target.num_cores, e.INDEX)}
    size = None if function.workspace is None else simplify(substitute(function.workspace, known))
    return replace(function, body=substitute(function.body, known), workspace=size)


def interface_of(task: KernelTask, function: loop.Function) -> KernelInterface:
    """Return the interface of the kernel for its callers."""
    sweeps = any(
        isinstance(node, loop.For) and node.alternates_direction for node in reachable(function.body)
    )
    return KernelInterface(
        task.symbol, dimensions(task.canonical), function.workspace, function.messages, sweeps
    )


def interfaces_of(
    task_of: Mapping[Function, KernelTask], kernels: Mapping[str, CompiledKernel]
) -> dict[Function, KernelInterface]:
    """Return the interface of each group, given its task; ``kernels`` are by the tasks' keys."""
    return {group: kernels[task.key].interface.at(task.extents) for group, task in task_of.items()}


def _encode(interface: KernelInterface) -> dict[str, Any]:
    sizes = [size for size in interface.sizes if isinstance(size, e.Var)]
    workspace = interface.workspace
    return {
        "symbol": interface.symbol,
        "sizes": [size.name for size in sizes],
        "workspace": None if workspace is None else serialize.encode(workspace, sizes).decode(),
        "messages": list(interface.messages),
        "sweeps": interface.sweeps,
    }


def _decode(fields: dict[str, Any]) -> KernelInterface:
    sizes, workspace = tuple(map(dim, fields["sizes"])), fields["workspace"]
    return KernelInterface(
        fields["symbol"],
        sizes,
        None if workspace is None else serialize.decode(workspace, sizes),
        tuple(fields["messages"]),
        fields["sweeps"],
    )
