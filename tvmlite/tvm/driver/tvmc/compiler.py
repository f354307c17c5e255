"""``tvmc compile``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tvmlite.commands import common
from tvmlite.commands.parsing import files
from tvmlite.core.abi import symbols
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span, warn
from tvmlite.driver import compile
from tvmlite.model import export
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.text.printer import astext
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.autotvm.task.relay_integration import bound
from tvmlite.tvm.driver.tvmc import frontends
from tvmlite.tvm.driver.tvmc.model import C_SOURCE, FORMATS, TVMCModel, TVMCPackage, archive_path, exported
from tvmlite.tvm.driver.tvmc.pass_config import parse_configs, parse_pass_list_str
from tvmlite.tvm.driver.tvmc.registry import generate_registry_args, reconstruct_registry_entity
from tvmlite.tvm.driver.tvmc.shape_parser import parse_shape_string
from tvmlite.tvm.driver.tvmc.target import generate_target_args, machine_of, reconstruct_target_args
from tvmlite.tvm.ir.transform import PassContext
from tvmlite.tvm.relay.backend import Executor, Runtime
from tvmlite.tvm.relay.opt_level import level_in_force

CODE = {"relay": "", "tir": "loops", "ll": "llvm", "asm": "asm", "c": "c"}
"""The forms that ``dump_code`` may name, and their names in ``lib.source``."""

LAYOUTS = ("NCHW", "NHWC")

_INSTEAD = {
    "executor": "there is one executor: a compiled entry function",
    "runtime": C_SOURCE,
    "output_format": C_SOURCE,
    "workspace_pools": "memory is planned when a model is compiled",
    "instruments": "TVMLITE_DUMP=folder writes the graph after each pass",
}
"""Alternatives to unsupported options, by option name."""


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
    workspace_pools: Any = None,
    instruments: Any = None,
    desired_layout_ops: Any = None,
) -> TVMCPackage:
    """Compile ``tvmc_model`` for ``target`` and write it to ``package_path``: an archive (``.tar``) or a
    library (``.so``). ``tuning_records`` is a file that ``tune`` wrote; ``dump_code`` names forms of the code
    (``relay``, ``tir``, ``ll``, ``asm``, ``c``) to write next to it.

    The compiler chooses layouts whatever ``desired_layout`` is, and there is one executor: ``use_vm`` has no
    effect. ``additional_target_options`` are options of parts of ``target``, by kind and name. A library is
    linked for its target without the ``cross`` compiler, with a warning if one is given. ``disabled_pass``
    and ``pass_context_configs`` mean the same as in a ``PassContext`` around ``relay.build``. An unsupported
    value is an UnsupportedError that names the option.
    """
    refuse(
        executor=(getattr(executor, "name", executor), ("graph", None)),
        runtime=(getattr(runtime, "name", runtime), ("cpp", None)),
        dump_offloads=(dump_offloads, ("", None)),
        output_format=(output_format, ("so", "tar")),
        desired_layout=(desired_layout, (None, *LAYOUTS)),
        workspace_pools=(workspace_pools, (None,)),
        instruments=(instruments, (None, [])),
    )
    if cross or cross_options:
        warn(f"--cross-compiler {cross} is not called: libraries are linked for their targets without one")
    forms = _forms(dump_code)
    package = Path(tvmc_model.default_package_path() if package_path is None else package_path)
    path = archive_path(package)
    machine = machine_of(target, additional_target_options)
    export.check_format(path)
    export.check_target(path, machine)
    files.writable(path, "--output")
    if tuning_records:
        files.readable(Path(tuning_records), "--tuning-records")
    name = "model" if mod_name == "default" else mod_name
    name = symbols.unique_names({"program": "main", "model": name})["model"]
    disabled = [one for one in disabled_pass or () if one]
    with PassContext(opt_level, None, disabled, config=parse_configs(pass_context_configs)):
        level = level_in_force()
    lib = compile(
        bound(tvmc_model.mod, tvmc_model.params),
        machine,
        opt_level=level,
        name=name,
        records=tuning_records or None,
    )
    exported(lib, package)
    for form in forms:
        package.with_name(f"{package.name}.{form}").write_text(_code(lib, form), encoding="utf-8")
    return TVMCPackage(package, compiled=lib)


def add_compile_parser(subparsers: Any, main_parser: Any = None, json_params: Any = ()) -> Any:
    """Add and return the parser of ``compile``; ``json_params``, dicts of values by option, are defaults."""
    made = subparsers.add_parser("compile", help="compile a model", description=drive_compile.__doc__)
    add_model_arguments(made)
    made.add_argument("-o", "--output", type=Path, default=Path("module.tar"), help="model.tar or model.so")
    made.add_argument(
        "-f",
        "--output-format",
        choices=("so", "tar", "mlf"),
        default="so",
        help="so and tar have no effect: the suffix of --output decides",
    )
    made.add_argument("-O", "--opt-level", type=int, choices=range(5), default=3, help="0 to 4 (default: 3)")
    made.add_argument("--tuning-records", type=Path, help="the file that tvmc tune wrote")
    made.add_argument(
        "--dump-code", default="", metavar="FORM[,FORM]", help=f"write {', '.join(CODE)} beside it"
    )
    made.add_argument("--module-name", default="default", help="the name of the model's function")
    for name in ("cross-compiler", "cross-compiler-options"):
        made.add_argument(f"--{name}", help="no effect, with a warning: linking needs no other tool")
    generate_registry_args(made, Executor, "graph")
    generate_registry_args(made, Runtime, "cpp")
    made.add_argument(
        "--disabled-pass",
        type=parse_pass_list_str,
        default=[],
        metavar="PASS[,PASS]",
        help="lower --opt-level until these do not run",
    )
    made.add_argument(
        "--pass-config", action="append", metavar="NAME=VALUE", help="an option of a PassContext"
    )
    made.add_argument("--print-pass-times", action="store_true", help="print the time of each pass")
    for name in ("dump-offloads", "print-ir-before", "print-ir-after", "workspace-pools"):
        made.add_argument(f"--{name}", help="not supported")
    made.set_defaults(command=drive_compile, parser=made)
    return with_defaults(made, json_params)


def drive_compile(args: argparse.Namespace) -> int:
    """Compile a model into an archive or a library."""
    for name in ("print_ir_before", "print_ir_after", "workspace_pools"):
        if getattr(args, name) is not None:
            option = f"--{name.replace('_', '-')}"
            hint = "TVMLITE_DUMP=folder writes the graph after each pass" if "print" in name else None
            raise UnsupportedError(f"{option} is not supported", Span.of_caller(), hint)
    package = compile_model(
        frontends.load_model(args.FILE, args.model_format, args.input_shapes),
        args.target,
        opt_level=args.opt_level,
        executor=reconstruct_registry_entity(args, Executor),
        runtime=reconstruct_registry_entity(args, Runtime),
        tuning_records=args.tuning_records,
        package_path=args.output,
        cross=args.cross_compiler,
        cross_options=args.cross_compiler_options,
        output_format=args.output_format,
        dump_code=args.dump_code or None,
        dump_offloads=args.dump_offloads or "",
        desired_layout=args.desired_layout,
        disabled_pass=args.disabled_pass,
        pass_context_configs=args.pass_config,
        additional_target_options=reconstruct_target_args(args),
        mod_name=args.module_name,
    )
    if args.print_pass_times:
        print(package.compiled.report.pass_times)
    print(f"{package.package_path}: {common.describe(Path(package.package_path))}")
    return 0


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add to ``parser`` the options for the model and its target."""
    parser.add_argument("FILE", type=Path, help="a model, as ONNX")
    parser.add_argument("--model-format", choices=FORMATS, help="the format of FILE (default: by its ending)")
    parser.add_argument(
        "--input-shapes",
        type=parse_shape_string,
        default={},
        metavar='"x:[1,3,224,224] y:[1]"',
        help="the shapes of inputs, in one word",
    )
    generate_target_args(parser)
    parser.add_argument("--target-host", help="no effect: the host is the target")
    parser.add_argument("--desired-layout", choices=LAYOUTS, help="no effect: the compiler chooses layouts")
    parser.add_argument("--desired-layout-ops", nargs="+", help="no effect")


