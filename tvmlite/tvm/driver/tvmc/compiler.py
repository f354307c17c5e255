"""``tvmc compile``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tvmlite.commands.parsing import files
from tvmlite.core.abi import symbols
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.driver import compile
from tvmlite.model import export
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.text.printer import astext
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.autotvm import targets
from tvmlite.tvm.autotvm.task.relay_integration import bound
from tvmlite.tvm.driver.tvmc.model import TVMCModel, TVMCPackage
from tvmlite.tvm.driver.tvmc.pass_config import parse_configs
from tvmlite.tvm.ir.transform import PassContext
from tvmlite.tvm.relay.opt_level import level_in_force

CODE = {"relay": "", "tir": "loops", "ll": "llvm", "asm": "asm", "c": "c"}
"""What ``dump_code`` may name, and what ``lib.source`` calls it."""

LAYOUTS = ("NCHW", "NHWC")


def compile_model(
    tvmc_model: TVMCModel,
    target: Any,
    opt_level: int = 3,
    executor: Any = "graph",
    runtime: Any = "cpp",
    tuning_records: Any = None,
    package_path: Any = None,
    cross: Any = "",
    cross_options: str | None = None,
    output_format: str = "so",
    dump_code: Any = None,
    dump_offloads: str = "",
    target_host: Any = None,
    desired_layout: str | None = None,
    disabled_pass: Sequence[str] | None = None,
    pass_context_configs: Sequence[str] | None = None,
    additional_target_options: Any = None,
    use_vm: bool = False,
    mod_name: str = "default",
    **kwargs: Any,
) -> TVMCPackage:
    """``tvmc_model`` compiled for ``target`` and written to ``package_path``: an archive (``.tar``), or a
    library (``.so``). ``tuning_records`` is a file that ``tune`` wrote; ``dump_code`` names forms of the
    code (``relay``, ``tir``, ``ll``, ``asm``, ``c``) that are written beside it.

    Layouts are chosen by the compiler, whichever ``desired_layout`` is given, and executors are one:
    ``use_vm`` is of no account. ``disabled_pass`` and ``pass_context_configs`` are as of ``relay.build`` in a
    ``PassContext``. What cannot be done is an UnsupportedError that names the option.
    """
    refuse(
        executor=(executor, ("graph", None)),
        runtime=(runtime, ("cpp", None)),
        cross_compiler=(cross, ("", None)),
        cross_compiler_options=(cross_options, (None,)),
        dump_offloads=(dump_offloads, ("", None)),
        output_format=(output_format, ("so", "mlf")),
        desired_layout=(desired_layout, (None, *LAYOUTS)),
    )
    if kwargs:
        raise InputError(f"compile: there is no option {', '.join(kwargs)}")
    forms = _forms(dump_code)
    package = Path(tvmc_model.default_package_path() if package_path is None else package_path)
    # Without an ending it is an archive, as all packages of TVM's are.
    path = package if package.suffix else package.with_name(f"{package.name}.tar")
    machine = targets.machine(target)
    export.check_format(path)
    export.check_target(path, machine)
    files.writable(path, "--output")
    if tuning_records is not None:
        files.readable(Path(tuning_records), "--tuning-records")
    name = "model" if mod_name == "default" else mod_name
    name = symbols.unique_names({"program": "main", "model": name})["model"]
    with PassContext(opt_level, None, disabled_pass, config=parse_configs(pass_context_configs)):
        level = level_in_force()
    lib = compile(
        bound(tvmc_model.mod, tvmc_model.params),
        machine,
        opt_level=level,
        name=name,
        records=tuning_records,
    )
    lib.export(path)
    path.replace(package)
    for form in forms:
        package.with_name(f"{package.name}.{form}").write_text(_code(lib, form), encoding="utf-8")
    return TVMCPackage(package, lib)


def save_dumps(module_name: str, dumps: Mapping[str, str], dump_root: Any = ".") -> None:
    """Write each of ``dumps``, texts by their kind, to ``module_name.kind`` in the folder ``dump_root``."""
    for form, text in dumps.items():
        Path(dump_root, f"{module_name}.{form}").write_text(text, encoding="utf-8")


def refuse(**options: tuple[Any, Sequence[Any]]) -> None:
    """An UnsupportedError of the first of ``options``, values and what each may be, that is none of these."""
    for name, (value, allowed) in options.items():
        if value not in allowed:
            known = " or ".join(repr(one) for one in allowed if one) or "nothing"
            option = f"--{name.replace('_', '-')}"
            raise UnsupportedError(f"{option} is {value!r}, expected {known}", Span.of_caller())


def _forms(given: Any) -> list[str]:
    """The names of forms in a list, or in a text with commas."""
    forms: list[str] = given.split(",") if isinstance(given, str) else list(given or ())
    for one in forms:
        if one not in CODE:
            raise InputError(f"--dump-code has {one!r}; there are {', '.join(CODE)}")
    return forms


def _code(lib: CompiledModule, form: str) -> str:
    return astext(lib.module, show_meta_data=False) if form == "relay" else lib.source(CODE[form])


__getattr__ = refusing(__name__)
