"""The driver: import, optimise, fuse, lower and compile a model into a callable library.

    model -> relay -> passes -> fused groups -> te schedules -> loop IR -> LLVM or C -> library

``compile`` runs all of this for a model; ``lower`` and ``build`` take a schedule written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any

from tvmlite.autotune.records.decision_records import DecisionRecord
from tvmlite.autotune.records.records import Record
from tvmlite.core.abi.signature import check_symbol
from tvmlite.core.cache import object_cache
from tvmlite.core.errors import InputError
from tvmlite.core.pipeline import Times
from tvmlite.core.span import warn
from tvmlite.machine.cpu_levels import targets_of
from tvmlite.machine.target import Target
from tvmlite.model.artifact import CompiledKernelFunction, CompiledModule, Origin
from tvmlite.model.cpu_levels import Level
from tvmlite.model.kernels import CompiledKernel, compile_kernels, interfaces_of
from tvmlite.model.record_lookup import Choices, require
from tvmlite.model.report import Report
from tvmlite.relay import passes
from tvmlite.relay.entry.entry import KernelInterface, build_entry
from tvmlite.relay.entry.kernels import kernel_tasks
from tvmlite.relay.entry.placement import MemoryPolicy
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.nodes import Function, Module
from tvmlite.relay.ir.verify import verify as check
from tvmlite.relay.passes.decisions import Decisions
from tvmlite.relay.passes.pass_check import ReferenceRun
from tvmlite.relay.passes.specialise import Sizes, specialise
from tvmlite.te.codegen import process
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.passes import legalize
from tvmlite.te.lowering.extensions.unrolling import warn_of_long_code
from tvmlite.te.lowering.lower import lower
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.space import ConfigEntity

__all__ = ["build", "compile", "lower"]


def compile(
    module: Module | Function,
    target: str | Target = "native",
    *,
    opt_level: int = 3,
    name: str = "model",
    progress: Callable[[str, int, int], object] | None = None,
    verify: bool | Mapping[str, Any] = False,
    shape: Sizes | None = None,
    precision: str = "float32",
    error_bound: float = 0.0,
    records: str | Path | Sequence[Record | DecisionRecord] | None = None,
    require_tuned: bool = False,
    decisions: Mapping[str, str] | None = None,
    kernel_cost: Callable[[Function], float] | None = None,
    note: Callable[[str], object] = warn,
    cpu_levels: Sequence[str] | None = None,
) -> CompiledModule:
    """Compile ``module`` to a library that can be called, inspected and exported.

    ``target`` is as in ``Target.parse``. ``opt_level``, 0 to 4, selects the graph passes
    (``relay.passes.pipeline``). ``name`` is the symbol of the entry function, a C identifier.
    ``progress(what, done, total)`` is called during the work. Kernels come from the cache unless something
    that they depend on has changed; on Linux, where there is a cache, several processes compile the rest.

    ``shape`` fixes open dimensions (``{"batch": 1}``), or adds kernels specialised for some sizes to the
    general ones (``{"batch": [1, 8, 32]}``): see ``relay.passes.specialise``.

    ``precision`` "bfloat16" or "float16" lets matrix products and convolutions take their operands in 16
    bits, summing in float32; inputs and outputs keep their types.

    ``error_bound`` is the error, relative to the largest element of its result, that a convolution or a dense
    layer may make for speed; 0: none. 1e-4 allows Winograd's F(4, 3), F(2, 3) and inner product, and 24-bit
    weights in layers with few rows of data. 4e-6 allows F(2, 3), and the inner product for sums of up to
    about 150 terms. See the passes ``apply_winograd``, ``apply_winograd_dense`` and ``pack_weights``.

    ``records``, a file written by ``tune`` or the records themselves, hold the best known schedules of
    kernels and the best known decisions of graph passes on this machine. The report lists the kernels without
    a record and their expected loss; with ``require_tuned`` such kernels are an InputError. Records measured
    with a number of threads other than ``runtime.num_threads()`` are not used. ``note`` is called with a
    sentence for each reason why records are not used; by default it issues a warning.

    ``decisions`` maps decisions of graph passes to the alternatives to take, and overrides the records; the
    names and alternatives are listed in ``report.decisions``. An unknown name is an InputError. If
    ``kernel_cost`` is given, which returns the seconds that a fused group's kernel takes, the default layouts
    are those of least total cost (``relay.passes.layout_program``).

    ``cpu_levels``, such as ``["baseline", "avx2", "avx512"]``, compiles for several levels of x86-64
    processors (``machine.cpu_levels``); ``target`` must then name no processor. An exported library has code
    for each level, shares the weights that have the same layout, and runs the highest level that the
    processor supports. The library returned runs the highest level that this machine supports.

    ``verify`` interprets the module after every pass, runs the library if this machine can, and compares the
    results with those of ``module``: on random inputs, or on the arrays that ``verify`` maps input names to.
    A difference is a VerifyError that names the pass and the node where it begins.
    """
    check_compile_options(
        "compile", opt_level=opt_level, name=name, progress=progress, verify=verify, shape=shape,
        precision=precision, error_bound=error_bound, records=records, require_tuned=require_tuned,
        decisions=decisions, kernel_cost=kernel_cost, note=note, cpu_levels=cpu_levels,
    )  # fmt: skip
    target, name = Target.parse(target), check_symbol(name)
    if cpu_levels is not None:
        one_level = partial(
            compile, _checked(module), opt_level=opt_level, name=name, progress=progress, verify=verify,
            shape=shape, precision=precision, error_bound=error_bound, records=records,
            require_tuned=require_tuned, decisions=decisions, kernel_cost=kernel_cost, note=note,
        )  # fmt: skip
        return _with_levels(one_level, targets_of(target, cpu_levels, Target.parse("native")))
    times, pass_times = Times(), Times()
    with times.step("check"):
        module = specialise(_checked(module), shape or {})
    inputs = verify if isinstance(verify, Mapping) else None
    reference = None if verify is False else ReferenceRun(module, inputs, precision=precision)
    watch = None if reference is None else reference.after
    choices = Choices.of(records, target)
    choices.report = note
    for one in choices.notes:
        note(one)
    chosen = {one.name: one.taken for one in choices.decisions.values()} | dict(decisions or {})
    table = Decisions(chosen, kernel_cost)
    pipeline = passes.pipeline(opt_level, target, precision, error_bound, table)
    with times.step("passes"):
        fused = pipeline.run(module.unnamed(), pass_times, watch=watch)
    table.require(decisions or {})
    for one in table.notes:
        choices.note(one)
    with times.step("kernels"):
        kernels, interfaces = _kernels(fused, target, choices, require_tuned, progress)
    with times.step("entry"):
        entry, constants = build_entry(fused, name, interfaces, _memory_policy(target))
    with times.step("link"):
        report = Report.of(kernels, choices, pass_times, times, tuple(table.asked.values()))
        lib = CompiledModule.link(fused, target, entry, constants, kernels, report)
    options = {"opt_level": opt_level, "precision": precision, "error_bound": error_bound}
    recompile = partial(compile, target=target, name=name, records=records, **options)
    lib.origin = Origin(module, recompile)
    if reference is not None and not process.reason_not_to_run(target):
        reference.compare("the compiled library computes something else", fused, lib(*reference.arguments))
    return lib


def _with_levels(compile_for: Callable[..., CompiledModule], targets: Mapping[str, Target]) -> CompiledModule:
    """Compile the model for each of ``targets``, processor levels in ascending order. Return the module of
    the highest level that runs here (of the first if none does), with the code of all levels."""
    levels, runnable = [], None
    for name, target in targets.items():
        made = compile_for(target=target)
        constants, labels = made.constants.without_blob(), made.kernel_labels
        levels.append(
            Level(name, target, made.entry, constants, made.kernels, labels, made.module, made.report)
        )
        if runnable is None or not process.reason_not_to_run(target):
            runnable = made
    assert runnable is not None, "there is a level"
    runnable.levels = tuple(levels)
    return runnable


def _kernels(
    fused: Module,
    target: Target,
    choices: Choices,
    require_tuned: bool,
    progress: Callable[[str, int, int], object] | None,
) -> tuple[list[CompiledKernel], dict[Function, KernelInterface]]:
    """Compile every distinct kernel of ``fused``; also return the interface by which each group is called."""
    tasks, task_of = kernel_tasks(fused, target, lambda group: choices.decide(group).config)
    if require_tuned:
        require({task.symbol: choices.decide(task.group) for task in tasks})
    kernels = compile_kernels(tasks, target, object_cache(), progress)
    return list(kernels.values()), interfaces_of(task_of, kernels)


def _memory_policy(target: Target) -> MemoryPolicy:
    """The memory policy for ``target``: compact on standalone targets, which have little memory."""
    return MemoryPolicy(target.alignment, compact=target.standalone)


def rescheduled(
    lib: CompiledModule,
    choose: Callable[[Function], ConfigEntity | None],
    compiled: MutableMapping[str, CompiledKernel],
) -> CompiledModule:
    """Return ``lib`` with kernels scheduled by the configs that ``choose`` gives; the weights are shared.

    ``compiled`` maps keys to kernels that are already compiled; newly compiled kernels are added to it.
    """
    tasks, task_of = kernel_tasks(lib.module, lib.target, choose)
    new = [task for task in tasks if task.key not in compiled]
    compiled.update(compile_kernels(new, lib.target, object_cache()))
    entry, constants = build_entry(
        lib.module, lib.entry.name, interfaces_of(task_of, compiled), _memory_policy(lib.target)
    )
    assert constants.offsets == lib.constants.offsets, "the graph is the same, so the constants are"
    kernels = [compiled[task.key] for task in tasks]
    made = CompiledModule.link(lib.module, lib.target, entry, lib.constants, kernels, lib.report)
    made.origin = lib.origin
    return made


def build(
    schedule: Schedule | loop.Function,
    args: Sequence[Any] | None = None,
    target: str | Target = "native",
    name: str = "default_function",
) -> CompiledKernelFunction:
    """Compile a schedule to a function ``f(a, b, c)`` that takes ``args`` in order, outputs included.

    Arrays are numpy arrays or DLPack objects. Outputs are written in place, or returned if left out.
    ``f.source("loops" | "llvm" | "asm" | "c")`` shows the generated code, ``f.time(a, b, c)`` measures it.
    A RuntimeWarning names loops unrolled so far that compiling takes long (``warn_of_long_code``).
    """
    target = Target.parse(target)
    if isinstance(schedule, loop.Function):
        lowered = schedule
        warn_of_long_code(lowered, target.lanes("float32"))
    elif isinstance(schedule, Schedule):
        lowered = lower(schedule, () if args is None else args, check_symbol(name))
        warn_of_long_code(lowered, target.lanes("float32"), schedule)
    else:
        raise InputError(
            f"build: a {type(schedule).__name__} given, expected a schedule",
            hint="te.create_schedule(C.op) makes one",
        )
    return CompiledKernelFunction.link(lowered, legalize(lowered, target), target)


def check_compile_options(where: str, **given: Any) -> None:
    """Raise an InputError if one of ``given`` is not an option of ``compile`` or has the wrong type."""
    for name, value in given.items():
        if name not in _OPTIONS:
            raise InputError(f"{where}: there is no option {name}; there are {', '.join(_OPTIONS)}")
        kinds, expected = _OPTIONS[name]
        is_valid = callable(value) if Callable in kinds else isinstance(value, kinds)  # type: ignore[arg-type]
        if not is_valid and not (value is None and NoneType in kinds):
            raise InputError(f"{where}: {name} is {show(value)}, expected {expected}")


_OPTIONS: Mapping[str, tuple[tuple[Any, ...], str]] = {
    "opt_level": ((int,), "0 to 4"),
    "name": ((str,), "a C identifier"),
    "progress": ((Callable, NoneType), "a function"),
    "verify": ((bool, Mapping), "True, False or arrays by name"),
    "shape": ((Mapping, NoneType), "sizes by the name of the dimension"),
    "precision": ((str,), "'float32', 'bfloat16' or 'float16'"),
    "error_bound": ((int, float), "a number"),
    "records": ((str, Path, list, tuple, NoneType), "a file or records"),
    "require_tuned": ((bool,), "True or False"),
    "decisions": ((Mapping, NoneType), "alternatives by the name of the decision"),
    "kernel_cost": ((Callable, NoneType), "a function"),
    "note": ((Callable,), "a function"),
    "cpu_levels": ((list, tuple, NoneType), "a list of names"),
}


def _checked(module: Module | Function) -> Module:
    """``module`` as a verified Module; an InputError if it is neither a module nor a function."""
    if isinstance(module, Function):
        module = Module({"main": module})
    if not isinstance(module, Module):
        raise InputError(
            f"compile: a {type(module).__name__} given, expected a relay module or function",
            hint='relay.frontend.from_onnx("model.onnx") makes a module of a model',
        )
    check(module)
    return module