def with_defaults(parser: Any, json_params: Sequence[Mapping[str, Any]]) -> Any:
    """Make the values of ``json_params`` defaults of ``parser``, where it has their options; return it."""
    actions = {action.dest: action for action in parser._actions}
    for name, value in (pair for one in json_params for pair in one.items()):
        if name in actions:
            parser.set_defaults(**{name: value})
            actions[name].required = False
    return parser


def save_dumps(module_name: str, dumps: Mapping[str, str], dump_root: Any = ".") -> None:
    """Write each of ``dumps``, texts by form, to ``module_name.form`` in the folder ``dump_root``."""
    for form, text in dumps.items():
        Path(dump_root, f"{module_name}.{form}").write_text(text, encoding="utf-8")


def refuse(**options: tuple[Any, Sequence[Any]]) -> None:
    """Raise an UnsupportedError for the first of ``options``, pairs of a value and the allowed ones, that is
    not allowed."""
    for name, (value, allowed) in options.items():
        if value not in allowed:
            known = " or ".join(repr(one) for one in allowed if one) or "nothing"
            option = f"--{name.replace('_', '-')}"
            hint = _INSTEAD.get(name)
            raise UnsupportedError(f"{option} is {value!r}, expected {known}", Span.of_caller(), hint)


def _forms(given: Any) -> list[str]:
    """Return the names of forms as a list, from a list or a comma-separated string."""
    forms: list[str] = given.split(",") if isinstance(given, str) else list(given or ())
    for one in forms:
        if one not in CODE:
            raise InputError(f"--dump-code has {one!r}; there are {', '.join(CODE)}")
    return forms


def _code(lib: CompiledModule, form: str) -> str:
    return astext(lib.module, show_meta_data=False) if form == "relay" else lib.source(CODE[form])


__getattr__ = refusing(__name__)
