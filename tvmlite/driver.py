"""The whole story: a model is imported, improved, fused, lowered, compiled, and ready to call.

    model -> relay -> passes -> fused groups -> te schedules -> loop IR -> LLVM or C -> library

``compile`` tells it for a model, ``lower`` and ``build`` for a schedule written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.artifact import CompiledKernelFunction, CompiledModule
from tvmlite.core import config
from tvmlite.core.pipeline import PassTimes
from tvmlite.core.target import Target
from tvmlite.kernels import CompiledKernel, compile_kernel
from tvmlite.relay import passes
from tvmlite.relay.entry import build_entry
from tvmlite.relay.ir import Function, Module
from tvmlite.relay.kernels import kernel_tasks
from tvmlite.report import Report
from tvmlite.te.codegen.cache import ObjectCache
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.passes import legalize
from tvmlite.te.lower import lower
from tvmlite.te.schedule import Schedule

__all__ = ["build", "compile", "lower"]


def compile(
    module: Module | Function,
    target: str | Target = "native",
    *,
    opt_level: int = 3,
    name: str = "model",
    progress: Callable[[str, int, int], object] | None = None,
) -> CompiledModule:
    """``module`` as a library that can be called, inspected and exported.

    ``target`` is as in ``Target.parse``. ``opt_level``, 0 to 3, chooses the graph passes
    (``relay.passes.pipeline``). ``name`` is the entry's symbol. ``progress(what, done, total)`` is called as
    the work goes on. Kernels are taken from the cache where nothing they depend on has changed.
    """
    target = Target.parse(target)
    module = module if isinstance(module, Module) else Module({"main": module})
    times = PassTimes()
    fused = passes.pipeline(opt_level, target).run(module, times)
    tasks, task_of = kernel_tasks(fused, target)
    cache = _cache()
    kernels: dict[str, CompiledKernel] = {}
    for number, task in enumerate(tasks):
        if progress is not None:
            progress("compiling kernels", number, len(tasks))
        kernels[task.key] = compile_kernel(task, target, cache)
    interfaces = {group: kernels[task.key].interface for group, task in task_of.items()}
    entry, constants = build_entry(fused, name, interfaces)
    return CompiledModule.link(
        fused, target, entry, constants, list(kernels.values()), Report.of(kernels.values(), times)
    )


def build(
    schedule: Schedule | loop.Function,
    args: Sequence[Any] | None = None,
    target: str | Target = "native",
    name: str = "default_function",
) -> CompiledKernelFunction:
    """A scheduled computation as a function: ``f(a, b, c)`` takes ``args`` in order, outputs included.

    Arrays are numpy arrays or DLPack objects; the outputs among them are written in place, or left out and
    returned. ``f.source("loops" | "llvm" | "asm" | "c")`` shows what it became, ``f.time(a, b, c)`` how fast.
    """
    target = Target.parse(target)
    lowered = schedule if isinstance(schedule, loop.Function) else lower(schedule, args or (), name)
    return CompiledKernelFunction.link(lowered, legalize(lowered, target), target)


def _cache() -> ObjectCache | None:
    directory = config.cache_dir()
    return None if directory is None else ObjectCache(directory)
